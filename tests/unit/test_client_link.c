/* The client library's connection: how it comes back, what is asked again on it, how silence is
 * noticed. */
#include "tests/unit/client_world.h"

/* ---- connecting ---- */

T(never_there_ends_requests_at_once)
{
    struct world *w = world_new();
    enum redlock_error error;

    ask_lock(w, "job", 5000);
    struct redlock_lock *token = core_attach(w->core, "other", TOKEN_A, &error);
    ask(w, token, ASK_CHECK);
    core_show(w->core, w->now_ms, "NODES", &error);
    core_tick(w->core, w->now_ms);
    ck_assert_int_eq(core_action(w->core), ACTION_CONNECT);
    core_connecting(w->core, w->now_ms);
    core_disconnected(w->core, w->now_ms, REDLOCK_CONNECT, "cannot connect to x: refused");
    expect_told(w, "down connect : cannot connect to x: refused");
    expect_told(w, "check other connect : cannot connect to x: refused");
    expect_told(w, "show connect : cannot connect to x: refused");
    expect_told(w, "lock job connect : cannot connect to x: refused");
    expect_nothing(w);
    ask(w, token, ASK_UNLOCK);
    dial(w, true);
    goes_down(w);
    expect_told(w, "unlock other connect : gone");
    expect_nothing(w); /* down is told once */
}

T(once_there_is_waited_for)
{
    struct world *w = world_new();

    comes_up(w);
    goes_down(w);
    expect_told(w, "down connect : gone");
    ask_lock(w, "job", 0);
    for (int i = 0; i < 3; i++) {
        dial(w, true);
        goes_down(w);
        expect_nothing(w);
    }
    comes_up(w);
    expect_line(w, "#* LOCK job ttl=9000");
    goes_down(w);
    expect_told(w, "down *");
    time_is(w, START_MS + 9999);
    core_connecting(w->core, w->now_ms);
    expect_nothing(w);
    time_is(w, START_MS + 10100);
    expect_told(w, "lock job connect : gone");
}

/* The longest pause doubles from 20 ms to a second, and no pause is shorter than half of the longest one.
 * After a connection that lasted the pauses begin anew. */
T(back_off)
{
    struct world *w = world_new();
    int64_t most_ms = BACKOFF_FIRST_MS;

    comes_up(w);
    passes(w, STABLE_MS);
    goes_down(w);
    for (int i = 0; i < 12; i++) {
        int64_t pause_ms = core_deadline_ms(w->core) - w->now_ms;
        if (i == 0)
            expect_told(w, "down *"); /* until the program is told of it, the next deadline is now */
        pause_ms = core_deadline_ms(w->core) - w->now_ms;
        ck_assert_int_ge(pause_ms, most_ms / 2);
        ck_assert_int_le(pause_ms, most_ms);
        dial(w, true);
        goes_down(w);
        most_ms = 2 * most_ms < BACKOFF_MOST_MS ? 2 * most_ms : BACKOFF_MOST_MS;
    }
    comes_up(w); /* answers HELLO, and closes: no reason to hurry */
    goes_down(w);
    expect_told(w, "down *");
    ck_assert_int_ge(core_deadline_ms(w->core) - w->now_ms, BACKOFF_MOST_MS / 2);
    comes_up(w);
    passes(w, STABLE_MS);
    goes_down(w);
    expect_told(w, "down *");
    ck_assert_int_le(core_deadline_ms(w->core) - w->now_ms, BACKOFF_FIRST_MS);
}

T(clients_do_not_come_back_together)
{
    int64_t first_ms = 0;
    unsigned different = 0;

    for (uint64_t seed = 0; seed < 50; seed++) {
        struct world *w = world_new();
        core_free(w->core);
        w->core = core_new(NULL, 10000, seed);
        comes_up(w);
        w->core->failures = 10;
        goes_down(w);
        expect_told(w, "down *");
        int64_t pause_ms = core_deadline_ms(w->core) - w->now_ms;
        different += seed > 0 && pause_ms != first_ms;
        first_ms = seed ? first_ms : pause_ms;
        core_free(w->core);
    }
    ck_assert_uint_gt(different, 40);
}

T(connecting_and_hello_have_a_limit)
{
    struct world *w = world_new();

    core_tick(w->core, w->now_ms);
    core_connecting(w->core, w->now_ms);
    passes(w, CONNECT_MS - 1);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    passes(w, 1);
    ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
    goes_down(w);
    expect_told(w, "down connect : connecting takes too long");
    dial(w, true);
    passes(w, CONNECT_MS);
    ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
    goes_down(w);
    ck_assert_str_eq(w->core->why, "connected, but HELLO is not answered");
}

/* The daemon that answers now may be another one, on another machine. */
T(another_connection_another_clock)
{
    struct world *w = world_new();

    comes_up(w);
    ck_assert(w->core->sample.same);
    goes_down(w);
    expect_told(w, "down *");
    dial(w, true);
    w->now_ms += 4000;
    says(w, "#h +HELLO proto=1 server=x now=%lld", (long long)w->now_ms - 2000);
    expect_told(w, "up *");
    ck_assert(!w->core->sample.same);
}

/* ---- what is brought along ---- */

