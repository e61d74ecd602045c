// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** Another has the lock, and the call did not wait. */
public final class BusyException extends RedlockException {
    private static final long serialVersionUID = 1;

    BusyException(String message, long retryMs) {
        super(message, retryMs);
    }
}
