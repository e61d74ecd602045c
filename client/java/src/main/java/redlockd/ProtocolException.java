package redlockd;

/** The other end is no redlockd of protocol 1. */
public final class ProtocolException extends RedlockException {
    private static final long serialVersionUID = 1;

    ProtocolException(String message, long retryMs) {
        super(message, retryMs);
    }
}
