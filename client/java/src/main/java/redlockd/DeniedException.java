// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** This user may not do that. */
public final class DeniedException extends RedlockException {
    private static final long serialVersionUID = 1;

    DeniedException(String message, long retryMs) {
        super(message, retryMs);
    }
}
