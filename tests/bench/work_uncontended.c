/* W1: distinct names, 1 to 256 workers, over TCP and Unix sockets; its lines with one worker are W2. All
 * subjects take turns within each repetition. */
#include "tests/bench/bench.h"

enum { TAGGED_WORKERS = 64, TAGGED_CONNECTIONS = 4 };

static const char *const transports[] = {"tcp", "unix"};

static void ceilings(struct bench *bench, unsigned workers)
{
    struct load_plan plan = plan_for(bench, NULL, false, workers);
    measure(bench, (struct what){"W1", "ceiling", "tcp", workers}, &plan);
    plan.fence = false;
    plan.salt = ++bench->salt;
    measure(bench, (struct what){"W1", "no-fence", "tcp", workers}, &plan);
}

static void one_connection_each(struct bench *bench, unsigned workers)
{
    const struct {
        const char *name;
        const struct server *server;
    } subjects[] = {{"daemon", &bench->daemon}, {"relay", &bench->relay}, {"echo", &bench->echo}};
    for (int use_unix = 0; use_unix <= 1; use_unix++)
        for (unsigned i = 0; i < 3; i++) {
            struct load_plan plan = plan_for(bench, subjects[i].server, use_unix, workers);
            measure(bench, (struct what){"W1", subjects[i].name, transports[use_unix], workers}, &plan);
        }
    ceilings(bench, workers);
}

static void tagged(struct bench *bench, const char *name, const struct server *server, bool use_unix)
{
    struct load_plan plan = plan_for(bench, server, use_unix, TAGGED_WORKERS);
    plan.connections = TAGGED_CONNECTIONS;
    measure(bench, (struct what){"W1-tags", name, transports[use_unix], TAGGED_WORKERS}, &plan);
}

static void shared_connections(struct bench *bench)
{
    for (int use_unix = 0; use_unix <= 1; use_unix++) {
        tagged(bench, "daemon", &bench->daemon, use_unix);
        tagged(bench, "relay", &bench->relay, use_unix);
    }
    struct load_plan plan = plan_for(bench, NULL, false, TAGGED_WORKERS);
    measure(bench, (struct what){"W1-tags", "ceiling", "tcp", TAGGED_WORKERS}, &plan);
}

void work_uncontended(struct bench *bench)
{
    relay_start(&bench->relay, &bench->places, &bench->masters);
    echo_start(&bench->echo, &bench->places);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        for (const unsigned *workers = bench->scale.worker_counts; *workers; workers++) {
            one_connection_each(bench, *workers);
            peers_uncontended(bench, *workers);
        }
        shared_connections(bench);
    }
    server_stop(&bench->relay);
    server_stop(&bench->echo);
}
