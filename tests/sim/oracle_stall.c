/* Hosts whose clock stands still: a virtual machine that is paused, and whose CLOCK_BOOTTIME does not count
 * it.
 *
 * A client that reads such a clock believes that it has its lock for longer than it was told, by the length
 * of the stall (the lag), and no process on that host can know better before masters tell their TIME. So
 * until Q masters have answered a TIME that was sent after the stall, and the daemon's word of it has
 * reached its clients, a holder on that host is judged by what it would believe if the clock had gone on.
 * After that the holder is judged by what it believes; only a lag that is too short to be seen is
 * forgiven. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum {
    WORD_US = 60000, /* time from the daemon's step to its clients */
    LOOK_US = 20000,
    TRIAL_US = 420000,  /* the longest trial, with the question that confirms */
    UNSEEN_US = 120000, /* a lag below this may not be seen: 50 ms, and 0.2 % since a good reading */
    RATES_MS = 10,      /* about what clocks that differ by 200 ppm lose while a base lasts */
    HELLO_US = 1100000, /* clients say HELLO each second to daemons of other hosts, to measure their clocks */
    EARLY_US = 2000000,
    CALM_US = 3000000, /* time for which a master whose clock jumped is no witness */
};

static unsigned count(uint16_t set)
{
    return (unsigned)__builtin_popcount(set);
}

/* For how long the clock of the daemon's host stood still, as far as the daemon has not found out or the
 * client has not heard. */
static int64_t lag_us(const struct sim_world *w, const struct sim_daemon *d, uint32_t session)
{
    const struct sim_session *s = &w->oracle.session[session];
    if (!d->running || s->incarnation != d->incarnation)
        return d->clock.stopped_us - s->found_us;
    int64_t unread_ms = coordinator_behind_ms(d->core) - s->behind_ms;
    return d->stall.debt_us + unread_ms * 1000;
}

static bool reads_clock_of(const struct sim_world *w, const struct sim_tok *t, const struct sim_daemon *d)
{
    const struct sim_client *c = &w->client[t->believer];
    return c->home == d->index && !c->remote;
}

/* Whether the client has read every !CLOCK of the daemon that told it the deadline. A client without a
 * connection to that daemon hears none; otherwise a !CLOCK may be on its way, or not yet read. */
static bool has_heard(const struct sim_world *w, const struct sim_tok *t)
{
    const struct sim_client *c = &w->client[t->believer];
    const struct sim_daemon *d = &w->daemon[t->teller];
    uint32_t session = c->session[t->teller];
    const struct sim_session *s = &w->oracle.session[session];
    return session != 0 && t->session == session && s->state <= SESSION_OVER && d->running &&
           s->incarnation == d->incarnation && s->behind_ms == coordinator_behind_ms(d->core);
}

/* The lag of a client that measured the clock of a daemon elsewhere by its own host's clock, before that
 * stood still. */
static int64_t hello_lag_us(const struct sim_world *w, const struct sim_tok *t)
{
    const struct sim_daemon *host = &w->daemon[w->client[t->believer].home];
    if (!reads_clock_of(w, t, host) || t->teller == host->index)
        return 0;
    return host->clock.stopped_us - host->stall.hello_us + w->oracle.session[t->told_on].unmeasured_us;
}

int64_t oracle_believes_us(const struct sim_world *w, const struct sim_tok *t)
{
    const struct sim_daemon *d = &w->daemon[t->teller];
    if (t->lag_us == 0)
        return t->until_us;
    if (hello_lag_us(w, t) != 0 || d->stall.open || !has_heard(w, t))
        return t->until_us - t->lag_us;
    int64_t unseen_us = UNSEEN_US + d->stall.rtt_us;
    return t->until_us - (t->lag_us < unseen_us ? t->lag_us : unseen_us);
}

/* Whether a !CLOCK is on its way to the client, or not yet read. The answer to HELLO comes behind it. */
static bool has_clock_to_hear(const struct sim_world *w, const struct sim_session *s)
{
    const struct sim_daemon *d = &w->daemon[s->daemon];
    return d->running && s->incarnation == d->incarnation && s->behind_ms != coordinator_behind_ms(d->core);
}

void oracle_told_by(struct sim_world *w, uint32_t tok, uint32_t session)
{
    struct sim_tok *t = &w->oracle.tok[tok];
    t->teller = w->oracle.session[session].daemon;
    t->told_on = session;
    const struct sim_daemon *d = &w->daemon[t->teller];
    bool same = reads_clock_of(w, t, d);
    t->lag_us = hello_lag_us(w, t) + (same || d->stall.open ? lag_us(w, d, session) : 0);
    const struct sim_session *s = &w->oracle.session[session];
    if (t->lag_us == 0 && has_clock_to_hear(w, s)) /* a client that was paused reads it next */
        t->lag_us = (coordinator_behind_ms(d->core) - s->behind_ms) * 1000;
}

