/* What goes wrong, when its time has come. */
#include "tests/sim/sim.h"

static void later(int64_t *until_us, int64_t at_us)
{
    if (at_us > *until_us)
        *until_us = at_us;
}

static void fault_link(struct world *w, const struct record *fault, int64_t end_us)
{
    unsigned daemon = (unsigned)fault->field[F_TARGET] % w->daemons;
    unsigned master = (unsigned)fault->field[F_OTHER] % w->masters;
    struct link *link = &w->link[daemon][master];
    struct sim_daemon *d = &w->daemon[daemon];
    switch ((enum fault_kind)fault->field[F_KIND]) {
    case FAULT_RESET:
        if (d->running && w->now_us > d->paused_until_us)
            node_reset(w, d, master);
        break;
    case FAULT_CUT_UP: later(&link->cut_until_us[UP], end_us); break;
    case FAULT_CUT_DOWN: later(&link->cut_until_us[DOWN], end_us); break;
    case FAULT_SLOW_UP:
        link->slow_us[UP] = fault->field[F_ARG];
        later(&link->slow_until_us[UP], end_us);
        break;
    default: link->slow_us[DOWN] = fault->field[F_ARG]; later(&link->slow_until_us[DOWN], end_us);
    }
}

static void fault_master(struct world *w, const struct record *fault, int64_t end_us)
{
    struct sim_master *m = &w->master[(unsigned)fault->field[F_TARGET] % w->masters];
    switch ((enum fault_kind)fault->field[F_KIND]) {
    case FAULT_HANG: later(&m->hung_until_us, end_us); break;
    case FAULT_FLUSH_SCRIPTS: m->scripts = false; break;
    case FAULT_ERROR:
        m->error = (enum vote_error)fault->field[F_ARG];
        later(&m->error_until_us, end_us);
        break;
    case FAULT_ZADD_ERROR: later(&m->zadd_error_until_us, end_us); break;
    case FAULT_REPLICA: later(&m->replica_until_us, end_us); break;
    default: master_crash(w, m, fault);
    }
}

static void fault_sleep(struct world *w, struct sim_daemon *d, int64_t end_us)
{
    later(&d->paused_until_us, end_us);
    for (unsigned i = 0; i < w->plan->clients; i++) {
        struct sim_client *c = &w->client[i];
        if (c->home == d->index && !c->remote)
            later(&c->paused_until_us, end_us);
    }
    if (mutant_active != MUTANT_MONOTONIC_CLOCK)
        return;
    d->clock.stopped_us += end_us - w->now_us;
    oracle_slept(w, d->index, end_us - w->now_us);
}

static void fault_daemon(struct world *w, const struct record *fault, int64_t end_us)
{
    struct sim_daemon *d = &w->daemon[(unsigned)fault->field[F_TARGET] % w->daemons];
    bool awake = d->running && w->now_us > d->paused_until_us;
    struct core_event drain = {.kind = EVENT_DRAIN};
    switch ((enum fault_kind)fault->field[F_KIND]) {
    case FAULT_PAUSE: later(&d->paused_until_us, end_us); return;
    case FAULT_SLEEP:
        if (awake)
            fault_sleep(w, d, end_us);
        return;
    case FAULT_CRASH_DAEMON:
        if (!d->running)
            return;
        daemon_stop(w, d);
        queue_push(w, end_us, ITEM_DAEMON_BACK, d->index, 0, d->incarnation);
        return;
    case FAULT_DRAIN:
        if (!awake || d->draining)
            return;
        d->draining = true;
        daemon_step(w, d, &drain);
        daemon_drained(w, d);
        return;
    default: d->wall_us = fault->field[F_ARG] * 1000;
    }
}

void fault_begin(struct world *w, const struct record *fault)
{
    const int64_t *field = fault->field;
    int64_t end_us = w->now_us + field[F_FOR];
    trace_add(w, TRACE_FAULT, fault->id, (uint64_t)field[F_KIND], (uint64_t)field[F_TARGET],
              (uint64_t)field[F_OTHER], (uint64_t)field[F_FOR], (uint64_t)field[F_ARG], 0);
    if (field[F_KIND] <= FAULT_SLOW_DOWN)
        fault_link(w, fault, end_us);
    else if (field[F_KIND] <= FAULT_REPLICA)
        fault_master(w, fault, end_us);
    else if (field[F_KIND] <= FAULT_WALL)
        fault_daemon(w, fault, end_us);
    else if ((unsigned)field[F_TARGET] < w->plan->clients)
        later(&w->client[field[F_TARGET]].paused_until_us, end_us);
}
