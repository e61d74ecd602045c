/* native: distinct names, by native commands and by scripts alone in turn, as one daemon does. Once all share the cores;
 * and once the masters have a core for themselves, and the daemon and the workers another one, so that the masters are
 * the bottleneck. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/bench/bench.h"
#include "tests/bench/process.h"

enum { WORKERS = 64, MANY_WORKERS = 256 /* enough to keep the masters busy */ };

static const char *const transports[] = {"tcp", "unix"};

static bool masters_know(const struct masters *masters)
{
    static const char *const questions[] = {"DELEX bench-no-key IFEQ x\r\n", "DELIFEQ bench-no-key x\r\n"};
    char answer[128];
    bool known = false;
    int fd = socket_dial(&masters->address[0], false, SOCKET_NO_SOURCE);
    for (unsigned i = 0; i < 2; i++)
        known |= socket_ask(fd, questions[i], answer, sizeof answer) > 0 && answer[0] == ':';
    close(fd);
    return known;
}

static void run(struct bench *bench, struct what what, const struct server *server, bool apart)
{
    struct load_plan plan = plan_for(bench, server, what.transport[0] == 'u', what.size);
    plan.pinned = apart;
    if (apart)
        process_pin(server->pid, 0);
    measure(bench, what, &plan);
    if (apart)
        process_unpin(server->pid);
}

static void native_apart(struct bench *bench, const struct server *scripts)
{
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        process_pin(bench->masters.pid[i], 1);
    for (unsigned rep = 0; rep < bench->scale.reps; rep++) {
        run(bench, (struct what){"native-apart", "native", "unix", MANY_WORKERS}, &bench->daemon, true);
        run(bench, (struct what){"native-apart", "scripts", "unix", MANY_WORKERS}, scripts, true);
    }
    for (unsigned i = 0; i < BENCH_MASTERS; i++)
        process_unpin(bench->masters.pid[i]);
}

void work_native(struct bench *bench)
{
    struct server scripts;
    if (!masters_know(&bench->masters)) {
        puts("skipped=native why=\"this redis-server knows neither DELEX nor DELIFEQ\"");
        return;
    }
    setenv("REDLOCKD_BY_SCRIPT", "1", 1);
    daemon_start(&scripts, &bench->places, &bench->masters, NULL, "");
    unsetenv("REDLOCKD_BY_SCRIPT");
    for (unsigned rep = 0; rep < bench->scale.reps; rep++)
        for (unsigned t = 0; t < 2; t++) {
            run(bench, (struct what){"native", "native", transports[t], WORKERS}, &bench->daemon, false);
            run(bench, (struct what){"native", "scripts", transports[t], WORKERS}, &scripts, false);
        }
    if (process_cores() > 1)
        native_apart(bench, &scripts);
    server_stop(&scripts);
}
