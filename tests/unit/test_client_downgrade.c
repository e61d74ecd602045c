/* A lock that the program has alone becomes a reader's. */
#include "tests/unit/client_world.h"

/* As redlock_mode(): what the program may believe. */
static bool is_reader(const struct redlock_lock *lock)
{
    return lock->shared || lock->downgrading;
}

static struct redlock_lock *is_downgrading(struct world *w)
{
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "page", TOKEN_A);
    ck_assert(!is_reader(lock));
    ck_assert_uint_ne(ask(w, lock, ASK_DOWNGRADE), 0);
    ck_assert(is_reader(lock)); /* at once */
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_A);
    return lock;
}

static void is_granted(struct world *w, const char *to, const char *token)
{
    says(w, "%s +LOCKED page token=%s fence=7 valid=1 until=%lld mode=shared depth=1", to, token,
         (long long)w->now_ms + TTL_MS);
}

static void connects_again(struct world *w)
{
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
}

static void is_resumed(struct world *w, const char *words)
{
    expect_line(w, "#* RESUME page token=" TOKEN_A "*");
    says(w, "%s +LOCKED page token=" TOKEN_B " fence=8 valid=1 until=%lld%s", tag(w),
         (long long)w->now_ms + TTL_MS, words);
}

T(a_writer_becomes_a_reader)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);
    uint64_t request = w->core->last_id;

    expect_nothing(w);
    passes(w, 100);
    is_granted(w, tag(w), TOKEN_B);
    expect_told(w, "downgrade page ok");
    ck_assert_uint_eq(w->event.request, request);
    ck_assert_ptr_eq(w->event.lock, lock);
    ck_assert(is_reader(lock));
    ck_assert_str_eq(lock->token_text, TOKEN_B);
    ck_assert_uint_eq(atomic_load(&lock->fence), 7);
    ck_assert_int_eq(deadline(lock), w->now_ms + TTL_MS);
    says(w, "!RENEWED page token=" TOKEN_B " valid=1 until=%lld", (long long)w->now_ms + 20000);
    expect_told(w, "renewed page ok");
    ask(w, lock, ASK_DOWNGRADE); /* a second LOCK with the new token would enter it twice */
    expect_told(w, "downgrade page ok");
    expect_silence(w);
    says(w, "!LOST page token=" TOKEN_B " reason=gone");
    expect_told(w, "lost page lost : gone");
    ask(w, lock, ASK_DOWNGRADE);
    expect_told(w, "downgrade page lost : *");
    expect_nothing(w);
    core_forget(w->core, w->now_ms, lock);
    ck_assert_uint_eq(w->core->slots_used, 0);
    core_free(w->core);
}

/* redlockd has done nothing, and the program has heard nothing else before. */
T(refused)
{
    static const char *const answers[][2] = {
        {"-LIMIT page limit=max_rounds", "downgrade page limit : *"},
        {"-MODE page : it was entered more than once", "downgrade page mode : *"},
        {"-BADARG page : token= is alone", "downgrade page badrequest : *"},
        {"-DENIED page", "downgrade page denied : *"},
    };

    for (size_t i = 0; i < sizeof answers / sizeof answers[0]; i++) {
        struct world *w = world_new();
        struct redlock_lock *lock = is_downgrading(w);
        says(w, "%s %s", tag(w), answers[i][0]);
        expect_told(w, answers[i][1]);
        ck_assert(!is_reader(lock));
        passes(w, 2000);
        expect_silence(w);
        ck_assert_uint_ne(ask(w, lock, ASK_DOWNGRADE), 0);
        expect_line(w, "#* LOCK page mode=shared token=" TOKEN_A);
        is_granted(w, tag(w), TOKEN_B);
        expect_told(w, "downgrade page ok");
        core_free(w->core);
    }
}

T(notheld)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);

    says(w, "%s -NOTHELD page", tag(w));
    expect_told(w, "downgrade page notheld : *");
    expect_told(w, "lost page lost : gone");
    ck_assert_int_eq(deadline(lock), 0);
    expect_nothing(w);
    core_free(w->core);
}

