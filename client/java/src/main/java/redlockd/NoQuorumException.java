package redlockd;

/** Too few masters answered, or may vote yet. A lock is not taken; after unlock, extend and check the outcome is open. */
public final class NoQuorumException extends RedlockException {
    private static final long serialVersionUID = 1;

    NoQuorumException(String message, long retryMs) {
        super(message, retryMs);
    }
}
