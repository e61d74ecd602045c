/* W4: one master of five hangs; W5: two are dead. Each beside the healthy five, in turn. */
#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WORKERS = 16, HUNG = 1, DEAD = 2 };

static void run(struct bench *bench, const char *work, const char *subject, int64_t run_ms)
{
    struct load_plan plan = plan_for(bench, &bench->daemon, true, WORKERS);
    plan.run_ms = run_ms;
    measure(bench, (struct what){work, subject, "unix", WORKERS}, &plan);
}

static void wait_voting(struct bench *bench)
{
    if (!daemon_wait_voting(&bench->daemon, BENCH_MASTERS))
        fail("the daemon does not take its masters back");
}

static void hang(struct bench *bench)
{
    run(bench, "W4", "healthy", bench->scale.run_ms);
    master_hang(&bench->masters, HUNG);
    run(bench, "W4", "one-hangs", bench->scale.run_ms);
    master_wake(&bench->masters, HUNG);
    wait_voting(bench);
}

/* Measures how much the daemon's memory grows while a master hangs for long. */
static void hang_long(struct bench *bench)
{
    master_hang(&bench->masters, HUNG);
    struct measurement m = measurement_of((struct what){"W4-long", "one-hangs", "unix", WORKERS});
    struct load_plan plan = plan_for(bench, &bench->daemon, true, WORKERS);
    long before_kb = process_memory_kb(bench->daemon.pid);
    plan.run_ms = bench->scale.hang_ms;
    measure_into(bench, &m, &plan);
    m.value[GROWN_KB] = (double)(process_memory_kb(bench->daemon.pid) - before_kb);
    record_add(&m);
    master_wake(&bench->masters, HUNG);
    wait_voting(bench);
}

static void dead(struct bench *bench)
{
    run(bench, "W5", "healthy", bench->scale.run_ms);
    for (unsigned i = 0; i < DEAD; i++)
        master_kill(&bench->masters, i);
    run(bench, "W5", "two-dead", bench->scale.run_ms);
    masters_start(&bench->masters);
    wait_voting(bench);
}

void work_masters_away(struct bench *bench)
{
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        hang(bench);
    hang_long(bench);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        dead(bench);
}
