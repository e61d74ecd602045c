/* Locks whose connection is gone: they are resumed, or lost, or given back all the same. */
#include "tests/unit/client_world.h"

static struct redlock_lock *is_resuming(struct world *w)
{
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* RESUME job *");
    return lock;
}

T(a_lock_is_resumed)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    ask(w, lock, ASK_CHECK);
    goes_down(w);
    expect_told(w, "down *");
    ck_assert_int_eq(lock->state, LOCK_DETACHED);
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS); /* the lock is still held */
    comes_up(w);
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    expect_silence(w); /* CHECK waits for the new token */
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=8 valid=1 until=%lld", mine,
         (long long)w->now_ms + TTL_MS);
    expect_told(w, "resumed job ok");
    ck_assert_str_eq(lock->token_text, TOKEN_B);
    ck_assert_uint_eq(atomic_load(&lock->fence), 8);
    ck_assert_int_eq(deadline(lock), w->now_ms + TTL_MS);
    expect_line(w, "#* CHECK job token=" TOKEN_B);
    says(w, "!RENEWED job token=" TOKEN_B " valid=1 until=%lld", (long long)w->now_ms + 20000);
    expect_told(w, "renewed job ok");
    expect_nothing(w);
}

T(a_lease_needs_no_connection)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lease = ask_lease(w, "lease");
    expect_line(w, "#* LOCK lease *");
    grants(w, "lease", TOKEN_A, 3);
    expect_told(w, "lock lease ok");

    goes_down(w);
    expect_told(w, "down *");
    ck_assert_int_eq(lease->state, LOCK_HELD);
    ask(w, lease, ASK_EXTEND);
    comes_up(w);
    expect_line(w, "#* EXTEND lease token=" TOKEN_A " ttl=9000");
}

T(resume_with_what_is_left_of_max)
{
    struct world *w = world_new();
    struct redlock_lock_options options = {.ttl_ms = TTL_MS, .max_ms = 12000, .note = "n"};
    enum redlock_error error;

    comes_up(w);
    core_lock(w->core, w->now_ms, "job", NULL, &options, &error);
    expect_line(w, "#* LOCK job ttl=9000 max=12000 note=n");
    grants(w, "job", TOKEN_A, 7);
    expect_told(w, "lock job ok");
    passes(w, 2000);
    goes_down(w);
    expect_told(w, "down *");
    time_is(w, START_MS + 2500);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_line(w, "#h *");
    says(w, "#h +HELLO proto=1 server=x now=%lld", (long long)w->now_ms);
    expect_told(w, "up *");
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000 max=9500 note=n");
    goes_down(w);
    expect_told(w, "down *");
    time_is(w, START_MS + 5000);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_line(w, "#h *");
    says(w, "#h +HELLO proto=1 server=x now=%lld", (long long)w->now_ms);
    expect_told(w, "up *");
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=7000 max=7000 note=n"); /* max is at least the TTL */
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=8 valid=1 until=12000", tag(w));
    expect_told(w, "resumed job ok");
    goes_down(w);
    expect_told(w, "down *");
    time_is(w, START_MS + 7000);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_line(w, "#h *");
    says(w, "#h +HELLO proto=1 server=x now=%lld", (long long)w->now_ms);
    expect_told(w, "up *");
    expect_line(w, "#* RESUME job token=" TOKEN_B " ttl=5000 max=5000 note=n"); /* from the first grant on */
}

T(not_resumed)
{
    static const char *const answers[][2] = {
        {"-BADARG job : ttl", "lost job lost : refused"},
        {"-UNSUPPORTED job", "lost job lost : refused"},
        {"-DENIED", "lost job lost : refused"},
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct world *w = world_new();
        struct redlock_lock *lock = is_resuming(w);
        says(w, "%s %s", tag(w), answers[i][0]);
        expect_told(w, answers[i][1]);
        ck_assert_int_eq(deadline(lock), 0);
        expect_nothing(w);
        expect_silence(w);
        core_free(w->core);
    }
}

