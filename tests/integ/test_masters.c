/* Masters that hang, die, forget, come back: the locks must not notice, or be told in time. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

static void begin(unsigned count, enum transport transport, const char *settings)
{
    cluster_start(&masters, count, transport);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
}

static bool key_is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}

static bool state_is(unsigned master, const char *state)
{
    return strcmp(node_state(&b, &masters.server[master]), state) == 0;
}

/* Reads a's renewals until one is good for longer than that, and returns for how long. */
static int64_t renewed_beyond(int64_t deadline_ms)
{
    int64_t until_ms;
    do
        until_ms = number(expect(&a, "!RENEWED *"), "until");
    while (until_ms <= deadline_ms);
    return until_ms;
}

START_TEST(hung_master_holds_up_nothing)
{
    begin(5, UNIX, "");
    struct grant before = lock(&a, "before");
    eventually(cluster_holds(&masters, "before", before.token) == 5);
    server_stop(&masters.server[2]);
    int64_t start_ms = now_ms();
    for (int i = 0; i < 20; i++)
        lock(&a, "hung%d", i);
    ck_assert_int_lt(now_ms() - start_ms, 20 * 250);
    eventually(state_is(2, "slow"));
    lock(&a, "slow"); /* not even asked there */
    ask(&a, "+UNLOCKED before confirmed=[34]/5", "UNLOCK before");
    ask(&a, "+UNLOCKED slow confirmed=[34]/5", "UNLOCK slow");
    for (int i = 0; i < 20; i++)
        ask(&a, "+UNLOCKED hung* confirmed=[34]/5", "UNLOCK hung%d", i);

    server_cont(&masters.server[2]);
    eventually(state_is(2, "up"));
    eventually(cluster_answers(&masters, "", "KEYS redlock:[^,]*") == 5);
}
END_TEST

START_TEST(hung_master_is_reset_and_its_old_connection_killed)
{
    begin(3, UNIX, "node_timeout: 100ms\nmin_ttl: 200ms\n");
    server_stop(&masters.server[0]);
    struct grant grant = lock(&a, "asked ttl=60s"); /* its SET waits in the stopped server's socket */
    ask(&a, "+UNLOCKED asked confirmed=2/3", "UNLOCK asked");
    grant = lock(&a, "left ttl=60s");
    eventually(state_is(0, "slow"));
    eventually(!state_is(0, "slow"));
    ck_assert_str_ne(node_state(&b, &masters.server[0]), "up");
    lock(&a, "meanwhile");

    server_cont(&masters.server[0]);
    eventually(state_is(0, "up"));
    eventually(cluster_answers(&masters, "(nil)", "GET redlock:asked") == 3);
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[0], "INFO commandstats"), "cmdstat_client|kill"));
    ck_assert_uint_ge(cluster_holds(&masters, "left", grant.token), 2);
    ask(&a, "+UNLOCKED left *", "UNLOCK left");
    eventually(key_is_free("left"));
}
END_TEST

START_TEST(connections_killed_by_hand)
{
    begin(3, TCP, "");
    ask(&a, "+HELLO *", "HELLO 1 events=renewed");
    struct grant held = lock(&a, "held ttl=1s");
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "CLIENT KILL TYPE normal SKIPME yes");
    lock(&b, "next wait=10s");
    renewed_beyond(held.until_ms + 1000);
    ck_assert_uint_ge(cluster_holds(&masters, "held", held.token), 2);
    for (unsigned i = 0; i < 3; i++)
        eventually(state_is(i, "up"));
}
END_TEST

START_TEST(late_set_is_undone)
{
    begin(3, UNIX, "");
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    const char *refusal = ask(&a, "-NOQUORUM late *", "LOCK late ttl=60s");
    ck_assert_str_eq(kv(refusal, "votes"), "1/3");
    ck_assert_str_eq(kv(refusal, "nodes"), "\?\?+");
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    eventually(strstr(redis(&masters.server[0], "INFO commandstats"), "cmdstat_set:") != NULL);
    eventually(key_is_free("late"));
    for (unsigned i = 0; i < 2; i++)
        eventually(state_is(i, "up"));
    lock(&a, "late");
}
END_TEST

