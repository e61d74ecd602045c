package redlockd;

/**
 * How a lock becomes a reader's: LOCK mode=shared token=. A program that was told that it is a reader never has the lock as
 * a writer again. The session's mutex guards this; any thread may read the volatile field.
 */
final class Downgrade {
    private static final int AGAIN_MS = 500; // the pause after a refusal, and the jitter added to it

    volatile boolean reader; // for the program, from the call of downgrade() on
    boolean done; // redlockd has said so, or the lock was taken as a reader's

    private final Session session;
    private final Hold hold;
    private long againAtMs; // 0: redlockd is not to be asked again

    Downgrade(Session session, Hold hold) {
        this.session = session;
        this.hold = hold;
        reader = done = hold.options.shared;
    }

    /** For so long a redlockd that can do so repeats it: the rest is for the answer. */
    long waitMs() {
        return Math.max(1, session.config.timeoutMs() / 2);
    }

    /** The program asks for it. Null: there is nothing to ask. */
    Request begin(long giveUpMs) {
        if (done && hold.isAlive()) {
            return null;
        }
        Request request = Request.of(Request.Verb.DOWNGRADE, hold, giveUpMs);
        request.first = !reader;
        reader = true;
        return request;
    }

    /** Whether there is nothing to ask: with a reader's token, the same line would enter the lock once more. */
    boolean isOver() {
        return done || !hold.isAlive();
    }

    void end(Request request) {
        Failure over = hold.state == Hold.State.LOST ? Failure.of(Failure.Kind.LOST, hold.lostReason)
                : Failure.of(Failure.Kind.NOTHELD, "the lock " + hold.name + " was given back");
        session.finish(request, hold.isAlive() ? null : over);
    }

    /** Whether the answer is waited for: another redlockd may know the lock only by the token that it brings. */
    boolean isUnderWay() {
        return reader && !done && session.isDowngrading(hold);
    }

    void answered(Request request, Answer answer, Link link, long nowMs) {
        boolean moves = hold.state == Hold.State.DETACHED || hold.state == Hold.State.RESUMING;
        if (answer.isGrantOf(hold.name)) {
            done |= hold.becomesReader(answer, link, nowMs);
        } else if (answer.kind() != '-') {
            link.confused();
            return;
        } else if (!moves || !answer.code().equals("NOTHELD")) {
            refused(request, Failure.refused(answer), nowMs);
            return;
        }
        if (isOver() || request.abandoned) {
            end(request);
        } else {
            session.requeue(request); // the answer to RESUME says what became of the lock
        }
    }

    private void refused(Request request, Failure failure, long nowMs) {
        Failure.Kind kind = failure.kind();
        if (kind == Failure.Kind.NOTHELD) {
            if (hold.state == Hold.State.HELD) {
                hold.lose("gone");
            }
        } else if (request.first && kind != Failure.Kind.NOQUORUM && kind != Failure.Kind.CANCELLED
                && kind != Failure.Kind.DRAINING) {
            reader = false;
        } else { // too few masters know yet, or the program was told before that it is a reader
            againAtMs = nowMs + AGAIN_MS + session.jitterMs(AGAIN_MS);
            session.wantsAt(againAtMs);
        }
        session.finish(request, failure);
    }

    void tick(long nowMs) {
        if (againAtMs > nowMs) {
            session.wantsAt(againAtMs);
        } else if (againAtMs > 0) {
            againAtMs = 0;
            again();
        }
    }

    void resumed(Answer answer) {
        done |= answer.value("mode").equals("shared");
        reader |= done;
    }

    /** Asks for what the program was told: too few masters know it, or redlockd has the lock as a writer's all the same. */
    void again() {
        boolean asked = session.isToDowngrade(hold) || session.isDowngrading(hold);
        if (!reader || done || hold.state != Hold.State.HELD || asked) {
            return;
        }
        Request request = Request.of(Request.Verb.DOWNGRADE, hold, Long.MAX_VALUE);
        request.abandoned = true;
        session.queue(request);
    }
}
