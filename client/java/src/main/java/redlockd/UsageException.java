// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** Wrong use. A secret would go out in the clear, for one; the text says what. */
public final class UsageException extends RedlockException {
    private static final long serialVersionUID = 1;

    UsageException(String message, long retryMs) {
        super(message, retryMs);
    }
}
