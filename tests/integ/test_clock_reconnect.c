/* A daemon's clock stood still, and its connections to the masters are gone as well: its readings of
 * their clocks are from the connections before, and the first master that it reaches again is alone for a
 * moment. */
#include "tests/integ/stalled.h"

#include <stdlib.h>

enum { CLIENTS = 8 };

/* ---- connections ---- */

/* Connections of the daemons that go on, on each master. */
static unsigned long long spared[SERVERS][CLIENTS];
static unsigned spared_count[SERVERS];

/* The id in a line of CLIENT LIST; 0: the line is that of the test's own connection. */
static unsigned long long id_of(const char *line)
{
    return strncmp(line, "id=", 3) == 0 && !memmem(line, strcspn(line, "\n"), " cmd=client", 11)
               ? strtoull(line + 3, NULL, 10)
               : 0;
}

static const char *next_of(const char *line)
{
    line += strcspn(line, "\n");
    return line + (*line != '\0');
}

static void spare_all(void)
{
    for (unsigned i = 0; i < masters.count; i++)
        for (const char *line = redis(&masters.server[i], "CLIENT LIST"); *line; line = next_of(line)) {
            if (id_of(line) == 0)
                continue;
            ck_assert_uint_lt(spared_count[i], CLIENTS);
            spared[i][spared_count[i]++] = id_of(line);
        }
}

static bool is_spared(unsigned master, unsigned long long id)
{
    for (unsigned i = 0; i < spared_count[master]; i++)
        if (spared[master][i] == id)
            return true;
    return false;
}

/* Ends the connections that are not spared, and returns their number. */
static unsigned kill_others(unsigned master)
{
    unsigned killed = 0;
    const struct server *server = &masters.server[master];
    char *list = keep(strdup(redis(server, "CLIENT LIST")));
    for (const char *line = list; *line; line = next_of(line)) {
        unsigned long long id = id_of(line);
        if (id == 0 || is_spared(master, id))
            continue;
        redis(server, "CLIENT KILL ID %llu", id);
        killed +=
            strncmp(strstr(line, " sub="), " sub=0", 6) == 0; /* a subscriber is killed, but not counted */
    }
    return killed;
}

/* ---- the scene ---- */

static unsigned stalled; /* the number of hosts that stand still, the first ones */

/* The hosts that go on are started first, so that their connections are known. */
static void begin(unsigned stalled_hosts)
{
    stalled = stalled_hosts;
    cluster_of_five();
    for (unsigned i = stalled; i < HOSTS; i++)
        host_start(i);
    spare_all();
    for (unsigned i = 0; i < stalled; i++)
        host_start(i);
}

static void restart(unsigned master)
{
    server_kill(&masters.server[master]);
    server_start(&masters.server[master]);
}

static void stand_still(int64_t ms, unsigned restarted)
{
    for (unsigned i = 0; i < stalled; i++)
        still_begin(&hosts[i]);
    for (unsigned i = 0; i < restarted; i++)
        restart(i);
    for (unsigned i = restarted; i < masters.count; i++)
        if (masters.server[i].pid)
            ck_assert_uint_eq(kill_others(i), stalled);
    grants(&hosts[HOSTS - 1]);
    for (unsigned i = 0; i < stalled; i++)
        still_end(&hosts[i], ms);
}

static bool have_noticed(void)
{
    bool all = true;
    for (unsigned i = 0; i < stalled; i++)
        all = has_noticed(&hosts[i]) && all;
    return all;
}

/* On a machine that itself stands still the masters' answers may come too late to show the whole stall:
 * the stall is repeated. */
static void play_for(int64_t ms, unsigned restarted, unsigned voting)
{
    int64_t since_ms = now_ms(), lost_ms = hosts[0].lost_ms;
    do {
        ck_assert_msg(hosts[0].lost_ms < lost_ms + 3 * ms, "it lost %lld ms more, and told %lld in all",
                      (long long)(hosts[0].lost_ms - lost_ms), (long long)hosts[0].behind_ms);
        stand_still(ms, restarted);
    } while (!have_noticed());
    none_is_blamed(voting);
    for (unsigned i = 0; i < stalled; i++) {
        is_told(&hosts[i]);
        is_kept(&hosts[i]);
        grants(&hosts[i]);
    }
    for (unsigned i = stalled; i < HOSTS; i++)
        goes_on(&hosts[i], since_ms);
}

/* ---- the tests ---- */

T(all_are_reconnected)
{
    begin(1);
    play_for(SHORT_MS, 0, 5);
    play_for(LONG_MS, 0, 5);
}

T(one_is_down)
{
    begin(1);
    server_kill(&masters.server[3]);
    play_for(SHORT_MS, 0, 4);
    play_for(LONG_MS, 0, 4);
}

/* The masters are in quarantine because they were restarted, not for their clocks. */
T(two_are_restarted)
{
    begin(1);
    play_for(SHORT_MS, 2, 3);
    play_for(LONG_MS, 2, 3);
}

T(two_stand_still)
{
    begin(2);
    play_for(SHORT_MS, 0, 5);
    play_for(LONG_MS, 0, 5);
}
