/* A lock's life in the client library: its deadline, renewals, loss, and the program's calls. */
#include "tests/unit/client_world.h"

T(held_until_until)
{
    struct world *w = world_new();

    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    ck_assert_int_eq(deadline(lock), w->now_ms + TTL_MS);
    ck_assert_uint_eq(atomic_load(&lock->fence), 7);
    ck_assert_str_eq(lock->token_text, TOKEN_A);
}

/* Only a redlockd that takes it is told why a lock was lost. */
T(given_back_as_lost)
{
    static const char *const features[] = {"", " features=later", " features=losing,lost,later",
                                           " features=lost"};

    for (int i = 0; i < 4; i++) {
        struct world *w = world_new();
        dial(w, true);
        says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld%s", (long long)w->now_ms, features[i]);
        expect_told(w, "up *");
        has_lock(w, "job", TOKEN_A);
        passes(w, TTL_MS + LOST_GRACE_MS);
        expect_told(w, "lost job lost : expired");
        expect_line(w, "#p PING");
        expect_line(w,
                    i < 2 ? "#* UNLOCK job token=" TOKEN_A : "#* UNLOCK job token=" TOKEN_A " lost=expired");
        core_free(w->core);
    }
}

static struct world *keeps(const char *features)
{
    struct world *w = world_new();

    dial(w, true);
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld%s", (long long)w->now_ms, features);
    expect_told(w, "up *");
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    lock->keep_ms = 3600000;
    ask(w, lock, ASK_UNLOCK);
    return w;
}

T(given_back_and_kept)
{
    struct world *w = keeps(" features=lost,keep");

    expect_line(w, "#* UNLOCK job token=" TOKEN_A " keep=3600000");
    says(w, "%s +KEPT job until=3605000 confirmed=4/5", tag(w));
    expect_told(w, "unlock job ok");
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

/* redlockd did nothing then, so the lock is given back by a second UNLOCK. */
T(given_back_though_it_is_not_kept)
{
    static const char *const refusals[][2] = {
        {"-LIMIT job limit=max_marks", "unlock job limit : *too many names*"},
        {"-BADARG job : keep is at most 24h (max_keep)", "unlock job badrequest : *max_keep*"}};

    for (unsigned i = 0; i < 2; i++) {
        struct world *w = keeps(" features=keep");
        expect_line(w, "#* UNLOCK job token=" TOKEN_A " keep=3600000");
        says(w, "%s %s", tag(w), refusals[i][0]);
        expect_nothing(w);
        expect_line(w, "#* UNLOCK job token=" TOKEN_A);
        says(w, "%s +UNLOCKED job confirmed=4/5", tag(w));
        expect_told(w, refusals[i][1]);
        expect_nothing(w);
        ck_assert_uint_eq(w->core->locks_count, 0);
        core_free(w->core);
    }
}

T(not_kept_by_an_older_redlockd)
{
    struct world *w = keeps(" features=lost");

    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    says(w, "%s +UNLOCKED job confirmed=4/5", tag(w));
    expect_told(w, "unlock job unsupported : *too old*");
}

T(not_kept_since_it_was_lost)
{
    struct world *w = keeps(" features=keep");

    expect_line(w, "#* UNLOCK job token=" TOKEN_A " keep=3600000");
    says(w, "%s -NOTHELD job : it was lost before this release", tag(w));
    expect_told(w, "unlock job notheld : *");
    expect_silence(w);
}

/* redlockd gave the lock back, and its answer was lost with the connection: that the token holds nothing any more does
 * not say that the lock was lost before. */
T(given_back_when_the_connection_ends)
{
    for (int keep = 0; keep < 2; keep++) {
        struct world *w = keeps(" features=keep");
        struct redlock_lock *lock = TAILQ_FIRST(&w->core->locks);
        if (!keep)
            lock->keep_ms = 0;
        expect_line(w,
                    keep ? "#* UNLOCK job token=" TOKEN_A " keep=3600000" : "#* UNLOCK job token=" TOKEN_A);
        goes_down(w);
        expect_told(w, "down *");
        dial(w, true);
        says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld features=keep", (long long)w->now_ms);
        expect_told(w, "up *");
        expect_line(w, "#* UNLOCK job token=" TOKEN_A "*");
        says(w, "%s -NOTHELD job : nobody holds it by that token", tag(w));
        expect_told(w, keep ? "unlock job noanswer : *or the name is kept"
                            : "unlock job noanswer : *is free now");
        expect_nothing(w);
        ck_assert_uint_eq(w->core->locks_count, 0);
        core_free(w->core);
    }
}

/* Over TCP the answer of HELLO may have been slow: its way is taken off, and 0.1 %, and 1 ms. */
T(held_until_less_on_another_clock)
{
    struct world *w = world_new();

    dial(w, false);
    w->now_ms += 50;
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=500000");
    expect_told(w, "up *");
    w->now_ms += 100;
    struct redlock_lock *lock = ask_lock(w, "job", 0);
    expect_line(w, "#* LOCK *");
    says(w, "%s +LOCKED job token=" TOKEN_A " fence=1 valid=1 until=510000", tag(w));
    expect_told(w, "lock job ok");
    ck_assert_int_eq(deadline(lock), START_MS + 10000 - 10 - 1);
    /* HELLO is said again, and a better answer counts for the next until=. */
    passes(w, 1000);
    expect_line(w, "#h HELLO 1 events=renewed");
    says(w, "#h +HELLO proto=1 server=redlockd/9 now=%lld", (long long)w->now_ms + 498960);
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), START_MS + 10000 - 10 - 1);
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%lld", (long long)w->now_ms + 498960 + 10000);
    expect_told(w, "renewed job ok");
    ck_assert_int_eq(deadline(lock), w->now_ms + 10000 - 10 - 1);
}

