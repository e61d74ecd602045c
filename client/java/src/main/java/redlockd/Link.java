package redlockd;

import java.io.EOFException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.UnknownHostException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.LockSupport;

/**
 * A connection to redlockd, from dialling to its end. The session's mutex guards it. A thread that waits for an answer reads,
 * for all others too, so that no other thread has to be woken between redlockd and it; where none waits, a thread of the
 * connection's own does. Whichever thread leaves the mutex writes what is to be sent, unless another thread will.
 *
 * <pre>{@code
 * DIALLING ---> GREETING --+HELLO--> UP ---> CLOSED
 *                                     +----> PARKED ---> CLOSED
 * }</pre>
 *
 * PARKED: given up, but still open, since its end would make redlockd give back the locks that are about to be resumed.
 */
final class Link {
    enum State { DIALLING, GREETING, UP, PARKED, CLOSED }

    private static final int LINE_BYTES = 2048;
    private static final int LENT_NS = 1_000_000; // for so long at most nobody reads: a thread that did soon waits again
    private static final int SLOWLY_MS = 5; // between two attempts to write while redlockd does not read
    private static final int GREETING_MS = 5000; // for connecting, and again for the answers to AUTH and HELLO
    // If redlockd's clock is not known to be ours, HELLO is said again when the last HELLO is so old:
    private static final int HELLO_IDLE_MS = 10_000; // before a request
    private static final int HELLO_HELD_MS = 1000; // while a lock is held: redlockd's host may have stood still
    private static final int HELLO_SOON_MS = 100; // after a grant, or after redlockd's clock stood still
    private static final int HELLO_SLOW_MS = 50; // a first HELLO that took longer to be answered is repeated ...
    private static final int HELLO_REPEATS = 3; // ... so often at most
    private static final int STALL_MS = 5000; // silence within an answer
    private static final int PATIENCE_MS = 10_000; // silence before PING, and again before the connection is given up
    private static final int PATIENCE_LEAST_MS = 1000; // the same with short TTLs

    final Map<String, Request> sent = new LinkedHashMap<>();
    State state = State.DIALLING;
    boolean draining;
    int shortSent; // requests that are answered at once
    int longSent; // and that redlockd may let wait
    boolean repeats; // redlockd repeats RESUME and downgrades for as long as wait=
    boolean keeps; // redlockd keeps names
    int daemon; // the number of the redlockd at the other end; another clock counts as another redlockd
    long behindMs; // for how long that redlockd's clock has stood still, as far as it has told
    Sample sample; // null: no HELLO was answered
    long sinceMs; // when the state DIALLING, GREETING or UP began

    private final Session session;
    private Transport transport;
    private Address address;
    private boolean authenticating;
    private long heardMs;
    private long pingedMs; // 0: no PING is under way
    private long helloSentMs; // 0: answered
    private long helloLastMs;
    private int greetings = 1; // how many HELLOs on a new connection are to tell its clock; 0: that is told
    private boolean refuted; // one of them has shown that a clock stood still
    private boolean half; // a line has begun to come
    private boolean helloSoon; // a grant came, or the daemon's clock stood still, since the last HELLO

    // Reading: by a thread that waits for an answer, one after the other, or by the connection's own thread.
    private final Condition returned;
    private final byte[] bytes = new byte[16 * 1024];
    private final StringBuilder line = new StringBuilder(); // what has come of a line
    private volatile Thread reader; // null: nobody reads for a moment
    private volatile boolean lends; // threads that wait may read
    private boolean lent; // one of them has read since our own thread looked
    private boolean resting; // our own thread, until none of them reads any more
    private boolean awake; // the reader handles what came, and writes before it reads on: others leave that to it

    // Writing: by the thread that leaves the mutex.
    private final StringBuilder out = new StringBuilder();
    private ByteBuffer toWrite; // before out; null: nothing
    private boolean writing; // a thread does
    private volatile boolean slow; // redlockd does not read: the reader tries again

    Link(Session session, long nowMs) {
        this.session = session;
        this.sinceMs = nowMs;
        this.returned = session.mutex.newCondition();
    }

    Address address() {
        return address;
    }

