/* WATCH: what watchers are told, invariant 14. A session watches one name at most. */
#include "daemon/coordinator/base/token.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"
#include "tests/sim/store_told.h"

enum { STEADY_US = 5000000, WITHIN_US = 1500000 };

static bool is_steady(const struct sim_world *w, const struct sim_master *m)
{
    return m->running && m->lost_us < w->now_us - STEADY_US && !m->set_back;
}

/* A quorum has had the token's key for seconds. */
static bool is_held_long(const struct sim_world *w, const struct sim_daemon *d, uint32_t tok, unsigned name)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    unsigned have = 0;
    if (!t->granted || t->given_up || t->broken || t->resumed || t->parent != 0 || t->down_asked ||
        t->shared || oracle_key(w, tok) != tok || t->set_us == 0 || t->set_us > w->now_us - STEADY_US)
        return false;
    for (unsigned i = d->first; i < d->masters; i++) {
        const struct sim_master *m = &w->master[i];
        have += is_steady(w, m) && t->at[i].healed_us < w->now_us - STEADY_US && (t->yes & oracle_bit(i)) &&
                store_keeps_ms(master_key(m, name), clock_ms(&m->clock, w->now_us), tok) != 0;
    }
    return have >= d->quorum;
}

void oracle_watch_told(struct sim_world *w, const struct sim_daemon *d, uint32_t session, unsigned name,
                       const struct now *now)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_watch *watch = &o->session[session].watch;
    trace_add(w, TRACE_NOTICE, d->index, session, NOTICE_NOW, now->state, 0, now->fence, name);
    if (watch->name != 1 + name)
        violation(w, 14, "d%u tells session %u of n%u, which it does not watch", d->index, session, name);
    if (now->data.len != 0 && now->fence < watch->fence)
        violation(w, 14, "d%u tells session %u fence %llu of n%u after %llu", d->index, session,
                  (unsigned long long)now->fence, name, (unsigned long long)watch->fence);
    for (unsigned i = 0; now->state == NOW_FREE && i < o->holders[name]; i++)
        if (is_held_long(w, d, o->holder[name][i], name))
            violation(w, 14, "d%u tells session %u that n%u is free, though T%u has it", d->index, session,
                      name, o->holder[name][i]);
    watch->known = true;
    watch->state = now->state;
    watch->told = now->data.len != 0 ? now->fence : 0;
    if (watch->told > watch->fence)
        watch->fence = watch->told;
}

/* Who has the name in truth: its state, and the fence that a quorum tells. */
static struct sim_truth truth_of(const struct sim_world *w, unsigned name)
{
    unsigned quorum = w->masters / 2 + 1;
    struct sim_truth truth = {.state = NOW_FREE};
    for (unsigned i = 0; i < w->masters; i++) {
        unsigned same = 0, told = 0;
        const struct store_key *key = master_key(&w->master[i], name);
        const struct store_told *what = NULL;
        for (unsigned k = 0; k < w->masters && key->readers == 0; k++) {
            const struct sim_master *m = &w->master[k];
            int64_t now_ms = clock_ms(&m->clock, w->now_us);
            const struct store_key *other = master_key(m, name);
            if (!store_there(key, clock_ms(&w->master[i].clock, w->now_us)) || !store_there(other, now_ms) ||
                other->readers != 0 || other->tok != key->tok)
                continue;
            same++;
            told += store_told(&m->store, now_ms, name) != NULL;
            what = store_told(&m->store, now_ms, name) != NULL ? store_told(&m->store, now_ms, name) : what;
        }
        if (same < quorum)
            continue;
        truth.state = NOW_HELD;
        truth.tok = key->tok;
        truth.fence = what != NULL && told >= quorum ? what->fence : 0;
        truth.unsure = told < quorum && token_tells(&w->oracle.tok[key->tok].token);
        return truth;
    }
    for (unsigned i = 0; i < w->masters; i++)
        truth.unsure |=
            store_there(master_key(&w->master[i], name), clock_ms(&w->master[i].clock, w->now_us));
    return truth;
}

/* Between two looks at the truth a lock may come and go. */
void oracle_watch_ran(struct sim_world *w, const struct sim_msg *msg)
{
    switch (msg->verb) {
    case COMMAND_SET:
    case COMMAND_HEAL:
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
    case COMMAND_RELEASE:
    case COMMAND_MOVE:
    case COMMAND_SETTLE:
    case COMMAND_DOWN:
    case COMMAND_ADOPT: break;
    default: return;
    }
    FOR_NAMES(n, msg->name)
    {
        if (n < SIM_NAMES)
            w->oracle.truth[n].since_us = w->now_us;
    }
}

static int64_t bound_us(const struct sim_world *w)
{
    const int64_t *p = w->plan->param;
    return WITHIN_US + 4 * (p[P_DELAY] + p[P_JITTER]) + 2 * p[P_TAIL] + 2 * p[P_NODE_TIMEOUT] * 1000;
}

/* All is well: whoever watches knows the present state soon. */
void oracle_watchers(struct sim_world *w)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned name = 0; name < w->names; name++) {
        struct sim_truth truth = truth_of(w, name), *was = &o->truth[name];
        bool same =
            truth.state == was->state && truth.tok == was->tok && truth.fence == was->fence && !truth.unsure;
        truth.since_us = same ? was->since_us : w->now_us;
        *was = truth;
    }
    for (uint32_t i = 1; i < o->sessions; i++) {
        const struct sim_session *s = &o->session[i];
        const struct sim_watch *watch = &s->watch;
        if (watch->name == 0 || !watch->known || s->state != SESSION_OPEN || s->client_gone)
            continue;
        const struct sim_truth *truth = &o->truth[watch->name - 1];
        const struct sim_daemon *d = &w->daemon[s->daemon];
        if (w->now_us - truth->since_us < bound_us(w) || !d->running || w->now_us <= d->paused_until_us)
            continue;
        if (watch->state != truth->state || watch->told != truth->fence)
            violation(w, 14,
                      "session %u of d%u was told state %u, fence %llu of n%u, which has %u, %llu since %.3f",
                      i, s->daemon, watch->state, (unsigned long long)watch->told, watch->name - 1,
                      truth->state, (unsigned long long)truth->fence, (double)truth->since_us / 1e6);
    }
}
