/* Clocks that stand still, the daemon's or the client's: a deadline may become earlier, and never later
 * without a new until=. */
#include "tests/unit/client_world.h"

/* The daemon's clock is ahead of the client's by this, where the clocks are two. */
enum { THEIRS_MS = 500000 };

static void greets(struct world *w, int64_t now_ms, int behind_ms)
{
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld behind=%d", (long long)now_ms, behind_ms);
}

/* Connected over TCP, to a daemon whose clock is another. */
static void comes_up_elsewhere(struct world *w)
{
    dial(w, false);
    greets(w, w->now_ms + THEIRS_MS, 0);
    expect_told(w, "up ok : redlockd/9");
}

/* A lock that is held until TTL_MS from now, by the daemon's clock. */
static struct redlock_lock *has_lock_elsewhere(struct world *w)
{
    struct redlock_lock *lock = ask_lock(w, "job", 0);

    expect_line(w, "#* LOCK job ttl=9000");
    says(w, "%s +LOCKED job token=" TOKEN_A " fence=1 valid=1 until=%lld", tag(w),
         (long long)w->now_ms + THEIRS_MS + TTL_MS);
    expect_told(w, "lock job ok");
    return lock;
}

static struct redlock_lock *has_lease(struct world *w, const char *name)
{
    struct redlock_lock *lock = ask_lease(w, name);

    expect_line(w, "#* LOCK * ttl=9000 hold=lease");
    grants(w, name, TOKEN_B, 8);
    expect_told(w, "lock * ok");
    return lock;
}

/* ---- the daemon's clock ---- */

T(all_deadlines_are_earlier)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A), *lease = has_lease(w, "lease");

    says(w, "!CLOCK behind=2000");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS - 2000);
    ck_assert_int_eq(deadline(lease), START_MS + TTL_MS - 2000);
    says(w, "!CLOCK behind=2500"); /* in all, not once more */
    says(w, "!CLOCK behind=2500");
    says(w, "!CLOCK behind=1000"); /* behind= only grows */
    says(w, "!CLOCK");
    says(w, "!CLOCK behind=");
    says(w, "!CLOCK behind=-9");
    says(w, "!CLOCK behind=soon");
    says(w, "!CLOCK behind=99999999999999999999");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS - 2500);
    ck_assert_int_eq(deadline(lease), START_MS + TTL_MS - 2500);
    /* From deadlines that are told from now on the daemon itself has taken the time off. */
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=12000");
    expect_told(w, "renewed job ok");
    ck_assert_int_eq(deadline(lock), 12000);
    struct redlock_lock *later = has_lock(w, "later", TOKEN_C);
    ck_assert_int_eq(deadline(later), START_MS + TTL_MS);
    ck_assert_int_eq(w->core->state, CORE_UP);
}

T(over_by_that_and_lost_at_once)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A), *lease = has_lease(w, "lease");

    passes(w, 1000);
    says(w, "!CLOCK behind=8100");
    expect_nothing(w);
    ck_assert_int_le(deadline(lock), w->now_ms);
    ck_assert_int_le(deadline(lease), w->now_ms);
    ck_assert_int_le(core_deadline_ms(w->core), w->now_ms);
    passes(w, 0);
    expect_told(w, "lost job lost : expired");
    expect_told(w, "lost lease lost : expired");
    expect_nothing(w);
    expect_line(w, "#* UNLOCK job token=" TOKEN_A); /* redlockd may have renewed the lock meanwhile */
    expect_silence(w);
}

T(nothing_is_so_long_that_it_overflows)
{
    struct world *w = world_new();

    for (int i = 0; i < 20; i++) {
        comes_up(w);
        struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
        says(w, "!CLOCK behind=999999999999999999");
        expect_nothing(w);
        ck_assert_int_le(deadline(lock), w->now_ms);
        passes(w, 0);
        expect_told(w, "lost job lost : expired");
        core_forget(w->core, w->now_ms, lock);
        expect_line(w, "#* UNLOCK job *");
        says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
        expect_nothing(w);
        goes_down(w);
        expect_told(w, "down *");
    }
}

