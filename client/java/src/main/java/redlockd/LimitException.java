// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** A limit of redlockd is reached. The text names the setting. */
public final class LimitException extends RedlockException {
    private static final long serialVersionUID = 1;

    LimitException(String message, long retryMs) {
        super(message, retryMs);
    }
}
