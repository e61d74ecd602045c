/* Applies faults to processes and links, and undoes them when their time is over. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/chaos/world.h"

/* drain_timeout is 1 s; the rest is for a loaded machine. */
enum { DRAIN_US = 8000000, STARTS = 100 };

/* The pause between two masters of a rolling restart: for the start, the reconnection (after a back-off
 * of up to 1.5 s), and each lock's renewal, at a third of at most 2 s, give or take a tenth. */
enum { APART_US = 2300000 };

static void fault_record(struct world *world, const struct fault *fault)
{
    struct record record = {.at_us = now_us()};
    char *text = record.text;
    const char *name = fault_name(fault->kind);
    int for_ms = (int)(fault->for_us / 1000);
    unsigned server = change_server(&world->change, fault->master);
    if (fault->kind <= FAULT_ORPHAN && fault->daemon == ALL_DAEMONS)
        snprintf(text, RECORD_TEXT, "%s m%u %d ms", name, server, for_ms);
    else if (fault->kind <= FAULT_ORPHAN)
        snprintf(text, RECORD_TEXT, "%s d%u-m%u %d ms", name, fault->daemon, server, for_ms);
    else if (fault->kind == FAULT_ROLLING)
        snprintf(text, RECORD_TEXT, "%s from m%u", name, server);
    else if (fault->kind <= FAULT_MAJORITY_KILL)
        snprintf(text, RECORD_TEXT, "%s m%u %d ms", name, server, for_ms);
    else if (fault->kind <= FAULT_DAEMON_TERM)
        snprintf(text, RECORD_TEXT, "%s d%u %d ms", name, fault->daemon, for_ms);
    else if (fault->kind == FAULT_BREAK)
        snprintf(text, RECORD_TEXT, "%s n%d by d%u", name, (int)fault->value, fault->daemon);
    else
        snprintf(text, RECORD_TEXT, "%s %u %d ms", name, world->who[fault->client], for_ms);
    history_add(&world->shared->history, &record, RECORD_FAULT);
}

static void order(struct world *world, enum order_kind kind, unsigned link, int64_t value)
{
    struct order sent = {.kind = kind, .link = link, .value = value};
    if (write(world->orders, &sent, sizeof sent) != (ssize_t)sizeof sent)
        fprintf(stderr, "chaos: the proxy takes no orders\n");
}

static void later(int64_t *until_us, int64_t end_us)
{
    if (*until_us < end_us)
        *until_us = end_us;
}

static void link_fault(struct world *world, const struct fault *fault, unsigned link, int64_t end_us)
{
    struct trouble *trouble = &world->trouble[link];
    switch (fault->kind) {
    case FAULT_DELAY:
        order(world, ORDER_DELAY, link, fault->value);
        later(&trouble->delay_us, end_us);
        break;
    case FAULT_CUT:
    case FAULT_CUT_REQUESTS:
    case FAULT_CUT_REPLIES:
        order(world, ORDER_CUT, link,
              fault->kind == FAULT_CUT            ? CUT_TO_MASTER | CUT_TO_DAEMON
              : fault->kind == FAULT_CUT_REQUESTS ? CUT_TO_MASTER
                                                  : CUT_TO_DAEMON);
        later(&trouble->cut_us, end_us);
        break;
    case FAULT_THROTTLE:
        order(world, ORDER_RATE, link, fault->value);
        later(&trouble->rate_us, end_us);
        break;
    case FAULT_RESET: order(world, ORDER_RESET, link, 0); break;
    default: /* FAULT_ORPHAN */
        order(world, ORDER_CUT, link, CUT_TO_MASTER);
        trouble->orphan_us = end_us;
        trouble->orphan_value_us = fault->value;
        break;
    }
}

static void masters_kill(struct world *world, const struct fault *fault, int64_t end_us)
{
    unsigned many = fault->kind == FAULT_MAJORITY_KILL ? 3 + (unsigned)(fault->value % 3) : 1;
    for (unsigned i = 0; i < many; i++)
        process_kill(&world->master[change_server(&world->change, fault->master + i)], end_us);
}

