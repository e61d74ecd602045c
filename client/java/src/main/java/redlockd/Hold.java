package redlockd;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;

/**
 * A lock and its states. The session's mutex guards it; any thread may read the volatile fields.
 *
 * <pre>{@code
 * ASKED --LOCKED--> HELD --connection gone--> DETACHED --RESUME--> RESUMING --LOCKED--> HELD
 *   |                | |                       |  |  ^                | |
 *   |                | |                       |  |  +---not now------+ |
 *   |                | +--!LOST, time is over--+--|------> LOST <-------+ NOTHELD, time is over
 *   | refused        |                            |
 *   +-----> OVER <---+------- GIVING (UNLOCK) ----+
 * }</pre>
 *
 * A lease is never DETACHED: it does not need the connection.
 */
final class Hold {
    enum State { ASKED, HELD, DETACHED, RESUMING, GIVING, LOST, OVER }

    private static final int RESUME_AGAIN_MS = 20; // the least pause before another RESUME, and how much more it may be
    private static final int RESUME_JITTER_MS = 30;
    /** For so long RESUME is asked again after -NOTHELD: other daemons learn of a token a moment later than its client. */
    private static final int NOTHELD_MS = 100;
    /**
     * So many looks, so far apart, find the deadline over before the lock is lost: after a pause of the process a renewal
     * may be unread still. They are counted, since a busy machine may let the reader wait for longer than any fixed time,
     * but not while it lets the timer look again and again.
     */
    private static final int LOST_LOOKS = 5;
    private static final int LOOK_MS = 10;

    final String name;
    final LockOptions options;
    final Downgrade downgrade;
    final AtomicBoolean lossTold = new AtomicBoolean(); // an exception has told the program

    volatile State state = State.ASKED;
    volatile long deadlineMs; // on our clock; 0: not held, or not known
    volatile long fence;
    volatile int slot = -1; // -1: none
    volatile String token = "";
    volatile String lostReason = "";

    Link bound; // the connection that holds it
    long spanMs; // how long the lock was valid when redlockd told its time last
    private final Session session;
    private final boolean attached;
    private long ttlMs;
    private long untilMs; // on the daemon's clock
    private int untilOf; // the number of that daemon: Link.daemon
    private long warnMs; // when a third of spanMs is left
    private boolean warned;
    private int looks; // how many ticks have found the deadline over
    private long lookedMs; // when the last of them did
    private volatile boolean closed; // with its client
    private long maxUntilMs; // 0: none
    private long keepUntilMs; // 0: a release does not keep the name
    private long retryAtMs;
    private long notHeldMs; // when a RESUME was first answered -NOTHELD; 0: none was
    private Link notOn; // a connection to a redlockd that drains: no RESUME is sent on it
    private Request giveBack; // UNLOCK, to be sent as soon as RESUME is answered
    private final List<Consumer<LostException>> onLost = new ArrayList<>(0);
    private final List<Runnable> onExpiring = new ArrayList<>(0);
    private CompletableFuture<Void> told = Session.NOTHING; // what the listeners were told

    Hold(Session session, String name, LockOptions options) {
        this(session, name, options, "", false);
    }

    private Hold(Session session, String name, LockOptions options, String token, boolean attached) {
        this.session = session;
        this.name = name;
        this.options = Objects.requireNonNull(options, "options");
        this.ttlMs = options.ttlMs;
        this.downgrade = new Downgrade(session, this);
        this.token = token;
        this.attached = attached;
    }

    /** A lock that is to be taken over by its token. */
    static Hold ofToken(Session session, String name, String token, LockOptions options) {
        return new Hold(session, name, options, token, false);
    }

    /** A lease of which nothing is known but its token. */
    static Hold attached(Session session, String name, String token) {
        Hold hold = new Hold(session, name, LockOptions.defaults().lease(), token, true);
        hold.state = State.HELD;
        hold.downgrade.reader = true; // that is not known, and a reader may do less
        return hold;
    }

    // ---- what any thread may ask ----

    long validMs() {
        long deadline = deadlineMs;
        return deadline == 0 ? 0 : Math.max(0, deadline - session.clock.nowMs());
    }

    boolean isSession() {
        return !options.lease;
    }