static struct redlock_lock *is_resuming_where_it_is_repeated(struct world *w)
{
    struct redlock_lock *lock = is_resuming(w);

    goes_down(w);
    expect_told(w, "down *");
    passes(w, 1000);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_line(w, "#h *");
    says(w, "#h +HELLO proto=1 server=x now=%lld features=lost,resume-wait", (long long)w->now_ms);
    expect_told(w, "up *");
    return lock;
}

/* Such a redlockd is asked once, for as long as the lock has left, and its -NOTHELD is final. */
T(redlockd_repeats_it)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming_where_it_is_repeated(w);
    char line[128];

    snprintf(line, sizeof line, "#* RESUME job token=" TOKEN_A " ttl=9000 wait=%lld",
             (long long)(deadline(lock) - w->now_ms));
    expect_line(w, line);
    says(w, "%s -NOTHELD job", tag(w));
    expect_told(w, "lost job lost : gone");
    expect_silence(w);
    core_free(w->core);
}

/* The program gives the lock back while redlockd repeats its RESUME: that is cancelled, and the old token given back. */
T(given_back_while_redlockd_repeats_it)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming_where_it_is_repeated(w);
    enum redlock_error error;

    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000 wait=*");
    char resume[CORE_TAG + 2];
    snprintf(resume, sizeof resume, "%s", tag(w));
    ck_assert_uint_ne(core_ask(w->core, w->now_ms, lock, ASK_UNLOCK, 0, &error), 0);
    expect_line(w, "#c* CANCEL *");
    says(w, "%s -CANCELLED job", resume);
    says(w, "%s +OK", tag(w));
    expect_nothing(w);
    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_told(w, "unlock job ok");
    core_free(w->core);
}

T(notheld_is_believed_after_100_ms)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);
    int64_t first_ms = w->now_ms;

    for (int64_t passed_ms = 0; passed_ms < 100; passed_ms = w->now_ms - first_ms) {
        says(w, "%s -NOTHELD job", tag(w));
        expect_nothing(w);
        ck_assert_int_eq(lock->state, LOCK_DETACHED);
        time_is(w, lock->retry_at_ms);
        expect_line(w, "#* RESUME job token=" TOKEN_A "*");
    }
    ck_assert_int_le(w->now_ms - first_ms, 150);
    says(w, "%s -NOTHELD job", tag(w));
    expect_told(w, "lost job lost : gone");
    expect_nothing(w);
    expect_silence(w);
    core_free(w->core);
}

T(resume_is_tried_again)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);

    says(w, "%s -NOQUORUM job votes=1/3 nodes=+!! : 2 votes are needed", tag(w));
    expect_nothing(w);
    ck_assert_int_eq(lock->state, LOCK_DETACHED);
    expect_silence(w);
    passes(w, RESUME_AGAIN_MS - 1);
    expect_silence(w);
    passes(w, RESUME_JITTER_MS + 1);
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
    passes(w, 6000);
    expect_told(w, "expiring job ok");
    time_is(w, START_MS + TTL_MS); /* its time is over, and no answer of redlockd would help */
    expect_told(w, "lost job lost : expired");
    while (strcmp(line_of(w), "#p PING") == 0)
        ;
    ck_assert_str_eq(w->line, "");
}

/* A lock that is resumed behind its deadline may have been another's in between: it is given back. */
T(resumed_too_late)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);

    w->now_ms = START_MS + TTL_MS;
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=8 valid=1 until=%lld", tag(w),
         (long long)w->now_ms + TTL_MS);
    expect_told(w, "lost job lost : expired");
    ck_assert_int_eq(deadline(lock), 0);
    expect_line(w, "#* UNLOCK job token=" TOKEN_B);
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_nothing(w);
    core_forget(w->core, w->now_ms, lock);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