T(requests_are_asked_again_in_their_order)
{
    struct world *w = world_new();
    enum redlock_error error;
    comes_up(w);
    struct redlock_lock *lock = core_attach(w->core, "x", TOKEN_A, &error);

    ask_lock(w, "a", 5000);
    ask(w, lock, ASK_CHECK);
    ask_lock(w, "b", 0);
    expect_line(w, "#* LOCK a ttl=9000 wait=5000");
    char old[20];
    (void)snprintf(old, sizeof old, "%s", tag(w));
    expect_line(w, "#* CHECK x *");
    expect_line(w, "#* LOCK b ttl=9000");
    ask_lock(w, "c", 0);
    passes(w, 1500);
    goes_down(w);
    expect_told(w, "down *");
    time_is(w, START_MS + 2000);
    core_connecting(w->core, w->now_ms);
    core_connected(w->core, w->now_ms, true);
    expect_line(w, "#h HELLO *");
    says(w, "%s -BUSY a", old); /* an answer to no request */
    expect_nothing(w);
    says(w, "#h +HELLO proto=1 server=x now=%lld", (long long)w->now_ms);
    expect_told(w, "up *");
    expect_line(w, "#* LOCK a ttl=9000 wait=3000"); /* the rest of the wait */
    ck_assert_str_ne(tag(w), old);
    says(w, "%s -BUSY a", old);
    expect_nothing(w);
    expect_line(w, "#* CHECK x *");
    expect_line(w, "#* LOCK b ttl=9000");
    expect_line(w, "#* LOCK c ttl=9000");
    expect_silence(w);
}

T(half_a_list_is_not_asked_again)
{
    struct world *w = world_new();
    enum redlock_error error;
    comes_up(w);

    core_show(w->core, w->now_ms, "LOCKS", &error);
    core_show(w->core, w->now_ms, "NODES", &error);
    expect_line(w, "#* SHOW LOCKS");
    says(w, "%s * name=a", tag(w));
    expect_told(w, "row *");
    expect_line(w, "#* SHOW NODES");
    goes_down(w);
    expect_told(w, "down *");
    expect_told(w, "show noanswer : the connection ended between two rows");
    comes_up(w);
    expect_line(w, "#* SHOW NODES");
    expect_silence(w);
}

T(cancelled_while_the_connection_ends)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = ask_lock(w, "job", 5000);

    expect_line(w, "#* LOCK *");
    core_cancel(w->core, w->now_ms, lock);
    goes_down(w);
    expect_told(w, "down *");
    expect_told(w, "lock job cancelled : *");
    expect_nothing(w);
    ck_assert_uint_eq(w->core->locks_count, 0);
}

/* With little time left, the next attempt comes sooner. */
T(hurry_while_locks_wait)
{
    struct world *w = world_new();

    comes_up(w);
    has_lock(w, "job", TOKEN_A);
    w->core->failures = 12;
    time_is(w, START_MS + TTL_MS - 400);
    expect_told(w, "expiring *");
    goes_down(w);
    expect_told(w, "down *");
    ck_assert_int_le(core_deadline_ms(w->core) - w->now_ms, 100);
}

/* ---- silence ---- */

T(ping_and_its_answer)
{
    struct world *w = world_new();

    comes_up(w);
    passes(w, 100000);
    expect_silence(w); /* no answer of redlockd is due */
    ask_lock(w, "job", 60000);
    expect_line(w, "#* LOCK job *");
    w->core->heard_ms = w->now_ms;
    passes(w, PATIENCE_MS - 1);
    expect_silence(w);
    passes(w, 1);
    expect_line(w, "#p PING");
    passes(w, PATIENCE_MS - 1);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    says(w, "#p +PONG ready=1");
    passes(w, 1);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    expect_nothing(w);
}

T(silence_within_an_answer)
{
    struct world *w = world_new();

    comes_up(w);
    ask_lock(w, "job", 60000);
    expect_line(w, "#* LOCK job *");
    bytes_come(w, "#x +LOCKED jo", 13);
    expect_nothing(w);
    passes(w, STALL_MS - 1);
    bytes_come(w, "b", 1); /* slow, but not silent */
    expect_nothing(w);
    passes(w, STALL_MS - 1);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    ck_assert_int_le(core_deadline_ms(w->core), w->now_ms + 1);
    passes(w, 1);
    ck_assert_int_eq(core_action(w->core), ACTION_CLOSE);
    goes_down(w);
    expect_told(w, "down connect : redlockd fell silent within an answer");
}

/* A short TTL does not leave so much time. */
T(silence_within_an_answer_while_a_lock_is_held)
{
    struct world *w = world_new();
    comes_up(w);
    struct redlock_lock *lock = has_lock(w, "job", TOKEN_A);

    bytes_come(w, "!RENEWED jo", 11);
    expect_nothing(w);
    passes(w, TTL_MS / 3 - 1);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    passes(w, 1);
    ck_assert_int_eq(core_action(w->core), ACTION_PARK);
    goes_down(w);
    expect_told(w, "down connect : redlockd fell silent within an answer");
    ck_assert_int_eq(deadline(lock), START_MS + TTL_MS);
}

T(silence_between_two_answers)
{
    struct world *w = world_new();

    comes_up(w);
    ask_lock(w, "job", 60000);
    expect_line(w, "#* LOCK job *");
    passes(w, STALL_MS);
    ck_assert_int_eq(core_action(w->core), ACTION_NOTHING);
    expect_silence(w);
}
