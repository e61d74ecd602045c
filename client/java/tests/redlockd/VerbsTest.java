package redlockd;

import static redlockd.Checks.equal;
import static redlockd.Checks.that;
import static redlockd.Checks.thrown;
import static redlockd.Checks.until;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;

/** Who has a lock, watching it, leading, names that are kept, and futures, with real masters and a real daemon. */
final class VerbsTest {
    private static final LockOptions DEFAULTS = LockOptions.defaults();

    private final World world;
    private final RedlockClient client;

    private VerbsTest(World world, RedlockClient client) {
        this.world = world;
        this.client = client;
    }

    static void all(Checks checks, World world) {
        try (RedlockClient client = world.client()) {
            VerbsTest test = new VerbsTest(world, client);
            checks.check("who has a lock, and what its holder tells", test::who);
            checks.check("a name is kept", test::kept);
            checks.check("a slow reader of a watch hears the last state", test::slowWatch);
            checks.check("a watch ends with its client, and with an interrupt", test::watchEnds);
            checks.check("the leader is killed, and another leads", test::killedLeader);
            checks.check("a leader ends in time, and leads again", test::leadsAgain);
            checks.check("what the work of a leader throws", test::leaderThrows);
            checks.check("an interrupt of the thread that leads", test::leaderInterrupted);
            checks.check("futures", test::futures);
            equal("nothing", client.leftovers());
        }
    }

    private void who() throws Exception {
        equal(List.of(), client.who("who"));
        try (LockHandle lock = client.acquire("who", DEFAULTS.data("10.0.0.5:8080"))) {
            equal("10.0.0.5:8080", client.who("who").get(0).get("data"));
            equal(Long.toString(lock.fence()), client.who("who").get(0).get("fence"));
            lock.setData("a=b");
            equal("a=b", client.who("who").get(0).get("data"));
            equal("a=b", client.show("locks").get(0).get("data"));
        }
        try (LockHandle lock = client.acquire("who")) {
            thrown(ModeException.class, () -> lock.setData("x"));
        }
        thrown(IllegalArgumentException.class, () -> DEFAULTS.data("two words"));
        thrown(IllegalArgumentException.class, () -> client.acquire("who", DEFAULTS.data("x").shared()));
        thrown(IllegalArgumentException.class, () -> client.acquireAll(List.of("a", "b"), DEFAULTS.data("x")));
    }

    private void kept() throws Exception {
        client.acquire("kept").unlockKeeping(Duration.ofSeconds(1));
        equal("kept", client.who("kept").get(0).get("mode"));
        that(client.tryAcquire("kept").isEmpty(), "nobody can have it");
        client.acquire("kept", DEFAULTS.atLeast(Duration.ofSeconds(1))).close(); // waits until that time is over
        equal("kept", client.who("kept").get(0).get("mode"));
        LockHandle lock = client.acquire("kept");
        thrown(BadArgumentException.class, () -> lock.unlockKeeping(Duration.ofDays(29))); // more than max_keep
        equal(LockHandle.State.RELEASED, lock.state());
        client.tryAcquire("kept").orElseThrow().unlock(); // given back all the same
        thrown(IllegalArgumentException.class, () -> client.acquire("kept", DEFAULTS.slots(2).atLeast(Duration.ofSeconds(1))));
    }

    private void slowWatch() throws Exception {
        try (Watch watch = client.watch("slow"); RedlockClient other = world.client()) {
            for (int i = 0; i < 20; i++) {
                LockHandle lock = other.acquire("slow", DEFAULTS.data("d" + i));
                until("it is told", () -> client.who("slow").size() == 1);
                if (i < 19) {
                    lock.unlock();
                }
            }
            NameState state = watch.next();
            while (!state.data().equals("d19")) {
                state = watch.next();
            }
            equal(NameState.State.HELD, state.state());
        }
    }

    private void watchEnds() throws Exception {
        RedlockClient other = world.client();
        Watch watch = other.watch("ends");
        equal(new NameState(NameState.State.FREE, false, 0, "", ""), watch.next());
        Thread.currentThread().interrupt();
        thrown(CancelledException.class, watch::hasNext);
        that(Thread.interrupted(), "the interrupt is still there");
        other.close();
        thrown(ClosedException.class, watch::hasNext);
        Watch closed = client.watch("ends");
        closed.close();
        that(!closed.hasNext() && !closed.hasNext(), "nothing more");
    }

    /** A program that leads when it can, and tells its name. */
    static final class Candidate {
        public static void main(String[] args) throws Exception {
            try (RedlockClient client = RedlockClient.create()) {
                client.lead("leader", DEFAULTS.ttl(Duration.ofSeconds(5)).data(args[0]), lock -> Thread.sleep(60_000));
            }
        }
    }

