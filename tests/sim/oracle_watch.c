/* WATCH: what watchers are told, invariant 14. A session watches one name at most. */
#include "daemon/coordinator/base/token.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"
#include "tests/sim/store_told.h"

enum { STEADY_US = 5000000, WITHIN_US = 1500000, STEPPED_US = 10000 };

static bool is_steady(const struct sim_world *w, const struct sim_master *m)
{
    return m->running && m->lost_us < w->now_us - STEADY_US && !m->set_back;
}

/* A quorum has had keys of the name for seconds, whoever's: one that is moved to another token is never gone. */
static bool is_taken_long(const struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    unsigned have = 0;
    if (w->now_us < d->paused_until_us + STEADY_US)
        return false; /* it may have read answers late */
    for (unsigned i = d->first; i < d->masters; i++) {
        const struct sim_master *m = &w->master[i];
        const struct sim_taken *taken = &w->oracle.taken[name][i];
        have += (d->voters & oracle_bit(i)) && is_steady(w, m) && taken->there &&
                taken->since_us < w->now_us - STEADY_US &&
                store_there(master_key(m, name), clock_ms(&m->clock, w->now_us));
    }
    return have >= d->quorum;
}

/* What is told now and what was told then, one master had both: it came back with older data after the request. */
static bool older_is_back(const struct sim_world *w, const struct sim_daemon *d, uint32_t text)
{
    for (unsigned i = d->first; i < d->masters; i++)
        if (w->master[i].restored && w->master[i].lost_us > w->oracle.asked[text].at_us)
            return true;
    return false;
}

/* Between a look and the telling the daemon may have come to another step, whose quorum is a larger one. */
static bool has_just_stepped(const struct sim_world *w, const struct sim_daemon *d)
{
    int64_t from_us = d->step_us > d->paused_until_us ? d->step_us : d->paused_until_us;
    return d->step_us != 0 && w->now_us < from_us + STEPPED_US;
}

/* The daemon tells what a quorum has had, word for word, with its fence, and of one fence nothing that an earlier request
 * wanted told; but a RESUME may raise the fence, and takes what the first master has. */
static void told_text(struct sim_world *w, const struct sim_daemon *d, const struct sim_watch *watch,
                      unsigned name, const struct now *now)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t text = oracle_teller(&now->data);
    if (text == 0 || text >= o->asks || o->asked[text].name != name) {
        violation(w, 14, "d%u tells of n%u what nobody wanted told", d->index, name);
        return;
    }
    const struct sim_asked *a = &o->asked[text];
    const struct sim_tok *t = &o->tok[a->tok];
    unsigned had = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        had += (a->had & oracle_bit(i)) != 0;
    if (t->granted && !t->resumed && t->fence != now->fence)
        violation(w, 14, "d%u tells fence %llu of n%u with what request %u wanted told", d->index,
                  (unsigned long long)now->fence, name, text);
    if (had < d->quorum && !has_just_stepped(w, d))
        violation(w, 14, "d%u tells of n%u what request %u wanted told, which %u masters have had", d->index,
                  name, text, had);
    if (text < watch->text && now->fence == watch->fence && !t->resumed && !older_is_back(w, d, watch->text))
        violation(w, 14, "d%u tells of n%u what request %u wanted told after that of request %u", d->index,
                  name, text, watch->text);
}

void oracle_watch_told(struct sim_world *w, const struct sim_daemon *d, uint32_t session, unsigned name,
                       const struct now *now)
{
    struct sim_watch *watch = &w->oracle.session[session].watch;
    trace_add(w, TRACE_NOTICE, d->index, session, NOTICE_NOW, now->state, 0, now->fence, name);
    if (watch->name != 1 + name)
        violation(w, 14, "d%u tells session %u of n%u, which it does not watch", d->index, session, name);
    if (now->data.len != 0 && now->fence < watch->fence && !older_is_back(w, d, watch->text))
        violation(w, 14, "d%u tells session %u fence %llu of n%u after %llu", d->index, session,
                  (unsigned long long)now->fence, name, (unsigned long long)watch->fence);
    if (now->data.len != 0)
        told_text(w, d, watch, name, now);
    if (now->state == NOW_FREE && is_taken_long(w, d, name))
        violation(w, 14, "d%u tells session %u that n%u is free, though a quorum has keys", d->index, session,
                  name);
    watch->known = true;
    watch->state = now->state;
    watch->told = now->data.len != 0 ? now->fence : 0;
    if (watch->told != 0)
        watch->text = oracle_teller(&now->data);
    if (watch->told > watch->fence)
        watch->fence = watch->told;
}

