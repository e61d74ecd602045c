package redlockd;

/**
 * A sample of the daemon's clock, from an answer to HELLO: it read {@code nowMs} at some moment after our {@code sentMs}.
 * If {@code same}, the daemon reads the same clock as this program, and an until= needs no conversion.
 */
record Sample(boolean same, long sentMs, long nowMs) {
    /**
     * How long an answer may take to show that both ends read the same clock. A Unix socket may lead to another machine,
     * but only by chance does its clock lie within so short a time of ours.
     */
    private static final long SAME_WITHIN_MS = 20 + Clock.STEP_MS;
    /**
     * How far two clocks may have moved apart, beyond 0.1 % and the time of the answer, to count as the clocks of before.
     * Two machines seldom start within so short a time of each other.
     */
    private static final long GOES_ON_WITHIN_MS = 1000;

    /** What an answer proves however long it was on its way. */
    static Sample proved(long nowMs, long receivedMs) {
        return new Sample(false, receivedMs, nowMs);
    }

    /**
     * Whether by this sample an instant of the daemon's clock, which was received already, is still to come: then one of the
     * clocks has stood still, and deadlines that were computed with this sample may be too late.
     */
    boolean isRefuted(long laterMs, long receivedMs) {
        return deadlineMs(laterMs) > receivedMs;
    }

    /** The better of {@code before}, which may be null, and the sample of an answer received at {@code receivedMs}. */
    static Sample better(Sample before, long sentMs, long nowMs, long receivedMs, boolean local) {
        boolean between = sentMs <= nowMs && nowMs <= receivedMs;
        boolean same = local && between && receivedMs - sentMs <= SAME_WITHIN_MS;
        if (before != null && before.same && !same && between) {
            return before; // a slow answer is no proof that the clock is another
        }
        if (before != null && !before.same && !same) {
            // The older sample is as good if it agrees with this answer: then no clock has stood still since.
            long expectedMs = before.deadlineMs(nowMs);
            if (expectedMs >= sentMs && expectedMs <= receivedMs) {
                return before;
            }
        }
        return new Sample(same, sentMs, nowMs);
    }

    /** The daemon's instant on our clock, or earlier: 0.1 % is taken off, since two clocks do not run alike. */
    long deadlineMs(long untilMs) {
        long leftMs = untilMs - nowMs;
        if (same) {
            return untilMs;
        }
        return leftMs <= 0 ? sentMs - 1 : sentMs + leftMs - (leftMs + 999) / 1000 - 1;
    }

    /** Whether the clock of a new connection is the clock of this sample, which may have stood still for grownMs. */
    boolean goesOn(long newSentMs, long newNowMs, long receivedMs, long grownMs) {
        long oursMs = newSentMs - sentMs;
        long roomMs = GOES_ON_WITHIN_MS + oursMs / 1000 + (receivedMs - newSentMs);
        long aheadMs = newNowMs - nowMs - oursMs;
        return Math.abs(aheadMs) <= roomMs || Math.abs(aheadMs + grownMs) <= roomMs;
    }
}
