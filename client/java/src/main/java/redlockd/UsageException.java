package redlockd;

/** The configuration is not safe or not complete, such as a secret for a TCP connection to another host. */
public final class UsageException extends RedlockException {
    private static final long serialVersionUID = 1;

    UsageException(String message, long retryMs) {
        super(message, retryMs);
    }
}
