/* RESUME: a lock outlives its connection and its daemon, and no other client gets it in between. */
#include "tests/integ/steady.h"

#include <signal.h>
#include <stdio.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

static void begin_with(unsigned count, const char *settings)
{
    cluster_start(&masters, count, UNIX);
    daemon_start(&redlockd, &masters, settings);
    daemon_start(&other, &masters, settings);
    client_open_tcp(&a, &redlockd);
    client_open(&b, &redlockd);
    client_open(&c, &other);
    eventually(masters_up(&b, &masters) && masters_up(&c, &masters));
}

static void begin(unsigned count)
{
    begin_with(count, STEADY);
}

static bool nothing_under_way(struct client *client)
{
    const char *stats = show(client, "STATS");
    return row_with(stats, "releases_under_way=0") && row_with(stats, "rounds_under_way=0");
}

/* On a busy machine masters may seem slow: a RESUME that is not granted is set back, and asked again. */
static struct grant resume_for(struct client *client, const char *name, const char *token, const char *ttl)
{
    const char *line;
    int64_t end_ms = now_ms() + WAIT_MS;
    do {
        client_send(client, "RESUME %s token=%s ttl=%s note=resumed", name, token, ttl);
        line = next_line(client);
        ck_assert_ptr_nonnull(line);
    } while (strncmp(line, "-NOQUORUM", 9) == 0 && now_ms() < end_ms);
    ck_assert_msg(strncmp(line, "+LOCKED ", 8) == 0, "%s", line);
    struct grant grant = grant_of(line);
    ck_assert_str_ne(grant.token, token);
    ck_assert_str_eq(kv(line, "depth"), "");
    return grant;
}

static struct grant resume(struct client *client, const char *name, const char *token)
{
    return resume_for(client, name, token, "30s");
}

/* Whether these masters have the token. Callers leave out masters that hang, since their answers take a
 * while. */
static bool holds(unsigned first, unsigned last, const char *token)
{
    bool all = true;
    for (unsigned i = first; i <= last; i++)
        all &= strcmp(redis(&masters.server[i], "GET redlock:job"), token) == 0;
    return all;
}

/* ---- where it goes on ---- */

T(after_the_daemon_was_killed_and_started_again)
{
    begin(5);
    struct grant grant = lock(&b, "job ttl=30s");
    eventually(cluster_holds(&masters, "job", grant.token) == 5);
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(&b, &redlockd);
    ask(&b, "-BUSY job*", "LOCK job");
    struct grant again = resume(&b, "job", grant.token);
    ck_assert_int_gt(again.fence, grant.fence);
    ck_assert_msg(again.valid_ms <= 30000 - 302, "valid=%d", (int)again.valid_ms);
    eventually(cluster_holds(&masters, "job", again.token) == 5);
    const char *row = row_with(show(&b, "LOCKS"), "name=job ");
    ck_assert_str_eq(kv(row, "hold"), "session");
    ck_assert_str_eq(kv(row, "note"), "resumed");
    ck_assert_str_eq(kv(row, "depth"), "1");
    ck_assert_ptr_nonnull(row_with(show(&b, "STATS"), "resumed=1"));
    ask(&c, "-BUSY job*", "LOCK job");
    ask(&c, "-NOTHELD job*", "CHECK job token=%s", grant.token);
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_is_free(&masters, "job"));
}

/* The end of the old connection comes late and touches nothing. */
T(at_another_daemon)
{
    begin(5);
    struct grant grant = lock(&a, "job ttl=30s");
    eventually(cluster_holds(&masters, "job", grant.token) == 5);
    client_send(&b, "LOCK job wait=1m"); /* the request waits for the session that the daemon knows */
    struct grant moved = resume(&c, "job", grant.token);
    ck_assert_int_gt(moved.fence, grant.fence);
    client_close(&a);
    struct client eye;
    client_open(&eye, &redlockd);
    eventually(rows_with(show(&eye, "LOCKS"), "name=job ") == 0);
    eventually(cluster_holds(&masters, "job", moved.token) == 5);
    ck_assert(client_silent(&b)); /* the client polls now, and does not get it */
    ask(&c, "+HELD job *", "CHECK job token=%s", moved.token);
    ask(&c, "+UNLOCKED job *", "UNLOCK job");
    struct grant last = grant_of(expect(&b, "+LOCKED job *"));
    ck_assert_int_gt(last.fence, moved.fence);
}

