package redlockd;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;

/**
 * A request to redlockd. The session's mutex guards it; any thread may wait for its outcome, and read it then.
 *
 * <pre>{@code
 * QUEUED ---> SENT ---> DONE
 *   ^           |
 *   +-----------+ the connection is gone
 * }</pre>
 */
final class Request {
    enum Verb { LOCK, RESUME, DOWNGRADE, UNLOCK, EXTEND, CHECK, SHOW }

    enum State { QUEUED, SENT, DONE }

    final Verb verb;
    final Hold hold; // null: SHOW
    final String what; // of SHOW
    final long ttlMs; // of EXTEND; 0: not given
    final long waitUntilMs; // of LOCK; 0: without a wait
    final List<Map<String, String>> rows = new ArrayList<>(0);

    State state = State.QUEUED;
    long giveUpMs;
    String tag;
    Link link; // the connection on which the request was sent last
    Link notOn; // redlockd drains on this connection and has refused the request, which waits for the next connection
    boolean isLong; // counted in link.longSent, not in link.shortSent
    boolean cancelled;
    boolean abandoned; // nobody waits for its outcome: a lock that is still granted is given back
    boolean first; // of DOWNGRADE: the program had no reason before to count as a reader
    boolean gaveUp; // the program has waited for long enough
    int sendings;
    Failure failure;

    private final CountDownLatch done = new CountDownLatch(1);

    private Request(Verb verb, Hold hold, String what, long ttlMs, long waitUntilMs, long giveUpMs) {
        this.verb = verb;
        this.hold = hold;
        this.what = what;
        this.ttlMs = ttlMs;
        this.waitUntilMs = waitUntilMs;
        this.giveUpMs = giveUpMs;
    }

    static Request lock(Hold hold, long nowMs, long timeoutMs) {
        long waitMs = hold.options.waitMs;
        return new Request(Verb.LOCK, hold, "", 0, waitMs > 0 ? nowMs + waitMs : 0, nowMs + waitMs + timeoutMs);
    }

    static Request of(Verb verb, Hold hold, long giveUpMs) {
        return new Request(verb, hold, "", 0, 0, giveUpMs);
    }

    static Request extend(Hold hold, long ttlMs, long giveUpMs) {
        return new Request(Verb.EXTEND, hold, "", ttlMs, 0, giveUpMs);
    }

    static Request show(String what, long giveUpMs) {
        return new Request(Verb.SHOW, null, what, 0, 0, giveUpMs);
    }

    /** Whether that redlockd may let the request wait. */
    boolean mayWait(Link on, long nowMs) {
        boolean resumes = verb == Verb.RESUME && hold.state != Hold.State.ASKED;
        return verb == Verb.LOCK && waitUntilMs > nowMs || on.repeats && (resumes || verb == Verb.DOWNGRADE);
    }

    boolean downgrades(Hold lock) {
        return hold == lock && verb == Verb.DOWNGRADE;
    }

    String line(Link on, long nowMs) {
        if (verb == Verb.SHOW) {
            return "SHOW " + what;
        }
        StringBuilder line = new StringBuilder(160).append(verb == Verb.DOWNGRADE ? Verb.LOCK : verb);
        line.append(' ').append(hold.name);
        if (verb == Verb.LOCK) {
            return hold.putLock(line, Math.max(0, waitUntilMs - nowMs)).toString();
        }
        line.append(" token=").append(hold.token);
        if (verb == Verb.DOWNGRADE) {
            line.append(" mode=shared").append(on.repeats ? " wait=" + hold.downgrade.waitMs() : "");
        } else if (verb == Verb.RESUME) {
            hold.putResume(line, on.repeats, nowMs);
        } else if (verb == Verb.EXTEND && ttlMs > 0) {
            line.append(" ttl=").append(ttlMs);
        }
        return line.toString();
    }

    /** Wakes the threads that wait. Called outside the mutex, since they may ask for the mutex at once. */
    void tell() {
        done.countDown();
    }

    void await() throws InterruptedException {
        done.await();
    }

    /** Waits until the request is over; an interrupt does not end this. The session ends each request at its giveUpMs. */
    void join() {
        boolean interrupted = false;
        while (true) {
            try {
                await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Throws the failure of a request that is over, if it has failed. */
    void check() {
        if (failure != null) {
            throw failure.exception();
        }
    }
}
