/* A daemon of an earlier version beside this one, on the same masters, as during an upgrade. BEFORE names its program.
 * Each test runs twice: `one` is the earlier version first, and this one then. */
#include <signal.h>
#include <stdlib.h>

#include "tests/integ/harness.h"

static struct cluster masters;
static struct daemon one, other;
static struct client a, a2, b, b2; /* a and a2 of one, b and b2 of the other */

static void start(struct daemon *daemon, bool before, const char *settings)
{
    const char *program = getenv(before ? "BEFORE" : "NOW");
    ck_assert_ptr_nonnull(program);
    setenv("REDLOCKD", program ? program : "", 1);
    daemon_start(daemon, &masters, settings);
}

static void begin_with(bool before, const char *settings)
{
    start(&one, before, settings);
    start(&other, !before, settings);
    client_open(&a, &one);
    client_open(&a2, &one);
    client_open(&b, &other);
    client_open(&b2, &other);
    eventually(masters_up(&a, &masters) && masters_up(&b, &masters));
    eventually(rows_with(show(&a, "NODES"), "wake=up") == 3 && rows_with(show(&b, "NODES"), "wake=up") == 3);
}

static void begin(int before)
{
    cluster_start(&masters, 3, UNIX);
    begin_with(before, PATIENT);
}

TIME_LIMIT_S(120);

T_EACH(locks_exclude_each_other, 2)
{
    begin(_i);
    struct grant first = lock(&a, "job");
    ask(&b, "-BUSY job*", "LOCK job");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_is_free(&masters, "job"));
    struct grant next = lock(&b, "job");
    ck_assert_int_gt(next.fence, first.fence);
    ask(&a, "-BUSY job*", "LOCK job");
    ask(&a, "+HELD job *", "CHECK job token=%s", next.token);
    ask(&a, "+EXTENDED job *", "EXTEND job token=%s ttl=40s", next.token);
    ask(&a, "+UNLOCKED job *", "UNLOCK job token=%s", next.token);
    ck_assert_int_gt(lock(&a, "job wait=10s").fence, next.fence);
}

T_EACH(waiters_hear_of_releases, 2)
{
    begin(_i);
    lock(&a, "job");
    client_send(&b, "LOCK job wait=60s");
    eventually(rows_with(show(&b2, "WAITERS"), "name=job ") == 1);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    expect(&b, "+LOCKED job *");
    client_send(&a, "LOCK job wait=60s");
    eventually(rows_with(show(&a2, "WAITERS"), "name=job ") == 1);
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    expect(&a, "+LOCKED job *");
}

static struct client *first_to_hear(struct client *const clients[], unsigned count)
{
    int64_t end_ms = now_ms() + WAIT_MS;
    for (unsigned i = 0;; i = (i + 1) % count) {
        if (!client_silent(clients[i]))
            return clients[i];
        ck_assert_msg(now_ms() < end_ms, "nobody has the lock");
        nap();
    }
}

/* Within a daemon the lock goes from hand to hand; the other's waiters have their turns. */
T_EACH(hand_overs, 2)
{
    enum { ROUNDS = 60 };
    struct client *const all[] = {&a, &a2, &b, &b2};
    unsigned of_one = 0, rounds = 0;
    int64_t fence = 0;
    begin(_i);
    for (unsigned i = 0; i < 4; i++)
        client_send(all[i], "LOCK job wait=60s");
    /* A quick machine hands on more than ROUNDS times within one turn. */
    for (; rounds < ROUNDS || of_one == 0 || of_one == rounds; rounds++) {
        struct client *holder = first_to_hear(all, 4);
        struct grant grant = grant_of(expect(holder, "+LOCKED job *"));
        ck_assert_int_gt(grant.fence, fence);
        fence = grant.fence;
        of_one += holder == &a || holder == &a2;
        ask(holder, "+UNLOCKED job *", "UNLOCK job");
        client_send(holder, "LOCK job wait=60s");
    }
}

