/* Waiters at one daemon follow each other without a question to the masters, and a lock that goes on for
 * longer is known to all daemons by the token that its holder was told. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c, d, e;

static void begin(void)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, "");
    daemon_start(&other, &masters, "");
    client_open(&a, &redlockd);
    client_open_tcp(&b, &redlockd);
    client_open(&c, &redlockd);
    client_open(&d, &other);
}

/* Client b has the lock, and c waits for it: the masters are to have another token than b was told. */
static struct grant secretly_held(void)
{
    lock(&a, "job ttl=30s");
    client_send(&b, "LOCK job wait=1m ttl=30s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job") == 1);
    client_send(&c, "LOCK job wait=1m ttl=30s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job") == 2);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    return grant_of(await(&b, "+LOCKED job *"));
}

static bool is_settled(const struct grant *grant)
{
    return cluster_holds(&masters, "job", grant->token) == 3;
}

T(it_goes_from_waiter_to_waiter)
{
    begin();
    struct client *queue[] = {&b, &c, &e}; /* in order; the first has the lock */
    struct grant grant = secretly_held();
    client_open(&e, &redlockd);
    client_send(&e, "LOCK job wait=1m ttl=30s");
    eventually(rows_with(show(&a, "WAITERS"), "name=job") == 2);
    long long handed = 0;
    for (unsigned i = 0; i < 1000 && handed < 20; i++) { /* a slow machine lets some turns pass */
        struct client *holder = queue[i % 3], *next = queue[(i + 1) % 3];
        client_send(holder, "UNLOCK job");
        handed += strstr(await(holder, "+UNLOCKED job *"), " handed=1") != NULL;
        client_send(holder, "LOCK job wait=1m ttl=30s");
        struct grant granted = grant_of(await(next, "+LOCKED job *"));
        ck_assert_int_gt(granted.fence, grant.fence);
        ck_assert_str_ne(granted.token, grant.token);
        grant = granted;
    }
    ck_assert_int_ge(handed, 20);
    ck_assert_int_ge(number(row_with(show(&a, "STATS"), "handed_on"), "handed_on"), handed);
    ask(&d, "-BUSY job*", "LOCK job");
    eventually(is_settled(&grant));
}

T(what_lasts_is_known_to_all_daemons)
{
    begin();
    struct grant grant = secretly_held();
    eventually(is_settled(&grant));
    ask(&d, "+HELD job *", "CHECK job token=%s", grant.token);
    ask(&d, "+UNLOCKED job *", "UNLOCK job token=%s", grant.token);
    await(&c, "+LOCKED job *");
}

T(a_broken_connection_leaves_it_to_whoever_shows_the_token)
{
    begin();
    struct grant grant = secretly_held();
    client_reset(&b);
    eventually(is_settled(&grant));
    ask(&d, "+LOCKED job *", "RESUME job token=%s ttl=30s", grant.token);
    ck_assert(client_silent(&c));
}

T(a_daemon_that_stops_settles_it_before_it_says_so)
{
    begin();
    struct grant grant = secretly_held();
    daemon_signal(&redlockd, SIGTERM);
    await(&b, "!DRAIN*");
    ask(&d, "+LOCKED job *", "RESUME job token=%s ttl=30s", grant.token);
}
