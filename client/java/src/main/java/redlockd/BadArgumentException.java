package redlockd;

/** redlockd does not allow an argument, such as a TTL beyond its max_ttl; the message says which. */
public final class BadArgumentException extends RedlockException {
    private static final long serialVersionUID = 1;

    BadArgumentException(String message, long retryMs) {
        super(message, retryMs);
    }
}
