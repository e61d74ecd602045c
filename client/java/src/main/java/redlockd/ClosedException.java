// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** The client was closed. */
public final class ClosedException extends RedlockException {
    private static final long serialVersionUID = 1;

    ClosedException(String message, long retryMs) {
        super(message, retryMs);
    }
}
