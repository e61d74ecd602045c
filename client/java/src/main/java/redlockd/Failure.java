// Written by `make stubs` from proto/stubs.def.
package redlockd;

import java.util.function.BiFunction;

/** How a request failed. The exception is made in the thread that throws it, so that its stack trace is of use. */
record Failure(Kind kind, String text, long retryMs) {
    enum Kind {
        BUSY(true, BusyException::new),
        TIMEOUT(true, LockTimeoutException::new),
        NOQUORUM(true, NoQuorumException::new),
        NOTHELD(true, NotHeldException::new),
        CANCELLED(true, CancelledException::new),
        MODE(true, ModeException::new),
        LIMIT(true, LimitException::new),
        DRAINING(true, DrainingException::new),
        DENIED(true, DeniedException::new),
        AUTH(true, AuthException::new),
        BADARG(true, BadArgumentException::new),
        UNSUPPORTED(true, UnsupportedException::new),
        LOST(false, (text, retryMs) -> new LostException("the lock was lost: " + text, text)),
        UNREACHABLE(false, UnreachableException::new),
        NOANSWER(false, NoAnswerException::new),
        PROTOCOL(false, ProtocolException::new),
        CLOSED(false, ClosedException::new),
        USAGE(false, UsageException::new);

        private final boolean refusal;
        private final BiFunction<String, Long, RedlockException> maker;

        Kind(boolean refusal, BiFunction<String, Long, RedlockException> maker) {
            this.refusal = refusal;
            this.maker = maker;
        }

        /** The kind of a refusal by its code. A code of a later version of redlockd counts as BADARG. */
        static Kind of(String code) {
            if (code.equals("BADVERB")) {
                return UNSUPPORTED;
            }
            for (Kind kind : values()) {
                if (kind.refusal && kind.name().equals(code)) {
                    return kind;
                }
            }
            return BADARG;
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
