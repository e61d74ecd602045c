package redlockd;

import static redlockd.Checks.equal;
import static redlockd.Checks.that;
import static redlockd.Checks.thrown;
import static redlockd.Checks.until;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/** Tests with real masters and a real daemon. */
final class WorldTest {
    private static final LockOptions WAITING = LockOptions.defaults().waiting(Duration.ofSeconds(30));

    private final World world;
    private final RedlockClient client;
    private final int cycles;

    private WorldTest(World world, RedlockClient client, int cycles) {
        this.world = world;
        this.client = client;
        this.cycles = cycles;
    }

    static void all(Checks checks, World world, int cycles) {
        try (RedlockClient client = world.client()) {
            WorldTest test = new WorldTest(world, client, cycles);
            checks.check("a handle: taken, extended, checked, given back", test::handle);
            checks.check("a lease by its token, and over TCP", test::lease);
            checks.check("java.util.concurrent's contract", test::contract);
            checks.check("a writer becomes a reader", test::downgraded);
            checks.check("what was entered twice is not downgraded", test::downgradedOnce);
            checks.check("only a session lock of one name is downgraded", test::downgradedAlone);
            checks.check("a lock for a limited time ends, and says so once", test::limited);
            checks.check("a listener that throws keeps nothing from going on", test::listenerThrows);
            checks.check("an executor that runs at once, and a refusing one", test::executors);
            checks.check("a program that is started inherits no connection", test::inherits);
            checks.check("a release hides no exception of the program", test::hidesNothing);
            checks.check("an interrupted thread can give back", test::interrupted);
            checks.check("an interrupted wait leaves no key", test::cancelled);
            checks.check("200 threads on one name lose no update", test::counter);
            checks.check("64 threads on names of their own go on until they are done", test::threads);
            checks.check(cycles + " cycles leave nothing behind", test::cycles);
            checks.check("a program that stood still notices before it writes", test::stopped);
            checks.check("kill -9 and restart of the daemon: the lock goes on", test::killed);
            checks.check("every kind of lock goes on after kill -9", test::kinds);
            checks.check("the daemon drains and is started again: the lock goes on", test::drained);
            checks.check("a closed client gives back at once", test::closed);
        }
    }

    private void noKeys() throws Exception {
        until("no key of a lock is left", () -> world.keys() == 0);
    }

    private void handle() throws Exception {
        try (LockHandle lock = client.acquire("handle", LockOptions.defaults().ttl(Duration.ofSeconds(5)).note("n"))) {
            that(lock.fence() > 0 && lock.isHeld() && lock.token().length() == 40, lock.toString());
            thrown(BusyException.class, () -> client.acquire("handle", LockOptions.defaults().waiting(Duration.ZERO)));
            that(client.tryAcquire("handle", LockOptions.defaults()).isEmpty(), "busy");
            thrown(LockTimeoutException.class,
                    () -> client.acquire("handle", LockOptions.defaults().waiting(Duration.ofMillis(20))));
            lock.extend(Duration.ofSeconds(9));
            lock.check();
            that(lock.valid().toMillis() > 5000, "9 s, less what has passed: " + lock);
            that(client.show("locks").get(0).get("name").equals("handle"), "SHOW LOCKS");
        }
        thrown(BadArgumentException.class, () -> client.acquire("a", LockOptions.defaults().ttl(Duration.ofMillis(1))));
        noKeys();
    }

    private void lease() throws Exception {
        LockHandle lease = client.acquire("lease", LockOptions.defaults().lease());
        try (RedlockClient other = RedlockClient.builder().address(world.tcp).clientName("other").build()) {
            LockHandle attached = other.attach("lease", lease.token());
            that(!attached.isHeld(), "nothing is known");
            attached.extend(Duration.ofSeconds(5));
            that(attached.isHeld(), attached.toString());
            LockHandle resumed = other.resume("lease", lease.token(), LockOptions.defaults());
            that(resumed.fence() > lease.fence(), "a new fence");
            resumed.unlock();
            resumed.unlock(); // does nothing
            equal(LockHandle.State.RELEASED, resumed.state());
            thrown(NotHeldException.class, () -> other.resume("lease", lease.token(), LockOptions.defaults()));
            thrown(RedlockException.class, lease::check);
        }
        noKeys();
    }

