/* Masters that are demoted or promoted, whose clock jumps, or that refuse writes: an idle daemon sees
 * that, too. */
#include "tests/integ/guarded.h"

/* A refused master is asked again each second, and may just be down, or be tried. */
static bool is_refused(unsigned master, const char *why)
{
    const char *row = node_row(&b, &masters.server[master]);
    return strcmp(kv(row, "state"), "refused") == 0 && strcmp(kv(row, "why"), why) == 0;
}

/* ---- demoted, promoted ---- */

T(demotion_is_seen_by_a_daemon_that_does_nothing)
{
    guarded_begin(3, UNIX, guarded);
    char run_id[16];
    snprintf(run_id, sizeof run_id, "%s", kv(node_row(&b, &masters.server[0]), "run_id"));
    redis(&masters.server[0], "REPLICAOF 127.0.0.1 1");
    eventually(is_refused(0, "replica"));
    int64_t back_ms = now_ms();
    redis(&masters.server[0], "REPLICAOF NO ONE");
    is_kept_out(0, "demoted", FULL_MS);
    ck_assert_str_eq(kv(node_row(&b, &masters.server[0]), "run_id"), run_id);
    int64_t jump_ms = now_ms();
    masters.server[1].skew->wall_us = INT64_C(3600000000); /* another master's clock, meanwhile */
    is_kept_out(1, "clock", FULL_MS);
    eventually(state_is(0, "up"));
    ck_assert_int_ge(now_ms() - back_ms, MAX_TTL_MS);
    eventually(state_is(1, "up"));
    ck_assert_int_ge(now_ms() - jump_ms, MAX_TTL_MS);
}

/* A master's replica takes its place, with its data and at its address. */
T(promoted_replica_is_kept_out)
{
    struct cluster spare;
    char port[8];
    cluster_start(&spare, 1, TCP);
    guarded_begin(3, TCP, guarded);
    snprintf(port, sizeof port, "%u", masters.server[0].port);
    redis(&spare.server[0], "REPLICAOF 127.0.0.1 %s", port);
    eventually(strcmp(redis(&spare.server[0], "EXISTS redlock:,group"), "1") == 0);
    /* The replica has been up for so long that its age alone would make it trusted. */
    eventually(uptime_s(&spare.server[0]) >= FULL_MS / 1000 + 3);
    /* The master dies, and another server listens on its port then. */
    server_kill(&masters.server[0]);
    redis(&spare.server[0], "REPLICAOF NO ONE");
    ck_assert_str_eq(redis(&spare.server[0], "CONFIG SET port %s", port), "OK");
    is_kept_out(0, "promoted", FULL_MS);
    lock(&a, "others wait=14s");
}

/* ---- clocks ---- */

T(clock_that_jumps_ahead)
{
    guarded_begin(3, UNIX, guarded_long);
    struct grant held = lock_steady(&a, "held", "30s", 4000);
    eventually(holds("held", held.token) == 3);
    /* Before each clock was read twice, nobody can tell a jump from a stall of this host. */
    eventually(number(row_with(show(&b, "NODES"), " state=up "), "for") >= 2500);
    masters.server[1].skew->wall_us = INT64_C(3600000000); /* the group's key has also run out there */
    is_kept_out(1, "clock", LONG_FULL_MS);
    eventually(holds("held", held.token) == 3); /* a key that expired there early is healed */
    is_held(&a, "held", held.token);
}

/* The jump costs no lock, and is reported. */
T(clock_that_jumps_back)
{
    guarded_begin(3, UNIX, guarded_long);
    masters.server[1].skew->wall_us = -5000000;
    eventually(daemon_logged(&redlockd, "back"));
    eventually(state_is(1, "up")); /* earlier than from a quarantine */
}

/* ---- masters that refuse ---- */

T(refusals_are_seen_by_a_daemon_that_does_nothing)
{
    guarded_begin(3, UNIX, guarded);
    redis(&masters.server[0], "CONFIG SET min-replicas-to-write 1");
    eventually(is_refused(0, "noreplicas"));
    redis(&masters.server[0], "CONFIG SET min-replicas-to-write 0");
    eventually(state_is(0, "up"));
    server_misconf(&masters.server[1]);
    eventually(is_refused(1, "misconf"));
    redis(&masters.server[1], "CONFIG SET stop-writes-on-bgsave-error no");
    eventually(state_is(1, "up"));
}
