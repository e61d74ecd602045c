// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** The token does not hold the lock. */
public final class NotHeldException extends RedlockException {
    private static final long serialVersionUID = 1;

    NotHeldException(String message, long retryMs) {
        super(message, retryMs);
    }
}
