package redlockd;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;

/**
 * A connection to redlockd, for a whole process: make one and share it. All methods may be called by any thread at any
 * time. It connects when it is first asked for something, and again when the connection breaks; the locks that it holds
 * are then resumed, with a new fence.
 *
 * <p>Its threads are daemon threads: they do not keep the program running. When the program ends, however it ends,
 * redlockd gives back the session locks that it held.
 */
public final class RedlockClient implements AutoCloseable {
    final ThreadHolds threadHolds = new ThreadHolds();

    private final Session session;
    private volatile long defaultTtlMs; // redlockd's own; 0: not asked for yet

    private RedlockClient(Config config) {
        session = new Session(config);
    }

    /**
     * A client with the settings of the environment. It connects to REDLOCK_ADDRESS. Without that, it connects to the Unix
     * socket /run/redlockd/redlockd.sock, or if this fails and no user or secret file is set, to 127.0.0.1:7335. The other
     * variables are REDLOCK_USER, REDLOCK_SECRET_FILE, REDLOCK_CA, REDLOCK_CERT and REDLOCK_KEY. This method does not
     * connect yet.
     *
     * @throws IllegalArgumentException REDLOCK_ADDRESS is no address
     */
    public static RedlockClient create() {
        return builder().build();
    }

    /** A builder. The settings that it is not given come from the environment, as in {@link #create}. */
    public static Builder builder() {
        return new Builder();
    }

    // ---- locks that a thread owns ----

    /**
     * A lock for code that knows {@link java.util.concurrent.locks.Lock}: re-entrant, owned by the thread that takes it.
     * Nothing is asked yet. Objects of one name and client are one lock.
     */
    public RedlockLock getLock(String name) {
        return getLock(name, LockOptions.defaults());
    }

    /** The same with options, except their wait: each method of Lock determines itself how long it waits. */
    public RedlockLock getLock(String name, LockOptions options) {
        return new RedlockLock(this, Words.name(name), options);
    }

    // ---- locks that no thread owns ----

    /** {@link #acquire(String, LockOptions)} with redlockd's defaults: it waits until the lock is had. */
    public LockHandle acquire(String name) throws InterruptedException {
        return acquire(name, LockOptions.defaults());
    }

    /**
     * Takes a lock, and waits for it: until it is had, or as long as the options say. When the connection breaks meanwhile, the wait goes on
     * over the next connection.
     *
     * @throws BusyException another has it, and the options say not to wait
     * @throws LockTimeoutException another has it, and the wait is over
     * @throws NoQuorumException too few masters answered
     * @throws UnreachableException there is no connection to redlockd
     * @throws InterruptedException the thread was interrupted; the wait was cancelled, and a late grant is given back
     * @throws IllegalArgumentException a name that redlockd does not allow; nothing was asked
     */
    public LockHandle acquire(String name, LockOptions options) throws InterruptedException {
        return take(new Hold(session, Words.name(name), options.checkedFor(name)));
    }

    /** Takes a lock if nobody has it. Empty: another has it. */
    public Optional<LockHandle> tryAcquire(String name) throws InterruptedException {
        return tryAcquire(name, LockOptions.defaults());
    }

    /** The same with options, which may set a wait. */
    public Optional<LockHandle> tryAcquire(String name, LockOptions options) throws InterruptedException {
        try {
            return Optional.of(acquire(name, options.trying()));
        } catch (BusyException | LockTimeoutException e) {
            return Optional.empty();
        }
    }

    /**
     * Several locks at once, all or none, as one lock with one token and one fence: at most 16 names, and 800 characters.
     * A redlockd without such locks answers {@link UnsupportedException}.
     */
    public LockHandle acquireAll(List<String> names, LockOptions options) throws InterruptedException {
        String all = Words.names(names);
        return take(new Hold(session, all, options.checkedFor(all)));
    }

    /**
     * Takes over a lock of which this program has the token, as a session lock; it does not wait. Token and fence become
     * new. Only the TTL, the maximum and the note of the options are used.
     *
     * @param name what {@link LockHandle#name} says: of several, with commas between them
     * @throws NotHeldException nobody has it under this token
     */
    public LockHandle resume(String name, String token, LockOptions options) {
        Hold hold = Hold.ofToken(session, Words.known(name), Words.token(token), options);
        Request request = session.ask(Request.Verb.RESUME, hold);
        request.join();
        request.check();
        return new LockHandle(session, hold);
    }

