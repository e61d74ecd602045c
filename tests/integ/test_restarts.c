/* Masters that lose their memory: flushed, restarted, demoted, promoted, with a clock that jumps. It must be
 * noticed also where nobody uses a lock, kept out in full, and cost no holder his lock where it need not. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Held locks must bear that the machine does nothing for a while: 3 s, renewed each second. What a test has to
 * see before it is over lasts half a minute; of what is shorter the log tells. */
static const char guarded[] = "restart_guard: on\nmax_ttl: 4s\ndefault_ttl: 3s\n";
static const char guarded_long[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 3s\n";
enum { MAX_TTL_MS = 4000, FULL_MS = 4000 + 42, LONG_MAX_TTL_MS = 30000, LONG_FULL_MS = 30000 + 302 };

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

static bool state_is(unsigned master, const char *state)
{
    return strcmp(node_state(&b, &masters.server[master]), state) == 0;
}

static bool all_up(struct client *client)
{
    return rows_with(show(client, "NODES"), " state=up ") == masters.count;
}

static void begin(unsigned count, enum transport transport, const char *settings)
{
    cluster_start_skewed(&masters, count, transport); /* so that one may jump */
    cluster_trust(&masters, settings == guarded ? MAX_TTL_MS : LONG_MAX_TTL_MS);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(all_up(&b));
}

static void begin_other(const char *settings)
{
    daemon_start(&other, &masters, settings);
    client_open(&c, &other);
    eventually(all_up(&c));
}

/* What the log said last of a master that is in quarantine for that; NULL: nothing. */
static const char *quarantine_logged(unsigned master, const char *why)
{
    char node[PATH + 64];
    const struct server *server = &masters.server[master];
    if (server->port)
        snprintf(node, sizeof node, "node=127.0.0.1:%u state=quarantine why=%s ", server->port, why);
    else
        snprintf(node, sizeof node, "node=unix:%s state=quarantine why=%s ", server->path, why);
    return row_with(keep(file_read(redlockd.log)), node);
}

/* For that, and for no longer than in full. */
static void is_kept_out(unsigned master, const char *why, int64_t full_ms)
{
    eventually(quarantine_logged(master, why) != NULL);
    const char *line = quarantine_logged(master, why);
    ck_assert_msg(number(line, "left") > 0 && number(line, "left") <= full_ms, "%s", line);
}

/* From its dump, if there is one. */
static void restart(unsigned master)
{
    server_kill(&masters.server[master]);
    server_start(&masters.server[master]);
}

static unsigned holds(const char *name, const char *token)
{
    return cluster_holds(&masters, name, token);
}

static bool key_is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}

/* ---- flushed ---- */

START_TEST(flush_is_seen_by_a_daemon_that_does_nothing)
{
    begin(7, UNIX, guarded_long);
    redis(&masters.server[0], "FLUSHALL");
    redis(&masters.server[1], "SWAPDB 0 1");
    redis(&masters.server[2], "DEL redlock:,group");
    for (unsigned i = 0; i < 3; i++)
        is_kept_out(i, "memory", LONG_FULL_MS);
    lock(&a, "others wait=10s"); /* four are enough, three are not */
    server_kill(&masters.server[3]);
    eventually(state_is(3, "down"));
    const char *refusal = ask(&a, "-NOQUORUM no *", "LOCK no");
    ck_assert_msg(strncmp(kv(refusal, "nodes"), "~~~!", 4) == 0, "%s", refusal);
    ck_assert_int_gt(number(refusal, "retry"), 0);
}
END_TEST

START_TEST(flushed_minority_is_healed)
{
    begin(3, UNIX, guarded_long);
    struct grant held = lock(&a, "held");
    eventually(holds("held", held.token) == 3);
    redis(&masters.server[1], "FLUSHALL");
    is_kept_out(1, "memory", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3);
    ck_assert(state_is(1, "quarantine"));
    eventually(now_ms() > held.until_ms);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    eventually(key_is_free("held"));
}
END_TEST

/* ---- restarted ---- */

START_TEST(restarted_minority_is_healed)
{
    begin(3, TCP, guarded_long);
    struct grant held = lock(&a, "held");
    eventually(holds("held", held.token) == 3);
    restart(2);
    is_kept_out(2, "restart", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3);
    /* And now another one may go: the healed one counts for the holder, though not yet for others. */
    restart(0);
    eventually(now_ms() > held.until_ms + 1000);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ask(&b, "-* held*", "LOCK held");
}
END_TEST

