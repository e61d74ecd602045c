package redlockd;

import java.util.concurrent.atomic.AtomicLong;

/**
 * Bench SECONDS [TASKS]: so many threads (64) use one connection for distinct names. Prints "cycles N": pairs of lock and
 * unlock in a second.
 */
final class Bench {
    private static final long WARM_UP_NS = 5_000_000_000L; // for the JVM to compile the code that runs often

    private Bench() {}

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 2;
        int tasks = args.length > 1 ? Integer.parseInt(args[1]) : 64;
        AtomicLong cycles = new AtomicLong();
        try (RedlockClient client = RedlockClient.create()) {
            for (int i = 0; i < tasks; i++) {
                String name = "bench-" + i;
                Session.thread(name, () -> work(client, name, cycles));
            }
            Thread.sleep(WARM_UP_NS / 1_000_000);
            long startNs = System.nanoTime();
            long before = cycles.get();
            Thread.sleep((long) (seconds * 1000));
            long done = cycles.get() - before;
            System.out.printf("cycles %.0f%n", done * 1e9 / (System.nanoTime() - startNs));
        }
    }

    private static void work(RedlockClient client, String name, AtomicLong cycles) {
        try {
            while (true) {
                client.acquire(name).unlock();
                cycles.incrementAndGet();
            }
        } catch (ClosedException | InterruptedException e) {
            // The time is over.
        }
    }
}
