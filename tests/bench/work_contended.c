/* W3: 64 workers want one name, through one daemon and through three; and the 16 slots of one name, beside 16 names.
 * The critical section is empty. */
#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WORKERS = 64, DAEMONS = 3, SLOTS = 16 };

static const char on_one_core[] = "one-core";

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
    plan.pinned = what.subject == on_one_core;
    measure(bench, what, &plan);
}

/* A hand-over is one message after the other, so the time that a core needs to wake another core counts in full. Here
 * the daemon and the workers share one. */
static void contended_on_one_core(struct bench *bench)
{
    process_pin(bench->daemon.pid, 0);
    contended(bench, (struct what){"W3", on_one_core, "unix", WORKERS}, &bench->daemon, 1, 0, 0);
    process_unpin(bench->daemon.pid);
}

/* Measures what the machine gives: one message at a time, to a server that only answers. */
static void echoed(struct bench *bench, const struct server *echo)
{
    struct load_plan plan = plan_for(bench, echo, true, 1);
    plan.run_ms = bench->scale.contended_ms;
    measure(bench, (struct what){"W3", "echo", "unix", 1}, &plan);
}

void work_contended(struct bench *bench)
{
    struct server servers[DAEMONS] = {bench->daemon}, echo;
    echo_start(&echo, &bench->places);
    for (unsigned i = 1; i < DAEMONS; i++)
        daemon_start(&servers[i], &bench->places, &bench->masters, NULL, "");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        contended(bench, (struct what){"W3", "daemon", "unix", WORKERS}, servers, 1, 0, 0);
        contended_on_one_core(bench);
        echoed(bench, &echo);
        contended(bench, (struct what){"W3", "3-daemons", "unix", WORKERS}, servers, DAEMONS, 0, 0);
        contended(bench, (struct what){"W3-slots", "daemon", "unix", WORKERS}, servers, 1, SLOTS, 0);
        contended(bench, (struct what){"W3-names", "daemon", "unix", WORKERS}, servers, 1, 0, SLOTS);
        contended(bench, (struct what){"W3-slots", "3-daemons", "unix", WORKERS}, servers, DAEMONS, SLOTS, 0);
        peers_contended(bench, WORKERS);
    }
    for (unsigned i = 1; i < DAEMONS; i++)
        server_stop(&servers[i]);
    server_stop(&echo);
}
