package redlockd;

/**
 * Who has a name, as {@link RedlockClient#watch} tells it.
 *
 * @param shared readers have it
 * @param fence of a holder that tells something ({@link LockOptions#data}); else 0
 * @param host where the holder's redlockd runs; "" if that is not known
 * @param data what the holder tells, or "": trust it no further than that client
 */
public record NameState(State state, boolean shared, long fence, String host, String data) {
    /** KEPT: nobody has it, and nobody can take it ({@link LockHandle#unlockKeeping}). UNKNOWN: too few masters answered. */
    public enum State { HELD, FREE, KEPT, UNKNOWN }

    static NameState of(Answer answer) {
        State state = switch (answer.value("state")) {
            case "held" -> State.HELD;
            case "free" -> State.FREE;
            case "kept" -> State.KEPT;
            default -> State.UNKNOWN;
        };
        return new NameState(state, answer.value("mode").equals("shared"), answer.number("fence", 0), answer.value("host"),
                answer.value("data"));
    }
}