/* The library goes on asking, so that the lock has a token that every redlockd takes. */
T(too_few_masters_know)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);

    says(w, "%s -NOQUORUM page votes=1/3 nodes=+!! retry=40 : it is shared from now on", tag(w));
    expect_told(w, "downgrade page noquorum : -NOQUORUM page *");
    ck_assert_int_eq(w->event.retry_ms, 40);
    ck_assert(is_reader(lock));
    ck_assert_int_gt(deadline(lock), 0);
    passes(w, BACKOFF_MOST_MS / 2 - 1);
    expect_silence(w);
    passes(w, BACKOFF_MOST_MS / 2 + 1);
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_A);
    says(w, "%s -LIMIT page limit=max_rounds", tag(w)); /* whatever comes, the program reads */
    expect_nothing(w);
    ck_assert(is_reader(lock));
    ask(w, lock, ASK_DOWNGRADE); /* the program's own request does not wait */
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_A);
    is_granted(w, tag(w), TOKEN_B);
    expect_told(w, "downgrade page ok");
    passes(w, 2000);
    expect_silence(w);
    core_free(w->core);
}

/* The new token is in it: were it not read, no event of the lock would be understood any more. */
T(a_late_answer_is_read)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);
    char mine[20];

    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    says(w, "!RENEWED page token=" TOKEN_A " valid=1 until=%lld", (long long)w->now_ms + 30000);
    expect_told(w, "renewed page ok");
    w->core->heard_ms = w->now_ms + 10000;
    passes(w, 10000);
    expect_told(w, "downgrade page noanswer : *");
    ck_assert(is_reader(lock));
    ask(w, lock, ASK_DOWNGRADE); /* that is under way */
    while (strcmp(line_of(w), "#p PING") == 0)
        ;
    ck_assert_str_eq(w->line, "");
    is_granted(w, mine, TOKEN_B);
    expect_told(w, "downgrade page ok");
    ck_assert_str_eq(lock->token_text, TOKEN_B);
    says(w, "!LOST page token=" TOKEN_B " reason=gone");
    expect_told(w, "lost page *");
    core_free(w->core);
}

T(lost_meanwhile)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);
    char mine[20];

    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    says(w, "!LOST page token=" TOKEN_A " reason=gone");
    expect_told(w, "lost page lost : gone");
    is_granted(w, mine, TOKEN_B);
    expect_nothing(w);
    passes(w, 1);
    expect_told(w, "downgrade page lost : *");
    ck_assert_int_eq(deadline(lock), 0);
    expect_nothing(w);
    core_free(w->core);
}

T(unlocked_meanwhile)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);
    char mine[20];

    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    ask(w, lock, ASK_UNLOCK);
    expect_line(w, "#* UNLOCK page token=" TOKEN_A);
    is_granted(w, mine, TOKEN_B);
    expect_told(w, "downgrade page ok");
    connects_again(w);
    expect_line(w, "#* UNLOCK page token=" TOKEN_B); /* the other redlockd may not know the old one */
    says(w, "%s +UNLOCKED page confirmed=2/3", tag(w));
    expect_told(w, "unlock page ok");
    expect_nothing(w);
    ck_assert_uint_eq(w->core->slots_used, 0);
    core_free(w->core);
}

T(let_go_of_meanwhile)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);
    char mine[20];

    (void)snprintf(mine, sizeof mine, "%s", tag(w));
    core_forget(w->core, w->now_ms, lock);
    expect_told(w, "downgrade cancelled : *");
    expect_line(w, "#* UNLOCK page token=" TOKEN_A);
    says(w, "%s +UNLOCKED page confirmed=2/3", tag(w));
    is_granted(w, mine, TOKEN_B);
    expect_nothing(w);
    ck_assert_uint_eq(w->core->slots_used, 0);
    ck_assert_uint_eq(w->core->locks_count, 0);
    core_free(w->core);
}

/* ---- the connection breaks before the answer has come ---- */