    /**
     * A lease by its token, to extend, check or unlock it here. redlockd is not asked yet, so {@link LockHandle#valid} is
     * zero until the lease was extended or checked.
     */
    public LockHandle attach(String name, String token) {
        return new LockHandle(session, Hold.attached(session, Words.known(name), Words.token(token)));
    }

    /**
     * Takes a lock as {@link #acquire} does, without a thread that waits. To cancel the future, or to complete it otherwise,
     * cancels the wait, and a grant that comes all the same is given back. What follows on it runs in the client's executor.
     */
    public CompletableFuture<LockHandle> acquireAsync(String name, LockOptions options) {
        Hold hold = new Hold(session, Words.name(name), options.checkedFor(name));
        CompletableFuture<LockHandle> future = new CompletableFuture<>();
        Request request = session.lock(hold);
        request.then(session.config.executor(), () -> {
            if (request.failure != null) {
                future.completeExceptionally(request.failure.exception());
            } else if (!future.complete(new LockHandle(session, hold))) {
                session.unlock(hold, Session.OWN_DEADLINE_MS, 0);
            }
        });
        future.whenComplete((lock, thrown) -> session.cancel(request));
        return future;
    }

    /** {@link #acquireAsync(String, LockOptions)} with redlockd's defaults. */
    public CompletableFuture<LockHandle> acquireAsync(String name) {
        return acquireAsync(name, LockOptions.defaults());
    }

    /** What is done while this program leads. It is called in a thread of the library. */
    @FunctionalInterface
    public interface LeaderWork {
        /** An interrupt asks this to end: from then on another may lead. */
        void lead(LockHandle lock) throws Exception;
    }

    /**
     * Has one of many programs do the work at a time. It waits until this program leads, which is to have the lock, and runs
     * the work, which is interrupted when this program leads no more: at the latest when the lock is lost, and before that,
     * when nobody could renew it for two thirds of its time, so that the work can end in time. When the work has ended
     * after that, this waits to lead again; so it does after failures of masters, redlockd and network. It returns when the
     * work has ended by itself.
     *
     * <p>With {@link LockOptions#data} the others hear who leads. The fence keeps a leader out that has not heard of its end.
     *
     * @throws ExecutionException the work has thrown that by itself
     * @throws InterruptedException this thread was interrupted; the work was, too, and has ended
     * @throws DeniedException asking again would not help, as after other exceptions of this library
     */
    public void lead(String name, LockOptions options, LeaderWork work) throws InterruptedException, ExecutionException {
        new Leading(this, name, options, work).run();
    }

    // ---- the rest ----

    /**
     * Who has a lock and who waits for it, through whichever redlockd; nothing is taken. A row for each holder, then rows
     * with the key "waiting"; section 11 of proto/protocol.txt has the other keys. No rows: nobody has it.
     */
    public List<Map<String, String>> who(String name) {
        return rows(Request.Verb.WHO, Words.name(name));
    }

    /** The rows of {@code SHOW}: "locks", "waiters", "clients", "nodes", "daemons", "group", "stats", "config", "reload",
     * "version". */
    public List<Map<String, String>> show(String what) {
        return rows(Request.Verb.SHOW, Words.note("what to show", what));
    }

    /**
     * Tells who has a name, without taking it, from now on until it is closed. When the connection breaks, the library
     * watches again by itself, and tells the state if it is another by then.
     *
     * @throws LimitException redlockd is watched by too many
     */
    public Watch watch(String name) throws InterruptedException {
        Watch watch = new Watch(session, Words.name(name));
        Request request = session.watch(watch);
        try {
            request.await();
            request.check();
        } catch (InterruptedException | RedlockException e) {
            watch.close();
            throw e;
        }
        return watch;
    }

    private List<Map<String, String>> rows(Request.Verb verb, String name) {
        Request request = session.ask(new Request(verb, null, name, 0));
        request.join();
        request.check();
        return request.rows;
    }

    /**
     * Gives back all session locks, ends all waits, and ends the connection. It waits for redlockd for two seconds at most.
     * Leases stay.
     * Later calls throw {@link ClosedException}.
     */
    @Override
    public void close() {
        session.close();
    }