T(hello_again_only_where_it_helps)
{
    struct world *w = world_new();

    comes_up(w); /* one clock */
    has_lock(w, "job", TOKEN_A);
    for (int i = 0; i < 20; i++) {
        passes(w, 2000);
        says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%lld", (long long)w->now_ms + TTL_MS);
        expect_told(w, "renewed job ok");
        expect_silence(w);
    }
}

T(renewed)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *a = has_lock(w, "a", TOKEN_A), *b = has_lock(w, "b", TOKEN_B);

    says(w, "!RENEWED b token=" TOKEN_B " valid=1 until=13000");
    expect_told(w, "renewed b ok");
    ck_assert_int_eq(deadline(b), 13000);
    ck_assert_int_eq(deadline(a), 10000);
    says(w, "!RENEWED b token=" TOKEN_A " valid=1 until=14000"); /* another's token */
    says(w, "!RENEWED a token=" TOKEN_B " valid=1 until=14000");
    expect_nothing(w);
    ck_assert_int_eq(deadline(a), 10000);
    ck_assert_int_eq(deadline(b), 13000);
}

T(expiring_then_lost)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    passes(w, 5999);
    w->core->heard_ms = w->now_ms;
    expect_nothing(w);
    passes(w, 1);
    expect_told(w, "expiring job ok");
    says(w, "!EXPIRING job token=" TOKEN_A " valid=3000"); /* the program has been told already */
    expect_nothing(w);
    passes(w, 3000);
    expect_line(w, "#p PING");
    expect_nothing(w); /* redlockd may yet say why */
    ck_assert_int_eq(deadline(lock), w->now_ms);
    passes(w, 50);
    expect_told(w, "lost job lost : expired");
    ck_assert_int_eq(lock->state, LOCK_LOST);
    ck_assert_int_eq(deadline(lock), 0);
    expect_nothing(w);
    /* redlockd may have renewed the lock meanwhile, and must let go of it. */
    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=20000");
    expect_nothing(w);
    ck_assert_int_eq(deadline(lock), 0);
    says(w, "%s +UNLOCKED job confirmed=3/3", mine);
    expect_nothing(w);
    ck_assert_uint_gt(ask(w, lock, ASK_UNLOCK), 0);
    expect_told(w, "unlock job lost : expired");
    expect_nothing(w);
    expect_silence(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

T(expiring_once_for_each_deadline)
{
    struct world *w = world_new();

    comes_up(w);
    has_lock(w, "job", TOKEN_A);
    passes(w, 6000);
    expect_told(w, "expiring job ok");
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%lld", (long long)w->now_ms + TTL_MS);
    expect_told(w, "renewed job ok");
    passes(w, 6000);
    expect_told(w, "expiring job ok");
    passes(w, 1000);
    expect_nothing(w);
}

/* Lines in the socket count before the clock: redlockd renewed in time, only the client was slow to
 * read. */
T(a_renewal_that_is_read_late)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    w->now_ms += 60000;
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%lld", (long long)w->now_ms + 8000);
    expect_told(w, "renewed job ok");
    passes(w, 0);
    expect_nothing(w);
    ck_assert_int_eq(lock->state, LOCK_HELD);
}

