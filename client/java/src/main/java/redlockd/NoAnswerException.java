// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** redlockd did not answer in time. A lock that is granted later is given back. */
public final class NoAnswerException extends RedlockException {
    private static final long serialVersionUID = 1;

    NoAnswerException(String message, long retryMs) {
        super(message, retryMs);
    }
}