    @Override
    public String toString() {
        return "RedlockClient" + session.config.places();
    }

    private LockHandle take(Hold hold) throws InterruptedException {
        Request request = session.lock(hold);
        try {
            request.await();
        } catch (InterruptedException e) {
            abandon(request, hold);
            throw e;
        }
        request.check();
        return new LockHandle(session, hold);
    }

    /** Cancels the wait, and waits for the answer, for a limited time. A grant that came all the same is given back. */
    private void abandon(Request request, Hold hold) {
        session.cancel(request);
        request.join();
        Request unlock = request.failure == null ? session.unlock(hold, Session.OWN_DEADLINE_MS, 0) : null;
        if (unlock != null) {
            unlock.join();
        }
    }

    /** For Lock.lock(), which an interrupt does not end. */
    LockHandle takeUninterruptibly(String name, LockOptions options) {
        Hold hold = new Hold(session, name, options.checkedFor(name));
        Request request = session.lock(hold);
        request.join();
        request.check();
        return new LockHandle(session, hold);
    }

    /** For a test: what requests and locks that are over have left behind; "nothing" as it has to be. */
    String leftovers() {
        return session.leftovers();
    }

    /** redlockd's default_ttl. */
    long defaultTtlMs() {
        if (defaultTtlMs == 0) {
            for (Map<String, String> row : show("CONFIG")) {
                defaultTtlMs = row.containsKey("default_ttl") ? Words.parseMs(row.get("default_ttl")) : defaultTtlMs;
            }
        }
        return defaultTtlMs;
    }

    /** The settings of a client. The environment has some of the settings that are left out here. */
    public static final class Builder {
        static final Executor EVENTS = events();

        String address;
        String clientWord = "";
        long timeoutMs = 10_000;
        Executor executor = EVENTS;
        String user;
        Path secretFile;
        Path ca;
        Path certificate;
        Path key;

        private Builder() {}

        private static ExecutorService events() {
            return Executors.newCachedThreadPool(work -> {
                Thread thread = new Thread(work, "redlockd-events");
                thread.setDaemon(true);
                return thread;
            });
        }

        /** "unix:/path", "host:port", "[::1]:port" or "tls://host:port". */
        public Builder address(String address) {
            this.address = address;
            return this;
        }

        /** A word that {@code SHOW CLIENTS} and {@code SHOW LOCKS} tell. */
        public Builder clientName(String word) {
            this.clientWord = Words.note("a client's name", word);
            return this;
        }

        /** For how long a request may go unanswered, in addition to the wait for a lock; 10 s if this is not called. */
        public Builder timeout(Duration timeout) {
            this.timeoutMs = Words.ms("a timeout", timeout);
            return this;
        }

        /** The user name of this program. The file holds the secret, in one line, and is read at each connection. */
        public Builder user(String user, Path secretFile) {
            this.user = Words.secret("a user", user);
            this.secretFile = secretFile;
            return this;
        }

        /** The authorities (PEM) that may vouch for redlockd over tls://; by default the authorities of the JVM. */
        public Builder authorities(Path file) {
            this.ca = file;
            return this;
        }

        /** This program's own certificate and its key (PEM, PKCS#8, not encrypted). */
        public Builder certificate(Path certificateFile, Path keyFile) {
            this.certificate = certificateFile;
            this.key = keyFile;
            return this;
        }

        /**
         * Runs the {@code onLost} and {@code onExpiring} listeners. By default daemon threads of this library do, and also
         * where this executor refuses a listener, since it was shut down.
         */
        public Builder executor(Executor executor) {
            Objects.requireNonNull(executor, "an executor");
            // Not in the thread that reads: the executor may run the listener at once, and the listener may block.
            this.executor = listener -> EVENTS.execute(() -> handOver(executor, listener));
            return this;
        }

        private static void handOver(Executor executor, Runnable listener) {
            try {
                executor.execute(listener);
            } catch (RejectedExecutionException e) {
                listener.run();
            }
        }

        /** @throws IllegalArgumentException the address has no valid form */
        public RedlockClient build() {
            return new RedlockClient(Config.of(this, System::getenv));
        }
    }
}
