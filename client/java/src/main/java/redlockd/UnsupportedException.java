// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** This redlockd cannot do that. A later version may. */
public final class UnsupportedException extends RedlockException {
    private static final long serialVersionUID = 1;

    UnsupportedException(String message, long retryMs) {
        super(message, retryMs);
    }
}
