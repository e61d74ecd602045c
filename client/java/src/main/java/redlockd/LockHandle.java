package redlockd;

import java.time.Duration;
import java.util.function.Consumer;

/**
 * A lock that was taken, owned by no thread: whoever has the object may use it, from any thread. In try-with-resources it
 * is given back at the end; what goes wrong then is added to the program's own exception and does not replace it.
 *
 * <pre>{@code
 * try (LockHandle lock = client.acquire("report", LockOptions.defaults().waiting(Duration.ofSeconds(30)))) {
 *     while (moreToDo()) {
 *         lock.ensureHeld();
 *         writeNext(lock.fence());
 *     }
 * }
 * }</pre>
 */
public final class LockHandle implements AutoCloseable {
    /** The states of a lock. HELD ends by itself where {@link #valid} becomes zero. */
    public enum State { HELD, LOST, RELEASED }

    private final Session session;
    private final Hold hold;

    LockHandle(Session session, Hold hold) {
        this.session = session;
        this.hold = hold;
    }

    /** The lock's name; of several, with commas between them. */
    public String name() {
        return hold.name;
    }

    /** Whoever shows it is the holder. It is another one when the lock was resumed on a new connection. */
    public String token() {
        return hold.token;
    }

    /**
     * A number that grows with every grant of the name, for the resource to compare. It is another one when the lock was
     * resumed on a new connection: ask for it at each use. 0: not known, of a lock that was attached.
     */
    public long fence() {
        return hold.fence;
    }

    /**
     * For how long the lock is surely still held, in ms precision; zero: it is not, or not any more. No I/O, in about a
     * microsecond or two. The clock behind it counts the time of a suspended machine.
     */
    public Duration valid() {
        return Duration.ofMillis(hold.validMs());
    }

    /** Whether {@link #valid} is more than zero. */
    public boolean isHeld() {
        return hold.validMs() > 0;
    }

    /**
     * For the line before each write.
     *
     * @throws LostException the lock is not surely held any more
     */
    public void ensureHeld() {
        if (isHeld()) {
            return;
        }
        hold.lossTold.set(true);
        if (state() == State.LOST) {
            throw hold.loss();
        }
        throw new LostException("the lock " + name() + " is not held any more", "expired");
    }

    /** The state of the lock. After the client was closed, each lock that was held is LOST. */
    public State state() {
        return switch (hold.state) {
            case LOST -> State.LOST;
            case GIVING, OVER -> State.RELEASED;
            default -> State.HELD;
        };
    }

    /** Makes it last its own TTL again, from now on. Of a lease; redlockd renews a session lock by itself. */
    public void extend() {
        join(session.extend(hold, 0));
    }

    /**
     * Makes it last that long from now on, never shorter. A session lock is renewed with this TTL from then on.
     *
     * @throws LostException it was lost before
     * @throws NotHeldException the masters do not have it any more
     * @throws NoQuorumException not known: it may be held until {@link #valid} is over
     */
    public void extend(Duration ttl) {
        join(session.extend(hold, Words.ms("a TTL", ttl)));
    }

    /** Asks redlockd, and of a lease the masters, whether it is still held. Throws what {@link #extend} throws. */
    public void check() {
        join(session.ask(Request.Verb.CHECK, hold));
    }

    /**
     * Gives it back. A second time it does nothing; neither after a {@link LostException}.
     *
     * @throws LostException it was lost before: another may have had it meanwhile
     * @throws NoQuorumException not known; it is free when its TTL is over. So it is after {@link NoAnswerException} and
     *         {@link UnreachableException}
     */
    public void unlock() {
        boolean interrupted = Thread.currentThread().isInterrupted();
        Request request = session.unlock(hold, interrupted ? Session.OWN_DEADLINE_MS : session.config.timeoutMs());
        if (request == null) {
            if (state() == State.LOST && !hold.isClosed() && hold.lossTold.compareAndSet(false, true)) {
                throw hold.loss();
            }
            return;
        }
        boolean told = hold.lossTold.get();
        try {
            join(request);
        } catch (LostException e) {
            if (!told) {
                throw e;
            }
        }
    }

    /** {@link #unlock}. */
    @Override
    public void close() {
        unlock();
    }

    /**
     * Is called when the lock is lost, at once, in the client's executor; at once too if it was lost before. It is not
     * called at the end of the client.
     */
    public LockHandle onLost(Consumer<LostException> listener) {
        session.within(() -> hold.addOnLost(listener));
        return this;
    }

    /** Is called when renewing fails and less than a third of the TTL is left. It may still get better. */
    public LockHandle onExpiring(Runnable listener) {
        session.within(() -> hold.addOnExpiring(listener));
        return this;
    }

    private void join(Request request) {
        request.join();
        Failure failure = request.failure;
        if (failure == null) {
            return;
        }
        if (failure.kind() == Failure.Kind.LOST) {
            hold.lossTold.set(true);
            throw new LostException("the lock " + name() + " was lost: " + failure.text(), failure.text());
        }
        if (failure.kind() == Failure.Kind.NOTHELD) {
            hold.lossTold.set(true);
        }
        throw failure.exception();
    }

    @Override
    public String toString() {
        return "LockHandle[" + name() + " " + state() + " valid=" + hold.validMs() + "ms fence=" + fence() + "]";
    }
}