/* The earlier until= was told by another clock: the new daemon's HELLO says nothing about it. */
T(the_deadline_of_before_stays)
{
    struct world *w = world_new();

    dial(w, false);
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=500000");
    expect_told(w, "up *");
    struct redlock_lock *lock = ask_lock(w, "job", 0);
    expect_line(w, "#* LOCK *");
    says(w, "%s +LOCKED job token=" TOKEN_A " fence=1 valid=1 until=509000", tag(w));
    expect_told(w, "lock job ok");
    int64_t deadline_ms = deadline(lock);
    goes_down(w);
    expect_told(w, "down *");
    dial(w, false);
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=7");
    expect_told(w, "up *");
    ck_assert_int_eq(deadline(lock), deadline_ms);
}

/* The old token belongs to the connection before: no event here can concern it. */
T(news_of_the_old_token)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);

    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=99000");
    says(w, "!EXPIRING job token=" TOKEN_A " valid=1");
    says(w, "!LOST job token=" TOKEN_A " reason=moved");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS);
    ck_assert_int_eq(lock->state, LOCK_RESUMING);
}

/* ---- letting go meanwhile ---- */

T(unlock_while_it_is_resumed)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);
    uint64_t id = ask(w, lock, ASK_UNLOCK);
    char mine[20];

    ck_assert_int_eq(deadline(lock), 0); /* at once */
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    expect_silence(w);
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=8 valid=1 until=10000", mine);
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), 0);
    expect_line(w, "#* UNLOCK job token=" TOKEN_B);
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_told(w, "unlock job ok");
    ck_assert_uint_eq(w->event.request, id);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->slots_used, 0);
}

T(unlock_while_it_cannot_be_resumed)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);

    ask(w, lock, ASK_UNLOCK);
    says(w, "%s -NOTHELD job", tag(w));
    expect_told(w, "unlock job lost : -NOTHELD job");
    expect_nothing(w);

    core_free(w->core);
    w = world_new();
    lock = is_resuming(w);
    ask(w, lock, ASK_UNLOCK);
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_told(w, "unlock job ok");

    core_free(w->core);
    w = world_new();
    lock = is_resuming(w);
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    ask(w, lock, ASK_UNLOCK);
    w->core->heard_ms = w->now_ms + 10000;
    passes(w, 10000);
    expect_told(w, "unlock job noanswer : *");
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=8 valid=1 until=99000",
         mine); /* late: the lock is not this client's any more */
    expect_nothing(w);
    while (strcmp(line_of(w), "#p PING") == 0)
        ;
    ck_assert_str_eq(w->line + strcspn(w->line, " "), " UNLOCK job token=" TOKEN_B);
}

T(refused_after_its_unlock_was_given_up)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);
    char mine[20];

    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    ask(w, lock, ASK_UNLOCK);
    w->core->heard_ms = w->now_ms + 10000;
    passes(w, 10000);
    expect_told(w, "unlock job noanswer : *");
    says(w, "%s -NOTHELD job", mine);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
    core_free(w->core);
}

T(unlock_while_there_is_no_connection)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *a = has_lock(w, "a", TOKEN_A), *b = has_lock(w, "b", TOKEN_B);

    goes_down(w);
    expect_told(w, "down *");
    ask(w, a, ASK_UNLOCK);
    core_forget(w->core, w->now_ms, b);
    comes_up(w);
    expect_line(w, "#* UNLOCK a token=" TOKEN_A); /* no lock is resumed only to be given back */
    says(w, "%s +UNLOCKED a confirmed=2/3", tag(w));
    expect_told(w, "unlock a ok");
    expect_line(w, "#* UNLOCK b token=" TOKEN_B);
    says(w, "%s +UNLOCKED b confirmed=2/3", tag(w));
    expect_nothing(w);
    expect_silence(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

T(lost_while_there_is_no_connection)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    goes_down(w);
    expect_told(w, "down *");
    time_is(w, START_MS + 6000);
    expect_told(w, "expiring job ok");
    time_is(w, START_MS + TTL_MS - 1);
    expect_nothing(w);
    time_is(w, START_MS + TTL_MS); /* nobody to wait for */
    expect_told(w, "lost job lost : expired");
    expect_nothing(w);
    ck_assert_int_eq(lock->state, LOCK_LOST);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_line(w, "#h *");
    says(w, "#h +HELLO proto=1 server=x now=%lld", (long long)w->now_ms);
    expect_told(w, "up *");
    expect_silence(w);
}

