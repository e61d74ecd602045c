/* Generations of the masters: what is old, or vacant, or both lists have. */
#include "tests/integ/steps.h"

#include <stdio.h>
#include <string.h>

TIME_LIMIT_S(300);

static struct client holder;

static void begin(unsigned count, const char *digits)
{
    steps_begin(count, digits, UNIX);
    client_open(&holder, &daemons[0]);
}

/* A file of an earlier generation changes nothing, and the daemon goes on. */
T(a_file_older_than_the_daemon)
{
    steps_begin_at_one(4, "012");
    client_open(&holder, &daemons[0]);
    struct grant held = lock(&holder, "held");
    steps_configure(0, 0, "013", NULL, 2);
    ck_assert_str_eq(kv(show(&clients[0], "RELOAD"), "change"), "old");
    steps_hup(0);
    steps_logged(
        0,
        "event=generation_refused why=old is=1 file=0 hint=\"this daemon runs generation 1: to go back to an "
        "earlier list, write it as generation 2\"");
    ck_assert(steps_are_steady(2));
    ck_assert(steps_have_master(0, 2) && !steps_have_master(0, 3));
    steps_grant();
    ask(&holder, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
}

/* A vacant place counts in N, and has no row. In between only the masters of both lists vote. */
T(vacant_places)
{
    begin(5, "0123");
    steps_reload_all(1, "012-4", "0123", 2);
    steps_grants_until(steps_shows(0, "step=1") && steps_shows(1, "step=1"));
    ck_assert(steps_shows(0, "voters=3 needed=2 masters=5"));
    ck_assert_uint_eq(rows_with(show(&clients[0], "NODES"), " voter=no"), 2);
    ck_assert_uint_eq(rows_with(show(&clients[0], "NODES"), "* node="), 5);
    for (unsigned i = 1; i <= 2; i++)
        server_stop(&masters.server[i]);
    ask(&clients[0], "-NOQUORUM work votes=1/3 nodes=+[?][?] : 2 votes are needed*", "LOCK work");
    for (unsigned i = 1; i <= 2; i++)
        server_cont(&masters.server[i]);
    eventually_within(steps_are_steady(2), STEPS_MS);
    ck_assert(steps_shows(0, "voters=4 needed=3 masters=5"));
    steps_grant();
    server_kill(&masters.server[2]);
    server_kill(&masters.server[1]);
    client_send(&clients[0], "LOCK work");
    const char *line = next_line(&clients[0]);
    ck_assert_msg(strstr(line, "-NOQUORUM work votes=2/5 nodes=") == line, "%s", line);
    ck_assert_ptr_nonnull(strstr(line, " : 3 votes are needed"));
}

/* A server that left comes back with its data, in which a lock is held that ended long ago. It is told the step, and waits
 * as a new one does. */
T(an_old_server_comes_back)
{
    begin(4, "012");
    struct grant held = lock(&holder, "held");
    steps_reload_all(1, "013", "012", 2);
    steps_grants_until(steps_are_steady(2));
    for (unsigned i = 0; i < DAEMONS; i++)
        eventually(!steps_have_master(i, 2));
    ck_assert_ptr_nonnull(strstr(redis(&masters.server[2], "GET redlock:,group"), " step="));
    ck_assert_str_eq(redis(&masters.server[2], "SET redlock:work stale PX 600000"), "OK");
    steps_reload_all(2, "012", "013", 2);
    steps_grants_until(steps_shows(0, "step=3"));
    steps_grants_until(steps_are_steady(4));
    ck_assert_str_eq(kv(node_row(&clients[0], &masters.server[2]), "state"), "up");
    ask(&holder, "+UNLOCKED held *", "UNLOCK held token=%s", held.token);
    ck_assert(!daemon_logged(&daemons[0], "event=lock_lost"));
}