T(the_session_before_finds_that_it_is_gone)
{
    begin(3);
    struct grant grant = lock_steady(&a, "job", "60s", 4000);
    eventually(cluster_holds(&masters, "job", grant.token) == 3);
    struct grant moved = resume(&c, "job", grant.token);
    await(&a, "!LOST job token=* reason=gone"); /* by the next renewal */
    eventually(cluster_holds(&masters, "job", moved.token) == 3);
    ask(&a, "-NOTHELD job*", "UNLOCK job");
    ask(&a, "-NOTHELD job*", "UNLOCK job token=%s", grant.token);
    eventually(cluster_holds(&masters, "job", moved.token) == 3);
}

T(at_the_same_daemon)
{
    begin(5);
    struct grant grant = lock(&a, "job ttl=30s");
    struct grant moved = resume(&b, "job", grant.token);
    const char *lost = expect(&a, "!LOST job token=* reason=moved");
    ck_assert_str_eq(kv(lost, "token"), grant.token);
    client_half_close(&a);
    expect_closed(&a);
    eventually(nothing_under_way(&b));
    eventually(cluster_holds(&masters, "job", moved.token) == 5);
    ask(&b, "+LOCKED job token=* depth=2", "LOCK job token=%s", moved.token);
    struct grant own = resume(&b, "other", lock(&c, "other hold=lease ttl=30s").token);
    client_close(&b);
    eventually(cluster_is_free(&masters, "job") &&
               cluster_is_free(&masters, "other")); /* both locks are session locks */
    ask(&c, "-NOTHELD other*", "CHECK other token=%s", own.token);
}

T(after_a_reset)
{
    begin(3);
    struct grant grant = lock(&a, "job ttl=30s");
    client_reset(&a);
    eventually(rows_with(show(&b, "CLIENTS"), "") == 1);
    ask(&b, "-BUSY job*", "LOCK job");
    struct grant moved = resume(&b, "job", grant.token);
    eventually(cluster_holds(&masters, "job", moved.token) == 3);
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_is_free(&masters, "job"));
}

/* ---- two at once ---- */

/* Returns the client that got the lock, or NULL: none yet. */
static struct client *race(struct client *both[2], const char *name, const char *token, char winner[TOKEN])
{
    struct client *won = NULL;
    for (unsigned i = 0; i < 2; i++)
        client_send(both[i], "RESUME %s token=%s", name, token);
    for (unsigned i = 0; i < 2; i++) {
        const char *line = next_line(both[i]);
        ck_assert_ptr_nonnull(line);
        if (strncmp(line, "+LOCKED ", 8) != 0) {
            bool refused = strncmp(line, "-NOTHELD ", 9) == 0 || strncmp(line, "-NOQUORUM ", 10) == 0;
            ck_assert_msg(refused, "%s", line);
            continue;
        }
        ck_assert_msg(won == NULL, "both got it");
        won = both[i];
        strcpy(winner, grant_of(line).token);
    }
    return won;
}

/* Lets both clients repeat RESUME until one of them gets the lock; the other client then has nothing. */
static void one_wins(struct client *one, struct client *two, const char *name)
{
    struct client *both[] = {one, two}, *won = NULL;
    char winner[TOKEN];
    struct grant grant = grant_of(ask(&a, "+LOCKED *", "LOCK %s hold=lease ttl=60s", name));
    for (int64_t end_ms = now_ms() + WAIT_MS; won == NULL && now_ms() < end_ms;)
        won = race(both, name, grant.token, winner);
    ck_assert_msg(won != NULL, "nobody got %s in %d ms", name, WAIT_MS);
    /* A key that the other client took meanwhile and set back stays until its time is over. */
    ck_assert_uint_ge(cluster_holds(&masters, name, winner), 3);
    ask(won == one ? two : one, "-NO*", "RESUME %s token=%s", name, grant.token);
    ask(won, "+UNLOCKED *", "UNLOCK %s", name);
    eventually(cluster_holds(&masters, name, winner) == 0);
}

T(two_at_once)
{
    struct client second;
    char name[16];
    begin(5);
    client_open(&second, &redlockd);
    for (unsigned i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "job%u", i);
        one_wins(&b, i % 3 ? &c : &second, name);
    }
}

/* ---- masters that are not there ---- */

