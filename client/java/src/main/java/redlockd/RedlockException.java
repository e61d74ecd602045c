package redlockd;

import java.time.Duration;
import java.util.Optional;

/**
 * A call failed. Each kind of failure is a type of its own; the message is redlockd's line, or a text of this library. The
 * exception is unchecked, since the methods of {@link java.util.concurrent.locks.Lock} declare none like it.
 */
public abstract class RedlockException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final long retryMs;

    RedlockException(String message, long retryMs) {
        super(message);
        this.retryMs = retryMs;
    }

    /** After how long it may help to ask again. Only {@link BusyException} and {@link NoQuorumException} may have it. */
    public Optional<Duration> retryAfter() {
        return retryMs < 0 ? Optional.empty() : Optional.of(Duration.ofMillis(retryMs));
    }
}
