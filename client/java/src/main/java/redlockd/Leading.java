package redlockd;

import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;

/** {@link RedlockClient#lead}: terms, one after the other, in each of which the work runs in a thread of its own. */
final class Leading {
    private static final int PAUSE_MS = 1000; // the most before the leader's lock is asked for again after a failure

    private final RedlockClient client;
    private final String name;
    private final LockOptions options;
    private final RedlockClient.LeaderWork work;

    Leading(RedlockClient client, String name, LockOptions options, RedlockClient.LeaderWork work) {
        this.client = client;
        this.name = name;
        this.options = options;
        this.work = work;
    }

    void run() throws InterruptedException, ExecutionException {
        for (boolean last = false; !last;) {
            LockHandle lock = taken();
            try {
                last = new Term(lock).run();
            } finally {
                giveBack(lock, last);
            }
        }
    }

    /** Waits through all failures that may pass. */
    private LockHandle taken() throws InterruptedException {
        while (true) {
            try {
                return client.acquire(name, options);
            } catch (BusyException | LockTimeoutException | NoQuorumException | NoAnswerException | UnreachableException
                    | LimitException | DrainingException | ProtocolException e) {
                Thread.sleep(PAUSE_MS / 2 + ThreadLocalRandom.current().nextInt(PAUSE_MS / 2));
            }
        }
    }

    /** What fails here is free when its TTL is over. */
    private void giveBack(LockHandle lock, boolean last) {
        try {
            lock.unlock();
        } catch (RedlockException e) {
            if (last && options.atLeastMs > 0) {
                throw e;
            }
        }
    }

    /** One hold of the lock. */
    private final class Term {
        private final LockHandle lock;
        private final Thread thread = new Thread(this::work, "redlockd-leader");
        private volatile boolean ended; // this program leads no more
        private volatile Throwable thrown;

        Term(LockHandle lock) {
            this.lock = lock;
        }

        /** True: the work has ended by itself. */
        boolean run() throws InterruptedException, ExecutionException {
            thread.start();
            lock.onLost(loss -> end());
            lock.onExpiring(this::end);
            try {
                thread.join();
            } catch (InterruptedException e) {
                joinAnyway();
                throw e;
            }
            if (!ended && thrown != null) {
                throw new ExecutionException(thrown);
            }
            return !ended;
        }

        /** Each interrupt of the thread that waits is handed on to the work. */
        private void joinAnyway() {
            while (thread.isAlive()) {
                thread.interrupt();
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    // Once more.
                }
            }
        }

        private void end() {
            ended = true;
            thread.interrupt();
        }

        private void work() {
            try {
                work.lead(lock);
            } catch (Throwable e) {
                thrown = e;
            }
        }
    }
}