T(a_minority_hangs)
{
    begin_with(5, "");
    struct grant grant = lock(&b, "job ttl=6s wait=14s");
    eventually(cluster_holds(&masters, "job", grant.token) == 5);
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    struct grant moved = resume_for(&c, "job", grant.token, "6s");
    ck_assert(holds(2, 4, moved.token));
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    eventually(cluster_holds(&masters, "job", moved.token) ==
               5); /* moved late, or when the old key ran out */
    ask(&c, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_is_free(&masters, "job"));
}

T(a_master_is_down)
{
    begin(3);
    struct grant grant = lock(&b, "job ttl=30s");
    server_kill(&masters.server[1]);
    struct grant moved = resume(&c, "job", grant.token);
    ck_assert_int_gt(moved.fence, grant.fence);
    eventually(cluster_holds(&masters, "job", moved.token) == 2);
    server_start(&masters.server[1]);
    ask(&c, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_is_free(&masters, "job"));
}

/* ---- set back ---- */

/* Three masters of five stand still. True: the other two answered in time, so that the refusal says when to
 * try again. */
static bool two_move_it(const char *token)
{
    for (unsigned i = 0; i < 3; i++)
        server_stop(&masters.server[i]);
    const char *line = ask(&c, "-NOQUORUM job votes=* nodes=*", "RESUME job token=%s", token);
    return number(line, "retry") > 0;
}

T(a_majority_hangs)
{
    begin_with(5, "");
    struct grant grant = lock(&a, "job hold=lease ttl=60s wait=14s");
    eventually(cluster_holds(&masters, "job", grant.token) == 5);
    for (unsigned tries = 0; !two_move_it(grant.token); tries++) {
        ck_assert_uint_lt(tries, 5);
        for (unsigned i = 0; i < 3; i++)
            server_cont(&masters.server[i]);
        eventually(rows_with(show(&c, "NODES"), " state=up ") == 5);
        eventually(cluster_holds(&masters, "job", grant.token) == 5);
    }
    eventually(holds(3, 4, grant.token));
    client_send(&b, "RESUME job token=%s", grant.token);
    client_close(&b); /* no client is there to be told */
    for (unsigned i = 0; i < 3; i++)
        server_cont(&masters.server[i]); /* now they move, and move back */
    struct client eye;
    client_open(&eye, &redlockd);
    eventually(nothing_under_way(&eye) && nothing_under_way(&c));
    eventually(cluster_holds(&masters, "job", grant.token) == 5);
}

T(a_token_that_a_minority_has)
{
    static const char token[] = "0123456789abcdef0123456789abcdef01234567";
    begin(5);
    redis(&masters.server[1], "SET redlock:job %s PX 50000", token);
    redis(&masters.server[4], "SET redlock:job %s PX 50000", token);
    const char *line = ask(&b, "-NOQUORUM job votes=* nodes=* *", "RESUME job token=%s ttl=4s", token);
    ck_assert_int_gt(number(line, "retry"), 0);
    eventually(cluster_holds(&masters, "job", token) == 2);
    const char *left = redis(&masters.server[1], "PTTL redlock:job");
    ck_assert_msg(strlen(left) == 5 && left[0] != '-', "its TTL is kept: %s", left);
    ck_assert_str_eq(redis(&masters.server[0], "GET redlock:job"), "(nil)");
}

T(a_token_that_nobody_has)
{
    begin(5);
    ask(&b, "-NOTHELD job", "RESUME job token=%040d", 7);
    ck_assert(cluster_is_free(&masters, "job"));
    struct grant grant = lock(&b, "job");
    ask(&c, "-NOTHELD job", "RESUME job token=%040d", 7);
    eventually(cluster_holds(&masters, "job", grant.token) == 5);
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_is_free(&masters, "job"));
    ask(&c, "-NOTHELD job", "RESUME job token=%s", grant.token); /* not any more */
}

T(a_daemon_that_drains_takes_none)
{
    begin(3);
    struct grant grant = lock(&c, "job ttl=30s");
    lock(&b, "stays");
    daemon_signal(&redlockd, SIGTERM);
    await(&b, "!DRAIN");
    ask(&b, "-DRAINING job", "RESUME job token=%s", grant.token);
    eventually(cluster_holds(&masters, "job", grant.token) == 3);
    ask(&b, "+UNLOCKED stays *", "UNLOCK stays");
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}