T(lost_by_each_reason)
{
    static const char *const reasons[] = {"expired", "max", "gone", "released", "moved", "closed"};
    struct world *w = world_new();
    char line[64];
    comes_up(w);

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
        uint64_t check = ask(w, lock, ASK_CHECK);
        says(w, "!LOST job token=" TOKEN_A " reason=%s", reasons[i]);
        (void)snprintf(line, sizeof line, "lost job lost : %s", reasons[i]);
        expect_told(w, line);
        ck_assert_int_eq(deadline(lock), 0);
        passes(w, 0);
        expect_told(w, "check job lost : *"); /* CHECK was not sent yet, and need not be */
        ck_assert_uint_eq(w->event.request, check);
        expect_silence(w);
        ck_assert_uint_gt(ask(w, lock, ASK_EXTEND), 0);
        expect_told(w, "extend job lost : *");
        core_forget(w->core, w->now_ms, lock);
        expect_nothing(w);
        expect_silence(w);
    }
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);
    says(w, "!LOST job token=" TOKEN_A " reason=of-a-later-version");
    expect_told(w, "lost job lost : unknown");
    core_forget(w->core, w->now_ms, lock);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

/* Taken again under the same name: the old lock's events do not concern the new one. */
T(news_of_a_lock_of_before)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *old = has_lock(w, "job", TOKEN_A);

    ask(w, old, ASK_UNLOCK);
    expect_line(w, "#* UNLOCK *");
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_told(w, "unlock job ok");
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_B);
    says(w, "!LOST job token=" TOKEN_A " reason=gone");
    expect_nothing(w);
    ck_assert_int_eq(lock->state, LOCK_HELD);
}

T(lost_while_it_is_given_back)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    ask(w, lock, ASK_UNLOCK);
    expect_line(w, "#* UNLOCK *");
    says(w, "!LOST job token=" TOKEN_A " reason=expired");
    expect_nothing(w);
    says(w, "%s -NOTHELD job : it was lost before this release", tag(w));
    expect_told(w, "unlock job notheld : -NOTHELD job : it was *");
    expect_nothing(w);
}

T(not_held_any_more)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    ask(w, lock, ASK_CHECK);
    expect_line(w, "#* CHECK *");
    says(w, "%s -NOTHELD job", tag(w));
    expect_told(w, "check job notheld : -NOTHELD job");
    expect_told(w, "lost job lost : gone");
    ck_assert_int_eq(deadline(lock), 0);
    expect_nothing(w);
}

T(not_known_is_not_lost)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    ask(w, lock, ASK_EXTEND);
    expect_line(w, "#* EXTEND *");
    says(w, "%s -NOQUORUM job votes=1/3 nodes=+!! retry=500 : 2 votes are needed", tag(w));
    expect_told(w, "extend job noquorum : *");
    ck_assert_int_eq(w->event.retry_ms, 500);
    ck_assert_int_eq(lock->state, LOCK_HELD);
    ck_assert_int_eq(deadline(lock), 10000);
}

/* ---- leases and tokens from elsewhere ---- */

static struct redlock_lock *has_lease(struct world *w)
{
    struct redlock_lock *lease = ask_lease(w, "lease");

    expect_line(w, "#* LOCK lease ttl=9000 hold=lease");
    grants(w, "lease", TOKEN_A, 3);
    expect_told(w, "lock lease ok");
    return lease;
}

T(a_lease_ends_without_a_word)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lease = has_lease(w);

    passes(w, 6000);
    expect_told(w, "expiring lease ok");
    passes(w, 3000);
    expect_told(w, "lost lease lost : expired");
    expect_nothing(w);
    expect_silence(w); /* another client may have extended the lease, so this client gives nothing back */
    ck_assert_int_eq(lease->state, LOCK_LOST);
}

/* Between the end of the lease and this answer another client may have had the lock. */
T(a_lease_that_is_extended_too_late)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lease = has_lease(w);

    ask(w, lease, ASK_EXTEND);
    expect_line(w, "#* EXTEND *");
    w->now_ms += TTL_MS;
    says(w, "%s +EXTENDED lease valid=1 until=%lld", tag(w), (long long)w->now_ms + 9000);
    expect_told(w, "extend lease lost : *");
    expect_told(w, "lost lease lost : expired");
    ck_assert_int_eq(deadline(lease), 0);
}

