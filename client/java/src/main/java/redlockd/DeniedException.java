package redlockd;

/** The user of this client is not allowed to do this. */
public final class DeniedException extends RedlockException {
    private static final long serialVersionUID = 1;

    DeniedException(String message, long retryMs) {
        super(message, retryMs);
    }
}
