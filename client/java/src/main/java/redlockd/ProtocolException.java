// Written by `make stubs` from proto/stubs.def.
package redlockd;

/** What answers is no redlockd, or its answer does not fit the request. */
public final class ProtocolException extends RedlockException {
    private static final long serialVersionUID = 1;

    ProtocolException(String message, long retryMs) {
        super(message, retryMs);
    }
}
