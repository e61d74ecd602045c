package redlockd;

/** redlockd did not answer within the timeout. A lock that is granted later is given back. */
public final class NoAnswerException extends RedlockException {
    private static final long serialVersionUID = 1;

    NoAnswerException(String message, long retryMs) {
        super(message, retryMs);
    }
}
