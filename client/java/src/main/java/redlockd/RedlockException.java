package redlockd;

import java.time.Duration;
import java.util.Optional;

/**
 * Why a call failed. Each kind is a type of its own; the message is redlockd's line, or a sentence of this library. It is
 * unchecked, as {@link java.util.concurrent.locks.Lock} declares no exception.
 */
public abstract class RedlockException extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final long retryMs;

    RedlockException(String message, long retryMs) {
        super(message);
        this.retryMs = retryMs;
    }

    /** When it may help to ask again, where redlockd says so: of {@link BusyException} and {@link NoQuorumException}. */
    public Optional<Duration> retryAfter() {
        return retryMs < 0 ? Optional.empty() : Optional.of(Duration.ofMillis(retryMs));
    }
}
