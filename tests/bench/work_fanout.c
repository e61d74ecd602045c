/* fanout: distinct names, with fanout: all and fanout: quorum in turn. Once all share the cores; and once the masters
 * have a core for themselves, and the daemon and the workers another one, so that the masters are the bottleneck. */
#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WORKERS = 64, MANY_WORKERS = 256 /* enough to keep the masters busy */ };

static void run(struct bench *bench, struct what what, const struct server *server, bool apart)
{
    struct load_plan plan = plan_for(bench, server, true, what.size);
    plan.pinned = apart;
    if (apart)
        process_pin(server->pid, 0);
    measure(bench, what, &plan);
    if (apart)
        process_unpin(server->pid);
}

static void fanout_apart(struct bench *bench, const struct server *quorum)
{
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        process_pin(bench->masters.pid[i], 1);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        run(bench, (struct what){"fanout-apart", "all", "unix", MANY_WORKERS}, &bench->daemon, true);
        run(bench, (struct what){"fanout-apart", "quorum", "unix", MANY_WORKERS}, quorum, true);
    }
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        process_unpin(bench->masters.pid[i]);
}

void work_fanout(struct bench *bench)
{
    struct server quorum;
    daemon_start(&quorum, &bench->places, &bench->masters, NULL, "fanout: quorum\n");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        run(bench, (struct what){"fanout", "all", "unix", WORKERS}, &bench->daemon, false);
        run(bench, (struct what){"fanout", "quorum", "unix", WORKERS}, &quorum, false);
    }
    if (process_cores() > 1)
        fanout_apart(bench, &quorum);
    server_stop(&quorum);
}
