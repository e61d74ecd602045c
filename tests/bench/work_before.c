/* --before: two daemons, each in turn, on the same masters: W1 and W3 of this one, of those of another build. */
#include "tests/bench/bench.h"

enum { WORKERS = 64, TURNS = 20 };

static void distinct(struct bench *bench, const char *subject, const struct server *daemon)
{
    struct load_plan plan = plan_for(bench, daemon, true, WORKERS);
    measure(bench, (struct what){"W1", subject, "unix", WORKERS}, &plan);
}

static void one_name(struct bench *bench, const char *subject, const struct server *daemon)
{
    struct load_plan plan = plan_for(bench, daemon, true, WORKERS);
    plan.run_ms = bench->scale.contended_ms;
    plan.one_name = true;
    measure(bench, (struct what){"W3", subject, "unix", WORKERS}, &plan);
}

/* Whichever goes first in a turn goes second in the next one. */
void work_before(struct bench *bench)
{
    struct places places = bench->places;
    struct server before;
    places.daemon = bench->places.before;
    daemon_start(&before, &places, &bench->masters, NULL, "");
    const struct {
        const char *name;
        const struct server *server;
    } subjects[] = {{"daemon", &bench->daemon}, {"before", &before}};
    for (unsigned rep = 0; rep < TURNS; rep++) {
        for (unsigned i = 0; i < 2; i++)
            distinct(bench, subjects[(i + rep) % 2].name, subjects[(i + rep) % 2].server);
        for (unsigned i = 0; i < 2; i++)
            one_name(bench, subjects[(i + rep) % 2].name, subjects[(i + rep) % 2].server);
    }
    server_stop(&before);
}
