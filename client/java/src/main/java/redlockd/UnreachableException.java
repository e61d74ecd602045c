package redlockd;

/** There is no connection to redlockd; the message says what was tried, and how to start one. */
public final class UnreachableException extends RedlockException {
    private static final long serialVersionUID = 1;

    UnreachableException(String message, long retryMs) {
        super(message, retryMs);
    }
}
