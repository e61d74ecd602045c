/* Much that is held: W6 session locks that are renewed, W7 silent clients, W9 leases beside which
 * the usual work goes on. Each has a daemon of its own, whose memory begins small. */
#include <stdio.h>

#include "tests/bench/bench.h"
#include "tests/bench/hold.h"
#include "tests/bench/process.h"

enum { LOCKS_A_CONNECTION = 1000, WORKERS = 16, HELD = 3 };

static double bytes_each(pid_t pid, long before_kb, unsigned count)
{
    return (double)(process_memory_kb(pid) - before_kb) * 1024 / count;
}

static struct hold_plan locks_plan(struct bench *bench, const struct server *server, unsigned locks,
                                   const char *options)
{
    unsigned connections = (locks + LOCKS_A_CONNECTION - 1) / LOCKS_A_CONNECTION;
    return (struct hold_plan){server, connections, locks, options, ++bench->salt, false};
}

/* ---- W6 ---- */

static void watch_renewal(struct bench *bench, const struct server *server, const struct hold_state *state,
                          double bytes)
{
    struct measurement m = measurement_of((struct what){"W6", "daemon", "unix", bench->scale.renewed_locks});
    int64_t cpu_ns = process_cpu_ns(server->pid), begin_ns = now_ns();
    unsigned lost = state->lost;
    pause_ms(bench->scale.renewed_ms);
    int64_t took_ns = now_ns() - begin_ns;
    m.value[SERVER_CPU_PERCENT] = (double)(process_cpu_ns(server->pid) - cpu_ns) / (double)took_ns * 100;
    m.value[SERVER_MEMORY_KB] = (double)process_memory_kb(server->pid);
    m.value[BYTES_EACH] = bytes;
    m.value[LOST] = state->lost - lost;
    m.value[REFUSED] = state->refused;
    record_add(&m);
}

static void renewed(struct bench *bench)
{
    struct server server;
    struct holder holder;
    char options[32];
    snprintf(options, sizeof options, "ttl=%lldms", (long long)bench->scale.renewed_ttl_ms);
    daemon_start(&server, &bench->places, &bench->masters, NULL, "");
    struct hold_plan plan = locks_plan(bench, &server, bench->scale.renewed_locks, options);
    long before_kb = process_memory_kb(server.pid);
    holder_start(&holder, &plan);
    pause_ms(bench->scale.renewed_ttl_ms); /* waits until renewals are spread as evenly as they will be */
    double bytes = bytes_each(server.pid, before_kb, plan.locks);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        watch_renewal(bench, &server, holder.state, bytes);
    holder_stop(&holder);
    server_stop(&server);
    masters_flush(&bench->masters);
}

/* ---- W7 ---- */

static void idle(struct bench *bench)
{
    struct server server;
    struct holder holder;
    struct measurement m = measurement_of((struct what){"W7", "daemon", "unix", bench->scale.idle_clients});
    daemon_start(&server, &bench->places, &bench->masters, NULL, "");
    struct hold_plan plan = {&server, bench->scale.idle_clients, 0, "", ++bench->salt, false};
    long before_kb = process_memory_kb(server.pid);
    holder_start(&holder, &plan);
    m.value[BYTES_EACH] = bytes_each(server.pid, before_kb, plan.connections);
    m.value[SERVER_MEMORY_KB] = (double)process_memory_kb(server.pid);
    record_add(&m);
    holder_stop(&holder);
    server_stop(&server);
}

/* ---- W9 ---- */

static void grown(struct bench *bench)
{
    struct server server[HELD];
    struct holder holder[HELD];
    const unsigned *held = bench->scale.held_locks;
    for (unsigned i = 0; i < HELD; i++) {
        daemon_start(&server[i], &bench->places, &bench->masters, NULL, "");
        struct hold_plan plan = locks_plan(bench, &server[i], held[i], "hold=lease ttl=30m");
        holder_start(&holder[i], &plan);
    }
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        for (unsigned i = 0; i < HELD; i++) {
            struct load_plan plan = plan_for(bench, &server[i], true, WORKERS);
            measure(bench, (struct what){"W9", "daemon", "unix", held[i]}, &plan);
        }
    for (unsigned i = 0; i < HELD; i++) {
        holder_stop(&holder[i]);
        server_stop(&server[i]);
    }
    masters_flush(&bench->masters);
}

void work_held(struct bench *bench)
{
    renewed(bench);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        idle(bench);
    grown(bench);
}
