/* "When it is stuck" in conf/OPERATING.md: each reason that it names is made real, and what it says helps. */
#include "tests/integ/document.h"
#include "tests/integ/steps.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define PAGE  "conf/OPERATING.md"
#define GROUP "redlock:,group"

TIME_LIMIT_S(300);

static const char *bullet(const char *why)
{
    return document_bullet(document_section(PAGE, "### When it is stuck"), why);
}

/* The daemon gives the reason, in SHOW GROUP and in the log. */
static void is_stuck(unsigned i, const char *state, const char *why)
{
    char words[64];
    bullet(why);
    snprintf(words, sizeof words, "state=%s why=%s", state, why);
    eventually_within(steps_shows(i, words), STEPS_MS);
    snprintf(words, sizeof words, " why=%s", why);
    eventually(daemon_logged(&daemons[i], words));
}

static void reload(unsigned i, unsigned generation, const char *digits, const char *before)
{
    steps_configure(i, generation, digits, before, STEPS_TTL_S);
    steps_hup(i);
}

static void restart(unsigned i, unsigned generation, const char *digits, const char *before)
{
    steps_stop(i);
    steps_configure(i, generation, digits, before, STEPS_TTL_S);
    steps_run(i);
}

static const char *marker(unsigned master)
{
    return redis(&masters.server[master], "GET " GROUP);
}

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

/* One that knows no generation holds up the first step, one that was killed the second one. */
T(a_daemon_that_does_not_come)
{
    steps_begin(4, "012", UNIX);
    for (unsigned i = 0; i < 3; i++) {
        redis(&masters.server[i], "HSET redlock:,daemons 01d01d01 %s",
              "at=1 host=old version=0.1.0 since=2026-01-01T00:00:00Z listen=unix:/run/redlockd.sock");
        age_entry(&masters.server[i], "01d01d01", 50000);
    }
    reload(0, 1, "013", "012");
    eventually(steps_shows(0, "step=0 state=waiting why=daemon host=old"));
    steps_kill(1);
    document_says(bullet("daemon"), "one that was killed is forgotten after a minute");
    eventually_within(steps_shows(0, "step=1"), STEPS_MS);
    is_stuck(0, "joint", "daemon");
    eventually(steps_shows(0, "why=daemon host=..."));
    ck_assert(!steps_shows(0, "host=old"));
    age_entries(4, 55000);
    eventually_within(steps_shows(0, "step=2 state=steady"), STEPS_MS);
}

/* ---- masters ---- */

/* Of the two masters that vote in between, one dies. */
T(a_voter_of_the_step_between_dies)
{
    steps_begin(4, "012", UNIX);
    for (unsigned i = 0; i < DAEMONS; i++)
        reload(i, 1, "013", "012");
    eventually_within(steps_shows(0, "step=1 voters=2 needed=2"), STEPS_MS);
    eventually_within(steps_shows(1, "step=1"), STEPS_MS);
    server_kill(&masters.server[1]);
    is_stuck(0, "joint", "masters");
    ask(&clients[0], "-NOQUORUM work votes=1/2 nodes=+! : 2 votes are needed*", "LOCK work");
    document_says(bullet("masters"), "start an empty server under its name");
    server_start(&masters.server[1]);
    eventually_within(strcmp(node_state(&clients[0], &masters.server[1]), "quarantine") == 0, STEPS_MS);
    eventually_within(steps_are_steady(2), STEPS_MS);
    steps_grant();
}

/* ---- generation ---- */

static void set_marker(unsigned master, const char *text)
{
    ck_assert_str_eq(redis(&masters.server[master], "SET " GROUP " %s", text), "OK");
}

static bool shows_step(unsigned master, const char *step)
{
    return strstr(marker(master), step) != NULL;
}

/* Both daemons are reloaded at once with different lists, and each is the first on some masters: what each wrote while the
 * other stood still is put together. */
