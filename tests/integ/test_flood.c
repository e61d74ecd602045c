/* One source sends many thousand requests about tokens that nobody has. It waits for its own answers, and
 * nobody else does.
 *
 * The masters stand still while the flood comes, so that it is seen how much of it the daemon has sent to them,
 * on however slow a machine. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MASTERS_HERE = 3,
    FLOODERS = 100,
    LINES = 250, /* of each; as text they fit into a socket */
    PLACES = 1365,
    OTHERS = 35,
};

static struct cluster masters;
static struct daemon redlockd;
static struct client a, flooder[FLOODERS];

/* No master counts as slow while it stands still, and no lock runs out. */
#define UNHURRIED "node_timeout: 10s\nmin_ttl: 25s\ndefault_ttl: 60s\nmax_ttl: 120s\n"

static void begin(void)
{
    cluster_start(&masters, MASTERS_HERE, UNIX);
    daemon_start(&redlockd, &masters, UNHURRIED);
    client_open(&a, &redlockd);
    eventually(masters_up(&a, &masters));
    ask(&a, "+LOCKED *", "LOCK warm wait=10s"); /* its scripts are loaded */
    ask(&a, "+UNLOCKED *", "UNLOCK warm");
}

static void all_stop(void)
{
    for (unsigned i = 0; i < masters.count; i++)
        server_stop(&masters.server[i]);
}

static void all_go_on(void)
{
    for (unsigned i = 0; i < masters.count; i++)
        server_cont(&masters.server[i]);
}

static void flood(struct client *client, const char *verb, unsigned from, unsigned lines)
{
    static char text[LINES * 128];
    size_t len = 0;
    for (unsigned i = from; i < from + lines; i++)
        len +=
            (size_t)snprintf(text + len, sizeof text - len, "#%u %s job%u token=%040x\n", i, verb, i % 7, i);
    client_write(client, text, len);
}

static void flood_all(const char *verb)
{
    for (unsigned i = 0; i < FLOODERS; i++) {
        client_open_tcp(&flooder[i], &redlockd);
        flood(&flooder[i], verb, 0, LINES);
    }
}

/* How many commands the daemon waits for at its busiest master. */
static int64_t pending(void)
{
    int64_t most = 0;
    char *save, *rows = show(&a, "NODES");
    for (char *row = strtok_r(rows, "\n", &save); row; row = strtok_r(NULL, "\n", &save))
        if (number(row, "pending") > most)
            most = number(row, "pending");
    return most;
}

static void all_are_answered(const char *pattern)
{
    for (unsigned i = 0; i < FLOODERS; i++)
        for (unsigned k = 0; k < LINES; k++)
            expect(&flooder[i], pattern);
}

static void others_are_served_beside(const char *verb)
{
    begin();
    all_stop();
    flood_all(verb);
    eventually(pending() > 100);
    for (unsigned i = 0; i < 50; i++) /* each SHOW is a turn of the loop, and a turn reads from all of them */
        ck_assert_int_lt(pending(), PLACES / 2);
    for (unsigned i = 0; i < OTHERS; i++)
        client_send(&a, "#%u LOCK other%u", i, i);
    eventually(pending() >= 2 * OTHERS); /* of another peer: these are not held back */
    all_go_on();
    for (unsigned i = 0; i < OTHERS; i++)
        expect(&a, "#* +LOCKED other*");
    all_are_answered("#* -NOTHELD job*"); /* held back, and not refused */
}

T(checks_of_made_up_tokens_starve_nobody)
{
    others_are_served_beside("CHECK");
}

T(unlocks_of_made_up_tokens_starve_nobody)
{
    others_are_served_beside("UNLOCK");
}

T(the_end_of_a_client_is_noticed_while_it_is_held_back)
{
    begin();
    all_stop();
    flood_all("CHECK");
    eventually(pending() > 100);
    for (unsigned i = 0; i < FLOODERS; i++)
        client_reset(&flooder[i]);
    eventually(rows_with(show(&a, "CLIENTS"), "") == 1);
    all_go_on();
    ask(&a, "+LOCKED *", "LOCK job");
}

/* What is held back when a drain begins is answered before the daemon ends. */
T(a_drain_answers_what_is_held_back)
{
    begin();
    all_stop();
    flood_all("CHECK");
    eventually(pending() > 100);
    daemon_signal(&redlockd, SIGTERM);
    expect(&a, "!DRAIN");
    all_go_on();
    for (unsigned i = 0; i < FLOODERS; i++)
        for (unsigned k = 0; k < LINES; k++)
            await(&flooder[i], "#* -NOTHELD job*");
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

/* One master that hangs fills up, and the quorum has room. */
T(one_hung_master_holds_nobody_back)
{
    begin();
    server_stop(&masters.server[1]);
    flood_all("CHECK");
    all_are_answered("#* -NOTHELD job*");
    ask(&a, "+LOCKED *", "LOCK job");
}