/* redlockd renewed at once, and both lines were read together. */
T(renewed_behind_it)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    says(w, "!CLOCK behind=20000\n!RENEWED job token=" TOKEN_A " valid=1 until=11000");
    expect_told(w, "renewed job ok");
    passes(w, 0);
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), 11000);
}

T(expiring_comes_earlier_too)
{
    struct world *w = world_new();

    comes_up(w);
    has_lock(w, "job", TOKEN_A);
    passes(w, 1000);
    says(w, "!CLOCK behind=4999");
    expect_nothing(w);
    passes(w, 0);
    expect_nothing(w);
    passes(w, 1);
    expect_told(w, "expiring job ok"); /* a third of the TTL is left */
}

/* The time behind before this connection is in all deadlines that were told on it. */
T(hello_tells_what_is_behind)
{
    struct world *w = world_new();
    dial(w, false);
    says(w, "!CLOCK behind=50"); /* the answer to HELLO is still to come, and will tell */
    greets(w, w->now_ms + THEIRS_MS, 100);
    expect_told(w, "up *");
    struct redlock_lock *lock = has_lock_elsewhere(w);
    int64_t told_ms = deadline(lock);

    ck_assert_int_eq(told_ms, START_MS + TTL_MS - 9 - 1);
    passes(w, 1000);
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS - 500, 600); /* !CLOCK behind=600 did not come yet */
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms - 500);
    says(w, "!CLOCK behind=600");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms - 500);
    passes(w, 1000);
    expect_line(w, "#h HELLO *");
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld behind=none", (long long)w->now_ms + THEIRS_MS);
    says(w, "!CLOCK behind=700");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms - 600);
}

T(hello_at_once_where_the_clocks_are_two)
{
    struct world *w = world_new();

    comes_up_elsewhere(w);
    passes(w, 300);
    has_lock_elsewhere(w);
    passes(w, 0);
    expect_line(w, "#h HELLO *"); /* the client's host may have stood still while LOCK was under way */
    greets(w, w->now_ms + THEIRS_MS, 0);
    expect_nothing(w);
    passes(w, 999);
    expect_silence(w);
    passes(w, 1);
    expect_line(w, "#h HELLO *");
    passes(w, 300); /* one HELLO at a time */
    says(w, "!CLOCK behind=1");
    expect_nothing(w);
    passes(w, 0);
    expect_silence(w);
    greets(w, w->now_ms + THEIRS_MS, 0);
    expect_nothing(w);
    passes(w, 0);
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS, 1);
    expect_nothing(w);
}

T(hello_each_second_while_a_lock_is_held)
{
    struct world *w = world_new();
    enum redlock_error error;
    comes_up_elsewhere(w);
    struct redlock_lock *attached = core_attach(w->core, "x", TOKEN_C, &error);

    for (int i = 0; i < 4; i++) {
        passes(w, 2000); /* the deadline of an attached token is unknown */
        expect_silence(w);
    }
    core_forget(w->core, w->now_ms, attached);
    struct redlock_lock *lease = ask_lease(w, "lease");
    expect_line(w, "#* LOCK lease *");
    says(w, "%s +LOCKED lease token=" TOKEN_B " fence=1 valid=1 until=%lld", tag(w),
         (long long)w->now_ms + THEIRS_MS + TTL_MS);
    expect_told(w, "lock lease ok");
    for (int i = 0; i < 4; i++) {
        passes(w, 1000);
        expect_line(w, "#h HELLO *");
        greets(w, w->now_ms + THEIRS_MS, 0);
        expect_nothing(w);
    }
    core_forget(w->core, w->now_ms, lease);
    passes(w, 5000);
    expect_silence(w);
}

