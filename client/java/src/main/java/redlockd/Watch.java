package redlockd;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.concurrent.LinkedBlockingDeque;

/**
 * Tells who has a name: the present state, and each change of it. {@link #hasNext} waits for the next state. A reader that is
 * slow does not hear the oldest. {@link #close} ends it, also in another thread.
 *
 * <pre>{@code
 * try (Watch watch = client.watch("leader")) {
 *     while (watch.hasNext()) {
 *         System.out.println(watch.next());
 *     }
 * }
 * }</pre>
 */
public final class Watch implements Iterator<NameState>, AutoCloseable {
    private static final int STATES = 16; // so many wait for a slow reader
    private static final int AGAIN_MS = 1000; // the most before WATCH is asked again after a refusal that may pass

    final String name;
    Link link; // where redlockd tells it; null: nowhere
    boolean asked = true; // WATCH is under way
    boolean over;

    private final Session session;
    private final LinkedBlockingDeque<Told> told = new LinkedBlockingDeque<>(STATES);
    private NameState last; // as told; null: none was
    private long retryAtMs;
    private Told next; // as hasNext() has found it

    /** A state, or the end: of a failure, or of close() (null). */
    private record Told(NameState state, Failure failure) {}

    Watch(Session session, String name) {
        this.session = session;
        this.name = name;
    }

    // ---- the session's mutex is held ----

    void tell(Answer answer) {
        NameState state = NameState.of(answer);
        if (!over && !state.equals(last)) {
            last = state;
            put(new Told(state, null));
        }
    }

    private void put(Told one) {
        while (!told.offer(one)) {
            told.poll();
        }
    }

    void answered(Request request, Answer answer, Link on, long nowMs) {
        asked = false;
        if (request.isDoneBy(answer)) {
            for (Watch each : session.watches) { // the answer is good for all who watch the name
                if (each.name.equals(name)) {
                    each.link = on;
                    each.tell(answer);
                }
            }
            session.finish(request, null);
        } else if (answer.kind() != '-') {
            on.confused();
        } else {
            Failure failure = Failure.refused(answer);
            boolean passes = switch (failure.kind()) {
                case LIMIT, DRAINING, NOQUORUM -> true;
                default -> false;
            };
            if (passes && request.abandoned) { // asked by the library itself, on a new connection
                retryAtMs = nowMs + AGAIN_MS / 2 + session.jitterMs(AGAIN_MS / 2);
                session.wantsAt(retryAtMs);
            } else {
                end(failure);
            }
            session.finish(request, failure);
        }
    }

    /** Has redlockd tell it on the present connection. */
    void tick(Link current, long nowMs) {
        if (link == current || session.watches.stream().anyMatch(other -> other.asked && other.name.equals(name))) {
            return; // the answer to the other will be good for both
        }
        if (retryAtMs > nowMs) {
            session.wantsAt(retryAtMs);
            return;
        }
        asked = true;
        Request request = new Request(Request.Verb.WATCH, null, name, Long.MAX_VALUE);
        request.watch = this;
        request.abandoned = true;
        session.queue(request);
    }

    void end(Failure failure) {
        if (!over) {
            over = true;
            put(new Told(null, failure));
            session.unwatch(this);
        }
    }

    // ---- what the program calls ----

    /**
     * Waits for a state. False: this was closed.
     *
     * @throws DeniedException the right to see the name was taken away
     * @throws ClosedException the client was closed
     * @throws CancelledException this thread was interrupted, and still is; the watch goes on
     */
    @Override
    public boolean hasNext() {
        try {
            next = next == null ? told.take() : next;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new CancelledException("interrupted while it waited for the next state", -1);
        }
        if (next.failure != null) {
            throw next.failure.exception();
        }
        return next.state != null;
    }

    @Override
    public NameState next() {
        if (!hasNext()) {
            throw new NoSuchElementException("the watch was closed");
        }
        NameState state = next.state;
        next = null;
        return state;
    }

    /** Nothing more is told. redlockd is not waited for. */
    @Override
    public void close() {
        session.within(() -> {
            told.clear();
            put(new Told(null, null));
            end(null);
        });
    }
}
