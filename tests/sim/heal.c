/* The second phase: all faults are over, so each client must get each name that it asks for, and in
 * the end nothing may be left: invariants 5, 6 and 11. */
#include <inttypes.h>
#include <string.h>

#include "tests/sim/sim.h"

/* A head that polls has keys cut that live too long when it has waited for ten seconds. */
enum { TICK_US = 20000, LONG_SETTLING_US = 20000000, CUT_US = 11000000 };

enum { HEAL_NOT_YET, HEAL_SETTLING, HEAL_EXPIRING, HEAL_ASKING, HEAL_LEAVING };

static int64_t heal_settled_us(const struct sim_world *w)
{
    /* By then all connections are up and all quarantines are over, even a quarantine of the last fault. */
    return w->plan->param[P_HEAL] * 1000 + w->full_us + w->jump_us + 2 * w->plan->param[P_TAIL] + 4000000;
}

static int64_t heal_bound_us(const struct sim_world *w)
{
    const int64_t *param = w->plan->param;
    const int64_t firm_ms = 1000; /* for so long a list may stand before it */
    int64_t cut_us = w->far_clocks ? w->full_us + CUT_US : 0;
    int64_t asked_us = (10 * param[P_RETRY_MAX] + 20 * param[P_NODE_TIMEOUT] + 1000 + firm_ms) * 1000;
    return cut_us + w->full_us + asked_us;
}

void oracle_waiters(struct sim_world *w)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t waits[SIM_NAMES] = {0};
    for (unsigned d = 0; d < w->daemons; d++) {
        for (unsigned i = 0; i < o->outstandings[d]; i++) {
            const struct sim_asked *a = &o->asked[o->outstanding[d][i]];
            bool waiting = a->wait_ms > 0 && !a->cancelled && o->session[a->session].state == SESSION_OPEN;
            if (waiting && !(a->name & SIM_LIST))
                waits[a->name] = o->outstanding[d][i];
        }
    }
    for (unsigned name = 0; name < w->names; name++) {
        if (waits[name] == 0 || oracle_full(w, name) || oracle_is_kept(w, name) ||
            o->served_us[name] < heal_settled_us(w))
            o->served_us[name] = w->now_us;
        if (w->now_us - o->served_us[name] > heal_bound_us(w))
            violation(w, 5, "n%u is free and request %u waits for it in d%u, but nobody got it for %.3f s",
                      name, waits[name], o->asked[waits[name]].daemon,
                      (double)(w->now_us - o->served_us[name]) / 1e6);
    }
}

static void quiet_daemon(struct sim_world *w, const struct sim_daemon *d)
{
    struct coordinator_stats s;
    if (!d->running)
        violation(w, 11, "d%u does not run at the end", d->index);
    coordinator_check(d->core);
    coordinator_stats(d->core, &s);
    if (s.locks + s.waiters + s.sessions + s.names + s.rounds_under_way + s.releases_under_way != 0)
        violation(w, 11,
                  "d%u: all is quiet, but locks=%" PRIu64 " waiters=%" PRIu64 " sessions=%" PRIu64
                  " names=%" PRIu64 " rounds=%" PRIu64 " undo=%" PRIu64,
                  d->index, s.locks, s.waiters, s.sessions, s.names, s.rounds_under_way,
                  s.releases_under_way);
    /* Now only probes are sent, so the next deadline is at most a second away. */
    int64_t now_ms = clock_ms(&d->clock, w->now_us);
    int64_t left_ms = coordinator_deadline(d->core) - now_ms;
    int64_t late_ms =
        w->plan->param[P_TURN] != 0; /* what is due comes after the events of the turn: daemon_arm() */
    if (left_ms < -late_ms || left_ms > 1000)
        violation(w, 11, "d%u: all is quiet, but its next deadline is in %lld ms", d->index,
                  (long long)left_ms);
    for (unsigned i = d->first; i < d->masters; i++) {
        struct master_row row;
        if (generation_class(w) && !(d->open >> i & 1))
            continue;
        daemon_master_row(d, clock_ms(&d->clock, w->now_us), i, &row);
        if (row.state != MASTER_UP)
            violation(w, 11, "d%u: all is well, but m%u may not vote (state %d, why %d, for %lld ms)",
                      d->index, i, row.state, row.why, (long long)row.for_ms);
    }
}

void oracle_quiet(struct sim_world *w)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned i = 0; i < w->daemons; i++)
        quiet_daemon(w, &w->daemon[i]);
    for (uint32_t i = 1; i < o->asks; i++) {
        const struct sim_asked *a = &o->asked[i];
        const struct sim_session *s = &o->session[a->session];
        if (!a->answered && !s->client_gone && s->state != SESSION_ENDED)
            violation(w, 6, "request %u was never answered by d%u", i, a->daemon);
    }
    for (uint32_t i = 1; i < o->sessions; i++) {
        const struct sim_session *s = &o->session[i];
        if (s->state != SESSION_ENDED && s->hello_now_ms != 0)
            violation(w, 6, "session %u of d%u never ended (state %u)", i, s->daemon, s->state);
    }
    for (unsigned i = 0; i < w->masters; i++) {
        const struct sim_master *m = &w->master[i];
        for (unsigned name = 0; name < w->keys; name++) {
            if (store_there(master_key(m, name), clock_ms(&m->clock, w->now_us)) && !m->set_far)
                violation(w, 7, "all is quiet, but m%u has T%u's key of n%u", i,
                          store_tok(master_key(m, name), clock_ms(&m->clock, w->now_us), 0), name);
        }
    }
}