/* ---- our own clock ---- */

T(our_host_stood_still)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);

    passes(w, 1000); /* in truth 5000: the client's clock did not count 4000 of them */
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS + 4000, 0);
    expect_nothing(w);
    ck_assert_int_ge(deadline(lock), START_MS + TTL_MS - 4000 - 15);
    ck_assert_int_le(deadline(lock), START_MS + TTL_MS - 4000);
    passes(w, 1000);
    expect_line(w, "#h HELLO *");
    expect_told(w, "expiring job ok");
    greets(w, w->now_ms + THEIRS_MS + 9000, 0);
    expect_nothing(w);
    ck_assert_int_le(deadline(lock), w->now_ms);
    passes(w, LOST_GRACE_MS);
    expect_told(w, "lost job lost : expired");
}

/* The daemon's host stands still first, which changes nothing, since the client's clock counts on. Then the
 * client's host stands still. */
T(both_hosts_stood_still)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);
    int64_t told_ms = deadline(lock);

    says(w, "!CLOCK behind=700");
    expect_nothing(w);
    passes(w, 1000);
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS - 700, 700);
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms - 700);
    passes(w, 1000);
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS - 700 + 2000, 700);
    expect_nothing(w);
    ck_assert_int_ge(deadline(lock), told_ms - 2000);
    ck_assert_int_le(deadline(lock), told_ms - 2000 + 10); /* 0.1 % less is taken off for drift */
}

/* Without a new until= the later sample may only show that the daemon's clock stood still. */
T(no_hello_makes_a_deadline_later)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);
    int64_t told_ms = deadline(lock);

    passes(w, 1000);
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS - 700, 0); /* the daemon does not know yet */
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms);
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%d", START_MS + THEIRS_MS + TTL_MS);
    expect_told(w, "renewed job ok");
    ck_assert_int_eq(deadline(lock), told_ms);
    ask(w, lock, ASK_CHECK);
    expect_line(w, "#* CHECK job *");
    says(w, "%s +HELD job valid=1 until=%d", tag(w), START_MS + THEIRS_MS + TTL_MS);
    expect_told(w, "check job ok");
    ck_assert_int_eq(deadline(lock), told_ms);
    /* The deadline of a renewal is computed with the new sample. */
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%lld",
         (long long)w->now_ms + THEIRS_MS - 700 + TTL_MS);
    expect_told(w, "renewed job ok");
    ck_assert_int_eq(deadline(lock), w->now_ms + TTL_MS - 9 - 1);
}

/* ---- on another connection ---- */

T(behind_while_the_connection_was_gone)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);
    int64_t told_ms = deadline(lock);

    goes_down(w);
    expect_told(w, "down *");
    dial(w, false);
    greets(w, w->now_ms + THEIRS_MS - 3000, 3000);
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lock), told_ms - 3000);
    expect_line(w, "#* RESUME job *");
    goes_down(w);
    expect_told(w, "down *");
    dial(w, false);
    greets(w, w->now_ms + THEIRS_MS - 13000, 13000);
    expect_told(w, "up *");
    passes(w, 0);
    expect_told(w, "lost job lost : expired");
}

/* The same on one machine, whose clock stood still for both. */
T(behind_on_the_same_machine)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lease = has_lease(w, "lease");

    goes_down(w);
    expect_told(w, "down *");
    dial(w, true);
    greets(w, w->now_ms, 3000);
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lease), START_MS + TTL_MS - 3000);
    goes_down(w);
    expect_told(w, "down *");
    dial(w, true);
    greets(w, w->now_ms, 0); /* redlockd was restarted */
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lease), START_MS + TTL_MS - 3000);
}

