#include <math.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

struct load_plan plan_for(struct bench *bench, const struct server *server, bool use_unix, unsigned workers)
{
    struct load_plan plan = {
        .use_unix = use_unix,
        .workers = workers,
        .connections = workers,
        .fence = true,
        .salt = ++bench->salt,
        .warm_ms = bench->scale.warm_ms,
        .run_ms = bench->scale.run_ms,
        .masters = &bench->masters,
    };
    if (server) {
        plan.server[plan.servers] = server->address;
        plan.server_pid[plan.servers++] = server->pid;
    }
    return plan;
}

struct role {
    const struct load_plan *plan;
    struct load_result *result;
};

static void role_run(void *arg)
{
    const struct role *role = arg;
    if (role->plan->pinned)
        process_pin(0, 0);
    if (role->plan->servers)
        load_run(role->plan, role->result);
    else
        ceiling_run(role->plan, role->result);
}

/* (sum x)^2 / (n * sum x^2): 1 when all workers got as much, 1/n when one worker got it all. */
static double jain(const uint64_t *grants, unsigned n)
{
    double sum = 0, squares = 0;
    for (unsigned i = 0; i < n; i++) {
        sum += (double)grants[i];
        squares += (double)grants[i] * (double)grants[i];
    }
    return squares > 0 ? sum * sum / (n * squares) : NAN;
}

static void fill(struct measurement *m, const struct load_plan *plan, const struct load_result *r)
{
    double seconds = (double)r->run_ns / 1e9, cycles = (double)r->cycles;
    m->value[CYCLES_S] = cycles / seconds;
    m->value[LOCK_P50_US] = hist_us(&r->lock, 0.5);
    m->value[LOCK_P99_US] = hist_us(&r->lock, 0.99);
    m->value[LOCK_P999_US] = hist_us(&r->lock, 0.999);
    m->value[LOCK_MAX_US] = hist_max_us(&r->lock);
    m->value[UNLOCK_P50_US] = hist_us(&r->unlock, 0.5);
    m->value[UNLOCK_P99_US] = hist_us(&r->unlock, 0.99);
    m->value[UNLOCK_P999_US] = hist_us(&r->unlock, 0.999);
    m->value[MASTERS_CPU_US] = (double)r->masters_cpu_ns / 1000 / cycles;
    m->value[LOAD_CPU_US] = (double)r->load_cpu_ns / 1000 / cycles;
    m->value[REFUSED] = (double)r->refused;
    m->value[LOST] = (double)r->lost;
    if (plan->one_name) {
        m->value[HANDOVERS_S] = (double)r->handovers / seconds;
        m->value[JAIN] = jain(r->grants, plan->workers);
        m->value[MAX_OF_P50] = m->value[LOCK_MAX_US] / m->value[LOCK_P50_US];
    }
    if (plan->counts) {
        m->value[SYSCALLS] = (double)r->counts.syscalls / cycles;
        m->value[OUR_MALLOCS] = (double)r->counts.our_mallocs / cycles;
        m->value[LIB_MALLOCS] = (double)r->counts.lib_mallocs / cycles;
        m->value[WAITS] = (double)r->counts.waits / cycles;
        m->value[MASTERS_COMMANDS] = (double)r->masters.commands / cycles;
        m->value[MASTERS_SCRIPTS] = (double)r->masters.scripts / cycles;
        m->value[MASTERS_READS] = (double)r->masters.reads / cycles;
    }
    if (!plan->servers)
        return;
    m->value[SERVER_CPU_US] = (double)r->server_cpu_ns / 1000 / cycles;
    m->value[SERVER_CPU_PERCENT] = (double)r->server_cpu_ns / (double)r->run_ns * 100;
    m->value[SERVER_MEMORY_KB] = (double)process_memory_kb(plan->server_pid[0]);
}

void measure_into(struct bench *bench, struct measurement *m, const struct load_plan *plan)
{
    struct load_result *result = shared_new(sizeof *result);
    struct role role = {plan, result};
    (void)bench;
    pid_t pid = process_fork("bench-load", role_run, &role);
    if (process_wait(pid) != 0)
        fail("work=%s subject=%s: the load generator failed", m->what.work, m->what.subject);
    fill(m, plan, result);
    shared_free(result, sizeof *result);
}

void measure(struct bench *bench, struct what what, const struct load_plan *plan)
{
    struct measurement m = measurement_of(what);
    measure_into(bench, &m, plan);
    record_add(&m);
}