/* ---- a redlockd that stops ---- */

T(drain)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    ask_lock(w, "wait", 5000);
    ask_lock(w, "now", 0);
    expect_line(w, "#* LOCK wait *");
    char wait[20];
    (void)snprintf(wait, sizeof wait, "%s", tag(w));
    expect_line(w, "#* LOCK now *");

    says(w, "!DRAIN");
    expect_told(w, "drain ok");
    says(w, "%s -DRAINING now", tag(w));
    expect_told(w, "lock now draining : *");
    says(w, "%s -DRAINING wait", wait); /* the request has time: the next daemon may have the lock */
    expect_nothing(w);
    expect_silence(w);
    says(w, "!LOST job token=" TOKEN_A " reason=drain");
    expect_nothing(w); /* its keys are still there */
    ck_assert_int_eq(lock->state, LOCK_DETACHED);
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS);
    expect_silence(w);
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
    expect_line(w, "#* LOCK wait *");
}

T(resume_of_a_redlockd_that_drains)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_resuming(w);

    says(w, "%s -DRAINING job", tag(w));
    expect_nothing(w);
    passes(w, 500);
    expect_silence(w); /* this daemon is not asked for RESUME again */
    ck_assert_int_eq(lock->state, LOCK_DETACHED);
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
}

/* ---- a redlockd that is given up ---- */

/* The end of the old connection would give the lock back before it is resumed, so that connection is kept
 * until then. */
T(a_silent_redlockd_is_parked)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    uint64_t old = w->core->connection;

    passes(w, TTL_MS / 3);
    expect_line(w, "#p PING");
    passes(w, TTL_MS / 3);
    ck_assert_int_eq(core_action(w->core), ACTION_PARK);
    goes_down(w);
    expect_told(w, "down connect : redlockd is silent*");
    expect_told(w, "expiring job ok");
    ck_assert(core_binds(w->core, old));
    comes_up(w);
    expect_line(w, "#* RESUME job *");
    ck_assert(core_binds(w->core, old));
    says(w, "%s +LOCKED job token=" TOKEN_B " fence=8 valid=1 until=%lld", tag(w),
         (long long)w->now_ms + TTL_MS);
    expect_told(w, "resumed job ok");
    ck_assert(!core_binds(w->core, old));
    ck_assert(!core_binds(w->core, w->core->connection));
    ck_assert_int_eq(lock->state, LOCK_HELD);
}

T(parked_until_the_lock_is_lost_or_given_back)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    uint64_t old = w->core->connection;

    says(w, "what is this");
    expect_nothing(w);
    ck_assert_int_eq(core_action(w->core), ACTION_PARK);
    goes_down(w);
    expect_told(w, "down protocol : *");
    ck_assert(core_binds(w->core, old));
    core_forget(w->core, w->now_ms, lock);
    ck_assert(!core_binds(w->core, old));
    comes_up(w);
    expect_line(w, "#* UNLOCK *");
    says(w, "%s +UNLOCKED job confirmed=3/3", tag(w));
    expect_nothing(w);

    lock = has_lock(w, "job", TOKEN_A);
    old = w->core->connection;
    says(w, "what is this");
    expect_nothing(w);
    goes_down(w);
    expect_told(w, "down *");
    w->now_ms += TTL_MS;
    core_tick(w->core, w->now_ms);
    expect_told(w, "lost *");
    ck_assert(!core_binds(w->core, old));
}
