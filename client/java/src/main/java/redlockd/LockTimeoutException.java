package redlockd;

/** Another client has the lock, and the time to wait for it is over. */
public final class LockTimeoutException extends RedlockException {
    private static final long serialVersionUID = 1;

    LockTimeoutException(String message, long retryMs) {
        super(message, retryMs);
    }
}