/* What the masters with that key tell of its holder: so many tell the same as this one. */
static unsigned tell_the_same(const struct sim_world *w, unsigned name, uint32_t tok,
                              const struct store_told *what)
{
    unsigned same = 0;
    for (unsigned i = 0; i < w->masters; i++) {
        const struct sim_master *m = &w->master[i];
        const struct store_told *told = store_told(&m->store, clock_ms(&m->clock, w->now_us), name);
        same += told != NULL && told->tok == tok && told->fence == what->fence && !master_lies(w, m) &&
                oracle_teller(&told->data) == oracle_teller(&what->data);
    }
    return same;
}

static void truth_told(const struct sim_world *w, unsigned name, struct sim_truth *truth)
{
    unsigned quorum = w->masters / 2 + 1;
    for (unsigned i = 0; i < w->masters && truth->fence == 0; i++) {
        const struct sim_master *m = &w->master[i];
        const struct store_told *told = store_told(&m->store, clock_ms(&m->clock, w->now_us), name);
        if (told == NULL || tell_the_same(w, name, truth->tok, told) < quorum)
            continue;
        truth->fence = told->fence;
        truth->text = oracle_teller(&told->data);
    }
    truth->unsure = truth->fence == 0 && token_tells(&w->oracle.tok[truth->tok].token);
}

/* Who has the name in truth: its state, and what a quorum tells. */
static struct sim_truth truth_of(const struct sim_world *w, unsigned name)
{
    unsigned quorum = w->masters / 2 + 1;
    struct sim_truth truth = {.state = NOW_FREE};
    for (unsigned i = 0; i < w->masters; i++) {
        unsigned same = 0;
        const struct store_key *key = master_key(&w->master[i], name);
        if (!store_there(key, clock_ms(&w->master[i].clock, w->now_us)))
            continue;
        truth.unsure = true;
        for (unsigned k = 0; k < w->masters && key->readers == 0; k++) {
            const struct sim_master *m = &w->master[k];
            const struct store_key *other = master_key(m, name);
            same += store_there(other, clock_ms(&m->clock, w->now_us)) && other->readers == 0 &&
                    other->tok == key->tok;
        }
        if (same < quorum)
            continue;
        truth.state = oracle_is_mark(w, key->tok) ? NOW_KEPT : NOW_HELD;
        truth.tok = key->tok;
        truth_told(w, name, &truth);
        return truth;
    }
    return truth;
}

/* Between two looks at the truth a lock may come and go. */
static bool may_change(unsigned verb)
{
    switch (verb) {
    case COMMAND_SET:
    case COMMAND_HEAL:
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
    case COMMAND_RELEASE:
    case COMMAND_MOVE:
    case COMMAND_SETTLE:
    case COMMAND_DOWN:
    case COMMAND_DATA:
    case COMMAND_ADOPT: return true;
    default: return false;
    }
}

/* A key that ended by itself since the master last ran a command for the name changed the truth then. */
static void taken_ends(struct sim_world *w, const struct sim_master *m, unsigned name)
{
    struct sim_taken *taken = &w->oracle.taken[name][m->index];
    struct sim_truth *truth = &w->oracle.truth[name];
    if (!taken->there || clock_ms(&m->clock, w->now_us) <= taken->expires_ms)
        return;
    int64_t ended_us = clock_when(&m->clock, taken->expires_ms * 1000);
    if (ended_us > truth->since_us)
        truth->since_us = ended_us < w->now_us ? ended_us : w->now_us;
    taken->there = false;
}

void oracle_watch_ran(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    FOR_NAMES(n, msg->name)
    {
        if (n >= SIM_NAMES)
            continue;
        struct sim_taken *taken = &w->oracle.taken[n][m->index];
        const struct store_key *key = master_key(m, n);
        taken_ends(w, m, n);
        if (!taken->there)
            taken->since_us = w->now_us;
        taken->there = store_there(key, now_ms);
        taken->expires_ms = key->expires_ms;
        if (may_change(msg->verb))
            w->oracle.truth[n].since_us = w->now_us;
    }
}

void oracle_watch_broke(struct sim_world *w, unsigned name)
{
    for (unsigned i = 0; name < SIM_NAMES && i < w->masters; i++)
        w->oracle.taken[name][i].there = false;
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
        bool same = truth.state == was->state && truth.tok == was->tok && truth.fence == was->fence &&
                    truth.text == was->text && !truth.unsure;
        for (unsigned i = 0; i < w->masters; i++)
            taken_ends(w, &w->master[i], name);
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
        bool text = watch->told == 0 || watch->text == truth->text;
        if (watch->state != truth->state || watch->told != truth->fence || !text)
            violation(
                w, 14,
                "session %u of d%u was told state %u, fence %llu, text %u of n%u, which has %u, %llu, %u "
                "since %.3f",
                i, s->daemon, watch->state, (unsigned long long)watch->told, watch->text, watch->name - 1,
                truth->state, (unsigned long long)truth->fence, truth->text, (double)truth->since_us / 1e6);
    }
}
