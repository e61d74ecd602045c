// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** Another has the lock, and the time to wait is over. */
public final class LockTimeoutException extends RedlockException {
    private static final long serialVersionUID = 1;

    LockTimeoutException(String message, long retryMs) {
        super(message, retryMs);
    }
}