    void start() {
        Session.thread("redlockd-reader", this::run);
    }

    // ---- its threads ----

    private void run() {
        try {
            if (connected(open())) {
                readForAll();
            }
        } catch (UsageException e) {
            ended(Failure.of(Failure.Kind.USAGE, e.getMessage()));
        } catch (IOException | RuntimeException | InterruptedException e) {
            ended(Failure.of(Failure.Kind.UNREACHABLE, e.getMessage()));
        }
    }

    private void ended(Failure failure) {
        long nowMs = session.enter();
        try {
            reader = null;
            session.disconnected(this, failure, nowMs);
            close();
        } finally {
            session.leave();
        }
    }

    private Transport open() throws IOException {
        StringBuilder why = new StringBuilder();
        for (Address place : session.config.places()) {
            address = place;
            try {
                return Transport.open(place, session.config);
            } catch (IOException e) {
                String text = e instanceof UnknownHostException ? "unknown host" : e.getMessage();
                why.append(why.length() == 0 ? "cannot connect to " : ", ").append(place).append(": ").append(text);
            }
        }
        throw new ConnectException(why + "; redlockd is started by `systemctl start redlockd`, or by `redlockd --dev`"
                + " to try it");
    }

    /** Begins to talk. False: connecting took too long, and the connection was given up meanwhile. */
    private boolean connected(Transport opened) {
        long nowMs = session.enter();
        try {
            if (state == State.CLOSED) {
                opened.close();
                return false;
            }
            transport = opened;
            lends = opened.canWake();
            state = State.GREETING;
            sinceMs = heardMs = nowMs;
            if (session.config.hasSecret()) {
                send("#u " + session.config.auth());
                authenticating = true;
            } else {
                hello();
            }
        } finally {
            session.leave();
        }
        return true;
    }

    /** What the connection's own thread does: it reads, unless a thread that waits does. */
    private void readForAll() throws InterruptedException {
        session.enter();
        try {
            while (state != State.CLOSED) {
                if (reader == null && !lent) {
                    reader = Thread.currentThread();
                    awake = false;
                    session.leave();
                    try {
                        read(null);
                    } finally {
                        session.enter();
                    }
                } else if (lent) {
                    lent = false;
                    returned.awaitNanos(LENT_NS);
                } else {
                    resting = true;
                    returned.await();
                    resting = false;
                }
            }
        } finally {
            session.leave();
        }
    }

    /** The calling thread reads until its request is over. False: another thread reads, or this one may not. */
    boolean readFor(Request request) {
        if (reader != null || !lends) {
            return false;
        }
        if (awake) {
            Thread.yield(); // as in came()
        }
        session.enter();
        try {
            if (reader != null || !request.isReadBy(this)) {
                return false;
            }
            reader = Thread.currentThread();
            lent = true;
            awake = false;
        } finally {
            session.leave();
        }
        read(request);
        return true;
    }

    /** Reads until another thread is to read. The connection ends with whatever is thrown: a part of a line may be lost. */
    private void read(Request own) {
        try {
            int length;
            do {
                length = transport.read(bytes, slow ? SLOWLY_MS : 0);
                if (length < 0) {
                    throw new EOFException("redlockd closed it");
                }
            } while (came(length, own));
        } catch (IOException | RuntimeException | Error e) {
            ended(Failure.of(Failure.Kind.UNREACHABLE, "the connection to " + address + " ended: " + e.getMessage()));
            if (e instanceof Error) {
                throw (Error) e;
            }
        }
    }

    /** Handles what came. Whether the same thread reads on. */
    private boolean came(int length, Request own) {
        List<String> lines = length > 0 ? lines(length) : List.of();
        Request next;
        boolean wakes;
        boolean on;
        long nowMs = session.enter();
        try {
            slow = false;
            if (length > 0) {
                heard(lines, line.length(), nowMs);
            }
            wakes = session.wakes();
            on = state != State.CLOSED && (own == null ? !lends || !wakes
                    : own.isReadBy(this) && !Thread.currentThread().isInterrupted());
            awake = on && wakes;
            next = on ? null : handOver();
        } finally {
            session.leave();
        }
        if (next != null) {
            LockSupport.unpark(next.waiter);
        } else if (on && wakes) {
            Thread.yield(); // to those who were woken, and go on to ask: their lines go out together
            session.within(() -> awake = false);
        }
        return on;
    }

