// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** An argument is not allowed. So is a refusal by a later redlockd that this library does not know. */
public final class BadArgumentException extends RedlockException {
    private static final long serialVersionUID = 1;

    BadArgumentException(String message, long retryMs) {
        super(message, retryMs);
    }
}
