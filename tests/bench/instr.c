/* instr <empty folder> <workers> <connections> <cycles>: callgrind (--collect-atstart=no) counts the
 * daemon's instructions for so many cycles of lock and unlock, without system calls. See instr.sh. */
#include "tests/bench/instr.h"

#include <event2/event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT ((void)0)
#endif

#include "daemon/conf/conf_address.h"
#include "daemon/loop/loop.h"

enum { WARM_CYCLES = 2000, TURN_US = 100 };

static struct {
    struct loop *loop;
    struct event *timer;
    char path[INSTR_PATH];
    unsigned workers, connections, dialled;
    uint64_t cycles, begin, reads;
    bool ready, counting;
} run;

_Noreturn void instr_fail(const char *what)
{
    fprintf(stderr, "instr: %s\n", what);
    exit(1);
}

static void advance(void)
{
    instr_clock_pass(TURN_US);
    instr_masters_serve();
    if (!run.ready)
        return;
    if (!run.dialled++)
        instr_clients_dial(run.path, run.workers, run.connections);
    else
        instr_clients_serve();
    uint64_t done = instr_clients_cycles();
    if (!run.counting && done >= WARM_CYCLES) {
        run.counting = true;
        run.begin = done;
        run.reads = instr_clock_reads();
    }
    if (run.counting && done >= run.begin + run.cycles) {
        run.counting = false;
        printf("cycles=%llu clock_reads=%.1f\n", (unsigned long long)(done - run.begin),
               (double)(instr_clock_reads() - run.reads) / (double)(done - run.begin));
        run.cycles = UINT64_MAX / 2;
        loop_stop(run.loop);
    }
}

static void on_turn(evutil_socket_t fd, short what, void *arg)
{
    static const struct timeval at_once;
    (void)fd, (void)what, (void)arg;
    if (run.counting)
        CALLGRIND_TOGGLE_COLLECT;
    advance();
    evtimer_add(run.timer, &at_once);
    if (run.counting)
        CALLGRIND_TOGGLE_COLLECT;
}

static void on_ready(void *arg)
{
    (void)arg;
    run.ready = true;
}

static void configure(struct conf *conf, const char *folder)
{
    char paths[INSTR_MASTERS][INSTR_PATH], text[INSTR_MASTERS * INSTR_PATH + 8];
    instr_masters_listen(paths, folder);
    conf_defaults(conf);
    conf->restart_guard = false;
    conf->masters = INSTR_MASTERS;
    for (unsigned i = 0; i < INSTR_MASTERS; i++) {
        snprintf(text, sizeof text, "unix:%s", paths[i]);
        if (conf_address_node(&conf->nodes[i], text))
            instr_fail(text);
    }
    snprintf(run.path, sizeof run.path, "%s/d", folder);
    snprintf(text, sizeof text, "unix:%s", run.path);
    if (conf_address_listen(&conf->listen[0].address, text))
        instr_fail(text);
    conf->listeners = 1;
}

int main(int argc, char **argv)
{
    static struct conf conf;
    static const struct timeval at_once;
    if (argc != 5)
        instr_fail("usage: instr <empty folder> <workers> <connections> <cycles>");
    run.workers = (unsigned)strtoul(argv[2], NULL, 10);
    run.connections = (unsigned)strtoul(argv[3], NULL, 10);
    run.cycles = strtoull(argv[4], NULL, 10);
    if (!run.workers || !run.connections || run.connections > run.workers)
        instr_fail("at least one worker, and no more connections than workers");
    configure(&conf, argv[1]);
    log_set_level(LOG_LEVEL_WARN);
    run.loop = loop_new(&conf, REDLOCKD_VERSION, NULL, false);
    if (!run.loop)
        instr_fail("no loop");
    run.timer = evtimer_new(loop_base(run.loop), on_turn, NULL);
    loop_on_ready(run.loop, on_ready, NULL);
    evtimer_add(run.timer, &at_once);
    int status = loop_run(run.loop);
    event_free(run.timer);
    loop_free(run.loop);
    return status;
}
