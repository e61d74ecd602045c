package redlockd;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.Consumer;

/**
 * A lock of redlockd as a {@link Lock}: owned by the thread that takes it, re-entrant for it, and given back when it was
 * unlocked as often as it was locked. The object may be shared by all threads.
 *
 * <p>All methods that take it may throw {@link NoQuorumException}, {@link UnreachableException} and the other kinds of
 * {@link RedlockException}. An exception of {@code unlock()} in a {@code finally} block replaces the program's own, as
 * Java does it: where that matters, use {@link RedlockClient#acquire} with try-with-resources.
 */
public final class RedlockLock implements Lock {
    private static final Duration FOREVER = Duration.ofMillis(Words.LONGEST_MS);

    private final RedlockClient client;
    private final String name;
    private final LockOptions options;
    private final List<Consumer<LostException>> onLost = new CopyOnWriteArrayList<>();

    RedlockLock(RedlockClient client, String name, LockOptions options) {
        this.client = client;
        this.name = name;
        this.options = options;
    }

    /** Waits until it is there, for 30 days at most. An interrupt does not end the wait. */
    @Override
    public void lock() {
        if (!enterAgain()) {
            entered(client.takeUninterruptibly(name, options.waiting(FOREVER)));
        }
    }

    /** {@link #lock}, and the fence of what was taken. */
    public long lockAndGetFence() {
        lock();
        return fence();
    }

    /** Waits until it is there, or the thread is interrupted: then redlockd is told, and nothing is held. */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (!enterAgain()) {
            entered(client.acquire(name, options.waiting(FOREVER)));
        }
    }

    /** False: another has it. */
    @Override
    public boolean tryLock() {
        if (enterAgain()) {
            return true;
        }
        try {
            entered(client.takeUninterruptibly(name, options.waiting(Duration.ZERO)));
            return true;
        } catch (BusyException e) {
            return false;
        }
    }

    /** False: another has it, and the wait is over. */
    @Override
    public boolean tryLock(long wait, TimeUnit unit) throws InterruptedException {
        return tryLock(Duration.of(wait, unit.toChronoUnit()), options);
    }

    /**
     * The same for a limited time: the lock ends after {@code lease}, whatever this thread does then. It is renewed until
     * then, unless this program ends before.
     *
     * @param wait for how long to wait; 0: not at all
     * @param lease for how long to hold it at most; more than 0, and not below redlockd's min_ttl
     */
    public boolean tryLock(long wait, long lease, TimeUnit unit) throws InterruptedException {
        Duration max = Duration.of(lease, unit.toChronoUnit());
        long maxMs = Words.ms("a lease", max);
        Duration ttl = Duration.ofMillis(Math.min(maxMs, options.ttlMs > 0 ? options.ttlMs : client.defaultTtlMs()));
        return tryLock(Duration.of(wait, unit.toChronoUnit()), options.max(max).ttl(ttl));
    }

    private boolean tryLock(Duration wait, LockOptions how) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (enterAgain()) {
            return true;
        }
        var handle = client.tryAcquire(name, how.waiting(wait));
        handle.ifPresent(this::entered);
        return handle.isPresent();
    }

    /**
     * Gives it back, if it was unlocked as often as it was locked.
     *
     * @throws IllegalMonitorStateException this thread does not have it
     * @throws LostException it was lost before; thrown once, at the first unlock
     * @throws NoQuorumException the outcome is open; it is free when its TTL is over
     */
    @Override
    public void unlock() {
        ThreadHolds.Entry entry = own();
        if (--entry.count == 0) {
            client.threadHolds.remove(name);
            entry.handle.unlock();
        } else if (entry.handle.state() == LockHandle.State.LOST) {
            entry.handle.unlock();
        }
    }

    /** Not supported. */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock of redlockd has no conditions");
    }

    /** Whether this thread has it, surely: false once its time is over. No I/O. */
    public boolean isHeldByCurrentThread() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        return entry != null && entry.handle.isHeld();
    }

    /** How often this thread has locked it and not unlocked it; 0 once it is lost. */
    public int getHoldCount() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        return entry != null && entry.handle.isHeld() ? entry.count : 0;
    }

    /**
     * The fence of this thread's hold, for the resource to compare; it is another one when the lock was resumed on a new
     * connection.
     *
     * @throws IllegalMonitorStateException this thread does not have it
     */
    public long fence() {
        return own().handle.fence();
    }

    /**
     * For how long this thread surely still has it; zero: not any more. No I/O.
     *
     * @throws IllegalMonitorStateException this thread does not have it
     */
    public Duration valid() {
        return own().handle.valid();
    }

    /**
     * For the line before each write.
     *
     * @throws LostException it is not surely held any more
     * @throws IllegalMonitorStateException this thread does not have it
     */
    public void ensureHeld() {
        own().handle.ensureHeld();
    }

    /** Is called, in the client's executor, when a lock that is taken through this object from now on is lost. */
    public void onLost(Consumer<LostException> listener) {
        onLost.add(listener);
    }

    /** The lock's name. */
    public String name() {
        return name;
    }

    private ThreadHolds.Entry own() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        if (entry == null) {
            throw new IllegalMonitorStateException("the lock " + name + " is not this thread's");
        }
        return entry;
    }

    /**
     * The count is kept here and not at redlockd, whose own begins anew when the lock is resumed on another connection.
     * To enter what is lost would be to work without a lock.
     */
    private boolean enterAgain() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        if (entry == null) {
            return false;
        }
        entry.handle.ensureHeld();
        entry.count++;
        return true;
    }

    private void entered(LockHandle handle) {
        client.threadHolds.put(name, handle);
        onLost.forEach(handle::onLost);
    }

    @Override
    public String toString() {
        return "RedlockLock[" + name + "]";
    }
}
