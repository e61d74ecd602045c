import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import redlockd.*;

/**
 * Stock that must not be oversold: 200 workers, which are threads here, want one item each, and there are 50.
 *
 * <pre>
 * redis-cli HSET stock:lamp left 50        (your own Redis, none of redlockd's masters)
 * stock localhost:6379 lamp 200            "50 sold, 150 came too late"
 * </pre>
 *
 * Each worker reads how many items are left, decides, and writes how many are left then. The lock lets one worker of all
 * hosts at a time do so. The fence keeps the number right if a worker stands still after it has read, for longer than it
 * may hold the lock, and then tries to write an old number. Try it: {@code stock -a localhost:6379 lamp 1} asks before it
 * buys; press ^Z, run {@code stock localhost:6379 lamp 200}, and then fg and Enter.
 *
 * <p>The workers show the fence for reading too. If they showed it for writing only, a late worker could still write after
 * the next worker has read and before the next worker has written.
 */
final class Stock {
    enum Outcome { SOLD, TOO_LATE, REFUSED, FAILED }

    /** A fenced resource keeps the highest fence that it was shown, and refuses a lower fence. */
    private static final String FENCED = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) "
            + "then return -1 end redis.call('HSET', KEYS[1], 'fence', ARGV[1]) ";
    private static final String READ = FENCED + "return tonumber(redis.call('HGET', KEYS[1], 'left') or 0)";
    private static final String WRITE = FENCED + "redis.call('HSET', KEYS[1], 'left', ARGV[2]) "
            + "return redis.call('RPUSH', KEYS[2], ARGV[3])";

    /** A worker that stands still holds up the others for no longer than the maximum and one TTL. */
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(2))
            .max(Duration.ofSeconds(4)).waiting(Duration.ofMinutes(1));

    private final RedlockClient client;
    private final Resource redis;
    private final String item;
    private final boolean asks;

    private Stock(RedlockClient client, Resource redis, String item, boolean asks) {
        this.client = client;
        this.redis = redis;
        this.item = item;
        this.asks = asks;
    }

    public static void main(String[] args) throws InterruptedException {
        boolean asks = args.length == 4 && args[0].equals("-a");
        if (args.length != (asks ? 4 : 3)) {
            System.err.println("usage: stock [-a] REDIS ITEM WORKERS");
            System.exit(2);
        }
        int first = asks ? 1 : 0;
        AtomicInteger[] counts = {new AtomicInteger(), new AtomicInteger(), new AtomicInteger(), new AtomicInteger()};
        try (RedlockClient client = RedlockClient.create()) {
            Stock stock = new Stock(client, new Resource(args[first]), args[first + 1], asks);
            List<Thread> workers = new ArrayList<>();
            for (int i = 1; i <= Integer.parseInt(args[first + 2]); i++) {
                int number = i;
                workers.add(new Thread(() -> counts[stock.work(number).ordinal()].incrementAndGet()));
            }
            workers.forEach(Thread::start);
            for (Thread worker : workers) {
                worker.join();
            }
        }
        System.out.println(counts[0] + " sold, " + counts[1] + " came too late");
        System.exit(counts[3].get() > 0 ? 1 : 0);
    }

    private Outcome work(int number) {
        Outcome outcome;
        while ((outcome = buy(number)) == Outcome.REFUSED) {
            System.out.println("worker " + number + ": refused, a later lock was here; again");
        }
        return outcome;
    }

    private Outcome buy(int number) {
        Outcome outcome = Outcome.FAILED;
        try (LockHandle lock = client.acquire("stock:" + item, OPTIONS)) {
            outcome = buyLocked(number, lock.fence()); // the fence is read once, since both steps belong to the same hold
        } catch (LostException e) {
            return outcome; // whether the lock was still held in the end does not matter, since the fence has decided
        } catch (RedlockException | InterruptedException | IOException e) {
            System.err.println("worker " + number + ": " + e.getMessage());
        }
        return outcome;
    }

    private Outcome buyLocked(int number, long fence) throws IOException, InterruptedException {
        long left = redis.number("EVAL", READ, 1, "stock:" + item, fence);
        if (left <= 0) {
            return left == 0 ? Outcome.TOO_LATE : Outcome.REFUSED;
        }
        if (asks) { // both branches stand for the steps between reading and writing
            System.out.println("worker " + number + ": " + left + " left; Enter buys");
            System.in.read();
        } else {
            Thread.sleep(1);
        }
        long orders = redis.number("EVAL", WRITE, 2, "stock:" + item, "orders:" + item, fence, left - 1,
                "worker-" + number);
        return orders < 0 ? Outcome.REFUSED : Outcome.SOLD;
    }
}
