/* fanout: quorum with real masters: a short lock costs a majority of them, and nothing else changes. */
#include "tests/integ/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;

static void begin(const char *settings)
{
    cluster_start(&masters, 5, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&a, &masters));
}

/* How many SETs the masters have run in all. */
static int sets(void)
{
    int sum = 0;
    for (unsigned i = 0; i < masters.count; i++) {
        static const char key[] = "cmdstat_set:calls=";
        const char *calls = strstr(redis(&masters.server[i], "INFO commandstats"), key);
        sum += calls != NULL ? atoi(calls + sizeof key - 1) : 0;
    }
    return sum;
}

static int sets_of_a_cycle(void)
{
    int before = sets();
    lock(&a, "short");
    ask(&a, "+UNLOCKED short *", "UNLOCK short");
    return sets() - before;
}

/* A master that is slow to answer has the others asked as well, so not every cycle is that cheap. */
T(a_short_lock_costs_a_majority_of_the_masters)
{
    begin("fanout: quorum\n" PATIENT);
    eventually(sets_of_a_cycle() == 3);
    eventually(cluster_is_free(&masters, "short"));
}

T(a_lock_that_lives_is_on_all_masters)
{
    begin("fanout: quorum\n" PATIENT);
    struct grant grant = lock(&a, "held ttl=30s");
    eventually(cluster_holds(&masters, "held", grant.token) == 5);
    ask(&b, "-BUSY held*", "LOCK held");
    ask(&a, "+UNLOCKED held confirmed=[345]/5", "UNLOCK held");
    eventually(cluster_is_free(&masters, "held"));
}

T(masters_that_hang_are_made_up_for_by_the_others)
{
    begin("fanout: quorum\n");
    for (unsigned i = 0; i < 4; i++) { /* only one of five turns asks neither of these two masters first */
        char line[16];
        snprintf(line, sizeof line, "LOCK name-%u", i);
        server_stop(&masters.server[i]);
        server_stop(&masters.server[i + 1]);
        ask(&a, "+LOCKED name-*", "%s", line);
        server_cont(&masters.server[i]);
        server_cont(&masters.server[i + 1]);
        eventually(masters_up(&b, &masters));
    }
}

/* Another library's lock on a minority of the masters, which this daemon happens to ask first or not. */
T(a_minority_that_is_taken_does_not_refuse)
{
    begin("fanout: quorum\n" PATIENT);
    for (unsigned i = 0; i < 2; i++)
        redis(&masters.server[2 * i], "SET redlock:theirs another PX 60000");
    struct grant grant = lock(&a, "theirs");
    ck_assert_uint_eq(cluster_holds(&masters, "theirs", grant.token), 3);
    redis(&masters.server[1], "SET redlock:taken another PX 60000");
    redis(&masters.server[3], "SET redlock:taken another PX 60000");
    redis(&masters.server[4], "SET redlock:taken another PX 60000");
    ask(&a, "-BUSY taken*", "LOCK taken");
    eventually(cluster_holds(&masters, "taken", "another") == 3);
    eventually(cluster_answers(&masters, "(nil)", "GET redlock:taken") == 2);
}