    boolean isAlive() {
        return state == State.HELD || state == State.DETACHED || state == State.RESUMING && giveBack == null;
    }

    // ---- lines ----

    void putLock(StringBuilder line, long waitMs) {
        Request.put(line, "ttl", ttlMs);
        Request.put(line, "wait", waitMs);
        Request.put(line, "max", options.maxMs);
        Request.put(line, "slots", options.slots);
        line.append(options.lease ? " hold=lease" : "").append(options.shared ? " mode=shared" : "");
        put(line, "note", options.note);
        put(line, "data", options.data);
    }

    /** A lock that was held before asks only for the rest of its max=, and for no longer TTL than that. */
    void putResume(StringBuilder line, boolean repeats, long nowMs) {
        long maxMs = state == State.ASKED ? options.maxMs : maxUntilMs > 0 ? Math.max(1, maxUntilMs - nowMs) : 0;
        long ttl = ttlMs;
        if (state != State.ASKED && maxMs > 0) {
            ttl = Math.min(ttl > 0 ? ttl : spanMs, maxMs);
        }
        Request.put(line, "ttl", ttl);
        Request.put(line, "wait", repeats && state != State.ASKED ? deadlineMs - nowMs : 0);
        Request.put(line, "max", maxMs);
        put(line, "note", options.note);
    }

    private static void put(StringBuilder line, String key, String word) {
        if (!word.isEmpty()) {
            line.append(' ').append(key).append('=').append(word);
        }
    }

    // ---- its time ----

    private void believe(long deadline) {
        deadlineMs = deadline;
        session.wantsAt(warnMs);
    }

    /** The deadline on our clock: at most the longest duration of the protocol from now, whatever the server says. */
    private long deadlineBy(Sample sample, long nowMs) {
        return Math.max(1, Math.min(sample.deadlineMs(untilMs), nowMs + Words.LONGEST_MS));
    }

    private void becomeEarlier(long byMs) {
        if (byMs > 0) {
            warnMs -= byMs;
            believe(Math.max(1, deadlineMs - byMs));
        }
    }

    private boolean isToldBy(Link link) {
        return untilOf == link.daemon && deadlineMs > 0;
    }

    /** Computes the deadline with another sample of the daemon's clock. It never becomes later. */
    void recount(Link link, Sample sample, long nowMs) {
        if (isToldBy(link)) {
            becomeEarlier(deadlineMs - deadlineBy(sample, nowMs));
        }
    }

    /** The daemon's clock has stood still for that long since the daemon told until=. */
    void shift(Link link, long ms) {
        if (isToldBy(link)) {
            untilMs -= ms;
            becomeEarlier(ms);
        }
    }

    private void until(long newUntilMs, Link link, long nowMs) {
        boolean longer = deadlineMs == 0 || untilOf != link.daemon || newUntilMs > untilMs;
        untilMs = newUntilMs;
        untilOf = link.daemon;
        long deadline = deadlineBy(link.sample, nowMs);
        if (!longer) {
            deadline = Math.min(deadline, deadlineMs);
        }
        spanMs = Math.max(0, deadline - nowMs);
        warnMs = deadline - spanMs / 3;
        warned = false;
        looks = 0;
        believe(deadline);
        if (isSession()) { // silence of redlockd is to be noticed well before the lock's end
            session.shortestMs = Math.min(session.shortestMs, spanMs);
            session.wantsAt(nowMs + link.patienceMs());
        }
    }

    private boolean isOver(long nowMs) {
        return deadlineMs > 0 && deadlineMs <= nowMs;
    }

    void tick(long nowMs) {
        if (deadlineMs == 0) {
            return;
        }
        boolean listening = state == State.HELD && isSession();
        if (isOver(nowMs) && (looks == 0 || nowMs - lookedMs >= LOOK_MS)) {
            looks++;
            lookedMs = nowMs;
        }
        if (looks > 0 && (!listening || looks == LOST_LOOKS)) {
            expire(nowMs);
            return;
        }
        session.wantsAt(looks > 0 ? lookedMs + LOOK_MS : deadlineMs);
        if (state == State.DETACHED && retryAtMs > nowMs) {
            session.wantsAt(retryAtMs);
        }
        downgrade.tick(nowMs);
        if (warned) {
            return;
        }
        if (warnMs > nowMs) {
            session.wantsAt(warnMs);
        } else {
            warn();
        }
    }