    private void killedLeader() throws Exception {
        Map<String, Process> programs = new HashMap<>();
        try (Watch watch = client.watch("leader")) {
            for (String name : List.of("host-1:80", "host-2:80")) {
                ProcessBuilder builder = new ProcessBuilder("java", "-XX:TieredStopAtLevel=1", "-cp",
                        System.getProperty("java.class.path"), "redlockd.VerbsTest$Candidate", name);
                builder.environment().put("REDLOCK_ADDRESS", world.unix);
                programs.put(name, builder.redirectError(ProcessBuilder.Redirect.INHERIT).start());
            }
            NameState first = leader(watch);
            programs.get(first.data()).destroyForcibly(); // SIGKILL
            NameState second = leader(watch);
            that(!second.data().equals(first.data()) && second.fence() > first.fence(), first + " " + second);
        } finally {
            for (Process program : programs.values()) {
                program.destroyForcibly().waitFor();
            }
        }
    }

    private static NameState leader(Watch watch) {
        NameState state = watch.next();
        while (state.data().isEmpty()) {
            state = watch.next();
        }
        return state;
    }

    private void leadsAgain() throws Exception {
        LinkedBlockingQueue<Long> fences = new LinkedBlockingQueue<>();
        LinkedBlockingQueue<Duration> valid = new LinkedBlockingQueue<>();
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        Thread leader = new Thread(() -> {
            try {
                client.lead("again", DEFAULTS.ttl(Duration.ofSeconds(3)), lock -> {
                    fences.add(lock.fence());
                    if (valid.isEmpty()) {
                        try {
                            Thread.sleep(60_000);
                        } catch (InterruptedException e) {
                            valid.add(lock.valid());
                        }
                    }
                });
            } catch (Exception e) {
                wrong.set(e);
            }
        });
        leader.start();
        long first = fences.take();
        world.say("pause"); // nobody renews
        Duration left = valid.poll(10, TimeUnit.SECONDS);
        world.say("continue");
        that(left != null && !left.isZero(), "the work is told when it is too late: " + left);
        valid.add(left); // the second term ends by itself
        that(fences.take() > first, "another term");
        leader.join();
        that(wrong.get() == null, "" + wrong.get());
    }

    private void leaderThrows() throws Exception {
        IllegalStateException own = new IllegalStateException("own");
        ExecutionException e = thrown(ExecutionException.class, () -> client.lead("throws", DEFAULTS, lock -> {
            throw own;
        }));
        that(e.getCause() == own, "the cause");
        thrown(BadArgumentException.class,
                () -> client.lead("throws", DEFAULTS.ttl(Duration.ofMillis(1)), lock -> { }));
    }

    private void leaderInterrupted() throws Exception {
        AtomicReference<Thread> work = new AtomicReference<>();
        AtomicReference<Throwable> end = new AtomicReference<>();
        Thread leader = new Thread(() -> {
            try {
                client.lead("interrupted-leader", DEFAULTS, lock -> {
                    work.set(Thread.currentThread());
                    Thread.sleep(60_000);
                });
            } catch (Exception e) {
                end.set(e);
            }
        });
        leader.start();
        until("it leads", () -> work.get() != null);
        leader.interrupt();
        leader.join();
        that(end.get() instanceof InterruptedException && !work.get().isAlive(), "" + end.get());
        client.tryAcquire("interrupted-leader").orElseThrow().unlock();
    }

    private void futures() throws Exception {
        LockHandle lock = client.acquireAsync("future").get(10, TimeUnit.SECONDS);
        lock.extendAsync(Duration.ofSeconds(5)).join();
        CompletableFuture<LockHandle> next = client.acquireAsync("future");
        CompletableFuture<LockHandle> cancelled = client.acquireAsync("future");
        until("both wait", () -> client.show("waiters").size() == 2);
        that(cancelled.cancel(true), "cancelled");
        thrown(CancellationException.class, cancelled::join);
        until("one waits", () -> client.show("waiters").size() == 1);
        lock.unlockAsync().thenCompose(nothing -> next).get(10, TimeUnit.SECONDS).unlockAsync().join();
        lock.unlockAsync().join(); // does nothing
        CompletionException late = thrown(CompletionException.class,
                () -> client.acquireAsync("future", DEFAULTS.ttl(Duration.ofMillis(1))).join());
        that(late.getCause() instanceof BadArgumentException, "" + late.getCause());
        CompletableFuture<LockHandle> completed = client.acquireAsync("future");
        if (!completed.complete(null)) { // else a grant that comes all the same is given back
            completed.join().unlock();
        }
        client.acquire("future", DEFAULTS.waiting(Duration.ofSeconds(10))).unlock();
    }
}