/* Stalls of long ago are in no deadline that this client was told. */
T(what_another_daemon_is_behind)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);
    int64_t told_ms = deadline(lock);

    goes_down(w);
    expect_told(w, "down *");
    dial(w, false);
    says(w, "!CLOCK behind=60000");
    expect_nothing(w);
    greets(w, 7000000, 60000);
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lock), told_ms);
    says(w, "!CLOCK behind=61000");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms);
    expect_line(w, "#* RESUME job *");
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=2 valid=1 until=7009000", tag(w));
    expect_told(w, "resumed job ok");
    told_ms = deadline(lock);
    says(w, "!CLOCK behind=61500");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms - 500);
}

/* redlockd was restarted by socket activation, and HELLO lay in the backlog meanwhile. */
T(hello_in_the_backlog)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    int64_t told_ms = deadline(lock);

    goes_down(w);
    expect_told(w, "down *");
    dial(w, true);
    passes(w, 4000);
    greets(w, w->now_ms, 0);
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lock), told_ms);
    expect_line(w, "#h HELLO *");
    expect_line(w, "#* RESUME job *"); /* does not wait for the HELLO */
    expect_silence(w);
    passes(w, 51);
    greets(w, w->now_ms, 0);
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), told_ms);
    expect_line(w, "#h HELLO *");
    passes(w, 50);
    greets(w, w->now_ms - 25, 0);
    expect_nothing(w);
    expect_silence(w);
    passes(w, 5000);
    expect_told(w, "lost job lost : expired");
}

/* All four HELLOs are slow: the shortest round trip counts for the deadline of a new lock. */
T(the_shortest_hello)
{
    struct world *w = world_new();

    dial(w, false);
    passes(w, 3000);
    greets(w, w->now_ms + THEIRS_MS, 0);
    expect_told(w, "up *");
    for (int i = 0; i < 3; i++) {
        const int round_trip_ms[] = {600, 200, 900};
        expect_line(w, "#h HELLO *");
        passes(w, round_trip_ms[i]);
        greets(w, w->now_ms + THEIRS_MS, 0);
        expect_nothing(w);
    }
    expect_silence(w);
    ck_assert_int_eq(deadline(has_lock_elsewhere(w)), w->now_ms + TTL_MS - 200 - 10 - 1);
}

/* The first HELLO shows in spite of its slowness that the client's host stood still: the deadline moves by what that
 * proves, and by the rest when the clock is known better. */
T(a_slow_hello_proves_that_our_host_stood_still)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);

    goes_down(w);
    expect_told(w, "down *");
    dial(w, false);
    int64_t stood_ms = 800;
    passes(w, 2000);
    greets(w, w->now_ms + THEIRS_MS + stood_ms - 100, 0); /* 100 ms on the way back */
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS - stood_ms + 100 - 8);
    expect_line(w, "#h HELLO *");
    passes(w, 20);
    greets(w, w->now_ms + THEIRS_MS + stood_ms, 0);
    expect_nothing(w);
    ck_assert_int_le(deadline(lock), START_MS + TTL_MS - stood_ms);
    ck_assert_int_ge(deadline(lock), START_MS + TTL_MS - stood_ms - 20 - 10);
}

/* That the client's host stood still shows only by the second HELLO, which is compared with the connection before. */
T(a_repeated_hello_proves_that_our_host_stood_still)
{
    struct world *w = world_new();
    comes_up_elsewhere(w);
    struct redlock_lock *lock = has_lock_elsewhere(w);
    int64_t told_ms = deadline(lock);

    goes_down(w);
    expect_told(w, "down *");
    dial(w, false);
    passes(w, 2000);
    greets(w, w->now_ms + THEIRS_MS + 800 - 1900, 0); /* the way back took nearly all of it */
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lock), told_ms);
    expect_line(w, "#h HELLO *");
    greets(w, w->now_ms + THEIRS_MS + 800, 0);
    expect_nothing(w);
    ck_assert_int_le(deadline(lock), START_MS + TTL_MS - 800);
    ck_assert_int_ge(deadline(lock), START_MS + TTL_MS - 800 - 10);
}
