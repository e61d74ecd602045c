package redlockd;

/** redlockd wants a user and a secret, or has refused the user and the secret that it was given. */
public final class AuthException extends RedlockException {
    private static final long serialVersionUID = 1;

    AuthException(String message, long retryMs) {
        super(message, retryMs);
    }
}