    /** The calling thread reads no more. Returns the request whose thread is to go on; null: none waits. */
    private Request handOver() {
        reader = null;
        lent = lends;
        if (resting) {
            returned.signal();
        }
        for (Request request : sent.values()) {
            if (request.isReadBy(this)) {
                awake = true;
                return request;
            }
        }
        if (!sent.isEmpty()) { // nobody waits for these, as for futures
            lent = false;
            returned.signal();
        }
        return null;
    }

    /** The thread that waits for this request is to read no more. */
    void noMoreFor(Request request) {
        if (reader != null && reader != Thread.currentThread() && request.waiter == reader) {
            transport.wake();
        }
    }

    /** Takes the bytes apart. The line that is not complete yet stays. */
    private List<String> lines(int length) {
        List<String> lines = new ArrayList<>();
        String text = new String(bytes, 0, length, StandardCharsets.ISO_8859_1);
        int start = 0;
        for (int end; (end = text.indexOf('\n', start)) >= 0; start = end + 1) {
            lines.add(line.append(text, start, end).toString());
            line.setLength(0);
        }
        line.append(text, start, text.length());
        return lines;
    }

    // ---- lines out ----

    void send(String line) {
        out.append(line).append('\n');
    }

    /** Whether the calling thread has to call {@link #write}, outside the mutex, and then {@link #written}. */
    boolean beginsToWrite() {
        if (writing || awake || slow || transport == null || out.length() == 0 && toWrite == null) {
            return false;
        }
        if (toWrite == null) {
            toWrite = ByteBuffer.wrap(out.toString().getBytes(StandardCharsets.ISO_8859_1));
            out.setLength(0);
        }
        writing = true;
        return true;
    }

    /** Whether writing may wait for redlockd to read. */
    boolean blocksWriters() {
        return !lends;
    }

    void write() {
        try {
            transport.write(toWrite);
        } catch (IOException e) {
            // The reader finds the connection ended too, after it has read what redlockd still sent.
            toWrite.position(toWrite.limit());
        }
    }

    void written() {
        writing = false;
        slow = toWrite.hasRemaining(); // redlockd does not read: the reader tries again
        toWrite = slow ? toWrite : null;
        if (slow && reader != Thread.currentThread()) {
            transport.wake();
        }
    }

    void ask(Request request, long nowMs) {
        boolean idle = sent.isEmpty() && !session.listens();
        if (idle) {
            heardMs = nowMs; // silence counts from this request on: there was nothing to hear before
        }
        if (!sample.same() && helloSentMs == 0 && nowMs - helloLastMs >= HELLO_IDLE_MS) {
            hello();
        }
        if (request.keepMs > 0 && !keeps) {
            request.keepMs = 0;
            request.keepless = true;
        }
        request.tag = session.nextTag();
        request.state = Request.State.SENT;
        request.link = this;
        request.sendings++;
        request.isLong = request.mayWait(this, nowMs);
        count(request, 1);
        sent.put(request.tag, request);
        request.put(out, this, nowMs);
        out.append('\n');
        session.wantsAt(nowMs + patienceMs());
    }

    void count(Request request, int change) {
        longSent += request.isLong ? change : 0;
        shortSent += request.isLong ? 0 : change;
    }

    void cancel(Request request) {
        send("#c" + request.tag + " CANCEL " + request.tag);
    }

    private void hello() {
        String client = session.config.client();
        helloSentMs = session.clock.floorMs();
        helloLastMs = helloSentMs;
        helloSoon = false;
        send("#h HELLO 1 events=renewed" + (client.isEmpty() ? "" : " client=" + client));
    }

    /** After a grant, HELLO is said soon: the daemon's clock may have stood still since the last HELLO. */
    void wantsHelloSoon(long nowMs) {
        helloSoon = true;
        if (!sample.same()) {
            session.wantsAt(nowMs + HELLO_SOON_MS);
        }
    }

    // ---- lines in ----

