package redlockd;

/**
 * What HELLO has told about the daemon's clock: it read {@code nowMs} after our {@code sentMs}. If {@code same}, both read
 * one clock, and an until= is compared directly.
 */
record Sample(boolean same, long sentMs, long nowMs) {
    /** A Unix socket may lead to another machine, whose clock shows nearly what ours does only by chance. */
    private static final long SAME_WITHIN_MS = 20 + Clock.STEP_MS;
    /** Clocks that run unlike, and a slow answer. Two machines seldom start so close together. */
    private static final long GOES_ON_WITHIN_MS = 1000;

    /** The better one of {@code before} (or null) and what an answer that was received at {@code receivedMs} says. */
    static Sample better(Sample before, long sentMs, long nowMs, long receivedMs, boolean local) {
        boolean between = sentMs <= nowMs && nowMs <= receivedMs;
        boolean same = local && between && receivedMs - sentMs <= SAME_WITHIN_MS;
        if (before != null && before.same && !same && between) {
            return before; // a slow answer is no proof that the clock is another
        }
        if (before != null && !before.same && !same) {
            // Both are right, and the older one is as good, unless one of the clocks has stood still since.
            long expectedMs = before.deadlineMs(nowMs);
            if (expectedMs >= sentMs && expectedMs <= receivedMs) {
                return before;
            }
        }
        return new Sample(same, sentMs, nowMs);
    }

    /** The daemon's instant on our clock, or earlier: 0.1 % is taken off for clocks that run unlike. */
    long deadlineMs(long untilMs) {
        long leftMs = untilMs - nowMs;
        if (same) {
            return untilMs;
        }
        return leftMs <= 0 ? sentMs - 1 : sentMs + leftMs - (leftMs + 999) / 1000 - 1;
    }

    /** Whether the clock of a new connection is the one of this sample, which may have stood still for grownMs. */
    boolean goesOn(long newSentMs, long newNowMs, long receivedMs, long grownMs) {
        long oursMs = newSentMs - sentMs;
        long roomMs = GOES_ON_WITHIN_MS + oursMs / 1000 + (receivedMs - newSentMs);
        long aheadMs = newNowMs - nowMs - oursMs;
        return Math.abs(aheadMs) <= roomMs || Math.abs(aheadMs + grownMs) <= roomMs;
    }
}