T(a_lease_that_is_forgotten_stays)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lease = has_lease(w);

    core_forget(w->core, w->now_ms, lease);
    expect_silence(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

T(a_token_from_elsewhere)
{
    struct world *w = world_new();
    enum redlock_error error;
    comes_up(w);
    struct redlock_lock *lock = core_attach(w->core, "job", TOKEN_C, &error);

    ck_assert_int_eq(deadline(lock), 0);
    passes(w, 100000); /* its deadline is unknown, so it cannot be over */
    expect_nothing(w);
    ask(w, lock, ASK_CHECK);
    expect_line(w, "#* CHECK job token=" TOKEN_C);
    says(w, "%s +HELD job valid=1 until=%lld", tag(w), (long long)w->now_ms + 100);
    expect_told(w, "check job ok");
    ck_assert_int_eq(deadline(lock), w->now_ms + 100);
    core_forget(w->core, w->now_ms, lock);

    lock = core_attach(w->core, "job", TOKEN_C, &error);
    ask(w, lock, ASK_EXTEND);
    expect_line(w, "#* EXTEND job token=" TOKEN_C);
    says(w, "%s -NOTHELD job", tag(w));
    expect_told(w, "extend job notheld : *");
    expect_nothing(w);
    ask(w, lock, ASK_UNLOCK);
    expect_told(w, "unlock job lost : gone");
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

/* ---- letting go ---- */

T(forget_gives_back)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    core_forget(w->core, w->now_ms, lock);
    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=20000");
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
    ck_assert_uint_eq(w->core->sessions, 0);
}

T(forget_a_wait)
{
    struct world *w = world_new();
    comes_up(w);

    core_forget(w->core, w->now_ms, ask_lock(w, "early", 5000)); /* the request was not even sent */
    expect_silence(w);
    struct redlock_lock *lock = ask_lock(w, "job", 5000);
    expect_line(w, "#* LOCK job *");
    char mine[20];
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    core_forget(w->core, w->now_ms, lock);
    expect_line(w, "#c* CANCEL *");
    says(w, "%s -CANCELLED job", mine);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);

    lock = ask_lock(w, "job", 5000);
    expect_line(w, "#* LOCK job *");
    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    core_forget(w->core, w->now_ms, lock);
    expect_line(w, "#c* CANCEL *");
    says(w, "%s +LOCKED job token=" TOKEN_A " fence=1 valid=1 until=10000", mine); /* the grant was faster */
    expect_nothing(w);
    expect_line(w, "#* UNLOCK job token=" TOKEN_A);
    says(w, "%s -NOQUORUM job votes=0/3 nodes=???", tag(w));
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

/* A callback may forget the lock of the event that it is being told. */
T(let_go_of_what_is_being_told)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = ask_lock(w, "job", 0);

    expect_line(w, "#* LOCK *");
    says(w, "%s -BUSY job", tag(w));
    expect_told(w, "lock job busy : *");
    core_forget(w->core, w->now_ms, lock); /* the library does that */
    core_cancel(w->core, w->now_ms, lock);
    ck_assert_uint_eq(ask(w, lock, ASK_UNLOCK), 0);
    expect_nothing(w);
    lock = has_lock(w, "job", TOKEN_A);
    says(w, "!LOST job token=" TOKEN_A " reason=gone");
    expect_told(w, "lost job *");
    core_forget(w->core, w->now_ms, lock);
    expect_nothing(w);
    lock = has_lock(w, "job", TOKEN_A);
    ask(w, lock, ASK_UNLOCK);
    expect_line(w, "#* UNLOCK *");
    says(w, "%s +UNLOCKED job confirmed=2/3", tag(w));
    expect_told(w, "unlock job ok");
    core_forget(w->core, w->now_ms, lock);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

/* The tokens of 10,000 locks are found in the table, and each event reaches its lock. */
T(many_locks)
{
    enum { MANY = 10000 };
    static struct redlock_lock *locks[MANY];
    struct world *w = world_new();
    char name[16], token[TOKEN_HEX + 1];
    comes_up(w);

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "job%d", i);
        (void)snprintf(token, sizeof token, "%08x%032d", (unsigned)i * 2654435761u, i);
        locks[i] = has_lock(w, name, token);
    }
    ck_assert_uint_eq(w->core->sessions, MANY);
    for (int i = MANY - 1; i >= 0; i--) {
        says(w, "!RENEWED job%d token=%s valid=1 until=%d", i, locks[i]->token_text, 20000 + i);
        ck_assert_str_ne(world_told(w), "");
        ck_assert_ptr_eq(w->event.lock, locks[i]);
    }
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(deadline(locks[i]), 20000 + i);
    for (int i = 0; i < MANY; i += 2) {
        says(w, "!LOST job%d token=%s reason=gone", i, locks[i]->token_text);
        expect_told(w, "lost *");
        core_forget(w->core, w->now_ms, locks[i]);
    }
    ck_assert_uint_eq(w->core->sessions, MANY / 2);
    ck_assert_uint_eq(w->core->locks_count, MANY / 2);
}
