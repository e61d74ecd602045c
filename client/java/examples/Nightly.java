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
 * "Once" is ensured by a lease for the job and this night, which nobody gives back: a host whose clock is late asks when
 * the first host has finished. The job is not run again if it failed or its host died, since it may have been half done.
 * A person has to look, and may then run: {@code NIGHT=2030-01-31-again nightly report make-report --all}
 *
 * <p>"Not two at a time" is ensured by the lock under which the job runs, since last night's job may still be running.
 * This lock is renewed for as long as the job takes, and when it is lost, the job is killed. (A job that is a command is
 * better off with client/examples/nightly.sh, since {@code redlock run} also kills the programs that the job has started.)
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
        // By default the night is the date, so the crontab must not start the job around midnight.
        String night = System.getenv().getOrDefault("NIGHT", LocalDate.now().toString());
        // The lease has to last longer than the clocks of the hosts are apart; redlockd's max_ttl has to allow it.
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
