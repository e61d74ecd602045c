package redlockd;

/** Another client has the lock, and the call did not wait for it. */
public final class BusyException extends RedlockException {
    private static final long serialVersionUID = 1;

    BusyException(String message, long retryMs) {
        super(message, retryMs);
    }
}
