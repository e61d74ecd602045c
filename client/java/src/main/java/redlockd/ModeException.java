// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** The lock is held in another mode. */
public final class ModeException extends RedlockException {
    private static final long serialVersionUID = 1;

    ModeException(String message, long retryMs) {
        super(message, retryMs);
    }
}
