import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import redlockd.*;

/**
 * A writer that is paused beyond its lease and is refused by its fence.
 *
 * <pre>
 * writer localhost:6379 motd           asks for a text: press ^Z, and wait for ten seconds
 * writer localhost:6379 motd           in another terminal: type a text, Enter: "written"
 * fg, a text, Enter                    in the first: "refused"
 * </pre>
 *
 * The first writer held the lock, had looked whether it still did, and then stood still: swapping, a hypervisor that moves
 * its machine, a garbage collector. The writer cannot know that. But each holder's fence is higher than the fences of all
 * holders before, so a resource that keeps the highest fence refuses a late writer.
 *
 * <p>Exit status: 0 written, 1 not written (no lock, no text, or the Redis failed), 2 wrong usage, 3 refused.
 */
final class Writer {
    private static final String WRITE = "if tonumber(ARGV[1]) < tonumber(redis.call('HGET', KEYS[1], 'fence') or 0) "
            + "then return 0 end redis.call('HSET', KEYS[1], 'fence', ARGV[1], 'text', ARGV[2]) return 1";

    public static void main(String[] args) throws IOException, InterruptedException {
        boolean timed = args.length == 4 && args[0].equals("-t");
        if (args.length != (timed ? 4 : 2)) {
            System.err.println("usage: writer [-t TTL_MS] REDIS DOCUMENT");
            System.exit(2);
        }
        int first = timed ? 2 : 0;
        LockOptions options = LockOptions.defaults().lease().ttl(Duration.ofMillis(timed ? Long.parseLong(args[1]) : 10_000))
                .waiting(Duration.ofMinutes(1));
        boolean written = false;
        try (RedlockClient client = RedlockClient.create();
                LockHandle lock = client.acquire("doc:" + args[first + 1], options)) {
            written = write(lock, new Resource(args[first]), args[first + 1]);
        } catch (LostException e) {
            // The lock was found lost at its release. This does not matter, since the fence has decided.
        } catch (RedlockException e) {
            System.err.println("no lock: " + e.getMessage());
            System.exit(1);
        }
        System.out.println(written ? "written" : "refused: somebody has had the lock since");
        System.exit(written ? 0 : 3);
    }

    private static boolean write(LockHandle lock, Resource redis, String document) throws IOException {
        long fence = lock.fence();
        // The program may stand still while it reads the text, after it has looked at the clock.
        System.out.println("fence " + fence + ", held for " + lock.valid().toMillis() + " ms; the new text of "
                + document + "?");
        String text = new BufferedReader(new InputStreamReader(System.in)).readLine();
        return redis.number("EVAL", WRITE, 1, "doc:" + document, fence, text) == 1;
    }
}
