/* W8: connect, lock, unlock, close. */
#include "tests/bench/bench.h"

enum { WORKERS = 16 };

static void run(struct bench *bench, const char *subject, const struct server *server, bool use_unix)
{
    struct load_plan plan = plan_for(bench, server, use_unix, WORKERS);
    plan.reconnect = true;
    measure(bench, (struct what){"W8", subject, use_unix ? "unix" : "tcp", WORKERS}, &plan);
}

void work_short(struct bench *bench)
{
    relay_start(&bench->relay, &bench->places, &bench->masters);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        for (int use_unix = 0; use_unix <= 1; use_unix++) {
            run(bench, "daemon", &bench->daemon, use_unix);
            run(bench, "relay", &bench->relay, use_unix);
        }
    server_stop(&bench->relay);
}
