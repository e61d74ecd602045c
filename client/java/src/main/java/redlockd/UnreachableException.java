package redlockd;

/** There is no connection to redlockd; the message says why, and how to start redlockd if nobody could be reached. */
public final class UnreachableException extends RedlockException {
    private static final long serialVersionUID = 1;

    UnreachableException(String message, long retryMs) {
        super(message, retryMs);
    }
}
