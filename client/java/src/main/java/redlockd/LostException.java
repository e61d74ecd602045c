package redlockd;

/**
 * The lock was lost before it was given back: another may have it, or have had it. When a method of the lock has thrown
 * this, the {@code unlock} or {@code close} that follows throws nothing.
 */
public final class LostException extends RedlockException {
    private static final long serialVersionUID = 1;

    private final String reason;

    LostException(String message, String reason) {
        super(message, -1);
        this.reason = reason;
    }

    /**
     * A word: {@code expired max gone released moved closed denied} from redlockd; protocol.txt says what each means.
     * From this library: {@code expired}, its time is over, or it was not held at all; {@code gone}, the masters no
     * longer have it; {@code refused}, it could not be resumed on a new connection; {@code closed}, the client was
     * closed.
     */
    public String reason() {
        return reason;
    }
}