START_TEST(all_masters_restarted_empty_one_after_the_other)
{
    begin(5, TCP, guarded);
    begin_other(guarded);
    struct grant held = lock(&a, "held");
    client_send(&c, "LOCK held wait=1m");
    for (unsigned i = 0; i < 5; i++) {
        eventually(holds("held", held.token) == 5);
        restart(i);
    }
    eventually(holds("held", held.token) == 5);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ck_assert(client_silent(&a) && client_silent(&c));
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    struct grant next = grant_of(expect(&c, "+LOCKED held *"));
    ck_assert_int_gt(next.fence, held.fence);
    ck_assert_str_ne(next.token, held.token);
}
END_TEST

/* Masters that come back with an old lock do not bring it back to life. */
START_TEST(old_snapshots_count_for_nothing)
{
    begin(3, TCP, guarded);
    begin_other(guarded);
    struct grant old = lock(&a, "old ttl=4s hold=lease");
    eventually(holds("old", old.token) == 3);
    for (unsigned i = 0; i < 2; i++)
        ck_assert_str_eq(redis(&masters.server[i], "SAVE"), "OK");
    ask(&a, "+UNLOCKED old *", "UNLOCK old");
    eventually(key_is_free("old"));
    int64_t restart_ms = now_ms();
    for (unsigned i = 0; i < 2; i++)
        restart(i);
    for (unsigned i = 0; i < 2; i++)
        is_kept_out(i, "restart", FULL_MS);
    ask(&c, "-NO* old*", "EXTEND old token=%s", old.token);
    ask(&c, "-NO* old*", "CHECK old token=%s", old.token);
    struct grant next = lock(&b, "old wait=30s");
    ck_assert_int_gt(next.fence, old.fence);
    ck_assert_int_ge(now_ms() - restart_ms, MAX_TTL_MS);
}
END_TEST

/* ---- demoted, promoted ---- */

START_TEST(demotion_is_seen_by_a_daemon_that_does_nothing)
{
    begin(3, UNIX, guarded);
    char run_id[16];
    snprintf(run_id, sizeof run_id, "%s", kv(node_row(&b, &masters.server[0]), "run_id"));
    redis(&masters.server[0], "REPLICAOF 127.0.0.1 1");
    eventually(state_is(0, "refused"));
    ck_assert_str_eq(kv(node_row(&b, &masters.server[0]), "why"), "replica");
    int64_t back_ms = now_ms();
    redis(&masters.server[0], "REPLICAOF NO ONE");
    is_kept_out(0, "demoted", FULL_MS);
    ck_assert_str_eq(kv(node_row(&b, &masters.server[0]), "run_id"), run_id);
    eventually(state_is(0, "up"));
    ck_assert_int_ge(now_ms() - back_ms, MAX_TTL_MS);
}
END_TEST

/* Its replica takes a master's place, with its data and at its address. */
START_TEST(promoted_replica_is_kept_out)
{
    struct cluster spare;
    char port[8];
    cluster_start(&spare, 1, TCP);
    begin(3, TCP, guarded);
    snprintf(port, sizeof port, "%u", masters.server[0].port);
    redis(&spare.server[0], "REPLICAOF 127.0.0.1 %s", port);
    eventually(strcmp(redis(&spare.server[0], "EXISTS redlock:,group"), "1") == 0);
    /* So old that by its age alone it could be trusted. */
    eventually(atoi(strstr(redis(&spare.server[0], "INFO server"), "uptime_in_seconds:") + 18) >=
               FULL_MS / 1000 + 3);
    /* The master dies, and what listens on its port then is the other one. */
    server_kill(&masters.server[0]);
    redis(&spare.server[0], "REPLICAOF NO ONE");
    ck_assert_str_eq(redis(&spare.server[0], "CONFIG SET port %s", port), "OK");
    is_kept_out(0, "promoted", FULL_MS);
    lock(&a, "others wait=10s");
}
END_TEST

/* ---- clocks ---- */