/* The client has measured the clock of the session's daemon, so it converts that daemon's deadlines to its
 * own clock as it is now. */
void oracle_measured(struct sim_world *w, uint32_t session)
{
    struct sim_oracle *o = &w->oracle;
    int64_t for_us = o->session[session].unmeasured_us;
    o->session[session].unmeasured_us = 0;
    for (unsigned name = 0; name < w->keys && for_us != 0; name++) {
        for (unsigned i = 0; i < o->holders[name]; i++) {
            struct sim_tok *t = &o->tok[o->holder[name][i]];
            int64_t by_us = t->lag_us < for_us ? t->lag_us : for_us;
            if (t->told_on != session || first_name(t->name) != name)
                continue;
            t->until_us -= by_us;
            t->lag_us -= by_us;
        }
    }
}

/* The client has said HELLO to the daemons of other hosts since the stall. A session with a !CLOCK that the
 * client has yet to read is measured behind that (client_hello()). */
static void says_hello(struct sim_world *w, const struct sim_client *c)
{
    const struct sim_daemon *host = &w->daemon[c->home];
    struct sim_oracle *o = &w->oracle;
    for (uint32_t i = 1; i < o->sessions; i++) {
        struct sim_session *s = &o->session[i];
        if (s->client != c->index || s->daemon == c->home || s->hello_now_ms == 0)
            continue;
        s->unmeasured_us += host->clock.stopped_us - host->stall.hello_us;
        if (has_clock_to_hear(w, s))
            continue;
        if (w->now_us <= c->paused_until_us) { /* it first reads what came before the answer to its HELLO */
            client_hello(w, i);
            continue;
        }
        oracle_measured(w, i);
        s->hello_sent_us = clock_us(&w->daemon[c->home].clock, w->now_us);
        const struct sim_daemon *d = &w->daemon[s->daemon]; /* a paused daemon answers when it wakes up */
        int64_t answers_us = d->paused_until_us > w->now_us ? d->paused_until_us : w->now_us;
        s->hello_now_ms = clock_ms(&d->clock, answers_us);
    }
}

void oracle_stall_hello(struct sim_world *w, struct sim_daemon *d, uint32_t number)
{
    if (number != d->stall.number)
        return; /* the host stood still again */
    for (unsigned i = 0; i < w->plan->clients; i++)
        if (w->client[i].home == d->index && !w->client[i].remote)
            says_hello(w, &w->client[i]);
    d->stall.hello_us = d->clock.stopped_us;
}

static void judge(struct sim_world *w)
{
    for (unsigned name = 0; name < w->keys; name++) {
        oracle_overlaps(w, name);
        oracle_covers(w, name);
    }
}

void oracle_stalls(struct sim_world *w, struct sim_daemon *d, int64_t for_us)
{
    struct sim_oracle *o = &w->oracle;
    d->stall.within_trial |= d->running && coordinator_in_trial(d->core);
    if (!d->stall.open)
        d->stall.since_us = w->now_us;
    d->stall.open = true;
    d->stall.number++;
    d->stall.ends_us = w->now_us + for_us;
    d->stall.debt_us += for_us;
    w->early_stall |= w->now_us < d->stall.started_us + EARLY_US;
    d->stall.told = d->stall.jumped = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        if (w->master[i].jumps_ms != d->node[i].time_jumps_ms)
            d->stall.jumped |= (uint16_t)(1u << i);
    d->stall.rtt_us = 0;
    queue_push(w, d->stall.ends_us + HELLO_US, ITEM_STALL_HELLO, d->index, d->stall.number, 0);
    for (unsigned name = 0; name < w->keys; name++) {
        for (unsigned i = 0; i < o->holders[name]; i++) {
            struct sim_tok *t = &o->tok[o->holder[name][i]];
            if (t->until_us <= w->now_us || !reads_clock_of(w, t, d) || first_name(t->name) != name)
                continue;
            t->until_us += for_us;
            t->lag_us += for_us;
        }
    }
}

/* An answer to a TIME has come; it shows the stall if the TIME was sent after it. */
void oracle_stall_shows(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    unsigned master = w->conn[msg->conn].master;
    const struct sim_master *m = &w->master[master];
    struct sim_node *node = &d->node[master];
    int64_t rtt_us = w->now_us - msg->sent_us + node->rtt_most_us; /* any earlier reading may be its base */
    if (node->base_us == 0)
        node->base_us = msg->sent_us;
    /* A master whose first reading was made after the stall tells nothing of it. */
    bool known = node->base_us < d->stall.ends_us;
    if (node->rtt_most_us < w->now_us - msg->sent_us)
        node->rtt_most_us = w->now_us - msg->sent_us;
    /* A clock that is set back while the host stands still hides as much of the stall. */
    bool jumped = m->jumped_us > d->stall.since_us - CALM_US || (d->stall.jumped >> master & 1) != 0;
    if (!d->stall.open || msg->sent_us < d->stall.ends_us || !known || jumped)
        return;
    d->stall.told |= (uint16_t)(1u << master);
    if (rtt_us > d->stall.rtt_us)
        d->stall.rtt_us = rtt_us;
    if (count(d->stall.told) != d->quorum)
        return;
    d->stall.shown_us = w->now_us;
    queue_push(w, w->now_us + WORD_US, ITEM_STALL_OVER, d->index, d->stall.number, 0);
}