static void write_two_lists(void)
{
    char before[2][300], first[2][300];
    for (unsigned i = 0; i < 2; i++)
        snprintf(before[i], sizeof before[i], "%s", marker(i));
    server_stop(&masters.server[2]);
    reload(0, 1, "013", "012");
    eventually(shows_step(0, " step=1 ") && shows_step(1, " step=1 ") && shows_step(3, " step=1 "));
    daemon_signal(&daemons[0], SIGSTOP);
    server_cont(&masters.server[2]);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(first[i], sizeof first[i], "%s", marker(i));
        set_marker(i, before[i]);
    }
    reload(1, 1, "014", "012");
    eventually(shows_step(2, " step=1 ") && shows_step(4, " step=1 "));
    daemon_signal(&daemons[1], SIGSTOP);
    for (unsigned i = 0; i < 2; i++)
        set_marker(i, first[i]);
    for (unsigned i = 0; i < DAEMONS; i++)
        daemon_signal(&daemons[i], SIGCONT);
}

/* The master shows another list, with this server in it. */
static bool shows_other_list(unsigned i, unsigned master, unsigned server)
{
    const char *row = node_row(&clients[i], &masters.server[master]);
    return strcmp(kv(row, "why"), "group") == 0 &&
           strcasestr(kv(row, "their_names"), masters.server[server].path) != NULL;
}

T(two_lists_for_one_generation)
{
    steps_begin(5, "012", UNIX);
    write_two_lists();
    for (unsigned i = 0; i < DAEMONS; i++) {
        is_stuck(i, "waiting", "generation");
        ask(&clients[i], "-NOQUORUM work *", "LOCK work");
    }
    document_quoted(bullet("generation"), "redlock show nodes");
    document_quoted(bullet("generation"), "their_names=");
    eventually(shows_other_list(0, 2, 4));
    eventually(shows_other_list(1, 0, 3) && shows_other_list(1, 1, 3));
    document_says(bullet("generation"), "Write the list that more masters show into all files, and reload");
    reload(1, 1, "013", "012");
    eventually(shows_other_list(1, 2, 4));
    const char *mend = document_quoted(bullet("generation"), "DEL ");
    ck_assert_str_eq(redis_typed(&masters.server[2], mend), "1");
    eventually_within(steps_shows(0, "step=1") && steps_shows(1, "step=1"), STEPS_MS);
    steps_grants_until(steps_are_steady(2));
}

/* ---- files that do not fit ---- */

T(starts_with_other_files)
{
    struct client holder;
    steps_begin_at_one(5, "012");
    client_open(&holder, &daemons[0]);
    struct grant held = lock(&holder, "held");

    restart(1, 0, "012", NULL);
    is_stuck(1, "outdated", "old_file");
    ask(&clients[1], "-NOQUORUM work *", "LOCK work");
    document_says(bullet("old_file"), "give it the present file, and reload");
    reload(1, 1, "012", NULL);
    steps_grants_until(steps_are_steady(2));

    restart(1, 3, "0134", "013");
    is_stuck(1, "waiting", "load_first");
    restart(1, 2, "013", NULL);
    is_stuck(1, "waiting", "needs_before");
    restart(1, 2, "013", "012");
    eventually(steps_shows(1, "step=2 state=waiting generation=2"));
    reload(0, 2, "013", "012");
    steps_grants_until(steps_shows(0, "step=3") && steps_shows(1, "step=3"));

    steps_stop(1); /* it may have told masters of step 4, but not that it voted by it */
    eventually_within(shows_step(0, " step=4 "), STEPS_MS);
    steps_configure(1, 3, "0134", "013", STEPS_TTL_S);
    steps_run(1);
    is_stuck(1, "waiting", "not_settled");
    eventually_within(steps_shows(1, "step=4 state=waiting generation=3"), STEPS_MS);
    reload(0, 3, "0134", "013");
    steps_grants_until(steps_are_steady(6));
    ask(&holder, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    ck_assert(!daemon_logged(&daemons[0], "event=lock_lost"));
}
