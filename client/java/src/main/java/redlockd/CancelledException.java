package redlockd;

/** The wait for the lock was cancelled. */
public final class CancelledException extends RedlockException {
    private static final long serialVersionUID = 1;

    CancelledException(String message, long retryMs) {
        super(message, retryMs);
    }
}