START_TEST(two_of_five_dead_then_three_and_back)
{
    begin(5, TCP, "");
    ask(&a, "+HELLO *", "HELLO 1 events=renewed");
    struct grant held = lock(&a, "held ttl=2s");
    server_kill(&masters.server[1]);
    server_kill(&masters.server[3]);
    for (int i = 0; i < 10; i++) {
        lock(&b, "two%d", i);
        ask(&b, "+UNLOCKED *", "UNLOCK two%d", i); /* else some are lost when the masters come back empty */
    }
    int64_t until_ms = renewed_beyond(held.until_ms + 1000);

    server_kill(&masters.server[4]);
    eventually(state_is(4, "down"));
    int64_t start_ms = now_ms();
    const char *refusal = ask(&b, "-NOQUORUM three votes=* nodes=*", "LOCK three");
    ck_assert_int_lt(now_ms() - start_ms, 1000);
    ck_assert_str_eq(kv(refusal, "votes"), "2/5");
    ck_assert_str_eq(kv(refusal, "nodes"), "+!+!!");
    ask(&b, "-NOQUORUM three *", "LOCK three wait=300ms"); /* tries on, to no avail */

    const char *event = next_line(&a);
    for (; strncmp(event, "!RENEWED ", 9) == 0; event = next_line(&a))
        until_ms = number(event, "until");
    ck_assert_msg(strncmp(event, "!EXPIRING held ", 15) == 0, "%s", event);
    ck_assert_int_le(number(event, "valid"), 2000 / 3);
    ck_assert_int_lt(now_ms(), until_ms);
    event = expect(&a, "!LOST held token=* reason=expired");
    ck_assert_str_eq(kv(event, "token"), held.token);
    int64_t late_ms = now_ms() - until_ms;
    ck_assert_msg(late_ms >= -50 && late_ms < 500, "told %d ms after the deadline", (int)late_ms);

    client_send(&a, "LOCK three wait=14s");
    for (unsigned i = 0; i < 5; i++)
        if (!masters.server[i].pid)
            server_start(&masters.server[i]);
    expect(&a, "+LOCKED three *");
    for (unsigned i = 0; i < 5; i++)
        eventually(state_is(i, "up"));
}
END_TEST

START_TEST(all_masters_dead_at_the_start)
{
    cluster_start(&masters, 3, TCP);
    for (unsigned i = 0; i < 3; i++)
        server_kill(&masters.server[i]);
    daemon_start(&redlockd, &masters, "");
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    const char *refusal = ask(&a, "-NOQUORUM early *", "LOCK early");
    ck_assert_str_eq(kv(refusal, "nodes"), "!!!");
    for (unsigned i = 0; i < 3; i++)
        server_start(&masters.server[i]);
    lock(&a, "early wait=10s");
}
END_TEST

static const char guarded[] = "restart_guard: on\nmax_ttl: 2s\ndefault_ttl: 1s\n";
enum { FULL_MS = 2000 + 22 };

START_TEST(restarted_master_is_kept_out)
{
    begin(3, TCP, guarded);
    /* All three are younger than a lock may last. */
    const char *refusal = ask(&a, "-NOQUORUM fresh votes=0/3 nodes=~~~ *", "LOCK fresh");
    ck_assert_msg(number(refusal, "retry") > 0 && number(refusal, "retry") <= FULL_MS, "%s", refusal);
    ck_assert_ptr_nonnull(strstr(refusal, " : "));
    ck_assert_ptr_nonnull(strstr(refusal, "quarantine"));
    ck_assert_ptr_nonnull(strstr(refusal, "restart_guard"));
    struct grant grant = lock(&a, "fresh wait=10s");
    eventually(state_is(0, "up") && state_is(1, "up") && state_is(2, "up"));

    /* One comes back empty, one from its dump, with the lock's key: neither may vote. */
    eventually(cluster_holds(&masters, "fresh", grant.token) == 3);
    int64_t restart_ms = now_ms();
    server_kill(&masters.server[0]);
    server_start(&masters.server[0]);
    eventually(state_is(0, "quarantine"));
    const char *row = node_row(&b, &masters.server[0]);
    ck_assert_str_eq(kv(row, "why"), "restart");
    ck_assert_msg(number(row, "left") > 0 && number(row, "left") <= FULL_MS, "%s", row);
    lock(&b, "two hold=lease"); /* 1 and 2 suffice */
    ck_assert_str_eq(redis(&masters.server[1], "SAVE"), "OK");
    server_kill(&masters.server[1]);
    server_start(&masters.server[1]);
    eventually(state_is(1, "quarantine"));
    refusal = ask(&b, "-NOQUORUM no *", "LOCK no");
    ck_assert_str_eq(kv(refusal, "votes"), "1/3");
    ck_assert_str_eq(kv(refusal, "nodes"), "~~+");
    lock(&b, "no wait=10s");
    ck_assert_int_ge(now_ms() - restart_ms, 2000);
    eventually(state_is(0, "up") && state_is(1, "up"));
}
END_TEST