    private void heard(List<String> lines, int rest, long nowMs) {
        heardMs = nowMs;
        pingedMs = 0;
        half = rest > 0;
        if (half) {
            session.wantsAt(nowMs + stallMs());
        }
        for (String line : lines) {
            boolean cr = line.endsWith("\r");
            heard(cr ? line.substring(0, line.length() - 1) : line, nowMs);
        }
        if (rest >= LINE_BYTES) {
            line.setLength(0);
            breakOff(Failure.Kind.PROTOCOL, "what answers is no redlockd: a line is longer than 2,048 bytes");
        }
        session.pump(nowMs);
    }

    private void heard(String line, long nowMs) {
        if (line.isEmpty() || (state != State.GREETING && state != State.UP)) {
            return;
        }
        Answer answer = line.length() < LINE_BYTES ? Answer.parse(line) : null;
        if (answer == null) {
            breakOff(Failure.Kind.PROTOCOL, "what answers is no redlockd, or one of another protocol");
        } else if (answer.kind() == '!') {
            event(answer, nowMs);
        } else if (answer.tag().isEmpty()) {
            boolean limit = answer.is('-', "LIMIT"); // too many clients: redlockd closes the connection now
            breakOff(limit ? Failure.Kind.UNREACHABLE : Failure.Kind.PROTOCOL, answer.text());
        } else if (answer.tag().equals("u")) {
            authenticated(answer);
        } else if (answer.tag().equals("h")) {
            greeted(answer, nowMs);
        } else if (answer.tag().equals("q")) {
            close(); // +BYE
        } else {
            Request request = sent.get(answer.tag());
            if (request != null) { // else it answers PING, CANCEL, or a request that was given up
                answered(request, answer, nowMs);
            }
        }
    }

    private void answered(Request request, Answer answer, long nowMs) {
        if (answer.kind() == '*' && request.verb.code.equals("END")) {
            request.rows.add(answer.toMap());
        } else if (request.watch != null) {
            request.watch.answered(request, answer, this, nowMs);
        } else if (request.hold != null) {
            request.hold.answered(request, answer, this, nowMs);
        } else if (answer.kind() == '-') {
            session.finish(request, Failure.refused(answer));
        } else if (request.isDoneBy(answer)) {
            session.finish(request, null);
        } else {
            confused();
        }
    }

    private void event(Answer event, long nowMs) {
        if (event.code().equals("DRAIN")) {
            draining = true;
            session.wantsAt(0);
        } else if (event.code().equals("CLOCK") && state == State.UP) {
            behind(event.number("behind", 0), nowMs);
        } else if (event.code().equals("NOW")) {
            session.watches.stream().filter(watch -> watch.link == this && watch.name.equals(event.name()))
                    .forEach(watch -> watch.tell(event));
        }
        Hold hold = session.byToken.get(event.value("token"));
        if (hold != null && hold.name.equals(event.name()) && hold.bound == this) {
            hold.event(event, this, nowMs);
        }
    }

    private void authenticated(Answer answer) {
        if (answer.is('+', "OK") && authenticating) {
            authenticating = false;
            hello();
        } else {
            breakOff(Failure.Kind.of(answer.code()) == Failure.Kind.UNSUPPORTED ? Failure.Kind.UNSUPPORTED
                    : Failure.Kind.AUTH, answer.text());
        }
    }

    private void greeted(Answer answer, long nowMs) {
        long now = answer.number("now", -1);
        if (!answer.is('+', "HELLO") || answer.number("proto", 0) != 1 || now < 0 || helloSentMs == 0) {
            breakOff(Failure.Kind.PROTOCOL, "what answers HELLO is no redlockd of protocol 1: " + answer.text());
            return;
        }
        long sentMs = helloSentMs;
        long behind = answer.number("behind", 0);
        helloSentMs = 0;
        if (state == State.GREETING) {
            session.meet(this, sentMs, now, nowMs, behind);
        }
        behind(behind, nowMs);
        List<String> features = List.of(answer.value("features").split(","));
        repeats = features.contains("resume-wait");
        keeps = features.contains("keep");
        measure(sentMs, now, nowMs);
        if (state == State.GREETING) {
            state = State.UP;
            sinceMs = nowMs;
            session.up(this, nowMs);
        }
        session.wantsAt(helloDueMs());
    }

