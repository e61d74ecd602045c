// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** redlockd is shutting down, and grants no new locks. */
public final class DrainingException extends RedlockException {
    private static final long serialVersionUID = 1;

    DrainingException(String message, long retryMs) {
        super(message, retryMs);
    }
}
