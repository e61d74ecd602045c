/* W3: 64 workers want one name, through one daemon and through three; and the 16 slots of one name, beside 16 names.
 * The critical section is empty. */
#include "tests/bench/bench.h"

enum { WORKERS = 64, DAEMONS = 3, SLOTS = 16 };

static void contended(struct bench *bench, struct what what, const struct server *servers, unsigned count,
                      unsigned slots, unsigned shares)
{
    struct load_plan plan = plan_for(bench, NULL, true, WORKERS);
    plan.run_ms = bench->scale.contended_ms;
    plan.one_name = true;
    plan.slots = slots;
    plan.shares = shares;
    plan.servers = count;
    for (unsigned i = 0; i < count; i++) {
        plan.server[i] = servers[i].address;
        plan.server_pid[i] = servers[i].pid;
    }
    measure(bench, what, &plan);
}

void work_contended(struct bench *bench)
{
    struct server servers[DAEMONS] = {bench->daemon};
    for (unsigned i = 1; i < DAEMONS; i++)
        daemon_start(&servers[i], &bench->places, &bench->masters, NULL, "");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        contended(bench, (struct what){"W3", "daemon", "unix", WORKERS}, servers, 1, 0, 0);
        contended(bench, (struct what){"W3", "3-daemons", "unix", WORKERS}, servers, DAEMONS, 0, 0);
        contended(bench, (struct what){"W3-slots", "daemon", "unix", WORKERS}, servers, 1, SLOTS, 0);
        contended(bench, (struct what){"W3-names", "daemon", "unix", WORKERS}, servers, 1, 0, SLOTS);
        contended(bench, (struct what){"W3-slots", "3-daemons", "unix", WORKERS}, servers, DAEMONS, SLOTS, 0);
        peers_contended(bench, WORKERS);
    }
    for (unsigned i = 1; i < DAEMONS; i++)
        server_stop(&servers[i]);
}
