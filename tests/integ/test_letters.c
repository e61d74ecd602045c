/* A lock is ended through another daemon: whoever waits at the holder's daemon gets it at once, whatever kind of lock
 * it is. Without the letter that daemon would wait for its next renewal, more than a minute later. */
#include <stdio.h>
#include <string.h>

#include "tests/integ/harness.h"

enum { READERS = 12, FORGED = 10000 };

static const char settings[] = "node_timeout: 2500ms\nmin_ttl: 5s\nmax_ttl: 5m\n"
                               "default_ttl: 4m\nallow_break: yes\n";

static struct cluster masters;
static struct daemon one, other;
static struct client a, b, waiter, more, reader[READERS];

static void listening(struct client *client)
{
    eventually(rows_with(show(client, "NODES"), "wake=up") == 3);
}

/* Clients a, waiter and more are at one daemon, b is at the other one. */
static void begin(void)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&one, &masters, settings, &a);
    daemon_serves(&other, &masters, settings, &b);
    client_open(&waiter, &one);
    client_open(&more, &one);
    listening(&a);
    listening(&b);
}

static void is_waiting(const char *name)
{
    struct client look;
    client_open(&look, &one);
    char row[80];
    snprintf(row, sizeof row, "name=%s ", name);
    eventually(rows_with(show(&look, "WAITERS"), row) >= 1);
    client_close(&look);
}

/* ---- a lock of one name ---- */

T(broken_through_another_daemon)
{
    begin();
    lock(&a, "job");
    client_send(&waiter, "LOCK job wait=2m");
    is_waiting("job");
    ask(&b, "+BROKEN job *", "BREAK job");
    await(&a, "!LOST job * reason=gone");
    await(&waiter, "+LOCKED job *");
}

T(broken_through_its_own_daemon)
{
    begin();
    lock(&a, "job");
    client_send(&waiter, "LOCK job wait=2m");
    is_waiting("job");
    ask(&more, "+BROKEN job *", "BREAK job");
    await(&a, "!LOST job * reason=gone");
    await(&waiter, "+LOCKED job *");
}

T(unlocked_through_another_daemon)
{
    begin();
    struct grant held = lock(&a, "job");
    client_send(&waiter, "LOCK job wait=2m");
    is_waiting("job");
    ask(&b, "+UNLOCKED job *", "UNLOCK job token=%s", held.token);
    await(&a, "!LOST job * reason=gone");
    await(&waiter, "+LOCKED job *");
}

T(resumed_and_unlocked_through_another_daemon)
{
    begin();
    struct grant held = lock(&a, "job");
    client_send(&waiter, "LOCK job wait=2m");
    is_waiting("job");
    ask(&b, "+LOCKED job *", "RESUME job token=%s ttl=4m", held.token);
    await(&a, "!LOST job * reason=gone");
    ask(&b, "+UNLOCKED job *", "UNLOCK job");
    await(&waiter, "+LOCKED job *");
}

/* ---- other kinds ---- */

/* The waiter gets the lock, and since more wait behind it, by a key whose token nobody is told at first. */
static void hand_on(void)
{
    begin();
    lock(&a, "job");
    client_send(&waiter, "LOCK job wait=2m");
    is_waiting("job");
    client_send(&more, "LOCK job wait=2m");
    client_open(&reader[0], &one);
    eventually(rows_with(show(&reader[0], "WAITERS"), "name=job ") == 2);
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
}

/* It is just being settled: where its token changes between the two questions of BREAK, nothing is deleted. */
static bool is_broken(void)
{
    client_send(&b, "BREAK job");
    const char *line = next_line(&b);
    bool again =
        strncmp(line, "-NOTHELD job : it has changed", 29) == 0 || strncmp(line, "-NOQUORUM ", 10) == 0;
    ck_assert_msg(again || strncmp(line, "+BROKEN job ", 12) == 0, "%s", line);
    return !again;
}

T(broken_while_it_is_handed_on)
{
    hand_on();
    await(&waiter, "+LOCKED job *");
    eventually(is_broken());
    await(&waiter, "!LOST job * reason=gone");
    await(&more, "+LOCKED job *");
}

T(unlocked_elsewhere_after_it_was_handed_on)
{
    hand_on();
    struct grant held = grant_of(await(&waiter, "+LOCKED job *"));
    eventually(cluster_holds(&masters, "job", held.token) == 3); /* it has settled */
    ask(&b, "+UNLOCKED job *", "UNLOCK job token=%s", held.token);
    await(&waiter, "!LOST job * reason=gone");
    await(&more, "+LOCKED job *");
}