/* The run does not wait for days until a quarantine is over: the quarantine must exist, and be as long
 * as it should be. */
static void oracle_long(struct sim_world *w)
{
    for (unsigned i = 0; i < w->daemons; i++) {
        const struct sim_daemon *d = &w->daemon[i];
        coordinator_check(d->core);
        for (unsigned k = d->first; k < d->masters; k++) {
            const struct sim_master *m = &w->master[k];
            struct master_row row;
            daemon_master_row(d, clock_ms(&d->clock, w->now_us), k, &row);
            int64_t young_us = master_young_us(m, d->full_us) - w->now_us;
            if (row.state == MASTER_UP && young_us > 0 && !m->unseen)
                violation(w, 9, "d%u: m%u lost its memory and votes, %.3f s before it may", i, k,
                          (double)young_us / 1e6);
            if (row.state == MASTER_QUARANTINE && (row.left_ms <= 0 || row.left_ms > d->full_us / 1000))
                violation(w, 11, "d%u: m%u is in quarantine for %lld ms more", i, k, (long long)row.left_ms);
        }
    }
}

static bool clients_done(const struct sim_world *w)
{
    for (unsigned i = 0; i < w->plan->clients; i++) {
        if (w->client[i].state != CLIENT_DONE)
            return false;
    }
    return true;
}

static void heal_next(struct sim_world *w)
{
    w->heal_phase++;
    w->heal_us = w->now_us;
}

/* Lets a client of each daemon ask for each name. */
static void heal_ask(struct sim_world *w)
{
    bool asked[SIM_DAEMONS] = {false};
    for (unsigned name = 0; name < w->names; name++)
        w->oracle.served_us[name] = w->now_us;
    for (unsigned i = 0; i < w->daemons; i++)
        if (w->daemon[i].running && w->daemon[i].limits != 0)
            rights_reload(w, &w->daemon[i], 0);
    for (unsigned i = 0; i < w->plan->clients; i++) {
        struct sim_client *c = &w->client[i];
        if (!asked[c->home])
            client_fresh(w, c);
        asked[c->home] = true;
    }
    heal_next(w);
}

/* The documented way to change N and max_ttl: all daemons stop, the longest lock runs out, the operator
 * deletes the marker on every master, and all daemons start again. */
static void heal_agree(struct sim_world *w)
{
    w->odd_over = true;
    if (generation_class(w))
        generation_heal(w);
    for (unsigned i = 0; i < w->daemons; i++)
        if (w->daemon[i].running)
            daemon_stop(w, &w->daemon[i]);
    queue_push(w, w->now_us + w->full_us + w->plan->param[P_TAIL], ITEM_AGREE, 0, 0, 0);
}

/* By now every command that the daemons sent before they stopped has arrived. A command that arrived later
 * could write the group's key again. */
void heal_agreed(struct sim_world *w)
{
    for (unsigned i = 0; i < w->masters; i++)
        w->master[i].store.group.kind = STORE_GROUP_NONE;
    for (unsigned i = 0; i < w->daemons; i++)
        if (!w->daemon[i].running)
            daemon_start(w, &w->daemon[i]);
}

void heal_begin(struct sim_world *w)
{
    w->healing = true;
    trace_add(w, TRACE_HEAL, 0, 0, 0, 0, 0, 0, 0);
    for (unsigned i = 0; i < w->masters; i++) {
        w->master[i].scripts = true;
        if (w->plan->param[P_CLASS] == CLASS_MEMORY) /* also keys that an old snapshot brought back */
            rubbish_delete(w, &w->master[i]);
    }
    if (w->plan->param[P_CLASS] == CLASS_DISAGREE || generation_class(w))
        heal_agree(w);
    heal_next(w);
}

void heal_tick(struct sim_world *w)
{
    const int64_t *param = w->plan->param;
    int64_t since_us = w->now_us - w->heal_us;
    if (w->heal_phase == HEAL_SETTLING || w->heal_phase == HEAL_ASKING)
        oracle_waiters(w);
    if (w->now_us > heal_settled_us(w) && param[P_CLASS] != CLASS_DISAGREE && !generation_class(w))
        oracle_watchers(w);
    switch (w->heal_phase) {
    case HEAL_NOT_YET: heal_begin(w); break;
    case HEAL_SETTLING:
        if (param[P_MAX_TTL] >= PLAN_LONG_TTL_MS && since_us > LONG_SETTLING_US) {
            oracle_long(w);
            w->invariant = -1;
            return;
        }
        if (since_us > w->full_us * 30 + 60000000)
            violation(w, 6, "a client is not done long after all faults are over");
        if (clients_done(w) && w->now_us > heal_settled_us(w))
            heal_next(w);
        break;
    case HEAL_EXPIRING: /* a key that was left behind counts as a lock until it runs out */
        if (since_us > w->full_us + w->jump_us + w->keep_us)
            heal_ask(w);
        break;
    case HEAL_ASKING:
        if (since_us > 120000000)
            violation(w, 5, "somebody waits for two minutes though all is well");
        if (!clients_done(w))
            break;
        for (unsigned i = 0; i < w->plan->clients; i++)
            client_leave(w, &w->client[i]);
        heal_next(w);
        break;
    default:
        if (since_us < w->full_us + w->jump_us + w->keep_us + param[P_TAIL] + 2500000)
            break;
        oracle_quiet(w);
        w->invariant = -1;
        return;
    }
    queue_push(w, w->now_us + TICK_US, ITEM_TICK, 0, 0, 0);
}