START_TEST(old_masters_are_trusted_but_not_a_demoted_one)
{
    struct daemon later;
    begin(1, UNIX, "max_ttl: 2s\ndefault_ttl: 1s\n"); /* daemons must agree */
    lock(&a, "young"); /* the guard is off in this one */
    eventually(atoi(strstr(redis(&masters.server[0], "INFO server"), "uptime_in_seconds:") + 18) >= 5);
    daemon_start(&later, &masters, guarded);
    client_open(&b, &later);
    ck_assert_str_eq(node_state(&b, &masters.server[0]), "up");
    lock(&b, "old hold=lease");

    /* But not one that was a replica in between, though neither connection nor run_id changes. */
    redis(&masters.server[0], "REPLICAOF 127.0.0.1 1");
    ask(&b, "-NOQUORUM no *", "LOCK no");
    redis(&masters.server[0], "REPLICAOF NO ONE");
    eventually(state_is(0, "quarantine"));
    ck_assert_str_eq(kv(node_row(&b, &masters.server[0]), "why"), "demoted");
    ask(&b, "-NOQUORUM no *", "LOCK no");
    lock(&b, "no wait=10s");
}
END_TEST

START_TEST(scripts_flushed)
{
    begin(3, UNIX, "");
    ask(&a, "+HELLO *", "HELLO 1 events=renewed");
    struct grant held = lock(&a, "held ttl=600ms");
    struct grant lease = lock(&b, "lease hold=lease");
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SCRIPT FLUSH"), 3);
    renewed_beyond(held.until_ms + 600);
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SCRIPT FLUSH"), 3);
    ask(&b, "+UNLOCKED lease confirmed=[23]/3", "UNLOCK lease");
    eventually(key_is_free("lease"));
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "SCRIPT FLUSH"), 3);
    ask(&b, "-NOTHELD lease*", "CHECK lease token=%s", lease.token);
    renewed_beyond(now_ms() + 400);
    client_close(&a);
    eventually(key_is_free("held"));
}
END_TEST

START_TEST(keys_deleted)
{
    begin(5, UNIX, "");
    ask(&a, "+HELLO *", "HELLO 1 events=renewed");
    struct grant held = lock(&a, "held ttl=900ms");
    for (unsigned i = 0; i < 2; i++)
        redis(&masters.server[i], "DEL redlock:held");
    renewed_beyond(held.until_ms + 900);
    redis(&masters.server[4], "DEL redlock:held");
    int64_t start_ms = now_ms();
    ck_assert_str_eq(kv(await(&a, "!LOST held token=* reason=gone"), "token"), held.token);
    ck_assert_int_lt(now_ms() - start_ms, 900); /* at once, not at the deadline */
    ask(&a, "-NOTHELD held*", "UNLOCK held");
}
END_TEST

START_TEST(unlock_of_what_was_lost)
{
    begin(3, UNIX, "");
    lock(&a, "gone ttl=30s");
    cluster_answers(&masters, "1", "DEL redlock:gone");
    const char *line = ask(&a, "-NOTHELD gone : *", "UNLOCK gone");
    ck_assert_ptr_nonnull(strstr(line, "lost"));
    lock(&a, "gone");
}
END_TEST

START_TEST(nobody_answers_an_unlock)
{
    begin(3, UNIX, "");
    struct grant lease = lock(&a, "lease hold=lease ttl=30s");
    lock(&a, "session ttl=30s");
    eventually(cluster_holds(&masters, "session", lease.token) == 0 &&
               cluster_holds(&masters, "lease", lease.token) == 3);
    for (unsigned i = 0; i < 3; i++)
        server_stop(&masters.server[i]);
    ask(&a, "+UNLOCKED session confirmed=0/3", "UNLOCK session");
    ask(&b, "-NOQUORUM lease *", "UNLOCK lease token=%s", lease.token);
    ask(&b, "-NOQUORUM lease *", "CHECK lease token=%s", lease.token);
    ask(&b, "-NOQUORUM lease *", "EXTEND lease token=%s", lease.token);
    for (unsigned i = 0; i < 3; i++)
        server_cont(&masters.server[i]);
    eventually(key_is_free("session") && key_is_free("lease"));
}
END_TEST

static Suite *masters_suite(void)
{
    Suite *suite = suite_create("masters");
    ADD(suite, hung_master_holds_up_nothing);
    ADD(suite, hung_master_is_reset_and_its_old_connection_killed);
    ADD(suite, connections_killed_by_hand);
    ADD(suite, late_set_is_undone);
    ADD(suite, two_of_five_dead_then_three_and_back);
    ADD(suite, all_masters_dead_at_the_start);
    ADD(suite, restarted_master_is_kept_out);
    ADD(suite, old_masters_are_trusted_but_not_a_demoted_one);
    ADD(suite, scripts_flushed);
    ADD(suite, keys_deleted);
    ADD(suite, unlock_of_what_was_lost);
    ADD(suite, nobody_answers_an_unlock);
    return suite;
}

int main(void)
{
    return harness_main(masters_suite());
}
