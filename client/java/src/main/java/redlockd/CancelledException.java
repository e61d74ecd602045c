// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** The wait was cancelled. */
public final class CancelledException extends RedlockException {
    private static final long serialVersionUID = 1;

    CancelledException(String message, long retryMs) {
        super(message, retryMs);
    }
}
