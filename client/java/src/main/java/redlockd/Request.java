package redlockd;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;

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
    /** With the code of redlockd's answer if it does what is asked. */
    enum Verb {
        LOCK("LOCKED"), RESUME("LOCKED"), DOWNGRADE("LOCKED"), UNLOCK("UNLOCKED"), EXTEND("EXTENDED"), CHECK("HELD"),
        DATA("DATA"), WHO("END"), SHOW("END"), WATCH("WATCHING"), UNWATCH("OK");

        final String code;

        Verb(String code) {
            this.code = code;
        }
    }

    enum State { QUEUED, SENT, DONE }

    final Verb verb;
    final Hold hold; // null: the request is about no lock of this program
    final String name; // what follows the verb
    final List<Map<String, String>> rows = new ArrayList<>(0);
    Watch watch; // of WATCH
    String data; // of DATA
    long ttlMs; // of EXTEND; 0: not given
    long keepMs; // of UNLOCK; 0: the name is free then
    boolean keepless; // it was to be kept, but this redlockd cannot do that
    long waitUntilMs; // of LOCK; 0: without a wait

    State state = State.QUEUED;
    long giveUpMs;
    String tag;
    volatile Link link; // the connection on which the request was sent last
    String token = ""; // that it was sent with
    Link notOn; // redlockd drains on this connection and has refused the request, which waits for the next connection
    boolean isLong; // counted in link.longSent, not in link.shortSent
    boolean cancelled;
    boolean abandoned; // nobody waits for its outcome: a lock that is still granted is given back
    boolean first; // of DOWNGRADE: the program had no reason before to count as a reader
    boolean gaveUp; // the program has waited for long enough
    int sendings;
    Failure failure;

    volatile Thread waiter; // null: none waits yet
    private volatile boolean over; // as far as the thread that waits is concerned
    private final AtomicReference<Runnable> then = new AtomicReference<>();

    Request(Verb verb, Hold hold, String name, long giveUpMs) {
        this.verb = verb;
        this.hold = hold;
        this.name = name;
        this.giveUpMs = giveUpMs;
    }

    static Request lock(Hold hold, long nowMs, long timeoutMs) {
        long waitMs = hold.options.waitMs();
        Request request = of(Verb.LOCK, hold, nowMs + waitMs + timeoutMs);
        request.waitUntilMs = waitMs > 0 ? nowMs + waitMs : 0;
        return request;
    }

    static Request of(Verb verb, Hold hold, long giveUpMs) {
        return new Request(verb, hold, hold.name, giveUpMs);
    }

    /** Whether that redlockd may let the request wait. */
    boolean mayWait(Link on, long nowMs) {
        boolean resumes = verb == Verb.RESUME && hold.state != Hold.State.ASKED;
        return verb == Verb.LOCK && waitUntilMs > nowMs || on.repeats && (resumes || verb == Verb.DOWNGRADE);
    }

    boolean downgrades(Hold lock) {
        return hold == lock && verb == Verb.DOWNGRADE;
    }

    /** Adds the line without its end, and from then on its token is known. */
    void put(StringBuilder line, Link on, long nowMs) {
        line.append('#').append(tag).append(' ').append(verb == Verb.DOWNGRADE ? Verb.LOCK : verb).append(' ').append(name);
        if (hold == null) {
            return;
        }
        token = hold.token;
        if (verb != Verb.LOCK && verb != Verb.DATA) {
            line.append(" token=").append(token);
        }
        switch (verb) {
            case LOCK -> hold.putLock(line, Math.max(0, waitUntilMs - nowMs));
            case DOWNGRADE -> put(line.append(" mode=shared"), "wait", on.repeats ? hold.downgrade.waitMs() : 0);
            case RESUME -> hold.putResume(line, on.repeats, nowMs);
            case EXTEND -> put(line, "ttl", ttlMs);
            case UNLOCK -> put(line, "keep", keepMs);
            case DATA -> line.append(" data=").append(data);
            default -> { }
        }
    }

    static void put(StringBuilder line, String key, long number) {
        if (number > 0) {
            line.append(' ').append(key).append('=').append(number);
        }
    }

    /** Whether redlockd has done what the request asks for. */
    boolean isDoneBy(Answer answer) {
        boolean nameless = verb.code.equals("END") || verb.code.equals("OK");
        return answer.is('+', keepMs > 0 ? "KEPT" : verb.code) && (nameless || answer.name().equals(name));
    }

    /** The outcome is known to who asked. tell() follows. */
    void end(Failure how) {
        failure = how;
        over = true;
    }

    /** Whether a thread waits that may read. A virtual one would keep its carrier from all others. */
    boolean hasReader() {
        return waiter != null && !waiter.getClass().getName().equals("java.lang.VirtualThread");
    }

    /** Whether the thread that waits reads the answer itself. */
    boolean isReadBy(Link on) {
        return state == State.SENT && link == on && !over && hasReader();
    }

    /** Wakes the thread that waits. Called outside the mutex, since it may ask for the mutex at once. */
    void tell() {
        if (waiter != Thread.currentThread()) {
            LockSupport.unpark(waiter);
        }
        Runnable work = then.getAndSet(null);
        if (work != null) {
            work.run();
        }
    }

    /** Has the executor do this when the request is over. */
    void then(Executor executor, Runnable work) {
        then.set(() -> {
            try {
                executor.execute(work);
            } catch (OutOfMemoryError noThread) { // others are to be told, too
                work.run();
            }
        });
        if (over) {
            tell();
        }
    }

    /** Waits until the request is over. One thread waits. */
    void await() throws InterruptedException {
        for (waiter = Thread.currentThread(); !over; waitOnce()) {
            if (Thread.interrupted()) {
                throw new InterruptedException();
            }
        }
    }

    /** The same; an interrupt does not end this. The session ends each request at its giveUpMs. */
    void join() {
        boolean interrupted = false;
        for (waiter = Thread.currentThread(); !over; waitOnce()) {
            interrupted |= Thread.interrupted();
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void waitOnce() {
        Link on = link;
        boolean read = on != null && on.readFor(this);
        if (!read && !over) { // looked at again, since the mutex may have used up the permit that came with it
            LockSupport.park(this);
        }
    }

    /** Throws the failure of a request that is over, if it has failed. */
    void check() {
        if (failure != null) {
            throw failure.exception();
        }
    }
}