T_EACH(readers_and_a_writer, 2)
{
    begin(_i);
    lock(&a, "page mode=shared");
    lock(&b, "page mode=shared");
    ask(&a2, "-BUSY page*", "LOCK page");
    client_send(&b2, "LOCK page wait=60s");
    ask(&a, "+UNLOCKED page *", "UNLOCK page");
    ask(&b, "+UNLOCKED page *", "UNLOCK page");
    struct grant writer = grant_of(expect(&b2, "+LOCKED page *"));
    ask(&a, "-BUSY page*", "LOCK page mode=shared");
    ask(&b2, "+LOCKED page *mode=shared*", "LOCK page mode=shared token=%s", writer.token);
    lock(&a, "page mode=shared wait=10s"); /* beside the writer that has become a reader */
}

T_EACH(lists_and_names, 2)
{
    begin(_i);
    lock(&a, "x,y");
    ask(&b, "-BUSY y*", "LOCK y");
    ask(&b, "-BUSY *", "LOCK y,z");
    client_send(&b, "LOCK z,y wait=60s");
    ask(&a, "+UNLOCKED *", "UNLOCK x,y");
    expect(&b, "+LOCKED z,y *");
    ask(&a, "-BUSY z*", "LOCK z");
    lock(&a, "x");
}

T_EACH(slots, 2)
{
    begin(_i);
    int64_t first = number(ask(&a, "+LOCKED pool *", "LOCK pool slots=2"), "slot");
    int64_t second = number(ask(&b, "+LOCKED pool *", "LOCK pool slots=2"), "slot");
    ck_assert_int_ne(first, second);
    ask(&a2, "-BUSY pool*", "LOCK pool slots=2");
    client_send(&b2, "LOCK pool slots=2 wait=60s");
    ask(&a, "+UNLOCKED pool *", "UNLOCK pool");
    ck_assert_int_eq(number(expect(&b2, "+LOCKED pool *"), "slot"), first);
}

T_EACH(a_lock_moves_to_the_other, 2)
{
    begin(_i);
    struct grant held = lock(&a, "job ttl=60s"), moved;
    eventually(cluster_holds(&masters, "job", held.token) == 3);
    moved = grant_of(ask(&b, "+LOCKED job *", "RESUME job token=%s ttl=12s", held.token));
    ck_assert_int_gt(moved.fence, held.fence);
    client_close(&a); /* its FIN releases nothing */
    ask(&a2, "-BUSY job*", "LOCK job");
    moved = grant_of(ask(&a2, "+LOCKED job *", "RESUME job token=%s", moved.token));
    await(&b, "!LOST job token=* reason=*"); /* at its next renewal */
    ask(&a2, "+UNLOCKED job *", "UNLOCK job");
}

T_EACH(each_lists_the_other, 2)
{
    begin(_i);
    eventually_within(rows_with(show(&a, "DAEMONS"), "daemon=") == 2 &&
                          rows_with(show(&b, "DAEMONS"), "daemon=") == 2,
                      3 * WAIT_MS);
}

/* With the guard: what one writes of a master, the other takes. */
T_EACH(neither_doubts_what_the_other_writes, 2)
{
    static const char guarded[] = PATIENT "restart_guard: on\nmax_ttl: 30s\n";
    cluster_start(&masters, 3, UNIX);
    cluster_trust(&masters, 30000);
    begin_with(_i, guarded);
    for (unsigned i = 0; i < 2; i++) {
        daemon_signal(&one, SIGTERM);
        ck_assert_int_eq(daemon_exit(&one), 0);
        start(&one, _i == (int)i, guarded); /* the host is upgraded, or goes back */
        client_open(&a, &one);
        eventually(masters_up(&a, &masters));
        ck_assert(masters_up(&b, &masters));
        ck_assert_uint_eq(rows_with(show(&b, "NODES"), "why="), 0);
        ask(&a, "+LOCKED *", "LOCK job%u", i);
        ask(&b, "-BUSY *", "LOCK job%u", i);
    }
}
