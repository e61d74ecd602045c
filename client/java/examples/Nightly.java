import java.io.IOException;
import java.time.Duration;
import java.time.LocalDate;
import java.util.List;
import redlockd.*;

/**
 * A nightly job on ten hosts that runs once. In the crontab of all ten:
 *
 * <pre>
 * 0 3 * * *  nightly report make-report --all
 * </pre>
 *
 * "Once" is a lease for the job and this night, which nobody gives back: the host whose clock is late asks when the first
 * one has finished. Nor is the job begun again when it failed or its host died: it may have been half done, and that is
 * for a person to see, and to say: {@code NIGHT=2030-01-31-again nightly report make-report --all}
 *
 * <p>"Not two at a time" is the lock under which it runs: last night's may still be at it. It is renewed for as long as
 * the job takes, and when it is lost, the job is killed. (For a job that is a command, client/examples/nightly.sh is the
 * better one: {@code redlock run} also kills what the job has started.)
 */
final class Nightly {
    public static void main(String[] args) throws IOException, InterruptedException {
        if (args.length < 2) {
            System.err.println("usage: nightly JOB COMMAND [ARGUMENT...]");
            System.exit(2);
        }
        int status;
        try (RedlockClient client = RedlockClient.create()) {
            status = run(client, args[0], List.of(args).subList(1, args.length));
        } catch (RedlockException e) {
            System.err.println("nightly: " + e.getMessage()); // too few masters, no redlockd: cron mails it
            status = 75;
        }
        System.exit(status);
    }

    private static int run(RedlockClient client, String job, List<String> command)
            throws IOException, InterruptedException {
        String night = System.getenv().getOrDefault("NIGHT", LocalDate.now().toString()); // so not around midnight
        // Longer than the clocks of the hosts are apart; at most redlockd's max_ttl.
        Duration keep = Duration.parse("PT" + System.getenv().getOrDefault("KEEP", "1m"));
        LockOptions once = LockOptions.defaults().lease().ttl(keep).waiting(Duration.ofSeconds(2));
        if (client.tryAcquire(job + "/" + night, once).isEmpty()) {
            return 0; // another host has it
        }
        try (LockHandle lock = client.acquire(job, LockOptions.defaults().waiting(Duration.ofHours(12)))) {
            Process process = new ProcessBuilder(command).inheritIO().start();
            lock.onLost(loss -> process.destroyForcibly());
            return process.waitFor();
        }
    }
}
