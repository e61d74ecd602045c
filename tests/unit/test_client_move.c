/* The client's move to another redlockd when its own shuts down. */
#include "tests/unit/client_world.h"

static bool answers(struct world *w, const char *line)
{
    return core_move_answered(w->core, line, strlen(line));
}

static struct redlock_lock *is_told_to_move(struct world *w)
{
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    ck_assert(!core_move_is_due(w->core, w->now_ms));
    says(w, "!DRAIN");
    expect_told(w, "drain ok");
    ck_assert_int_le(core_deadline_ms(w->core), w->now_ms);
    ck_assert(core_move_is_due(w->core, w->now_ms));
    core_move_begins(w->core, w->now_ms);
    ck_assert(!core_move_is_due(w->core, w->now_ms));
    return lock;
}

T(nobody_there_grants_locks)
{
    static const char *const no[] = {"+PONG ready=0", "-LIMIT : too many clients", "+BYE", "HTTP/1.1 400",
                                     ""};
    struct world *w = world_new();
    struct redlock_lock *lock = is_told_to_move(w);

    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        ck_assert(!answers(w, no[i]));
        core_move_failed(w->core, w->now_ms);
        ck_assert(!core_move_is_due(w->core, w->now_ms)); /* there is a pause before the next attempt */
        ck_assert(!core_may_move(w->core));
        w->now_ms = core_deadline_ms(w->core);
        ck_assert(core_move_is_due(w->core, w->now_ms));
        core_move_begins(w->core, w->now_ms);
    }
    int64_t until_ms = deadline(lock);
    says(w, "!RENEWED job token=" TOKEN_A " valid=1 until=%lld", (long long)w->now_ms + TTL_MS);
    expect_told(w, "renewed job ok");
    ck_assert_int_gt(deadline(lock), until_ms);
    ck_assert_int_eq(lock->state, LOCK_HELD);
}

T(moves_when_nothing_is_under_way)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_told_to_move(w);

    ask(w, lock, ASK_CHECK);
    expect_line(w, "#* CHECK job *");
    const char *check = tag(w);
    ck_assert(answers(w, "+PONG"));
    ask_lock(w, "next", 0);
    expect_silence(w); /* the request waits for the move */
    ck_assert(!core_may_move(w->core));
    says(w, "%s +HELD job valid=1 until=%lld", check, (long long)w->now_ms + TTL_MS);
    expect_told(w, "check job ok");
    ck_assert(core_may_move(w->core));

    uint64_t parked = w->core->connection;
    core_moved(w->core, w->now_ms);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_nothing(w); /* the program still has its locks and a connection */
    expect_line(w, "#h HELLO 1 events=renewed");
    says(w, "#h +HELLO proto=1 server=redlockd/9 session=2 now=%lld", (long long)w->now_ms);
    expect_told(w, "up ok : *");
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
    ck_assert(core_binds(w->core, parked));
    grants(w, "job", TOKEN_B, 9);
    expect_told(w, "resumed job ok");
    ck_assert(!core_binds(w->core, parked));
    expect_line(w, "#* LOCK next *");
}

T(the_next_redlockd_does_not_last)
{
    struct world *w = world_new();
    struct redlock_lock *lock = is_told_to_move(w);

    ck_assert(answers(w, "+PONG ready=1"));
    core_moved(w->core, w->now_ms);
    core_connecting(w->core, w->now_ms);
    goes_down(w);
    expect_told(w, "down connect : gone");
    ck_assert_int_eq(lock->state, LOCK_DETACHED);
    comes_up(w);
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
}

T(the_connection_ends_before_the_move)
{
    struct world *w = world_new();

    is_told_to_move(w);
    ck_assert(answers(w, "+PONG ready=1"));
    goes_down(w);
    ck_assert(!core_may_move(w->core));
    ck_assert_int_eq(w->core->move, MOVE_NO);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* RESUME job token=" TOKEN_A " ttl=9000");
}

T(readers_and_slots_are_resumed)
{
    struct world *w = world_new();
    struct redlock_lock_options readers = {.mode = REDLOCK_SHARED}, places = {.slots = 3};
    enum redlock_error error;

    comes_up(w);
    ck_assert_ptr_nonnull(core_lock(w->core, w->now_ms, "read", NULL, &readers, &error));
    ck_assert_ptr_nonnull(core_lock(w->core, w->now_ms, "place", NULL, &places, &error));
    expect_line(w, "#* LOCK read mode=shared");
    grants(w, "read", TOKEN_A, 7);
    expect_line(w, "#* LOCK place slots=3");
    grants(w, "place", TOKEN_B, 7);
    expect_told(w, "lock read ok");
    expect_told(w, "lock place ok");
    goes_down(w);
    expect_told(w, "down *");
    comes_up(w);
    expect_line(w, "#* RESUME read token=" TOKEN_A);
    expect_line(w, "#* RESUME place token=" TOKEN_B);
}