    private void contract() throws Exception {
        RedlockLock lock = client.getLock("contract");
        List<Throwable> wrong = new CopyOnWriteArrayList<>();
        thrown(IllegalMonitorStateException.class, lock::unlock);
        long fence = lock.lockAndGetFence();
        that(fence > 0 && lock.isHeldByCurrentThread() && lock.valid().toMillis() > 0, "held");
        that(lock.tryLock() && client.getLock("contract").tryLock(1, TimeUnit.SECONDS), "re-entrant");
        equal(3, lock.getHoldCount());
        Thread other = new Thread(() -> {
            try {
                that(!lock.tryLock() && !lock.isHeldByCurrentThread(), "another thread has it");
                that(!lock.tryLock(20, TimeUnit.MILLISECONDS), "still");
                thrown(IllegalMonitorStateException.class, lock::unlock);
            } catch (Throwable e) {
                wrong.add(e);
            }
        });
        other.start();
        other.join();
        equal(List.of(), wrong);
        lock.unlock();
        lock.unlock();
        equal(1, lock.getHoldCount());
        lock.unlock();
        equal(0, lock.getHoldCount());
        thrown(IllegalMonitorStateException.class, lock::unlock);
        thrown(UnsupportedOperationException.class, lock::newCondition);
        that(lock.tryLock(Long.MAX_VALUE, TimeUnit.DAYS), "for ever is a time to wait");
        lock.unlock();
        Thread.currentThread().interrupt();
        thrown(InterruptedException.class, lock::lockInterruptibly);
        RedlockLock reader = client.getLock("contract", LockOptions.defaults().shared());
        reader.lock();
        that(reader.tryLock(), "a reader enters again");
        thrown(ModeException.class, lock::tryLock);
        thrown(ModeException.class, lock::lock);
        equal(2, reader.getHoldCount());
        reader.unlock();
        reader.unlock();
        noKeys();
    }

