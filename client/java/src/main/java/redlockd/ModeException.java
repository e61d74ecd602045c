package redlockd;

/** The lock is held in another mode, shared or exclusive. */
public final class ModeException extends RedlockException {
    private static final long serialVersionUID = 1;

    ModeException(String message, long retryMs) {
        super(message, retryMs);
    }
}
