package redlockd;

import java.util.Map;
import java.util.function.BiFunction;

/** How a request failed. The exception is made in the thread that throws it, so that its stack trace is of use. */
record Failure(Kind kind, String text, long retryMs) {
    enum Kind {
        BUSY(BusyException::new),
        TIMEOUT(LockTimeoutException::new),
        NOQUORUM(NoQuorumException::new),
        NOTHELD(NotHeldException::new),
        CANCELLED(CancelledException::new),
        MODE(ModeException::new),
        LIMIT(LimitException::new),
        DRAINING(DrainingException::new),
        DENIED(DeniedException::new),
        AUTH(AuthException::new),
        UNSUPPORTED(UnsupportedException::new),
        BADARG(BadArgumentException::new),
        UNREACHABLE(UnreachableException::new),
        NOANSWER(NoAnswerException::new),
        PROTOCOL(ProtocolException::new),
        CLOSED(ClosedException::new),
        USAGE(UsageException::new),
        LOST((text, retryMs) -> new LostException("the lock was lost: " + text, text));

        private static final Map<String, Kind> REFUSALS = Map.ofEntries(
                Map.entry("BUSY", BUSY), Map.entry("TIMEOUT", TIMEOUT), Map.entry("NOQUORUM", NOQUORUM),
                Map.entry("NOTHELD", NOTHELD), Map.entry("CANCELLED", CANCELLED), Map.entry("MODE", MODE),
                Map.entry("LIMIT", LIMIT), Map.entry("DRAINING", DRAINING), Map.entry("DENIED", DENIED),
                Map.entry("AUTH", AUTH), Map.entry("UNSUPPORTED", UNSUPPORTED));

        private final BiFunction<String, Long, RedlockException> maker;

        Kind(BiFunction<String, Long, RedlockException> maker) {
            this.maker = maker;
        }

        /** The kind of a refusal by its code. A code of a later version of redlockd counts as BADARG. */
        static Kind of(String code) {
            return REFUSALS.getOrDefault(code, BADARG);
        }
    }

    static Failure of(Kind kind, String text) {
        return new Failure(kind, text, -1);
    }

    static Failure refused(Answer answer) {
        return new Failure(Kind.of(answer.code()), answer.text(), answer.number("retry", -1));
    }

    RedlockException exception() {
        return kind.maker.apply(text, retryMs);
    }
}
