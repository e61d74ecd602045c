// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** redlockd wants a user and a secret, or refuses those that were given. */
public final class AuthException extends RedlockException {
    private static final long serialVersionUID = 1;

    AuthException(String message, long retryMs) {
        super(message, retryMs);
    }
}