    /**
     * Takes the reading of redlockd's clock. A HELLO that was slow to be answered on a new connection is repeated, since it
     * may have lain in a backlog. Deadlines move only where a reading proves that a clock stood still, and until the
     * connection's clock is told only by what is proved.
     */
    private void measure(long sentMs, long now, long nowMs) {
        refuted |= sample != null && sample.isRefuted(now, nowMs) || greetings > 0 && session.isRefuted(now, nowMs);
        sample = Sample.better(sample, sentMs, now, nowMs, address.isLocal());
        boolean slow = greetings > 0 && greetings <= HELLO_REPEATS && nowMs - sentMs > HELLO_SLOW_MS + Clock.STEP_MS;
        greetings = slow ? greetings + 1 : 0;
        if (slow) {
            hello();
        }
        if (refuted) {
            Sample told = slow ? Sample.proved(now, nowMs) : sample;
            session.holds.forEach(hold -> hold.recount(this, told, nowMs));
            refuted = slow;
        }
    }

    private void behind(long newBehindMs, long nowMs) {
        long grownMs = newBehindMs - behindMs;
        if (grownMs <= 0) {
            return;
        }
        behindMs = newBehindMs;
        helloSoon = true;
        session.wantsAt(0); // a lock's time may be over now
        session.holds.forEach(hold -> hold.shift(this, grownMs));
    }

    // ---- time and end ----

    long patienceMs() {
        return Math.max(PATIENCE_LEAST_MS, Math.min(PATIENCE_MS, session.shortestMs / 3));
    }

    private long stallMs() {
        return Math.min(STALL_MS, patienceMs());
    }

    private long helloDueMs() {
        if (sample.same() || session.holds.isEmpty() || helloSentMs != 0) {
            return Long.MAX_VALUE;
        }
        return helloLastMs + (helloSoon ? HELLO_SOON_MS : HELLO_HELD_MS);
    }

    void tick(long nowMs) {
        if (state == State.DIALLING || state == State.GREETING) {
            session.wantsAt(sinceMs + GREETING_MS);
            if (nowMs - sinceMs >= GREETING_MS) {
                breakOff(Failure.Kind.UNREACHABLE, state == State.DIALLING ? "connecting takes too long"
                        : "connected to " + address + ", but HELLO is not answered");
            }
        } else if (state == State.UP) {
            tickUp(nowMs);
        }
    }

    private void tickUp(long nowMs) {
        if (nowMs >= helloDueMs()) {
            hello();
        }
        session.wantsAt(helloDueMs());
        if (half && nowMs - heardMs >= stallMs()) {
            breakOff(Failure.Kind.UNREACHABLE, "redlockd fell silent within an answer");
            return;
        }
        if (half) {
            session.wantsAt(heardMs + stallMs());
        }
        if (sent.isEmpty() && !session.listens() && pingedMs == 0) {
            return;
        }
        long silentSinceMs = pingedMs != 0 ? pingedMs : heardMs;
        if (nowMs - silentSinceMs < patienceMs()) {
            session.wantsAt(silentSinceMs + patienceMs());
        } else if (pingedMs != 0) {
            breakOff(Failure.Kind.UNREACHABLE, "redlockd is silent: it does not answer PING");
        } else {
            pingedMs = nowMs;
            send("#p PING");
            session.wantsAt(nowMs + patienceMs());
        }
    }

    void confused() {
        breakOff(Failure.Kind.PROTOCOL, "redlockd gave an answer that does not fit the request");
    }

    /** Gives the connection up. It stays open, PARKED, if session locks have to be resumed first. */
    private void breakOff(Failure.Kind kind, String text) {
        boolean wasUp = state == State.UP;
        session.disconnected(this, Failure.of(kind, text), session.clock.nowMs());
        if (wasUp && session.binds(this)) {
            state = State.PARKED;
        } else {
            close();
        }
    }

    void close() {
        state = State.CLOSED;
        reader = null;
        returned.signal();
        session.closed(this);
        if (transport != null) {
            transport.close();
        }
    }
}
