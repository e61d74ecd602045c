/* A change that is stuck for its daemons, and what conf/OPERATING.md says of that helps: one does not come, and others start
 * with files that do not fit. */
#include "tests/integ/stuck.h"

#include <stdio.h>
#include <string.h>

TIME_LIMIT_S(300);

/* ---- daemon ---- */

/* Daemons become so old in the masters' lists: a minute need not be waited for. */
static void age_entry(const struct server *server, const char *id, int64_t age_ms)
{
    char aged[512];
    long long seconds = 0;
    const char *words = strchr(redis(server, "HGET redlock:,daemons %s", id), ' ');
    ck_assert_ptr_nonnull(words);
    ck_assert_int_eq(sscanf(redis(server, "TIME"), "%lld", &seconds), 1);
    snprintf(aged, sizeof aged, "at=%lld%s", seconds * 1000 - (long long)age_ms, words);
    redis(server, "HSET redlock:,daemons %s %s", id, aged);
}

static void age_entries(unsigned count, int64_t age_ms)
{
    for (unsigned i = 0; i < count; i++) {
        char ids[256], *rest;
        snprintf(ids, sizeof ids, "%s", redis(&masters.server[i], "HKEYS redlock:,daemons"));
        for (char *id = strtok_r(ids, " ", &rest); id != NULL; id = strtok_r(NULL, " ", &rest))
            age_entry(&masters.server[i], id, age_ms);
    }
}

/* A daemon that knows no generation holds up the first step, and a daemon that was killed the second one. */
T(a_daemon_that_does_not_come)
{
    steps_begin(4, "012", UNIX);
    for (unsigned i = 0; i < 3; i++) {
        redis(&masters.server[i], "HSET redlock:,daemons 01d01d01 %s",
              "at=1 host=old version=0.1.0 since=2026-01-01T00:00:00Z listen=unix:/run/redlockd.sock");
        age_entry(&masters.server[i], "01d01d01", 50000);
    }
    steps_reload(0, 1, "013", "012");
    eventually(steps_shows(0, "step=0 state=waiting why=daemon host=old"));
    steps_kill(1);
    document_says(stuck_bullet("daemon"), "one that was killed is forgotten after a minute");
    eventually_within(steps_shows(0, "step=1"), STEPS_MS);
    stuck_is(0, "joint", "daemon");
    eventually(steps_shows(0, "why=daemon host=..."));
    ck_assert(!steps_shows(0, "host=old"));
    age_entries(4, 55000);
    eventually_within(steps_shows(0, "step=2 state=steady"), STEPS_MS);
}

/* ---- files that do not fit ---- */

T(starts_with_other_files)
{
    struct client holder;
    steps_begin_at_one(5, "012");
    client_open(&holder, &daemons[0]);
    struct grant held = lock(&holder, "held");

    steps_restart(1, 0, "012", NULL);
    stuck_is(1, "outdated", "old_file");
    ask(&clients[1], "-NOQUORUM work *", "LOCK work");
    document_says(stuck_bullet("old_file"), "give it the present file, and reload");
    steps_reload(1, 1, "012", NULL);
    steps_grants_until(steps_are_steady(2));

    steps_restart(1, 3, "0134", "013");
    stuck_is(1, "waiting", "load_first");
    steps_restart(1, 2, "013", NULL);
    stuck_is(1, "waiting", "needs_before");
    steps_restart(1, 2, "013", "012");
    eventually(steps_shows(1, "step=2 state=waiting generation=2"));
    steps_reload(0, 2, "013", "012");
    steps_grants_until(steps_shows(0, "step=3") && steps_shows(1, "step=3"));

    steps_stop(1); /* it may have told masters of step 4, but not that it voted by it */
    eventually_within(strstr(redis(&masters.server[0], "GET redlock:,group"), " step=4 ") != NULL, STEPS_MS);
    steps_configure(1, 3, "0134", "013", STEPS_TTL_S);
    steps_run(1);
    stuck_is(1, "waiting", "not_settled");
    eventually_within(steps_shows(1, "step=4 state=waiting generation=3"), STEPS_MS);
    steps_reload(0, 3, "0134", "013");
    steps_grants_until(steps_are_steady(6));
    ask(&holder, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    ck_assert(!daemon_logged(&daemons[0], "event=lock_lost"));
}
