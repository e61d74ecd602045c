// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** There is no connection to redlockd. The text says why. */
public final class UnreachableException extends RedlockException {
    private static final long serialVersionUID = 1;

    UnreachableException(String message, long retryMs) {
        super(message, retryMs);
    }
}
