package redlockd;

import java.time.Duration;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

/**
 * A lock that was taken. No thread owns it: any thread that has the object may use it. In try-with-resources it is given
 * back at the end; if that fails after the program has thrown an exception of its own, the failure is added to that
 * exception (suppressed) and does not replace it.
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
    /** The states of a lock. A lock becomes LOST by itself when its time is over. */
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

    /** By the token, anybody may extend, resume or release the lock. It is new when the lock was resumed or downgraded. */
    public String token() {
        return hold.token;
    }

    /**
     * A number that grows with every grant of the name, for the resource to compare. It is new when the lock was resumed
     * on a new connection, so ask for it at each use. 0: not known, since the lock was attached.
     */
    public long fence() {
        return hold.fence;
    }

    /** The number of the place that {@link LockOptions#slots} got, from 0 on; empty for other locks. */
    public OptionalInt slot() {
        return hold.slot < 0 ? OptionalInt.empty() : OptionalInt.of(hold.slot);
    }

    /**
     * Whether this program only reads. That is so from {@link #downgrade} on, and for a lock that was attached, of which
     * nothing is known.
     */
    public boolean isShared() {
        return hold.downgrade.reader;
    }

    /**
     * For how long the lock is surely still held, in whole ms; zero: it is not surely held, or its time is not known.
     * redlockd is not asked. The clock behind this counts the time during which the machine is suspended.
     */
    public Duration valid() {
        return Duration.ofMillis(hold.validMs());
    }

    /** Whether {@link #valid} is more than zero. */
    public boolean isHeld() {
        return hold.validMs() > 0;
    }

    /**
     * Call this before each write.
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

    /** Makes the lock last its own TTL again, from now on. Leases need it: redlockd renews a session lock by itself. */
    public void extend() {
        join(session.ask(Request.Verb.EXTEND, hold));
    }

    /**
     * Makes the lock last that long from now on; it never ends earlier than before. A session lock is renewed with this
     * TTL from then on.
     *
     * @throws LostException it was lost before
     * @throws NotHeldException the masters do not have it any more
     * @throws NoQuorumException not known: it may be held until {@link #valid} is over
     */
    public void extend(Duration ttl) {
        join(session.ask(extension(ttl)));
    }

    private Request extension(Duration ttl) {
        Request request = Request.of(Request.Verb.EXTEND, hold, 0);
        request.ttlMs = Words.ms("a TTL", ttl);
        return request;
    }

    /** Asks redlockd, which for a lease asks the masters, whether it is still held. Throws what {@link #extend} throws. */
    public void check() {
        join(session.ask(Request.Verb.CHECK, hold));
    }

    /**
     * Changes what others hear of the holder. The lock was taken with {@link LockOptions#data}, else {@link ModeException}.
     * {@link NoQuorumException}: some may still hear what was told before.
     */
    public void setData(String data) {
        if (!hold.isSession()) {
            throw new BadArgumentException("a lease tells no data", -1);
        }
        Request request = Request.of(Request.Verb.DATA, hold, 0);
        request.data = Words.data(data);
        join(session.ask(request));
    }

    /**
     * Makes a writer's lock a reader's, and no other writer gets in between: readers that wait are let in. {@link #fence}
     * stays, {@link #token} is new. It is for a session lock of one name without slots. A reader's lock stays as it is.
     *
     * <p>After {@link LimitException}, {@link BadArgumentException}, {@link ModeException} and
     * {@link UnsupportedException} it is a writer's lock as before. After {@link NoQuorumException},
     * {@link NoAnswerException} and {@link UnreachableException} it is a reader's, for which other readers may still have to
     * wait: too few masters know it yet, or the outcome is open. The library goes on asking, so that the lock never is a
     * writer's unawares; call this again to hear when it is done. {@link #isShared} says what it is.
     *
     * @throws LostException it was lost before
     */
    public void downgrade() {
        if (!hold.isSession() || hold.slot >= 0 || hold.name.indexOf(',') >= 0) {
            throw new BadArgumentException("only a session lock of one name without slots is downgraded", -1);
        }
        Request request = session.downgrade(hold);
        if (request != null) {
            join(request);
        }
    }

    /**
     * Gives the lock back. A second call does nothing, and so does a call after a {@link LostException} of this lock.
     *
     * @throws LostException the lock was lost before: another may have had it meanwhile
     * @throws NoQuorumException the outcome is open; the lock is free when its TTL is over, at the latest. The same holds
     *         for {@link NoAnswerException} and {@link UnreachableException}
     */
    public void unlock() {
        unlock(0);
    }

    /**
     * Gives the lock back, and the name stays taken for so long from now on: nobody holds it, and nobody can lock it. So of
     * ten hosts that run a job at each full hour, the first does it. It is for the exclusive lock of one name. After an
     * exception the name is not surely kept; the lock is given back all the same. It throws what {@link #unlock} throws,
     * and {@link BadArgumentException} for a list, a place, a reader, or more than redlockd's max_keep;
     * {@link LimitException}: redlockd keeps too many names.
     */
    public void unlockKeeping(Duration keep) {
        unlock(Words.ms("to keep a name", keep));
    }

    /** {@link #unlock} without a thread that waits. */
    public CompletableFuture<Void> unlockAsync() {
        Request request = session.unlock(hold, session.config.timeoutMs(), 0);
        return request == null ? CompletableFuture.runAsync(this::unlock, session.config.executor()) : twin(request);
    }

    /** {@link #extend(Duration)} without a thread that waits. */
    public CompletableFuture<Void> extendAsync(Duration ttl) {
        return twin(session.ask(extension(ttl)));
    }

    private CompletableFuture<Void> twin(Request request) {
        CompletableFuture<Void> future = new CompletableFuture<>();
        request.then(session.config.executor(), () -> {
            try {
                join(request);
                future.complete(null);
            } catch (RedlockException e) {
                future.completeExceptionally(e);
            }
        });
        return future;
    }

    private void unlock(long keepMs) {
        boolean interrupted = Thread.currentThread().isInterrupted();
        Request request = session.unlock(hold, interrupted ? Session.OWN_DEADLINE_MS : session.config.timeoutMs(), keepMs);
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

    /** The same as {@link #unlock}. */
    @Override
    public void close() {
        unlock();
    }

    /**
     * The listener is called, in the client's executor, as soon as the lock is lost, or at once if it was lost before. It
     * is not called when the client is closed.
     */
    public LockHandle onLost(Consumer<LostException> listener) {
        session.within(() -> hold.addOnLost(listener));
        return this;
    }

    /** The listener is called when less than a third of the lock's time is left. The lock may still be renewed. */
    public LockHandle onExpiring(Runnable listener) {
        session.within(() -> hold.addOnExpiring(listener));
        return this;
    }

    /** Whether those options ask for such a lock: of a reader, a place, or of neither. */
    boolean isOfMode(LockOptions options) {
        return hold.downgrade.reader == options.shared && hold.options.slots == options.slots;
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