void oracle_stall_over(struct sim_world *w, struct sim_daemon *d, uint32_t number)
{
    if (!d->stall.open || number != d->stall.number)
        return;
    if (w->now_us <= d->paused_until_us) {
        d->stall.shown_us = d->paused_until_us;
        queue_push(w, d->paused_until_us + WORD_US, ITEM_STALL_OVER, d->index, number, 0);
        return;
    }
    /* Answers that confirm which masters' clocks jumped are awaited. */
    if (d->running && coordinator_in_trial(d->core) && w->now_us < d->stall.shown_us + TRIAL_US) {
        queue_push(w, w->now_us + LOOK_US, ITEM_STALL_OVER, d->index, number, 0);
        return;
    }
    d->stall.open = false;
    judge(w);
}

/* The daemon found out that it stood still: deadlines that it keeps by its own time end sooner. */
void oracle_behind(struct sim_world *w, struct sim_daemon *d, int64_t stall_ms)
{
    int64_t owed_ms = d->stall.debt_us / 1000 + RATES_MS;
    /* A daemon that stands still twice within one trial may count the second time twice, which only ends locks
     * sooner. Where links are slow, a trial may be long. */
    if (w->true_clocks && w->quick_links && !d->stall.within_trial && stall_ms > owed_ms)
        violation(w, 2, "d%u says that it stood still for %lld ms, but it was at most for %lld ms", d->index,
                  (long long)stall_ms, (long long)owed_ms);
    d->stall.believed_us = w->now_us;
    d->stall.debt_us -= d->stall.debt_us < stall_ms * 1000 ? d->stall.debt_us : stall_ms * 1000;
    struct sim_oracle *o = &w->oracle;
    for (uint32_t i = 1; i < o->toks; i++) {
        struct sim_tok *t = &o->tok[i];
        if (t->daemon != d->index || t->incarnation != d->incarnation)
            continue;
        if (t->told_ms != 0)
            t->told_ms -= stall_ms;
        if (t->ends_ms != 0)
            t->ends_ms -= stall_ms;
    }
}

/* The client reads !CLOCK: every deadline that this daemon told it is by_ms earlier. */
void oracle_hears_behind(struct sim_world *w, unsigned client, unsigned daemon, int64_t by_ms)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned name = 0; name < w->keys; name++) {
        for (unsigned i = 0; i < o->holders[name]; i++) {
            struct sim_tok *t = &o->tok[o->holder[name][i]];
            if (t->believer != client || t->teller != daemon || first_name(t->name) != name)
                continue;
            t->until_us -= by_ms * 1000;
            t->heard_ms -= by_ms;
            t->lag_us = t->lag_us > by_ms * 1000 ? t->lag_us - by_ms * 1000 : 0;
        }
    }
}

/* Whether the plan has no faults but drifting clocks. */
static bool only_drifts(const struct sim_world *w)
{
    for (unsigned i = 0; i < w->plan->faults; i++)
        if (w->plan->fault[i].field[F_KIND] != FAULT_DRIFT)
            return false;
    return w->plan->param[P_TAIL_PPM] == 0;
}

void oracle_drift_seen(struct sim_world *w, const struct sim_master *m, uint32_t fault)
{
    enum { FAST_PPM = 20000 };
    const struct sim_record *record = NULL;
    for (unsigned i = 0; i < w->plan->faults; i++)
        if (w->plan->fault[i].id == fault)
            record = &w->plan->fault[i];
    if (record == NULL || record->field[F_ARG] < FAST_PPM || m->drifts != 1 ||
        m->clock.ppm != record->field[F_ARG] || w->now_us >= record->field[F_AT] + record->field[F_FOR] ||
        !only_drifts(w))
        return;
    for (unsigned i = 0; i < w->daemons; i++) {
        struct sim_daemon *d = &w->daemon[i];
        if (d->running && m->index >= d->first && m->index < d->masters &&
            coordinator_master_state(d->core, m->index - d->first) == MASTER_UP)
            violation(w, 9, "d%u lets m%u vote, whose clock runs %lld ppm fast for %d s", i, m->index,
                      (long long)record->field[F_ARG], ORACLE_DRIFT_US / 1000000);
    }
}