T(a_crowd_is_broken)
{
    begin();
    for (unsigned i = 0; i < READERS; i++) {
        client_open(&reader[i], &one);
        lock(&reader[i], "page mode=shared");
    }
    client_send(&waiter, "LOCK page wait=2m");
    is_waiting("page");
    ask(&b, "+BROKEN page *", "BREAK page");
    for (unsigned i = 0; i < READERS; i++)
        await(&reader[i], "!LOST page * reason=gone");
    await(&waiter, "+LOCKED page *");
}

T(a_lease_of_a_reader_is_unlocked_elsewhere)
{
    begin();
    struct grant held = lock(&a, "page mode=shared");
    client_send(&waiter, "LOCK page wait=2m");
    is_waiting("page");
    ask(&b, "+UNLOCKED page *", "UNLOCK page token=%s", held.token);
    await(&a, "!LOST page * reason=gone");
    await(&waiter, "+LOCKED page *");
}

T(a_downgraded_lock_is_broken)
{
    begin();
    struct grant held = lock(&a, "page");
    ask(&a, "+LOCKED page *mode=shared*", "LOCK page mode=shared token=%s", held.token);
    client_send(&waiter, "LOCK page wait=2m");
    is_waiting("page");
    ask(&b, "+BROKEN page *", "BREAK page");
    await(&a, "!LOST page * reason=gone");
    await(&waiter, "+LOCKED page *");
}

T(one_name_of_a_list_is_broken)
{
    begin();
    lock(&a, "x,y,z");
    client_send(&waiter, "LOCK y wait=2m");
    is_waiting("y");
    ask(&b, "+BROKEN y *", "BREAK y");
    await(&a, "!LOST x,y,z * reason=gone");
    await(&waiter, "+LOCKED y *");
}

T(a_list_is_unlocked_elsewhere)
{
    begin();
    struct grant held = lock(&a, "z,x");
    client_send(&waiter, "LOCK z wait=2m");
    is_waiting("z");
    ask(&b, "+UNLOCKED z,x *", "UNLOCK z,x token=%s", held.token);
    await(&a, "!LOST z,x * reason=gone");
    await(&waiter, "+LOCKED z *");
}

T(a_list_is_resumed_and_unlocked_elsewhere)
{
    begin();
    struct grant held = lock(&a, "x,z");
    client_send(&waiter, "LOCK x,z wait=2m");
    is_waiting("x,z");
    ask(&b, "+LOCKED x,z *", "RESUME x,z token=%s ttl=4m", held.token);
    await(&a, "!LOST x,z * reason=gone");
    ask(&b, "+UNLOCKED x,z *", "UNLOCK x,z");
}

T(a_slot_is_broken)
{
    begin();
    lock(&a, "port slots=2");
    lock(&more, "port slots=2");
    client_send(&waiter, "LOCK port slots=2 wait=2m");
    is_waiting("port");
    ask(&b, "+BROKEN port slot=1 *", "BREAK port slot=1");
    await(&waiter, "+LOCKED port * slot=1*");
}

T(a_slot_is_unlocked_elsewhere)
{
    begin();
    struct grant held = lock(&a, "port slots=2");
    lock(&more, "port slots=2");
    client_send(&waiter, "LOCK port slots=2 wait=2m");
    is_waiting("port");
    ask(&b, "+UNLOCKED port *", "UNLOCK port token=%s", held.token);
    await(&a, "!LOST port * reason=gone*");
    await(&waiter, "+LOCKED port *");
}

/* ---- forged letters ---- */

static int64_t renewals(void)
{
    return number(row_with(show(&more, "STATS"), "renewals="), "renewals");
}

/* A tenant that may PUBLISH on all masters writes letters as fast as it can. */
T(forged_letters_cost_little)
{
    begin();
    struct grant held = lock(&a, "job");
    char script[160];
    int64_t before = renewals(), began_ms = now_ms();
    snprintf(script, sizeof script,
             "for i=1,%d do redis.call('PUBLISH','redlock:,wake:%.8s','g job') end return 1", FORGED,
             held.token);
    for (unsigned i = 0; now_ms() < began_ms + 4000 || i < 3; i++) {
        ck_assert_str_eq(redis(&masters.server[i % 3], "EVAL %s 0", script), "1");
        lock(&b, "another");
        ask(&b, "+UNLOCKED another *", "UNLOCK another");
    }
    int64_t asked = renewals() - before;
    ck_assert_int_ge(asked, 1);
    ck_assert_int_le(asked, (now_ms() - began_ms) / 1000 + 3);
    ask(&b, "+HELD job *", "CHECK job token=%s", held.token);
}