static void rolling_begin(struct world *world, unsigned first, int64_t at_us)
{
    world->rolling_left = world->change.now.count;
    world->rolling_next = first;
    world->rolling_us = at_us;
}

static void rolling_tick(struct world *world, int64_t at_us)
{
    enum { DOWN_US = 200000 };
    if (world->rolling_left == 0 || world->rolling_us > at_us)
        return;
    unsigned master = change_server(&world->change, world->rolling_next++);
    struct record record = {.at_us = at_us};
    snprintf(record.text, RECORD_TEXT, ROLLING_RESTART " of m%u", master);
    history_add(&world->shared->history, &record, RECORD_FAULT);
    process_kill(&world->master[master], at_us + DOWN_US);
    world->rolling_left--;
    world->rolling_us = at_us + APART_US;
}

static void daemon_term(struct process *daemon, int64_t end_us)
{
    if (daemon->pid == 0 || daemon->killed || daemon->end_us != 0)
        return;
    daemon->due_us = end_us;
    daemon->end_us = now_us() + DRAIN_US;
    kill(daemon->pid, SIGTERM);
}

/* The client's belief ends before it is dead: anything it records in between does not count. */
static void client_kill(struct world *world, unsigned slot, int64_t start_us)
{
    struct record record = {.at_us = now_us(), .who = world->who[slot]};
    if (world->client[slot].pid == 0 || world->client[slot].killed)
        return;
    history_add(&world->shared->history, &record, RECORD_KILL);
    process_kill(&world->client[slot], start_us);
}

/* One at a time, which ends by itself. */
static void breaker_start(struct world *world, const struct fault *fault)
{
    enum { ENDS_US = 40000000 };
    if (world->breaker.pid != 0)
        return;
    pid_t pid = process_fork(NULL, 0);
    if (pid == 0)
        breaker_run(world->shared, (unsigned)fault->value, fault->daemon);
    world->breaker = (struct process){.pid = pid, .end_us = now_us() + ENDS_US};
}

void world_fault(struct world *world, const struct fault *fault)
{
    int64_t at_us = now_us(), end_us = at_us + fault->for_us;
    if (fault->kind == FAULT_ROLLING && world->rolling_left > 0)
        return; /* one rolling restart at a time, so that one master is down at a time */
    world->faults[fault->kind]++;
    fault_record(world, fault);
    for (unsigned i = 0; fault->kind <= FAULT_ORPHAN && i < DAEMONS; i++)
        if (fault->daemon == i || fault->daemon == ALL_DAEMONS)
            link_fault(world, fault, i * SERVERS + change_server(&world->change, fault->master), end_us);
    switch (fault->kind) {
    case FAULT_MASTER_STOP:
        process_stop(&world->master[change_server(&world->change, fault->master)], end_us);
        break;
    case FAULT_MASTER_KILL:
    case FAULT_MAJORITY_KILL: masters_kill(world, fault, end_us); break;
    case FAULT_ROLLING: rolling_begin(world, fault->master, at_us); break;
    case FAULT_DAEMON_STOP: process_stop(&world->daemon[fault->daemon], end_us); break;
    case FAULT_DAEMON_KILL: process_kill(&world->daemon[fault->daemon], end_us); break;
    case FAULT_DAEMON_TERM: daemon_term(&world->daemon[fault->daemon], at_us); break;
    case FAULT_CLIENT_STOP: process_stop(&world->client[fault->client], end_us); break;
    case FAULT_CLIENT_KILL: client_kill(world, fault->client, at_us); break;
    case FAULT_BREAK: breaker_start(world, fault); break;
    default: break;
    }
}

/* ---- what is due ---- */

static void link_tick(struct world *world, unsigned link, int64_t at_us)
{
    struct trouble *trouble = &world->trouble[link];
    if (trouble->orphan_us != 0 && trouble->orphan_us <= at_us) {
        order(world, ORDER_ORPHAN, link, trouble->orphan_value_us);
        order(world, ORDER_CUT, link, 0);
        trouble->orphan_us = trouble->cut_us = 0;
    }
    if (trouble->cut_us != 0 && trouble->cut_us <= at_us && trouble->orphan_us == 0) {
        order(world, ORDER_CUT, link, 0);
        trouble->cut_us = 0;
    }
    if (trouble->delay_us != 0 && trouble->delay_us <= at_us) {
        order(world, ORDER_DELAY, link, 0);
        trouble->delay_us = 0;
    }
    if (trouble->rate_us != 0 && trouble->rate_us <= at_us) {
        order(world, ORDER_RATE, link, 0);
        trouble->rate_us = 0;
    }
}

