package redlockd;

import java.time.Duration;
import java.util.Objects;

/**
 * How a lock is taken. Immutable: each method returns a copy. An option that is not set is not sent, so that redlockd's
 * own configuration decides.
 *
 * <pre>{@code LockOptions.defaults().ttl(Duration.ofSeconds(30)).waiting(Duration.ofMinutes(1))}</pre>
 */
public final class LockOptions {
    private static final LockOptions DEFAULTS = new LockOptions();

    long ttlMs;
    private long waitMs = -1; // -1: not given
    long maxMs;
    boolean lease;
    boolean shared;
    int slots;
    String note = "";
    String data = "";
    long atLeastMs;

    private LockOptions() {}

    private LockOptions(LockOptions other) {
        ttlMs = other.ttlMs;
        waitMs = other.waitMs;
        maxMs = other.maxMs;
        lease = other.lease;
        shared = other.shared;
        slots = other.slots;
        note = other.note;
        data = other.data;
        atLeastMs = other.atLeastMs;
    }

    /** redlockd's default TTL, renewed until it is given back. */
    public static LockOptions defaults() {
        return DEFAULTS;
    }

    /** How long the lock lasts when nobody renews it, as when redlockd's host dies. redlockd renews a session lock. */
    public LockOptions ttl(Duration ttl) {
        LockOptions copy = new LockOptions(this);
        copy.ttlMs = Words.ms("a TTL", ttl);
        return copy;
    }

    /**
     * How long to wait while another has the lock; zero: not at all. More than 30 days are 30 days, and without this option
     * so are {@link RedlockClient#acquire} and its likes; {@link RedlockClient#tryAcquire} does not wait.
     */
    public LockOptions waiting(Duration wait) {
        LockOptions copy = new LockOptions(this);
        boolean longest = Objects.requireNonNull(wait, "a wait").compareTo(Duration.ofMillis(Words.LONGEST_MS)) > 0;
        copy.waitMs = wait.isZero() || wait.isNegative() ? 0 : longest ? Words.LONGEST_MS : Words.ms("a wait", wait);
        return copy;
    }

    /** For how long redlockd renews the lock at most, counted from the grant; at least the TTL. Then the lock is lost. */
    public LockOptions max(Duration max) {
        LockOptions copy = new LockOptions(this);
        copy.maxMs = Words.ms("a maximum", max);
        return copy;
    }

    /** The lock belongs to the token alone: it outlives this program, redlockd does not renew it, it ends with its TTL. */
    public LockOptions lease() {
        LockOptions copy = new LockOptions(this);
        copy.lease = true;
        return copy;
    }

    /**
     * One of any number of readers, while nobody has the lock without this option. A redlockd without such locks answers
     * {@link UnsupportedException}.
     */
    public LockOptions shared() {
        LockOptions copy = new LockOptions(this);
        copy.shared = true;
        return copy;
    }

    /**
     * One of this many places, 1 to 1,024, each of which one client has at a time; {@link LockHandle#slot} is its number.
     * All who use the name give the same number, else {@link ModeException}. A redlockd without places answers
     * {@link UnsupportedException}.
     */
    public LockOptions slots(int slots) {
        if (slots < 1) {
            throw new IllegalArgumentException("there is at least 1 slot, not " + slots);
        }
        LockOptions copy = new LockOptions(this);
        copy.slots = slots;
        return copy;
    }

    /** A word of at most 64 characters for people who look at {@code SHOW LOCKS}. */
    public LockOptions note(String note) {
        LockOptions copy = new LockOptions(this);
        copy.note = Words.note("a note", note);
        return copy;
    }

    /**
     * What the holder tells others, by {@link RedlockClient#who} and {@link RedlockClient#watch}: where it can be reached,
     * mostly. 1 to 256 printable ASCII characters without space and ". For the exclusive lock of one name, and no lease.
     * {@link LockHandle#setData} changes it.
     */
    public LockOptions data(String data) {
        LockOptions copy = new LockOptions(this);
        copy.data = Words.data(data);
        return copy;
    }

    /**
     * Keeps the name taken for so long from the grant on: if the lock is given back earlier, it is as by
     * {@link LockHandle#unlockKeeping} with what is left. So a job that many hosts begin at about the same time runs once.
     * For the exclusive lock of one name.
     */
    public LockOptions atLeast(Duration span) {
        LockOptions copy = new LockOptions(this);
        copy.atLeastMs = Words.ms("at least", span);
        return copy;
    }

    long waitMs() {
        return waitMs < 0 ? Words.LONGEST_MS : waitMs;
    }

    /** These, or without a wait if they say nothing about it. */
    LockOptions trying() {
        return waitMs < 0 ? waiting(Duration.ZERO) : this;
    }

    /** @throws IllegalArgumentException the options do not fit together, or not the name */
    LockOptions checkedFor(String name) {
        boolean one = !shared && slots == 0 && name.indexOf(',') < 0;
        if (!data.isEmpty() && (!one || lease) || atLeastMs > 0 && !one) {
            throw new IllegalArgumentException("data and atLeast are for the exclusive lock of one name, and data for no lease");
        }
        return this;
    }

    @Override
    public String toString() {
        return "LockOptions[ttl=" + ttlMs + "ms waiting=" + waitMs() + "ms max=" + maxMs + "ms" + (lease ? " lease" : "")
                + (shared ? " shared" : "") + (slots > 0 ? " slots=" + slots : "")
                + (note.isEmpty() ? "]" : " note=" + note + "]");
    }
}
