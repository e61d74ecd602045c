package redlockd;

/** redlockd refused the request, mostly for an argument, such as a TTL beyond its max_ttl; the message says why. */
public final class BadArgumentException extends RedlockException {
    private static final long serialVersionUID = 1;

    BadArgumentException(String message, long retryMs) {
        super(message, retryMs);
    }
}