static void process_tick(struct process *process, int64_t at_us)
{
    if (process->cont_us == 0 || process->cont_us > at_us)
        return;
    process->cont_us = 0;
    if (process->pid > 0)
        kill(process->pid, SIGCONT);
}

/* Whether the process may end like this; it is started again at process->due_us. */
static bool process_ended(struct process *process, int status, const char *what, unsigned number)
{
    bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    bool expected = process->killed || (process->end_us != 0 && clean);
    int64_t due_us = process->due_us;
    if (!expected)
        fprintf(stderr, "chaos: %s %u ended by itself: %s %d\n", what, number,
                WIFSIGNALED(status) ? "signal" : "exit",
                WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
    *process = (struct process){.due_us = due_us};
    return expected;
}

static bool group_tick(struct world *world, struct process *list, unsigned count, const char *what,
                       int64_t at_us, void (*start)(struct world *, unsigned))
{
    bool well = true;
    for (unsigned i = 0; i < count; i++) {
        struct process *process = &list[i];
        int status;
        process_tick(process, at_us);
        if (process->pid > 0 && waitpid(process->pid, &status, WNOHANG) == process->pid &&
            !process_ended(process, status, what, i)) {
            well = false;
            if (list == world->daemon)
                world_log_tail(world, i);
        }
        if (process->pid == 0 && process->due_us != 0 && process->due_us <= at_us)
            start(world, i);
        if (process->pid > 0 && process->end_us != 0 && process->end_us <= at_us && !process->killed) {
            fprintf(stderr, "chaos: %s %u did not end %d s after SIGTERM\n", what, i, DRAIN_US / 1000000);
            process_kill(process, process->due_us);
            well = false;
        }
    }
    return well;
}

bool world_tick(struct world *world)
{
    int64_t at_us = now_us();
    for (unsigned i = 0; i < LINKS; i++)
        link_tick(world, i, at_us);
    rolling_tick(world, at_us);
    bool masters = group_tick(world, world->master, SERVERS, "redis-server", at_us, world_start_master);
    bool daemons = group_tick(world, world->daemon, DAEMONS, "redlockd", at_us, world_start_daemon);
    bool clients = group_tick(world, world->client, CLIENTS, "client", at_us, world_start_client);
    bool others = group_tick(world, &world->breaker, 1, "the operator", at_us, NULL) &&
                  group_tick(world, &world->watch, 1, "the watch", at_us, NULL) &&
                  group_tick(world, &world->proxy, 1, "proxy", at_us, NULL) &&
                  group_tick(world, &world->counter, 1, "the counter's redis-server", at_us, NULL);
    return masters && daemons && clients && others && change_tick(world, at_us);
}

static void group_calm(struct process *list, unsigned count, int64_t at_us)
{
    for (unsigned i = 0; i < count; i++) {
        if (list[i].cont_us != 0)
            list[i].cont_us = at_us;
        if (list[i].due_us != 0)
            list[i].due_us = at_us;
    }
}

void world_calm(struct world *world)
{
    int64_t at_us = now_us();
    for (unsigned i = 0; i < LINKS; i++) {
        struct trouble *trouble = &world->trouble[i];
        int64_t *const ends[] = {&trouble->delay_us, &trouble->rate_us, &trouble->cut_us,
                                 &trouble->orphan_us};
        for (unsigned k = 0; k < sizeof ends / sizeof ends[0]; k++)
            if (*ends[k] != 0)
                *ends[k] = at_us;
    }
    world->rolling_left = 0;
    change_calm(world);
    group_calm(world->master, SERVERS, at_us);
    group_calm(world->daemon, DAEMONS, at_us);
    group_calm(world->client, CLIENTS, at_us);
    history_add(&world->shared->history, &(struct record){.at_us = at_us}, RECORD_CALM);
}