T(resumed_as_a_reader)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);

    connects_again(w);
    is_resumed(w, " mode=shared");
    expect_told(w, "downgrade page ok");
    expect_told(w, "resumed page ok");
    ck_assert_str_eq(lock->token_text, TOKEN_B);
    expect_silence(w); /* LOCK with a reader's token enters the lock twice */
    ck_assert(is_reader(lock));
    core_free(w->core);
}

T(resumed_as_a_writer)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);

    connects_again(w);
    is_resumed(w, "");
    expect_told(w, "resumed page ok");
    expect_nothing(w);
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_B);
    is_granted(w, tag(w), TOKEN_C);
    expect_told(w, "downgrade page ok");
    ck_assert_str_eq(lock->token_text, TOKEN_C);
    core_free(w->core);
}

/* The program was told that it reads: the library asks again without being told. */
T(stays_a_reader_over_connections)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);

    says(w, "%s -NOQUORUM page votes=1/3 nodes=+!!", tag(w));
    expect_told(w, "downgrade page noquorum : *");
    connects_again(w);
    is_resumed(w, "");
    expect_told(w, "resumed page ok");
    ck_assert(is_reader(lock));
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_B);
    says(w, "%s -LIMIT page limit=max_rounds", tag(w));
    expect_nothing(w);
    ck_assert(is_reader(lock));
    passes(w, BACKOFF_MOST_MS);
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_B);
    is_granted(w, tag(w), TOKEN_C);
    expect_nothing(w);
    ck_assert_str_eq(lock->token_text, TOKEN_C);
    ck_assert(is_reader(lock) && !lock->downgrading);
    core_free(w->core);
}

T(asked_while_there_is_no_connection)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "page", TOKEN_A);

    goes_down(w);
    expect_told(w, "down *");
    ask(w, lock, ASK_DOWNGRADE);
    ck_assert(is_reader(lock));
    comes_up(w);
    is_resumed(w, "");
    expect_told(w, "resumed page ok");
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_B);
    is_granted(w, tag(w), TOKEN_C);
    expect_told(w, "downgrade page ok");
    core_free(w->core);
}

T(not_resumed)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_downgrading(w);

    connects_again(w);
    for (int64_t first_ms = w->now_ms; w->now_ms - first_ms < NOTHELD_MS;) {
        expect_line(w, "#* RESUME page token=" TOKEN_A "*");
        says(w, "%s -NOTHELD page", tag(w));
        expect_nothing(w);
        time_is(w, lock->retry_at_ms);
    }
    expect_line(w, "#* RESUME page token=" TOKEN_A "*");
    says(w, "%s -NOTHELD page", tag(w));
    expect_told(w, "lost page lost : gone");
    passes(w, 1);
    expect_told(w, "downgrade page lost : *");
    expect_nothing(w);
    core_free(w->core);
}

/* ---- locks that were taken over ---- */

T(a_readers_lock_is_taken_over)
{
    struct world *w = world_new();
    struct redlock_lock_options options = {.mode = REDLOCK_EXCLUSIVE};
    enum redlock_error error = REDLOCK_OK;

    comes_up(w);
    struct redlock_lock *lock = core_lock(w->core, w->now_ms, "page", TOKEN_A, &options, &error);
    is_resumed(w, " mode=shared");
    expect_told(w, "lock page ok");
    ck_assert(is_reader(lock));
    ask(w, lock, ASK_DOWNGRADE);
    expect_told(w, "downgrade page ok");
    expect_silence(w);
    core_free(w->core);
}

T(a_writers_lock_is_taken_over)
{
    struct world *w = world_new();
    struct redlock_lock_options options = {.mode = REDLOCK_SHARED}; /* the token knows better */
    enum redlock_error error = REDLOCK_OK;

    comes_up(w);
    struct redlock_lock *lock = core_lock(w->core, w->now_ms, "page", TOKEN_A, &options, &error);
    is_resumed(w, "");
    expect_told(w, "lock page ok");
    ck_assert(!is_reader(lock));
    ask(w, lock, ASK_DOWNGRADE);
    expect_line(w, "#* LOCK page mode=shared token=" TOKEN_B);
    core_free(w->core);
}