    // ---- states ----

    private void move(State to) {
        session.detached += (to == State.DETACHED ? 1 : 0) - (state == State.DETACHED ? 1 : 0);
        state = to;
        if (to == State.HELD) {
            session.holds.add(this);
        } else if (to == State.GIVING || to == State.LOST || to == State.OVER) {
            session.byToken.remove(token, this);
            session.holds.remove(this);
            deadlineMs = 0;
        }
    }

    void detach() {
        move(State.DETACHED);
        retryAtMs = notHeldMs = 0;
    }

    void lose(String reason) {
        lostReason = reason;
        move(State.LOST);
        session.log(System.Logger.Level.WARNING, "the lock " + name + " was lost: " + reason);
        session.failQueuedOf(this, Failure.of(Failure.Kind.LOST, reason));
        onLost.forEach(listener -> tell(() -> listener.accept(loss())));
    }

    LostException loss() {
        return new LostException("the lock " + name + " was lost: " + lostReason, lostReason);
    }

    /** The lock's time is over. If redlockd renews a session lock nevertheless, an UNLOCK makes redlockd let go too. */
    private void expire(long nowMs) {
        boolean there = state == State.HELD && isSession();
        lose("expired");
        if (there) {
            session.giveBack(this, nowMs);
        }
    }

    /** The end of the lock with its client. Listeners are not told. */
    void close() {
        closed = true;
        lostReason = "closed";
        move(State.LOST);
    }

    boolean isClosed() {
        return closed;
    }

    /** The program's own release. Null: there is nothing to ask, since the lock was given back or lost before. */
    Request give(long nowMs, long limitMs, long keepMs) {
        Request request = Request.of(Request.Verb.UNLOCK, this, nowMs + limitMs);
        request.keepMs = Math.max(keepMs, keepUntilMs - nowMs);
        if (state == State.HELD || state == State.DETACHED) {
            move(State.GIVING);
            return session.queue(request);
        }
        if (state == State.RESUMING && giveBack == null) {
            giveBack = request;
            deadlineMs = 0;
            session.cancelResume(this);
            return giveBack;
        }
        return null;
    }

    /** Whether the lock can be resumed on that connection now. */
    boolean wantsResume(Link link, long nowMs) {
        return state == State.DETACHED && notOn != link && retryAtMs <= nowMs && deadlineMs > nowMs
                && !downgrade.isUnderWay();
    }

    void resuming() {
        move(State.RESUMING);
    }

    // ---- answers ----

    void answered(Request request, Answer answer, Link link, long nowMs) {
        switch (request.verb) {
            case LOCK, RESUME -> {
                if (answer.isGrantOf(name)) {
                    granted(request, answer, link, nowMs);
                } else if (answer.kind() == '-') {
                    refused(request, answer, link, nowMs);
                } else {
                    link.confused();
                }
            }
            case DOWNGRADE -> downgrade.answered(request, answer, link, nowMs);
            case UNLOCK -> released(request, answer, link, nowMs);
            default -> longer(request, answer, link, nowMs);
        }
    }

    private void granted(Request request, Answer answer, Link link, long nowMs) {
        if (state == State.RESUMING && giveBack == null && isOver(nowMs)) {
            expire(nowMs); // another client may have had the lock in between
        }
        boolean wanted = state == State.ASKED && !request.abandoned && !request.cancelled
                || state == State.RESUMING && giveBack == null;
        boolean first = state == State.ASKED;
        session.byToken.remove(token, this);
        token = answer.value("token");
        fence = answer.number("fence", 0);
        slot = (int) answer.number("slot", -1);
        if (!wanted) {
            discard(request, nowMs);
            return;
        }
        if (first && options.maxMs > 0) {
            maxUntilMs = nowMs - Clock.STEP_MS + options.maxMs;
        }
        if (first && options.atLeastMs > 0) {
            keepUntilMs = nowMs + options.atLeastMs;
        }
        move(State.HELD);
        downgrade.resumed(answer);
        deadlineMs = first ? 0 : deadlineMs;
        until(answer.number("until", 0), link, nowMs);
        bound = link;
        link.wantsHelloSoon(nowMs);
        if (isSession()) {
            session.byToken.put(token, this);
        }
        session.finish(request, null);
        if (!first) {
            session.log(System.Logger.Level.DEBUG, "the lock " + name + " was resumed, with fence " + fence);
            downgrade.again();
        }
        if (isSession() && session.hasMovedOnFrom(link)) {
            detach();
        }
    }

