/* W3: 64 workers want one name, through one daemon and through three. The critical section is empty. */
#include "tests/bench/bench.h"

enum { WORKERS = 64, DAEMONS = 3 };

static void contended(struct bench *bench, struct what what, const struct server *servers, unsigned count)
{
    struct load_plan plan = plan_for(bench, NULL, true, WORKERS);
    plan.run_ms = bench->scale.contended_ms;
    plan.one_name = true;
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
        contended(bench, (struct what){"W3", "daemon", "unix", WORKERS}, servers, 1);
        contended(bench, (struct what){"W3", "3-daemons", "unix", WORKERS}, servers, DAEMONS);
        peers_contended(bench, WORKERS);
    }
    for (unsigned i = 1; i < DAEMONS; i++)
        server_stop(&servers[i]);
}
