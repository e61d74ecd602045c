import java.io.IOException;
import java.time.Duration;
import redlockd.*;

/**
 * A cache entry that one process rebuilds while the others wait, instead of all processes rebuilding it when it runs out
 * (the stampede, or dog-pile).
 *
 * <pre>
 * cache localhost:6379 weather 60 'sleep 3; date'      in ten terminals at once: one date
 * </pre>
 *
 * The program prints the entry. If there is none, the program runs the command, prints its output, and keeps it for 60 s.
 * Processes that had to wait look again, and find the entry. If the process that builds dies, its lock is free at once and
 * the next process builds. The fence keeps a process that stood still from replacing a newer entry.
 *
 * <p>Such a lock only saves work, and the result is right without it: without redlockd every process builds for itself.
 */
final class Cache {
    private static final String STORE = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[2], ARGV[4]) or 0) "
            + "then return 0 end redis.call('HSET', KEYS[2], ARGV[4], ARGV[1]) "
            + "redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) return 1";
    private static final LockOptions OPTIONS = LockOptions.defaults().ttl(Duration.ofSeconds(30))
            .max(Duration.ofMinutes(1)).waiting(Duration.ofMinutes(2));

    private final Resource redis;
    private final String entry;
    private final String seconds;
    private final String command;

    private Cache(String[] args) {
        redis = new Resource(args[0]);
        entry = args[1];
        seconds = args[2];
        command = args[3];
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length != 4) {
            System.err.println("usage: cache REDIS ENTRY SECONDS COMMAND");
            System.exit(2);
        }
        String value = new Cache(args).get();
        System.out.print(value == null ? "" : value);
        System.out.flush();
        System.exit(value == null ? 1 : 0);
    }

    private String get() throws IOException, InterruptedException {
        String value = cached();
        if (value != null) {
            return value;
        }
        try (RedlockClient client = RedlockClient.create(); LockHandle lock = client.acquire("cache:" + entry, OPTIONS)) {
            value = cached(); // the entry may have been built while this process waited
            value = value == null ? build(lock.fence()) : value;
            return value;
        } catch (LostException e) {
            return value; // the value is good, even if the lock was lost in the end
        } catch (RedlockException e) {
            System.err.println("cache: without a lock: " + e.getMessage());
            return build(0);
        }
    }

    private String cached() {
        return (String) redis.ask("GET", "cache:" + entry);
    }

    /** Runs the slow command. With a fence, its value is stored unless a build that began later was stored first. */
    private String build(long fence) throws IOException, InterruptedException {
        Process process = new ProcessBuilder("sh", "-c", command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        String value = new String(process.getInputStream().readAllBytes());
        if (process.waitFor() != 0) {
            System.err.println("cache: the command failed");
            return null;
        }
        if (fence > 0 && redis.number("EVAL", STORE, 2, "cache:" + entry, "cache:,fences", fence, value, seconds,
                entry) == 0) {
            System.err.println("cache: not kept, somebody has built it later");
        }
        return value;
    }
}
