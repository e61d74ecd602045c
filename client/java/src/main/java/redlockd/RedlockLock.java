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
 * unlocked as often as it was locked. The object may be shared by all threads. A thread that has the lock in one mode
 * ({@link LockOptions#shared}, {@link LockOptions#slots}, or neither) gets {@link ModeException} in another.
 *
 * <p>All methods that take it may throw {@link NoQuorumException}, {@link UnreachableException} and the other kinds of
 * {@link RedlockException}. An exception of {@code unlock()} in a {@code finally} block replaces an exception of the
 * program, as any exception there does; if that matters, use {@link RedlockClient#acquire} with try-with-resources.
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

    /** Waits until this thread has the lock, for 30 days at most. An interrupt does not end the wait. */
    @Override
    public void lock() {
        if (!enterAgain()) {
            entered(client.takeUninterruptibly(name, options.waiting(FOREVER)));
        }
    }

    /** The same as {@link #lock}, and returns the fence. */
    public long lockAndGetFence() {
        lock();
        return fence();
    }

    /** Waits until this thread has the lock, for 30 days at most. An interrupt cancels the wait at redlockd too. */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        if (!enterAgain()) {
            entered(client.acquire(name, options.waiting(FOREVER)));
        }
    }

    /** Does not wait. False: another has the lock. */
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

    /** Waits for that long at most. False: another still has the lock. */
    @Override
    public boolean tryLock(long wait, TimeUnit unit) throws InterruptedException {
        return tryLock(span(wait, unit), options);
    }

    /**
     * The same for a limited time: the lock ends after {@code lease} at the latest, whatever this thread does then.
     * redlockd renews it until then, unless this program ends before. If this thread has the lock already, its time does
     * not change.
     *
     * @param wait for how long to wait; 0: not at all
     * @param lease for how long to hold it at most, and not below redlockd's min_ttl; -1: until it is unlocked
     */
    public boolean tryLock(long wait, long lease, TimeUnit unit) throws InterruptedException {
        if (lease == -1) {
            return tryLock(wait, unit);
        }
        Duration max = span(lease, unit);
        long maxMs = Words.ms("a lease", max);
        Duration ttl = Duration.ofMillis(Math.min(maxMs, options.ttlMs > 0 ? options.ttlMs : client.defaultTtlMs()));
        return tryLock(span(wait, unit), options.max(max).ttl(ttl));
    }

    /** Long.MAX_VALUE of any unit is "for ever", as elsewhere in java.util.concurrent. */
    private static Duration span(long time, TimeUnit unit) {
        return Duration.ofNanos(unit.toNanos(time));
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
     * Gives the lock back, once it was unlocked as often as it was locked.
     *
     * @throws IllegalMonitorStateException this thread does not have the lock
     * @throws LostException the lock was lost before; thrown at one unlock, and at none after another LostException
     * @throws NoQuorumException the outcome is open; the lock is free when its TTL is over, at the latest
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

    /**
     * Makes this thread's lock a reader's, see {@link LockHandle#downgrade}. From then on this thread enters it again only
     * as a reader.
     *
     * @throws ModeException this thread has locked it more than once; it stays as it is
     * @throws IllegalMonitorStateException this thread does not have the lock
     */
    public void downgrade() {
        ThreadHolds.Entry entry = own();
        if (entry.count > 1) {
            throw new ModeException("this thread has locked " + name + " " + entry.count + " times: unlock it first", -1);
        }
        entry.handle.downgrade();
    }

    /** Not supported. */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock of redlockd has no conditions");
    }

    /** Whether this thread surely has the lock: false once its time is over. redlockd is not asked. */
    public boolean isHeldByCurrentThread() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        return entry != null && entry.handle.isHeld();
    }

    /** How often this thread has locked the lock and not yet unlocked it; 0 once the lock is lost. */
    public int getHoldCount() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        return entry != null && entry.handle.isHeld() ? entry.count : 0;
    }

    /**
     * The fence of this thread's hold, for the resource to compare. It is new when the lock was resumed on a new
     * connection.
     *
     * @throws IllegalMonitorStateException this thread does not have it
     */
    public long fence() {
        return own().handle.fence();
    }

    /**
     * For how long this thread surely still has the lock; zero: not any more. redlockd is not asked.
     *
     * @throws IllegalMonitorStateException this thread does not have it
     */
    public Duration valid() {
        return own().handle.valid();
    }

    /**
     * Call this before each write.
     *
     * @throws LostException the lock is not surely held any more
     * @throws IllegalMonitorStateException this thread does not have it
     */
    public void ensureHeld() {
        own().handle.ensureHeld();
    }

    /** The listener is called, in the client's executor, when a lock taken through this object from now on is lost. */
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
     * The count is kept here and not at redlockd, whose own count begins anew when the lock is resumed on another
     * connection. A lock that is lost is not entered again: LostException is thrown. Nor does a reader enter as a writer.
     */
    private boolean enterAgain() {
        ThreadHolds.Entry entry = client.threadHolds.get(name);
        if (entry == null) {
            return false;
        }
        entry.handle.ensureHeld();
        if (!entry.handle.isOfMode(options)) {
            throw new ModeException("this thread has the lock " + name + " in another mode: unlock it first", -1);
        }
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
