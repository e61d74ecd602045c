/* The faults: their beginning and end. */
#include "tests/sim/sim.h"

static void later(int64_t *until_us, int64_t at_us)
{
    if (at_us > *until_us)
        *until_us = at_us;
}

static void fault_link(struct sim_world *w, const struct sim_record *fault, int64_t end_us)
{
    unsigned daemon = (unsigned)fault->field[F_TARGET] % w->daemons;
    unsigned master = (unsigned)fault->field[F_OTHER] % w->masters;
    struct sim_link *link = &w->link[daemon][master];
    struct sim_daemon *d = &w->daemon[daemon];
    switch ((enum fault_kind)fault->field[F_KIND]) {
    case FAULT_RESET:
        if (d->running && w->now_us > d->paused_until_us)
            node_reset(w, d, master);
        break;
    case FAULT_EAR:
        if (fault->field[F_ARG] == 0 && d->running && w->now_us > d->paused_until_us)
            ear_reset(w, d, master);
        link->ear_slow_us = fault->field[F_ARG];
        later(&link->ear_slow_until_us, end_us);
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

/* A clock that jumps forward may end any key. */
static void fault_jump(struct sim_world *w, struct sim_master *m, int64_t by_ms)
{
    m->clock.offset_us += by_ms * 1000;
    m->jumped_before_us = m->jumped_us;
    m->jumped_us = w->now_us;
    m->jumped_ms = by_ms;
    m->jumps_ms += by_ms;
    m->set_back = m->set_back || by_ms < 0;
    m->set_ahead = m->set_ahead || by_ms > 0;
    if (by_ms > 0)
        master_forgets(w, m, true);
}

/* The clock goes on from its present value. */
static void set_rate(const struct sim_world *w, struct sim_master *m, int64_t ppm)
{
    int64_t was_us = clock_us(&m->clock, w->now_us);
    m->clock.ppm = ppm;
    m->clock.offset_us += was_us - clock_us(&m->clock, w->now_us);
}

/* While the clock is fast, and until the longest lock is over, keys there may end early. */
static void fault_drift(struct sim_world *w, struct sim_master *m, const struct sim_record *fault,
                        int64_t end_us)
{
    if (m->drifts++ == 0)
        m->rate_ppm = m->clock.ppm;
    set_rate(w, m, fault->field[F_ARG]);
    m->set_back = m->set_ahead = true;
    if (fault->field[F_ARG] <= 0)
        return;
    int64_t before_us = m->lost_us; /* the clock may be fast already, for longer */
    master_loses(w, m, true);
    m->lost_us = m->forgot_us = end_us > before_us ? end_us : before_us;
    queue_push(w, w->now_us + ORACLE_DRIFT_US, ITEM_DRIFT_SEEN, m->index, fault->id, 0);
}

static void drift_ends(struct sim_world *w, struct sim_master *m)
{
    m->drifts--;
    m->drifted_us = w->now_us;
    set_rate(w, m, m->rate_ppm); /* even where another drift should go on */
}

static void fault_lacks(const struct sim_world *w, struct sim_master *m, enum lack lacks, int64_t end_us)
{
    if (m->lacks_until_us <= w->now_us || m->lacks_us == NEVER)
        m->lacks_us = w->now_us;
    if (lacks == LACKS_GETEX)
        m->lacks_us = NEVER;
    m->lacks = lacks;
    later(&m->lacks_until_us, end_us);
}

static void fault_rubbish(struct sim_world *w, struct sim_master *m, enum rubbish rubbish)
{
    struct store_group *group = &m->store.group;
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    m->rubbish_us = w->now_us;
    group->expires_ms = INT64_MAX;
    if (rubbish == RUBBISH_TEXT || group->kind != STORE_GROUP_OURS) {
        group->kind = STORE_GROUP_RUBBISH;
        return;
    }
    if (rubbish == RUBBISH_MASTERS)
        group->group.masters += 2;
    else if (rubbish == RUBBISH_MAX_TTL)
        group->group.max_ttl_ms *= 2;
    else
        group->group.max_ttl_ms /= 2;
    group->group.from_ms = now_ms;
}

static void fault_master(struct sim_world *w, const struct sim_record *fault, uint32_t index, int64_t end_us)
{
    struct sim_master *m = &w->master[(unsigned)fault->field[F_TARGET] % w->masters];
    switch ((enum fault_kind)fault->field[F_KIND]) {
    case FAULT_HANG: later(&m->hung_until_us, end_us); break;
    case FAULT_FLUSH_SCRIPTS: m->scripts = false; break;
    case FAULT_ERROR:
        m->error = (enum vote_error)fault->field[F_ARG];
        later(&m->error_until_us, end_us);
        break;
    case FAULT_SCORES:
        for (unsigned i = 0; i < m->store.buckets; i++)
            m->store.score[i] = FENCE_MAX - (uint64_t)fault->field[F_ARG];
        break;
    case FAULT_LACKS: fault_lacks(w, m, (enum lack)fault->field[F_ARG], end_us); break;
    case FAULT_NATIVE:
        m->native_error = (enum vote_error)fault->field[F_ARG];
        later(&m->native_until_us, end_us);
        break;
    case FAULT_ZADD_ERROR: later(&m->zadd_error_until_us, end_us); break;
    case FAULT_REPLICA:
        later(&m->replica_until_us, end_us);
        if (fault->field[F_ARG] == 0)
            break;
        master_restore(w, m, fault->field[F_ARG] == 1 ? SNAPSHOTS : (unsigned)fault->field[F_ARG] - 2);
        master_forgets(w, m, false);
        break;
    case FAULT_FLUSH:
        master_restore(w, m, SNAPSHOTS);
        master_forgets(w, m, false);
        break;
    case FAULT_SET: m->set_far = true; /* fall through */
    case FAULT_JUMP: fault_jump(w, m, fault->field[F_ARG]); break;
    case FAULT_DRIFT: fault_drift(w, m, fault, end_us); break;
    case FAULT_RUBBISH: fault_rubbish(w, m, (enum rubbish)fault->field[F_ARG]); break;
    case FAULT_FORGE: forge_letter(w, index); break;
    case FAULT_BREAK: break_lock(w, (unsigned)fault->field[F_ARG] % w->keys); break;
    default: master_crash(w, m, fault);
    }
}

static void fault_sleep(struct sim_world *w, struct sim_daemon *d, int64_t end_us)
{
    later(&d->paused_until_us, end_us);
    for (unsigned i = 0; i < w->plan->clients; i++) {
        struct sim_client *c = &w->client[i];
        if (c->home == d->index && !c->remote)
            later(&c->paused_until_us, end_us);
    }
    if (!mutant(MUTANT_MONOTONIC_CLOCK))
        return;
    d->clock.stopped_us += end_us - w->now_us;
    oracle_slept(w, d->index, end_us - w->now_us);
}

/* The wall clock is stepped right after it, or stays behind within the window that all wall clocks are
 * assumed to keep. */
static void fault_stall(struct sim_world *w, struct sim_daemon *d, const struct sim_record *fault,
                        int64_t end_us)
{
    int64_t for_us = end_us - w->now_us, window_us = w->plan->param[P_WALL] * 1000;
    later(&d->paused_until_us, end_us);
    for (unsigned i = 0; i < w->plan->clients; i++) {
        struct sim_client *c = &w->client[i];
        if (c->home == d->index && !c->remote)
            later(&c->paused_until_us, end_us);
    }
    if (fault->field[F_ARG] == 1 && d->wall_us - for_us >= -window_us / 2)
        d->wall_us -= for_us;
    oracle_stalls(w, d, for_us);
    d->clock.stopped_us += for_us;
}

static void fault_daemon(struct sim_world *w, const struct sim_record *fault, int64_t end_us)
{
    struct sim_daemon *d = &w->daemon[(unsigned)fault->field[F_TARGET] % w->daemons];
    bool awake = d->running && w->now_us > d->paused_until_us;
    struct coordinator_event drain = {.kind = EVENT_DRAIN};
    switch ((enum fault_kind)fault->field[F_KIND]) {
    case FAULT_FILE: d->wanted = fault->field[F_ARG]; return;
    case FAULT_PAUSE: later(&d->paused_until_us, end_us); return;
    case FAULT_SLEEP:
        if (awake)
            fault_sleep(w, d, end_us);
        return;
    case FAULT_STALL:
        if (awake)
            fault_stall(w, d, fault, end_us);
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
    case FAULT_RELOAD:
        if (awake)
            rights_reload(w, d, (uint32_t)fault->field[F_ARG]);
        return;
    default:
        d->wall_us = fault->field[F_ARG] * 1000;
        w->wall_ahead = w->wall_ahead || fault->field[F_ARG] > w->plan->param[P_WALL] / 2;
    }
}

/* The stranger deletes the marker that it wrote. */
void rubbish_delete(const struct sim_world *w, struct sim_master *m)
{
    struct store_group *group = &m->store.group;
    const struct group *text = &group->group;
    bool strange =
        text->masters != w->plan->param[P_MASTERS] || text->max_ttl_ms != w->plan->param[P_MAX_TTL];
    if (group->kind == STORE_GROUP_RUBBISH || (group->kind == STORE_GROUP_OURS && strange))
        group->kind = STORE_GROUP_NONE;
}

void fault_end(struct sim_world *w, const struct sim_record *fault)
{
    struct sim_master *m = &w->master[(unsigned)fault->field[F_TARGET] % w->masters];
    if (fault->field[F_KIND] == FAULT_DRIFT)
        drift_ends(w, m);
    else if (fault->field[F_KIND] == FAULT_SET)
        fault_jump(w, m, -fault->field[F_ARG]);
    else
        rubbish_delete(w, m);
}

void fault_begin(struct sim_world *w, const struct sim_record *fault, uint32_t index)
{
    const int64_t *field = fault->field;
    int64_t end_us = w->now_us + field[F_FOR];
    enum fault_target target = fault_target((enum fault_kind)field[F_KIND]);
    trace_add(w, TRACE_FAULT, fault->id, (uint64_t)field[F_KIND], (uint64_t)field[F_TARGET],
              (uint64_t)field[F_OTHER], (uint64_t)field[F_FOR], (uint64_t)field[F_ARG], 0);
    bool ahead = field[F_KIND] == FAULT_SET && field[F_ARG] > 0;
    if (field[F_KIND] == FAULT_RUBBISH || field[F_KIND] == FAULT_DRIFT || ahead)
        queue_push(w, end_us, ITEM_FAULT, 0, index, 1);
    if (target == TARGET_LINK)
        fault_link(w, fault, end_us);
    else if (target == TARGET_MASTER)
        fault_master(w, fault, index, end_us);
    else if (target == TARGET_DAEMON)
        fault_daemon(w, fault, end_us);
    else if (field[F_KIND] == FAULT_FLOOD && (unsigned)field[F_TARGET] < w->plan->clients)
        flood_begin(w, &w->client[field[F_TARGET]], field[F_ARG]);
    else if (field[F_KIND] == FAULT_DENY && (unsigned)field[F_TARGET] < w->plan->clients)
        rights_deny(w, &w->client[field[F_TARGET]], (enum denied)field[F_ARG]);
    else if ((unsigned)field[F_TARGET] < w->plan->clients)
        later(&w->client[field[F_TARGET]].paused_until_us, end_us);
}
