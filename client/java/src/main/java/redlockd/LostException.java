package redlockd;

/**
 * The lock was lost before it was given back: another may have it, or have had it. Each loss is thrown once; the
 * {@code unlock} or {@code close} that follows is silent.
 */
public final class LostException extends RedlockException {
    private static final long serialVersionUID = 1;

    private final String reason;

    LostException(String message, String reason) {
        super(message, -1);
        this.reason = reason;
    }

    /**
     * One word. From redlockd: {@code expired max gone released moved closed drain}. From this library: {@code expired},
     * its time is over; {@code gone} or {@code refused}, it could not be resumed on a new connection.
     */
    public String reason() {
        return reason;
    }
}
