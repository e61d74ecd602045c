import java.io.IOException;
import java.time.Duration;
import java.util.List;
import redlockd.*;

/**
 * A message queue's consumer that handles each message once.
 *
 * <pre>
 * redis-cli XADD bills '*' customer ann amount 12       (as often as you like)
 * consumer localhost:6379 bills c1                      and c2, c3 in other terminals
 * redis-cli HGETALL bills:balances
 * </pre>
 *
 * A queue delivers at least once: a Redis stream lets another consumer claim a message that was not acknowledged for a
 * while, since nothing tells a dead consumer from a slow consumer. So there are two things:
 *
 * <ul>
 * <li>The lock, named after the message, keeps two consumers from working on it at a time. A consumer that finds the
 * message locked leaves it alone; if the other consumer dies, the message comes again.
 * <li>The mark, set in one step with the effect: a message has no effect twice, even if a consumer was paused beyond its
 * lock in the middle of its work.
 * </ul>
 */
final class Consumer {
    /** A mark lives for a day: a consumer that stands still for longer just before this step would count twice. */
    private static final String SETTLE = "local first = redis.call('SET', KEYS[3], ARGV[2], 'NX', 'EX', 86400) "
            + "if first then redis.call('HINCRBY', KEYS[2], ARGV[3], ARGV[4]) end "
            + "redis.call('XACK', KEYS[1], 'billing', ARGV[1]) return first and 1 or 0";
    private static final int STEPS = 5;
    private static final int STEP_MS = 10;
    private static final int PAUSE_MS = 100;
    private static final int LAST_MS = 10_000;

    private static volatile boolean ending;
    private static volatile boolean ended;

    private final RedlockClient client;
    private final Resource redis;
    private final String stream;
    private final String name;
    private final long idleMs;
    private final LockOptions options;

    private Consumer(RedlockClient client, Resource redis, List<String> args) {
        this.client = client;
        this.redis = redis;
        stream = args.get(1);
        name = args.get(2);
        idleMs = args.size() > 3 ? Long.parseLong(args.get(3)) : 2000;
        Duration ttl = Duration.ofMillis(args.size() > 4 ? Long.parseLong(args.get(4)) : 10_000);
        // A consumer that stands still keeps its message for no longer than this maximum and one TTL.
        options = LockOptions.defaults().ttl(ttl).max(ttl.multipliedBy(3)).waiting(Duration.ZERO);
    }

    public static void main(String[] args) throws InterruptedException {
        boolean leaves = args.length > 0 && args[0].equals("-x");
        List<String> rest = List.of(args).subList(leaves ? 1 : 0, args.length);
        if (rest.size() < 3 || rest.size() > 5) {
            System.err.println("usage: consumer [-x] REDIS STREAM NAME [IDLE_MS [TTL_MS]]; -x: until all is handled");
            System.exit(2);
        }
        endBySignal(Thread.currentThread());
        try (RedlockClient client = RedlockClient.create()) {
            new Consumer(client, new Resource(rest.get(0)), rest).consume(leaves);
        }
        ended = true;
    }

    /** SIGTERM is no failure: the exit status is 0. */
    private static void endBySignal(Thread main) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            ending = true;
            try {
                main.join(LAST_MS);
            } catch (InterruptedException e) {
                return;
            }
            if (ended) {
                Runtime.getRuntime().halt(0);
            }
        }));
    }

    private void consume(boolean leaves) throws InterruptedException {
        try {
            redis.tell("XGROUP", "CREATE", stream, "billing", 0, "MKSTREAM");
        } catch (IOException e) {
            // The group is there already.
        }
        while (!ending) {
            if (handleNext()) {
                continue;
            }
            if (leaves && ((List<?>) redis.ask("XPENDING", stream, "billing")).get(0).equals(0L)) {
                return;
            }
            Thread.sleep(PAUSE_MS);
        }
    }

    /** Handles a message that a consumer has had for too long, or else a new message. False: there is none. */
    private boolean handleNext() throws InterruptedException {
        List<?> claimed = (List<?>) redis.ask("XAUTOCLAIM", stream, "billing", name, idleMs, 0, "COUNT", 1);
        List<?> messages = (List<?>) claimed.get(1);
        if (messages.isEmpty()) {
            List<?> read = (List<?>) redis.ask("XREADGROUP", "GROUP", "billing", name, "COUNT", 1, "STREAMS", stream, ">");
            messages = read == null ? List.of() : (List<?>) ((List<?>) read.get(0)).get(1);
        }
        if (!messages.isEmpty() && messages.get(0) instanceof List<?> message) {
            handle((String) message.get(0), (List<?>) message.get(1));
        }
        return !messages.isEmpty();
    }

    private void handle(String id, List<?> fields) throws InterruptedException {
        try (LockHandle lock = client.acquire(stream + "/" + id, options)) {
            handleLocked(lock, id, fields);
        } catch (BusyException e) {
            // Another consumer works on it.
        } catch (LostException e) {
            System.out.println(name + ": lost " + id);
        } catch (RedlockException e) {
            System.err.println(name + ": no lock: " + e.getMessage()); // the message stays in the queue
            Thread.sleep(PAUSE_MS);
        }
    }

    private void handleLocked(LockHandle lock, String id, List<?> fields) throws InterruptedException {
        String mark = stream + ":done:" + id;
        if (redis.number("EXISTS", mark) == 0) {
            System.out.println(name + ": works on " + id);
            for (int step = 0; step < STEPS; step++) { // one step is one page of a bill; redlockd renews the lock meanwhile
                lock.ensureHeld();
                Thread.sleep(STEP_MS);
            }
        }
        long first = redis.number("EVAL", SETTLE, 3, stream, stream + ":balances", mark, id, name + "-" + lock.fence(),
                fields.get(1), fields.get(3));
        System.out.println(name + ": " + (first == 1 ? "handled" : "was handled before:") + " " + id);
    }
}
