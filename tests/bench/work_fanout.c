/* fanout: distinct names, with fanout: all and fanout: quorum in turn. The masters are the bottleneck when they
 * have more to do than the daemon, which shows in their CPU. */
#include "tests/bench/bench.h"

enum { WORKERS = 64 };

static void run(struct bench *bench, const char *subject, const struct server *server)
{
    struct load_plan plan = plan_for(bench, server, true, WORKERS);
    measure(bench, (struct what){"fanout", subject, "unix", WORKERS}, &plan);
}

void work_fanout(struct bench *bench)
{
    struct server quorum;
    daemon_start(&quorum, &bench->places, &bench->masters, NULL, "fanout: quorum\n");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        run(bench, "all", &bench->daemon);
        run(bench, "quorum", &quorum);
    }
    server_stop(&quorum);
}