    /** The token is new, and the fence that of the writer. False: the answer to RESUME will have another token. */
    boolean becomesReader(Answer answer, Link link, long nowMs) {
        if (state == State.RESUMING) {
            return false;
        }
        boolean known = session.byToken.remove(token, this);
        token = answer.value("token");
        fence = answer.number("fence", 0);
        if (known) {
            session.byToken.put(token, this);
        }
        if (state == State.HELD) {
            until(answer.number("until", 0), link, nowMs);
        }
        return true;
    }

    /** Gives back a grant that came too late. */
    private void discard(Request request, long nowMs) {
        if (giveBack != null) {
            move(State.GIVING);
            session.finish(request, null);
            session.queue(giveBack);
            giveBack = null;
            return;
        }
        session.finish(request, Failure.of(Failure.Kind.CANCELLED, "the grant came when the wait was over"));
        session.giveBack(this, nowMs);
        if (state == State.ASKED) {
            move(State.OVER);
        }
    }

    private void refused(Request request, Answer answer, Link link, long nowMs) {
        Failure failure = Failure.refused(answer);
        if (state == State.ASKED) {
            if (failure.kind() == Failure.Kind.DRAINING && request.waitUntilMs > nowMs && !request.cancelled
                    && !request.abandoned) {
                request.notOn = link; // the wait goes on over the next connection
                session.requeue(request);
                return;
            }
            if (failure.kind() == Failure.Kind.BUSY && request.waitUntilMs != 0) {
                failure = Failure.of(Failure.Kind.TIMEOUT, failure.text()); // the wait was used up before LOCK was sent
            }
            move(State.OVER);
            session.finish(request, failure);
            return;
        }
        session.finish(request, failure);
        if (giveBack != null && failure.kind() == Failure.Kind.CANCELLED) {
            move(State.GIVING); // by the token of before
            session.queue(giveBack);
            giveBack = null;
        } else if (giveBack != null) {
            boolean gone = failure.kind() == Failure.Kind.NOTHELD;
            move(State.OVER);
            session.finish(giveBack, gone ? Failure.of(Failure.Kind.LOST, "gone") : failure);
        } else if (state == State.RESUMING) {
            notResumed(failure, link, nowMs);
        }
    }

    /** Asks for the lock again after a pause, or gives it up as lost: the refusal decides. */
    private void notResumed(Failure failure, Link link, long nowMs) {
        switch (failure.kind()) {
            case NOTHELD -> notHeldMs = notHeldMs == 0 ? nowMs : notHeldMs;
            case DRAINING -> notOn = link;
            case NOQUORUM, LIMIT -> { }
            default -> {
                lose("refused");
                return;
            }
        }
        if (failure.kind() == Failure.Kind.NOTHELD && (link.repeats || nowMs - notHeldMs >= NOTHELD_MS)) {
            lose("gone");
            return;
        }
        move(State.DETACHED);
        retryAtMs = nowMs + RESUME_AGAIN_MS + session.jitterMs(RESUME_JITTER_MS);
        session.wantsAt(retryAtMs);
    }

    private void released(Request request, Answer answer, Link link, long nowMs) {
        Failure failure = null;
        if (answer.kind() == '-') {
            failure = Failure.refused(answer);
        } else if (!request.isDoneBy(answer)) {
            link.confused();
            return;
        } else if (request.keepless) {
            failure = Failure.of(Failure.Kind.UNSUPPORTED, "this redlockd keeps no names: the lock is given back, and " + name
                    + " is free");
        }
        boolean gone = failure != null && failure.kind() == Failure.Kind.NOTHELD;
        if (gone && request.sendings > 1) { // the first sending of this UNLOCK may have given it back
            failure = Failure.of(Failure.Kind.NOANSWER, "the connection ended before the answer: the lock is free"
                    + (request.keepMs > 0 ? ", or the name is kept" : " now"));
        } else if (gone && !attached) {
            failure = Failure.of(Failure.Kind.LOST, "gone");
        } else if (answer.kind() == '-' && request.keepMs > 0 && !gone && failure.kind() != Failure.Kind.NOQUORUM) {
            session.giveBack(this, nowMs); // nothing was done
        }
        if (state == State.GIVING) {
            move(State.OVER);
        }
        session.finish(request, failure);
    }