START_TEST(clock_that_jumps_ahead)
{
    begin(3, UNIX, guarded);
    struct grant held = lock(&a, "held");
    eventually(holds("held", held.token) == 3);
    *masters.server[1].skew_us = INT64_C(3600000000); /* and so the group's key is over there too */
    is_kept_out(1, "clock", FULL_MS);
    eventually(holds("held", held.token) == 3); /* what expired there early is healed */
    eventually(now_ms() > held.until_ms);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    eventually(state_is(1, "up"));

    /* A second back costs nothing, and is said. */
    *masters.server[1].skew_us -= 1000000;
    eventually(daemon_logged(&redlockd, "back"));
    ck_assert(state_is(1, "up"));
}
END_TEST

/* ---- masters that refuse ---- */

START_TEST(refusals_are_seen_by_a_daemon_that_does_nothing)
{
    begin(3, UNIX, guarded);
    redis(&masters.server[0], "CONFIG SET min-replicas-to-write 1");
    eventually(strcmp(kv(node_row(&b, &masters.server[0]), "why"), "noreplicas") == 0);
    ck_assert(!state_is(0, "up"));
    redis(&masters.server[0], "CONFIG SET min-replicas-to-write 0");
    eventually(state_is(0, "up"));
    server_misconf(&masters.server[1]);
    eventually(strcmp(kv(node_row(&b, &masters.server[1]), "why"), "misconf") == 0);
    redis(&masters.server[1], "CONFIG SET stop-writes-on-bgsave-error no");
    eventually(state_is(1, "up"));
}
END_TEST

/* ---- two daemons, one lock ---- */

START_TEST(unlock_through_another_daemon_is_not_healed)
{
    begin(3, UNIX, guarded);
    begin_other(guarded);
    struct grant held = lock(&a, "held");
    eventually(holds("held", held.token) == 3);
    ask(&c, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    eventually(key_is_free("held"));
    struct grant next = lock(&c, "held");
    ck_assert_int_gt(next.fence, held.fence);
    ck_assert_str_eq(kv(expect(&a, "!LOST held token=* reason=gone"), "token"), held.token);
    ask(&a, "-NOTHELD held*", "UNLOCK held");
    eventually(holds("held", next.token) == 3);

    /* The same where nobody else takes it: it must not come back. */
    ask(&c, "+UNLOCKED held *", "UNLOCK held");
    held = lock(&a, "held");
    ask(&c, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    expect(&a, "!LOST held token=* reason=gone");
    eventually(key_is_free("held"));
}
END_TEST

START_TEST(lease_lives_on_through_another_daemon)
{
    begin(3, UNIX, guarded);
    begin_other(guarded);
    struct grant lease = lock(&a, "lease hold=lease ttl=2s");
    ask(&c, "+EXTENDED lease *", "EXTEND lease token=%s ttl=4s", lease.token);
    eventually(now_ms() > lease.until_ms + 100); /* over, as far as its own daemon knows */
    const char *line = ask(&a, "+HELD lease *", "CHECK lease token=%s", lease.token);
    ck_assert_int_gt(number(line, "until"), lease.until_ms);
    ask(&a, "-BUSY lease*", "LOCK lease");
    ask(&c, "+UNLOCKED lease *", "UNLOCK lease token=%s", lease.token);
    ask(&a, "-NOTHELD lease*", "CHECK lease token=%s", lease.token);
    ask(&a, "-NOTHELD lease*", "EXTEND lease token=%s", lease.token);
    lock(&c, "lease");
}
END_TEST

static Suite *suite(void)
{
    Suite *all = suite_create("restarts");
    ADD(all, flush_is_seen_by_a_daemon_that_does_nothing);
    ADD(all, flushed_minority_is_healed);
    ADD(all, restarted_minority_is_healed);
    ADD(all, all_masters_restarted_empty_one_after_the_other);
    ADD(all, old_snapshots_count_for_nothing);
    ADD(all, demotion_is_seen_by_a_daemon_that_does_nothing);
    ADD(all, promoted_replica_is_kept_out);
    ADD(all, clock_that_jumps_ahead);
    ADD(all, refusals_are_seen_by_a_daemon_that_does_nothing);
    ADD(all, unlock_through_another_daemon_is_not_healed);
    ADD(all, lease_lives_on_through_another_daemon);
    return all;
}

int main(void)
{
    return harness_main(suite());
}
