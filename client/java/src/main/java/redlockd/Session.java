package redlockd;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The state of a client: its requests, its locks and its connections. There may be an older connection that drains, or is
 * parked. Except where it says otherwise, a method is called between {@link #enter} and {@link #leave}.
 */
final class Session {
    private static final int WINDOW = 48; // so many requests that are answered at once may be under way
    private static final int WAITS = 256 - WINDOW; // and so many others: fewer than max_waits_per_client
    private static final int BACKOFF_FIRST_MS = 20;
    private static final int BACKOFF_MOST_MS = 1000;
    private static final int STABLE_MS = 1000; // when a connection of this age breaks, the backoff begins anew
    private static final int SLEEP_MOST_MS = 1000; // a longer sleep might not count the time of a suspended machine
    static final int OWN_DEADLINE_MS = 2000; // for cleaning up after an interrupt and in close(), whatever the timeout is

    static final CompletableFuture<Void> NOTHING = CompletableFuture.completedFuture(null);

    final Config config;
    final Clock clock = Clock.get();
    final Set<Hold> holds = new LinkedHashSet<>(); // held or to be resumed, but no attached lease without a known time
    final Map<String, Hold> byToken = new HashMap<>();
    final Set<Link> links = new LinkedHashSet<>();
    final List<Watch> watches = new ArrayList<>(); // in the order in which they were begun
    int detached;
    long shortestMs = Long.MAX_VALUE; // the shortest span of a session lock

    final ReentrantLock mutex = new ReentrantLock();
    private final Condition timer = mutex.newCondition();
    private final Condition ended = mutex.newCondition();
    private final LinkedList<Request> queued = new LinkedList<>();
    private CompletableFuture<Void> logged = NOTHING;
    private List<Request> finished = new ArrayList<>();
    private Link current; // null: not connected
    private Link dialling;
    private Sample before; // the sample of the last connection that was up
    private int beforeDaemon;
    private long beforeBehindMs;
    private int daemons;
    private boolean everUp;
    private boolean closing;
    private boolean ticking;
    private int failures;
    private long retryAtMs;
    private long nextTickMs = Long.MAX_VALUE;
    private long lastTag;
    private Failure why = Failure.of(Failure.Kind.UNREACHABLE, "no connection in time");

    Session(Config config) {
        this.config = config;
    }

    static Thread thread(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static final class Log { // a class of its own, since not every program has use for it
        static final System.Logger LOGGER = System.getLogger("redlockd");
    }

    /** Logs in another thread, one line after the other. */
    void log(System.Logger.Level level, String text) {
        logged = logged.thenRunAsync(() -> Log.LOGGER.log(level, text), RedlockClient.Builder.EVENTS);
    }

    // ---- the mutex ----

    /** Takes the mutex, and returns the time. */
    long enter() {
        mutex.lock();
        return clock.nowMs();
    }

    void leave() {
        if (links.size() > 1) {
            closeThoseWithoutUse();
        }
        List<Request> over = Collections.emptyList();
        if (!finished.isEmpty()) {
            over = finished;
            finished = new ArrayList<>();
        }
        Link link = toWrite();
        mutex.unlock();
        for (Request request : over) {
            request.tell();
        }
        if (link != null && link.blocksWriters()) {
            Link slow = link;
            RedlockClient.Builder.EVENTS.execute(() -> write(slow));
        } else if (link != null) {
            write(link);
        }
    }

    /** Writes on this connection, and on all others where there is something to write. */
    private void write(Link first) {
        for (Link link = first; link != null;) {
            link.write();
            mutex.lock();
            link.written();
            link = toWrite();
            mutex.unlock();
        }
    }

    /** A connection on which this thread has to write, outside the mutex; null: none. */
    private Link toWrite() {
        for (Link link : links) {
            if (link.beginsToWrite()) {
                return link;
            }
        }
        return null;
    }

    /** Whether {@link #leave} will wake a thread that may read. */
    boolean wakes() {
        for (Request request : finished) {
            if (request.hasReader()) {
                return true;
            }
        }
        return false;
    }

    // ---- what the program asks; each method enters by itself ----

    Request lock(Hold hold) {
        long nowMs = enter();
        try {
            return begin(Request.lock(hold, nowMs, config.timeoutMs()), nowMs);
        } finally {
            leave();
        }
    }

    Request ask(Request.Verb verb, Hold hold) {
        return ask(Request.of(verb, hold, 0));
    }

    /** The request gets the client's timeout. */
    Request ask(Request request) {
        long nowMs = enter();
        try {
            request.giveUpMs = nowMs + config.timeoutMs();
            return begin(request, nowMs);
        } finally {
            leave();
        }
    }

    Request watch(Watch watch) {
        Request request = new Request(Request.Verb.WATCH, null, watch.name, 0);
        request.watch = watch;
        within(() -> watches.add(watch));
        return ask(request);
    }

    /** The end of a watch: redlockd is to tell the name no more, if that was the last watch of the name. */
    void unwatch(Watch watch) {
        watches.remove(watch);
        boolean told = current != null && (watch.asked || watch.link == current);
        if (told && !closing && watches.stream().noneMatch(other -> other.name.equals(watch.name))) {
            Request request = new Request(Request.Verb.UNWATCH, null, watch.name, clock.nowMs() + config.timeoutMs());
            request.abandoned = true;
            queue(request);
            pump(clock.nowMs());
        }
    }

    /** Null: there is nothing to ask, since it is a reader's. */
    Request downgrade(Hold hold) {
        long nowMs = enter();
        try {
            Request request = hold.downgrade.begin(nowMs + config.timeoutMs());
            return request == null ? null : begin(request, nowMs);
        } finally {
            leave();
        }
    }

    /** Null: there is nothing to ask, since the lock was given back or lost before. keepMs may be 0. */
    Request unlock(Hold hold, long limitMs, long keepMs) {
        long nowMs = enter();
        try {
            Request request = hold.give(nowMs, limitMs, keepMs);
            pump(nowMs);
            return request;
        } finally {
            leave();
        }
    }

    /** Cancels a LOCK that waits. A grant that comes all the same is given back. */
    void cancel(Request request) {
        long nowMs = enter();
        try {
            if (request.state == Request.State.QUEUED) {
                finish(request, Failure.of(Failure.Kind.CANCELLED, "cancelled before it was asked"));
            } else if (request.state == Request.State.SENT && !request.cancelled) {
                request.cancelled = true;
                request.giveUpMs = Math.min(request.giveUpMs, nowMs + OWN_DEADLINE_MS);
                wantsAt(request.giveUpMs);
                request.link.cancel(request);
            }
        } finally {
            leave();
        }
    }

    /** Runs something within the mutex. */
    void within(Runnable work) {
        enter();
        try {
            work.run();
        } finally {
            leave();
        }
    }

    /** Sends QUIT, waits for +BYE for a limited time, and closes all connections. */
    void close() {
        long nowMs = enter();
        try {
            if (!closing) {
                closing = true;
                endAll();
                timer.signal();
                leave(); // writes QUIT
                enter();
            }
            boolean patient = true;
            for (long leftMs = OWN_DEADLINE_MS; patient && !links.isEmpty() && leftMs > 0;) {
                patient = awaitEnd(leftMs);
                leftMs = nowMs + OWN_DEADLINE_MS - clock.nowMs();
            }
            List.copyOf(links).forEach(Link::close);
        } finally {
            leave();
        }
    }

    private boolean awaitEnd(long ms) {
        try {
            ended.await(ms, TimeUnit.MILLISECONDS);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    private void endAll() {
        Failure closed = Failure.of(Failure.Kind.CLOSED, "the client was closed");
        List.copyOf(queued).forEach(request -> finish(request, closed));
        for (Link link : List.copyOf(links)) {
            List.copyOf(link.sent.values()).forEach(request -> finish(request, closed));
        }
        List.copyOf(holds).forEach(Hold::close);
        List.copyOf(watches).forEach(watch -> watch.end(closed));
        for (Link link : List.copyOf(links)) {
            if (link == current) {
                link.send("#q QUIT");
            } else {
                link.close();
            }
        }
    }

    /** For a test: what requests and locks that are over have left behind. */
    String leftovers() {
        enter();
        try {
            int sent = links.stream().mapToInt(link -> link.sent.size() + link.shortSent + link.longSent).sum();
            int sum = watches.size() + holds.size() + byToken.size() + queued.size() + detached + sent;
            return sum == 0 ? "nothing" : holds + " " + byToken + " " + queued + " detached=" + detached + " sent=" + sent;
        } finally {
            leave();
        }
    }

    // ---- requests ----

    private Request begin(Request request, long nowMs) {
        Hold hold = request.hold;
        if (hold != null && hold.state == Hold.State.LOST) {
            finish(request, Failure.of(closing ? Failure.Kind.CLOSED : Failure.Kind.LOST, hold.lostReason));
        } else if (hold != null && hold.state != Hold.State.ASKED && !hold.isAlive()) {
            finish(request, Failure.of(Failure.Kind.NOTHELD, "the lock " + hold.name + " was given back"));
        } else {
            queue(request);
            pump(nowMs);
        }
        return request;
    }

    Request queue(Request request) {
        if (closing) {
            finish(request, Failure.of(Failure.Kind.CLOSED, "the client was closed"));
            return request;
        }
        request.state = Request.State.QUEUED;
        queued.add(request);
        wantsAt(current == null ? 0 : request.giveUpMs);
        return request;
    }

    /** Puts a request back into the queue, before all others. */
    void requeue(Request request) {
        unsend(request);
        request.state = Request.State.QUEUED;
        queued.addFirst(request);
        wantsAt(0);
    }

    /** Queues an UNLOCK for whose answer nobody waits. */
    void giveBack(Hold hold, long nowMs) {
        Request request = Request.of(Request.Verb.UNLOCK, hold, nowMs + config.timeoutMs());
        request.abandoned = true;
        queue(request);
    }

    boolean isToDowngrade(Hold hold) {
        return queued.stream().anyMatch(request -> request.downgrades(hold));
    }

    /** Whether redlockd is asked for that now, and its answer is waited for. */
    boolean isDowngrading(Hold hold) {
        return links.stream().flatMap(link -> link.sent.values().stream()).anyMatch(request -> request.downgrades(hold)
                && !request.gaveUp);
    }

    private void unsend(Request request) {
        if (request.state == Request.State.SENT) {
            request.link.sent.remove(request.tag);
            request.link.count(request, -1);
            request.link.noMoreFor(request);
        }
    }

    void finish(Request request, Failure failure) {
        if (request.state == Request.State.DONE) {
            return;
        }
        if (request.state == Request.State.QUEUED) {
            queued.remove(request);
        }
        unsend(request);
        request.state = Request.State.DONE;
        if (!request.abandoned) { // else nobody waits for it any more
            request.end(failure);
            finished.add(request);
        }
    }

    void failQueuedOf(Hold hold, Failure failure) {
        for (Request request : List.copyOf(queued)) {
            if (request.hold == hold && request.verb != Request.Verb.UNLOCK) {
                finish(request, failure);
            }
        }
    }

    /** Sends the requests that may be sent now, and RESUME before them. */
    void pump(long nowMs) {
        Link link = current;
        if (link == null || closing) {
            return;
        }
        if (detached > 0) {
            resume(link, nowMs);
        }
        if (queued.isEmpty()) {
            return;
        }
        for (var i = queued.iterator(); i.hasNext();) {
            Request request = i.next();
            if (request.verb == Request.Verb.DOWNGRADE && request.hold.downgrade.isOver()) {
                i.remove();
                request.hold.downgrade.end(request);
            } else if (maySend(request, link, nowMs)) {
                i.remove();
                link.ask(request, nowMs);
            }
        }
    }

    private boolean maySend(Request request, Link link, long nowMs) {
        if (request.notOn == link || isFull(link, request, nowMs)) {
            return false;
        }
        if (request.verb == Request.Verb.DOWNGRADE && isDowngrading(request.hold)) {
            return false; // the answer may be enough for this request, too
        }
        if (request.verb == Request.Verb.DATA && request.hold.bound != link) {
            return false; // it is for the connection that holds the lock
        }
        Hold hold = request.hold; // a lock has to be resumed before other requests for it are sent
        return hold == null || hold.state != Hold.State.DETACHED && hold.state != Hold.State.RESUMING;
    }

    private static boolean isFull(Link link, Request request, long nowMs) {
        return request.mayWait(link, nowMs) ? link.longSent >= WAITS : link.shortSent >= WINDOW;
    }

    private void resume(Link link, long nowMs) {
        for (Hold hold : holds) {
            if (!hold.wantsResume(link, nowMs)) {
                continue;
            }
            Request request = Request.of(Request.Verb.RESUME, hold, Long.MAX_VALUE);
            if (isFull(link, request, nowMs)) {
                return;
            }
            link.ask(request, nowMs);
            hold.resuming();
        }
    }

    /** The lock is given back while redlockd repeats its RESUME. */
    void cancelResume(Hold hold) {
        for (Link link : links) {
            for (Request request : link.sent.values()) {
                if (request.hold == hold && request.verb == Request.Verb.RESUME && link.repeats) {
                    link.cancel(request);
                }
            }
        }
    }

    /**
     * The time of a request is over. A LOCK or RESUME that was sent is only abandoned, because a late grant must be given
     * back when it comes; so is a DOWNGRADE, since its answer has a new token.
     */
    private void noAnswer(Request request) {
        Failure failure = current != null ? Failure.of(Failure.Kind.NOANSWER, "no answer in time") : why;
        boolean taking = request.verb == Request.Verb.LOCK || request.verb == Request.Verb.RESUME
                || request.verb == Request.Verb.DOWNGRADE;
        if (request.cancelled) {
            failure = Failure.of(Failure.Kind.CANCELLED, "cancelled, and not answered");
        }
        if (request.state == Request.State.QUEUED || !taking) {
            if (request.first && request.sendings == 0) {
                request.hold.downgrade.reader = false;
            }
            finish(request, failure);
            return;
        }
        if (!request.cancelled && request.verb == Request.Verb.LOCK) {
            request.link.cancel(request);
        }
        request.giveUpMs = Long.MAX_VALUE;
        request.first = false;
        request.gaveUp = true;
        request.abandoned = true; // the program is told, but the request goes on
        request.link.noMoreFor(request);
        request.end(failure);
        finished.add(request);
    }

    String nextTag() {
        return "r" + Long.toString(++lastTag, 36);
    }

    long jitterMs(long spanMs) {
        return ThreadLocalRandom.current().nextLong(spanMs);
    }

    // ---- connections ----

    private boolean wantsLink() {
        boolean bound = current != null && current.draining && holds.stream().anyMatch(Hold::isSession);
        return !queued.isEmpty() || !watches.isEmpty() || detached > 0 || bound;
    }

    private void dial(long nowMs) {
        dialling = new Link(this, nowMs);
        links.add(dialling);
        dialling.start();
    }

    /**
     * Decides at the first HELLO of a connection whether the daemon's clock is the clock of the last connection. If not,
     * no until= of this daemon is known yet, so its behind= of now changes none.
     */
    void meet(Link link, long sentMs, long daemonNowMs, long nowMs, long behindMs) {
        long grownMs = behindMs - beforeBehindMs;
        if (grownMs >= 0 && before != null && before.goesOn(sentMs, daemonNowMs, nowMs, grownMs)) {
            link.daemon = beforeDaemon;
            link.behindMs = beforeBehindMs;
        } else {
            link.daemon = ++daemons;
            link.behindMs = behindMs;
            before = null;
        }
    }

    /** Whether the clock that the last connection showed is not the clock of this answer any more. */
    boolean isRefuted(long daemonNowMs, long nowMs) {
        return before != null && before.isRefuted(daemonNowMs, nowMs);
    }

    void up(Link link, long nowMs) {
        dialling = null;
        everUp = true;
        Link old = current;
        current = link;
        log(System.Logger.Level.DEBUG, "connected to " + link.address());
        if (closing) {
            link.send("#q QUIT");
        }
        if (old != null) { // redlockd drains there: its locks are resumed here before the old connection is closed
            remember(old);
            for (Hold hold : List.copyOf(holds)) {
                if (hold.bound == old && hold.isSession() && hold.state == Hold.State.HELD) {
                    hold.detach();
                }
            }
        }
        wantsAt(0); // for the watches
        pump(nowMs);
    }

    /** Whether a lock that was granted on this connection has to be moved to another connection. */
    boolean hasMovedOnFrom(Link link) {
        return current != null && current != link;
    }

    private void remember(Link link) {
        before = link.sample;
        beforeDaemon = link.daemon;
        beforeBehindMs = link.behindMs;
    }

    /** The connection was ended by the other end, or is given up. */
    void disconnected(Link link, Failure failure, long nowMs) {
        boolean wasUp = link.state == Link.State.UP;
        if (link.state == Link.State.CLOSED || link.state == Link.State.PARKED) {
            return;
        }
        if (wasUp && !closing) {
            log(System.Logger.Level.DEBUG, "the connection is gone: " + failure.text());
        }
        link.state = Link.State.CLOSED;
        current = current == link ? null : current;
        dialling = dialling == link ? null : dialling;
        why = failure;
        failures = wasUp && nowMs - link.sinceMs >= STABLE_MS ? 1 : failures + 1;
        if (link.sample != null && current == null) {
            remember(link);
        }
        List<Request> unanswered = new ArrayList<>(link.sent.values());
        Collections.reverse(unanswered);
        unanswered.forEach(request -> unanswered(request, nowMs));
        for (Hold hold : List.copyOf(holds)) {
            if (hold.bound == link && hold.isSession() && hold.state == Hold.State.HELD) {
                hold.detach();
            }
        }
        watches.stream().filter(watch -> watch.link == link).forEach(watch -> watch.link = null);
        boolean refused = failure.kind() == Failure.Kind.AUTH || failure.kind() == Failure.Kind.USAGE;
        if (!everUp || refused) {
            List.copyOf(queued).forEach(request -> finish(request, failure)); // waiting would only hide the failure
        }
        retryAtMs = nowMs + backoffMs(nowMs);
        wantsAt(retryAtMs);
        pump(nowMs);
    }

    private void unanswered(Request request, long nowMs) {
        switch (request.verb) {
            case LOCK, RESUME, UNLOCK -> request.hold.unanswered(request, nowMs);
            default -> {
                if (request.watch != null && request.abandoned) {
                    request.watch.asked = false; // it is asked anew
                }
                if (request.abandoned) { // of a downgrade, the answer to RESUME says whether it is to be asked again
                    finish(request, null);
                } else {
                    request.rows.clear();
                    requeue(request);
                }
            }
        }
    }

    /**
     * The pause before the next connection: it doubles with each failure up to 1 s, is at most a quarter of the time that
     * a detached lock has left (but not below 20 ms), and up to half of it is left out at random.
     */
    private long backoffMs(long nowMs) {
        long mostMs = Math.min(BACKOFF_MOST_MS, (long) BACKOFF_FIRST_MS << Math.min(10, Math.max(0, failures - 1)));
        for (Hold hold : holds) {
            if (hold.state == Hold.State.DETACHED) {
                mostMs = Math.min(mostMs, Math.max(BACKOFF_FIRST_MS, (hold.deadlineMs - nowMs) / 4));
            }
        }
        return mostMs / 2 + jitterMs(mostMs / 2 + 1);
    }

    /** Whether redlockd may have to tell something of which nobody asks. */
    boolean listens() {
        return !byToken.isEmpty() || !watches.isEmpty();
    }

    boolean binds(Link link) {
        return holds.stream().anyMatch(hold -> hold.bound == link && hold.isSession());
    }

    void closed(Link link) {
        links.remove(link);
        ended.signalAll();
    }

    /** Closes connections that were parked, or that drain, as soon as no lock needs them. */
    private void closeThoseWithoutUse() {
        for (Link link : List.copyOf(links)) {
            boolean old = link.state == Link.State.PARKED
                    || link.state == Link.State.UP && link != current && link.sent.isEmpty();
            if (old && current != null && !binds(link)) {
                link.close();
            }
        }
    }

    // ---- time ----

    void wantsAt(long ms) {
        if (ms < nextTickMs) {
            nextTickMs = ms;
            timer.signal();
        }
        if (!ticking) {
            ticking = true;
            thread("redlockd-timer", this::runTimer);
        }
    }

    private void runTimer() {
        long nowMs = enter();
        try {
            while (!closing) {
                if (nowMs >= nextTickMs) {
                    tick(nowMs);
                    leave();
                    nowMs = enter();
                } else if (holds.isEmpty() && nextTickMs == Long.MAX_VALUE) {
                    timer.await();
                } else {
                    timer.await(Math.min(SLEEP_MOST_MS, nextTickMs - nowMs), TimeUnit.MILLISECONDS);
                }
                nowMs = clock.nowMs();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody interrupts this thread
        } finally {
            leave();
        }
    }

    private void tick(long nowMs) {
        nextTickMs = Long.MAX_VALUE;
        shortestMs = Long.MAX_VALUE;
        for (Hold hold : List.copyOf(holds)) {
            if (hold.isSession()) {
                shortestMs = Math.min(shortestMs, hold.spanMs);
            }
            hold.tick(nowMs);
        }
        for (Link link : List.copyOf(links)) {
            link.tick(nowMs);
            List.copyOf(link.sent.values()).forEach(request -> tick(request, nowMs));
        }
        List.copyOf(queued).forEach(request -> tick(request, nowMs));
        if (current != null) {
            List.copyOf(watches).forEach(watch -> watch.tick(current, nowMs));
        }
        if (dialling == null && (current == null || current.draining) && wantsLink() && !closing) {
            if (nowMs >= retryAtMs) {
                dial(nowMs);
            } else {
                wantsAt(retryAtMs);
            }
        }
        pump(nowMs);
    }

    private void tick(Request request, long nowMs) {
        if (request.giveUpMs <= nowMs) {
            noAnswer(request);
        } else {
            wantsAt(request.giveUpMs);
        }
    }
}