    /** The answer to EXTEND, CHECK or DATA. */
    private void longer(Request request, Answer answer, Link link, long nowMs) {
        boolean moved = state == State.HELD && !request.token.equals(token) && answer.kind() == '-';
        if (state == State.DETACHED || state == State.RESUMING && giveBack == null || moved) {
            session.requeue(request); // the lock moves, and is asked about again by its new token
            return;
        }
        if (answer.kind() == '-') {
            Failure failure = Failure.refused(answer);
            if (failure.kind() == Failure.Kind.NOTHELD && state == State.HELD) {
                lose("gone");
            }
            session.finish(request, failure);
            return;
        }
        boolean timed = request.verb != Request.Verb.DATA;
        if (!request.isDoneBy(answer) || timed && answer.number("until", -1) < 0) {
            link.confused();
            return;
        }
        if (state == State.HELD && !isSession() && isOver(nowMs)) {
            expire(nowMs); // the answer is late: another may have had the lease in between
        }
        if (state != State.HELD) {
            session.finish(request, Failure.of(Failure.Kind.LOST, lostReason));
            return;
        }
        if (request.verb == Request.Verb.EXTEND && request.ttlMs > 0) {
            ttlMs = request.ttlMs;
        }
        if (timed) {
            until(answer.number("until", 0), link, nowMs);
            session.holds.add(this); // an attached lease has a time from now on
        }
        session.finish(request, null);
    }

    /** The connection ended under a LOCK, RESUME or UNLOCK of this lock. */
    void unanswered(Request request, long nowMs) {
        if (request.verb == Request.Verb.UNLOCK || !request.cancelled && !request.abandoned && state == State.ASKED) {
            session.requeue(request);
            return;
        }
        session.finish(request, Failure.of(Failure.Kind.CANCELLED, "cancelled while the connection was gone"));
        if (state == State.RESUMING && giveBack != null) {
            discard(request, nowMs);
        } else if (state == State.RESUMING) {
            move(State.DETACHED);
        }
    }

    // ---- events ----

    void event(Answer event, Link link, long nowMs) {
        if (event.code().equals("RENEWED") && event.number("until", -1) >= 0) {
            if (link == bound && isAlive()) {
                until(event.number("until", 0), link, nowMs);
            }
        } else if (state != State.HELD) {
            return; // the event is old: the lock is being given back, or is being resumed
        } else if (event.code().equals("EXPIRING")) {
            warn();
        } else if (event.code().equals("LOST") && event.value("reason").equals("drain")) {
            detach(); // the lock's keys are still there, and it can be resumed at the next redlockd
            notOn = link;
        } else if (event.code().equals("LOST")) {
            String reason = event.value("reason");
            lose(reason.isEmpty() ? "unknown" : reason);
        }
    }

    private void warn() {
        if (!warned) {
            warned = true;
            onExpiring.forEach(this::tell);
        }
    }

    /**
     * Runs a listener in the client's executor, a lock's in order. It may call every method, and may block; what it throws
     * keeps no other listener from being called.
     */
    private void tell(Runnable listener) {
        told = told.handleAsync((done, refused) -> { // refused: no thread could be made for the listener before this one
            try {
                listener.run();
            } catch (RuntimeException | Error e) {
                Thread thread = Thread.currentThread();
                thread.getUncaughtExceptionHandler().uncaughtException(thread, e);
            }
            return null;
        }, session.config.executor());
    }

    void addOnLost(Consumer<LostException> listener) {
        if (state == State.LOST && !closed) {
            tell(() -> listener.accept(loss()));
        } else {
            onLost.add(listener);
        }
    }

    void addOnExpiring(Runnable listener) {
        onExpiring.add(listener);
        if (warned) {
            tell(listener);
        }
    }
}
