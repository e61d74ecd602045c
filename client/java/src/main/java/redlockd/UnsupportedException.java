package redlockd;

/** This version of redlockd cannot do what was asked. */
public final class UnsupportedException extends RedlockException {
    private static final long serialVersionUID = 1;

    UnsupportedException(String message, long retryMs) {
        super(message, retryMs);
    }
}
