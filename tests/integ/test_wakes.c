/* A client that waits for a lock of another daemon is woken when it is given back. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c, d;

/* Polling would take half a minute. */
static const char patient[] =
    "retry_min: 10s\nretry_max: 60s\nnode_timeout: 2500ms\nmin_ttl: 5s\nmax_ttl: 5m\n";

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, settings);
    daemon_start(&other, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &other);
}

static void listening(struct client *client)
{
    eventually(rows_with(show(client, "NODES"), "wake=up") == 3);
}

static long long figure(struct client *client, const char *key)
{
    return number(row_with(show(client, "STATS"), key), key);
}

T(a_waiter_at_another_daemon_is_woken)
{
    begin(patient);
    listening(&a);
    listening(&b);
    client_open(&c, &redlockd);
    client_open(&d, &other);
    struct client *sees[] = {&c, &d};
    long long slept[2] = {0};
    lock(&a, "job ttl=4m");
    for (unsigned i = 0; i < 5; i++) {
        struct client *holder = i % 2 ? &b : &a, *waiter = i % 2 ? &a : &b;
        client_send(waiter, "LOCK job wait=2m ttl=4m");
        eventually(figure(sees[i % 2 == 0], "slept") > slept[i % 2 == 0]);
        slept[i % 2 == 0] = figure(sees[i % 2 == 0], "slept");
        ask(holder, "+UNLOCKED job *", "UNLOCK job");
        await(waiter, "+LOCKED job *");
    }
    ck_assert_int_ge(figure(&b, "woken"), 1);
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    eventually(cluster_answers(&masters, "0", "EXISTS redlock:,queue:job") == 3);
}

T(who_locks_and_cancels_leaves_nothing)
{
    begin(patient);
    listening(&b);
    lock(&a, "job ttl=4m");
    for (unsigned i = 0; i < 20; i++) {
        client_send(&b, "#1 LOCK job wait=2m");
        client_send(&b, "CANCEL 1");
        await(&b, "+OK*");
    }
    eventually(cluster_answers(&masters, "0", "EXISTS redlock:,queue:job") == 3);
}

T(a_lost_connection_is_made_anew)
{
    begin("");
    listening(&b);
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "CLIENT KILL TYPE pubsub");
    eventually(daemon_logged(&other, "event=wake state=down"));
    listening(&b);
    lock(&a, "job");
    client_send(&b, "LOCK job wait=1m");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    await(&b, "+LOCKED job *");
}

/* The rights of an earlier version: clients poll, and the log says what to add. */
T(a_user_without_the_channel)
{
    begin("");
    for (unsigned i = 0; i < 3; i++) {
        redis(&masters.server[i], "ACL SETUSER default resetchannels -subscribe -publish -zrem -zrange");
        redis(&masters.server[i], "CLIENT KILL TYPE pubsub");
    }
    eventually(daemon_logged(&other, "event=wake_refused"));
    lock(&a, "job");
    client_send(&b, "LOCK job wait=1m");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    await(&b, "+LOCKED job *");
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    ck_assert_uint_eq(rows_with(show(&b, "NODES"), "state=up"), 3);
    ck_assert_uint_eq(rows_with(show(&b, "NODES"), "wake=down"), 3);
}

/* The masters have no room for a second connection of the daemon. */
T(masters_without_room_for_the_channel)
{
    begin("");
    listening(&a);
    listening(&b); /* a connection that is not subscribed yet would outlive CLIENT KILL TYPE pubsub */
    for (unsigned i = 0; i < 3; i++)
        redis_typed(&masters.server[i], "CONFIG SET maxclients 1\r\nCLIENT KILL TYPE pubsub");
    eventually(daemon_logged(&other, "event=wake_refused"));
    ck_assert(daemon_logged(&other, "raise maxclients there"));
    eventually(rows_with(show(&b, "NODES"), "wake=down wake_why=maxclients") == 3);
    ck_assert_uint_eq(rows_with(show(&b, "NODES"), "state=up"), 3);
}