    private void downgraded() throws Exception {
        try (RedlockClient other = world.client()) {
            LockHandle lock = client.acquire("down");
            long fence = lock.fence();
            String token = lock.token();
            AtomicReference<LockHandle> reader = new AtomicReference<>();
            Thread thread = Session.thread("reader", () -> {
                try {
                    reader.set(other.acquire("down", WAITING.shared()));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            lock.downgrade();
            thread.join();
            equal(fence, lock.fence());
            that(!lock.token().equals(token) && lock.isHeld(), "another token: " + lock);
            lock.downgrade(); // changes nothing, so that one unlock is enough
            for (LockHandle held : List.of(reader.get(), lock)) {
                that(other.tryAcquire("down").isEmpty(), "busy");
                held.unlock();
            }
            other.acquire("down", WAITING).unlock();
            thrown(NotHeldException.class, lock::downgrade);
        }
        noKeys();
    }

    private void downgradedOnce() throws Exception {
        try (RedlockClient other = world.client()) {
            RedlockLock lock = client.getLock("down-twice");
            thrown(IllegalMonitorStateException.class, lock::downgrade);
            lock.lock();
            lock.lock();
            thrown(ModeException.class, lock::downgrade);
            that(other.tryAcquire("down-twice", LockOptions.defaults().shared()).isEmpty(), "busy");
            lock.unlock();
            lock.downgrade();
            other.acquire("down-twice", WAITING.shared()).unlock();
            thrown(ModeException.class, lock::lock); // a reader does not enter as a writer
            RedlockLock reader = client.getLock("down-twice", LockOptions.defaults().shared());
            reader.lock();
            reader.unlock();
            lock.unlock();
            lock.lock(); // taken anew, it is a writer's
            that(other.tryAcquire("down-twice", LockOptions.defaults().shared()).isEmpty(), "busy");
            lock.unlock();
        }
        noKeys();
    }

    private void downgradedAlone() throws Exception {
        LockOptions options = LockOptions.defaults();
        for (LockHandle lock : List.of(client.acquire("down-lease", options.lease()),
                client.acquire("down-slot", options.slots(2)), client.acquireAll(List.of("a", "b"), options))) {
            thrown(BadArgumentException.class, lock::downgrade);
            lock.check();
            lock.unlock();
        }
        noKeys();
    }

    private void limited() throws Exception {
        RedlockLock lock = client.getLock("limited");
        AtomicReference<LostException> lost = new AtomicReference<>();
        lock.onLost(lost::set);
        that(lock.tryLock(0, 600, TimeUnit.MILLISECONDS) && lock.tryLock(), "taken twice");
        until("its lease is over", () -> !lock.isHeldByCurrentThread() && lost.get() != null);
        that(List.of("max", "expired").contains(lost.get().reason()), lost.get().reason());
        thrown(LostException.class, lock::unlock);
        lock.unlock(); // the loss was thrown before, so this throws nothing
        thrown(IllegalMonitorStateException.class, lock::unlock);
        noKeys();
    }

    private void listenerThrows() throws Exception {
        List<Throwable> uncaught = new CopyOnWriteArrayList<>();
        Thread.setDefaultUncaughtExceptionHandler((thread, e) -> uncaught.add(e));
        AtomicReference<LostException> second = new AtomicReference<>();
        LockHandle lock = client.acquire("throws", WAITING);
        lock.onLost(loss -> {
            throw new IllegalStateException("the listener's own");
        });
        lock.onLost(second::set);
        lose(lock);
        until("both listeners were called", () -> second.get() != null && uncaught.size() == 1);
        Thread.setDefaultUncaughtExceptionHandler(null);
        thrown(LostException.class, lock::unlock);
        client.acquire("throws", WAITING).unlock();
        noKeys();
    }

    /** A listener may block and ask redlockd, whatever executor the program has chosen. */
    private void executors() throws Exception {
        ExecutorService over = Executors.newSingleThreadExecutor();
        over.shutdown();
        for (Executor executor : List.<Executor>of(Runnable::run, over)) {
            try (RedlockClient other = RedlockClient.builder().address(world.unix).executor(executor).build()) {
                AtomicReference<LockHandle> next = new AtomicReference<>();
                LockHandle lock = other.acquire("executors", WAITING);
                lock.onLost(loss -> {
                    thrown(LostException.class, lock::unlock);
                    next.set(thrownNothing(() -> other.acquire("executors", WAITING)));
                });
                lose(lock);
                until("the listener has taken the lock again", () -> next.get() != null);
                next.get().unlock();
            }
        }
        noKeys();
    }

    private static <T> T thrownNothing(Callable<T> work) {
        try {
            return work.call();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
    }

    private void inherits() throws Exception {
        long before = sockets();
        try (RedlockClient other = world.client(); LockHandle lock = other.acquire("inherits", WAITING)) {
            equal(before, sockets());
            that(lock.isHeld(), "held");
        }
    }

    private static long sockets() throws Exception {
        Process ls = new ProcessBuilder("ls", "-l", "/proc/self/fd").start();
        return new String(ls.getInputStream().readAllBytes()).lines().filter(line -> line.contains("socket:")).count();
    }

    private void hidesNothing() throws Exception {
        IllegalStateException own = thrown(IllegalStateException.class, () -> {
            try (LockHandle lock = client.acquire("hides", WAITING)) {
                lose(lock);
                throw new IllegalStateException("the program's own");
            }
        });
        equal(1, own.getSuppressed().length);
        that(own.getSuppressed()[0] instanceof LostException, own.getSuppressed()[0].toString());
        LostException once = thrown(LostException.class, () -> {
            try (LockHandle lock = client.acquire("hides", WAITING)) {
                lose(lock);
                lock.ensureHeld();
            }
        });
        equal("released", once.reason());
        equal(0, once.getSuppressed().length);
        LockHandle lease = client.acquire("hides", WAITING.lease());
        try (RedlockClient other = world.client()) {
            other.attach(lease.name(), lease.token()).unlock();
        }
        equal("gone", thrown(LostException.class, lease::unlock).reason());
        noKeys();
    }

    private void lose(LockHandle lock) throws Exception {
        try (RedlockClient other = world.client()) {
            other.attach(lock.name(), lock.token()).unlock();
        }
        until("it is lost", () -> !lock.isHeld());
    }

    private void interrupted() throws Exception {
        LockHandle lock = client.acquire("interrupted", WAITING);
        Thread.currentThread().interrupt();
        lock.unlock();
        that(Thread.interrupted(), "the interrupt is still there");
        client.acquire("interrupted", WAITING).unlock(); // the connection still works
        noKeys();
    }

    private void cancelled() throws Exception {
        LockHandle holder = client.acquire("cancelled", WAITING);
        List<Thread> waiters = new ArrayList<>();
        List<Throwable> ends = new CopyOnWriteArrayList<>();
        for (int i = 0; i < 10; i++) {
            Thread waiter = new Thread(() -> {
                try {
                    client.getLock("cancelled").lockInterruptibly();
                    ends.add(new AssertionError("it was taken"));
                } catch (InterruptedException e) {
                    ends.add(e);
                }
            });
            waiters.add(waiter);
            waiter.start();
        }
        until("all wait", () -> client.show("waiters").size() == 10);
        waiters.forEach(Thread::interrupt);
        for (Thread waiter : waiters) {
            waiter.join();
        }
        that(ends.size() == 10 && ends.stream().allMatch(InterruptedException.class::isInstance), ends.toString());
        equal(0, client.show("waiters").size());
        holder.unlock();
        noKeys();
    }

    private void counter() throws Exception {
        RedlockLock lock = client.getLock("counter");
        int[] counter = new int[1];
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            Thread thread = new Thread(() -> {
                lock.lock();
                try {
                    int seen = counter[0];
                    Thread.yield();
                    counter[0] = seen + 1;
                } finally {
                    lock.unlock();
                }
            });
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        equal(200, counter[0]);
        noKeys();
    }

    /** They read, write and wake for each other: what one of them throws, none of them may have caused. */
    private void threads() throws Exception {
        AtomicInteger done = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 64; i++) {
            RedlockLock lock = client.getLock("own" + i);
            Thread thread = new Thread(() -> {
                for (int k = 0; k < cycles / 4; k++) {
                    lock.lock();
                    lock.unlock();
                }
                done.incrementAndGet();
            });
            thread.setDaemon(true);
            threads.add(thread);
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join(20_000);
        }
        equal(64, done.get());
        noKeys();
    }

    private void cycles() throws Exception {
        int threads = Thread.activeCount();
        for (int i = 0; i < cycles; i++) {
            client.acquire("cycle" + i % 10).unlock();
        }
        equal("nothing", client.leftovers());
        that(Thread.activeCount() <= threads, "threads were started: " + Thread.activeCount());
        noKeys();
    }

    /** A program that takes a lock, waits for a line, and prints whether it still holds the lock then. */
    static final class Holder {
        public static void main(String[] args) throws Exception {
            try (RedlockClient client = RedlockClient.create();
                    LockHandle lock = client.acquire("stopped", LockOptions.defaults().ttl(Duration.ofMillis(1000)))) {
                System.out.println("held " + lock.fence());
                System.in.read();
                lock.ensureHeld();
                System.out.println("writes");
            } catch (LostException e) {
                System.out.println("lost");
            }
        }
    }

    private void stopped() throws Exception {
        ProcessBuilder builder = new ProcessBuilder("java", "-XX:TieredStopAtLevel=1", "-cp",
                System.getProperty("java.class.path"), "redlockd.WorldTest$Holder");
        builder.environment().put("REDLOCK_ADDRESS", world.unix);
        Process holder = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        try {
            BufferedReader out = new BufferedReader(new InputStreamReader(holder.getInputStream()));
            long fence = Long.parseLong(out.readLine().split(" ")[1]);
            signal(holder, "STOP");
            world.say("kill"); // otherwise redlockd goes on renewing for a client that stands still
            world.say("restart");
            try (LockHandle next = client.acquire("stopped", WAITING)) {
                that(next.fence() > fence, "a higher fence");
                signal(holder, "CONT");
                new PrintStream(holder.getOutputStream(), true).println();
                equal("lost", out.readLine());
            }
        } finally {
            holder.destroyForcibly().waitFor();
        }
        noKeys();
    }

    private static void signal(Process process, String name) throws Exception {
        // By the shell, which has a kill of its own: a bare Debian lacks the program.
        equal(0, new ProcessBuilder("sh", "-c", "kill -" + name + " " + process.pid()).start().waitFor());
    }

    private void killed() throws Exception {
        goesOn("killed", "kill");
    }

    private void kinds() throws Exception {
        LockOptions options = LockOptions.defaults().ttl(Duration.ofSeconds(8)).waiting(Duration.ofSeconds(20));
        List<LockHandle> locks = List.of(client.acquire("reader", options.shared()),
                client.acquire("place", options.slots(2)), client.acquireAll(List.of("one", "two"), options),
                client.acquire("writer", options));
        locks.get(3).downgrade();
        int slot = locks.get(1).slot().getAsInt();
        List<String> tokens = locks.stream().map(LockHandle::token).toList();
        world.say("kill");
        world.say("restart");
        for (int i = 0; i < locks.size(); i++) {
            LockHandle lock = locks.get(i);
            String token = tokens.get(i);
            until(lock.name() + " is resumed", () -> !lock.token().equals(token));
            lock.check();
        }
        that(locks.get(0).slot().isEmpty(), "a reader has no number");
        equal(slot, locks.get(1).slot().getAsInt());
        that(locks.get(0).slot().isEmpty(), "a reader has no number");
        that(client.tryAcquire("reader").isEmpty(), "busy");
        that(client.tryAcquire("two").isEmpty(), "busy");
        that(client.tryAcquire("writer").isEmpty(), "busy");
        client.acquire("writer", options.shared()).unlock();
        locks.forEach(LockHandle::unlock);
        noKeys();
    }

    private void drained() throws Exception {
        goesOn("drained", "term");
    }

    private void goesOn(String name, String end) throws Exception {
        List<LostException> lost = new CopyOnWriteArrayList<>();
        List<String> log = new CopyOnWriteArrayList<>();
        Handler handler = new Handler() {
            @Override
            public void publish(LogRecord line) {
                log.add(line.getMessage());
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        };
        Logger logger = Logger.getLogger("redlockd");
        logger.setLevel(java.util.logging.Level.ALL);
        handler.setLevel(java.util.logging.Level.ALL);
        logger.addHandler(handler);
        try (LockHandle lock = client.acquire(name, LockOptions.defaults().ttl(Duration.ofSeconds(8)).waiting(
                Duration.ofSeconds(20)))) {
            long fence = lock.fence();
            String token = lock.token();
            lock.onLost(lost::add);
            world.say(end);
            that(lock.isHeld(), "its time is not over");
            world.say("restart");
            until("it is resumed", () -> lock.fence() > fence);
            that(lock.isHeld() && !lock.token().equals(token), "resumed: " + lock);
            that(client.tryAcquire(name).isEmpty(), "busy");
        }
        until("the log has it", () -> log.stream().anyMatch(line -> line.contains(name + " was resumed"))
                && log.stream().anyMatch(line -> line.contains("the connection is gone")));
        logger.removeHandler(handler);
        logger.setLevel(null);
        equal(List.of(), lost);
        noKeys();
    }

    private void closed() throws Exception {
        RedlockClient other = world.client();
        LockHandle lock = other.acquire("closed", LockOptions.defaults().ttl(Duration.ofSeconds(10)));
        lock.onLost(loss -> that(false, "nobody is told at the end"));
        other.close();
        other.close();
        lock.unlock(); // throws nothing: close() has given the lock back
        equal(LockHandle.State.LOST, lock.state());
        thrown(ClosedException.class, () -> other.acquire("closed"));
        client.acquire("closed", WAITING).unlock();
        noKeys();
    }
}
