// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** Too few masters answered, or may vote yet. After a release, extend or check the outcome is open. */
public final class NoQuorumException extends RedlockException {
    private static final long serialVersionUID = 1;

    NoQuorumException(String message, long retryMs) {
        super(message, retryMs);
    }
}
