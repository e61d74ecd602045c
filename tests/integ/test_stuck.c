/* A change that is stuck for its masters, and what conf/OPERATING.md says of that helps: a voter dies, and two lists have
 * one number. */
#include "tests/integ/stuck.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define GROUP "redlock:,group"

TIME_LIMIT_S(300);

static const char *marker(unsigned master)
{
    return redis(&masters.server[master], "GET " GROUP);
}

/* ---- masters ---- */

/* Two masters vote in between, and one of them dies. */
T(a_voter_of_the_step_between_dies)
{
    steps_begin(4, "012", UNIX);
    for (unsigned i = 0; i < DAEMONS; i++)
        steps_reload(i, 1, "013", "012");
    eventually_within(steps_shows(0, "step=1 voters=2 needed=2"), STEPS_MS);
    eventually_within(steps_shows(1, "step=1"), STEPS_MS);
    server_kill(&masters.server[1]);
    stuck_is(0, "joint", "masters");
    ask(&clients[0], "-NOQUORUM work votes=1/2 nodes=+! : 2 votes are needed*", "LOCK work");
    document_says(stuck_bullet("masters"), "start an empty server under its name");
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
    steps_reload(0, 1, "013", "012");
    eventually(shows_step(0, " step=1 ") && shows_step(1, " step=1 ") && shows_step(3, " step=1 "));
    daemon_signal(&daemons[0], SIGSTOP);
    server_cont(&masters.server[2]);
    for (unsigned i = 0; i < 2; i++) {
        snprintf(first[i], sizeof first[i], "%s", marker(i));
        set_marker(i, before[i]);
    }
    steps_reload(1, 1, "014", "012");
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
        stuck_is(i, "waiting", "generation");
        ask(&clients[i], "-NOQUORUM work *", "LOCK work");
    }
    document_quoted(stuck_bullet("generation"), "redlock show nodes");
    document_quoted(stuck_bullet("generation"), "their_names=");
    eventually(shows_other_list(0, 2, 4));
    eventually(shows_other_list(1, 0, 3) && shows_other_list(1, 1, 3));
    document_says(stuck_bullet("generation"),
                  "Write the list that more masters show into all files, and reload");
    steps_reload(1, 1, "013", "012");
    eventually(shows_other_list(1, 2, 4));
    const char *mend = document_quoted(stuck_bullet("generation"), "DEL ");
    ck_assert_str_eq(redis_typed(&masters.server[2], mend), "1");
    eventually_within(steps_shows(0, "step=1") && steps_shows(1, "step=1"), STEPS_MS);
    steps_grants_until(steps_are_steady(2));
}
