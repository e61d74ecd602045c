package redlockd;

/** A limit of redlockd is reached; the message names the setting. */
public final class LimitException extends RedlockException {
    private static final long serialVersionUID = 1;

    LimitException(String message, long retryMs) {
        super(message, retryMs);
    }
}
