/* Secret tokens, and locks that are handed on: invariants 2, 6, 7 and 13.
 *
 *     S is set; T1 is told --given back--> T2 is told --settle: S becomes T2--> the lock is as any other
 *
 * S is the token of the key, which nobody is told. The told tokens have a holder each, so that two of them
 * overlap as two locks do; S keeps the name for the one that was told last. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

uint32_t oracle_key(const struct sim_world *w, uint32_t tok)
{
    uint32_t secret = w->oracle.tok[tok].secret;
    return secret != 0 ? secret : tok;
}

uint32_t oracle_holder(const struct sim_world *w, uint32_t tok)
{
    uint32_t told = w->oracle.tok[tok].told != 0 ? w->oracle.tok[tok].told : tok;
    const struct sim_tok *t = &w->oracle.tok[told];
    return t->down_of != 0 && !t->granted ? t->down_of : told;
}

bool oracle_keeps(const struct sim_world *w, uint32_t key, uint32_t tok)
{
    uint32_t root = oracle_family(w, tok), secret = w->oracle.tok[root].secret;
    if (oracle_joined_by(w, key, tok))
        return true;
    return oracle_family(w, key) == root || (secret != 0 && secret == key);
}

/* The name is granted by a token that no master was sent: it is the daemon's last key that stands for it. */
void oracle_handed(struct sim_world *w, struct sim_daemon *d, uint32_t tok, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t secret = o->last_set[d->index][name];
    struct sim_tok *t = &o->tok[tok], *s = &o->tok[secret], *before = &o->tok[s->told];
    if (secret == 0 || !oracle_is_ours(s, d) || s->released)
        violation(w, 2, "d%u grants T%u of n%u, but has no key of it", d->index, tok, name);
    if (s->granted)
        violation(w, 6, "d%u hands T%u of n%u on, whose key has the token T%u that was told", d->index, tok,
                  name, secret);
    if (s->settles)
        violation(w, 2, "d%u hands T%u of n%u on, after T%u's settling began", d->index, tok, name, secret);
    if (s->told != 0 && !before->given_up)
        violation(w, 2, "d%u hands n%u on to T%u, though nobody gave T%u up", d->index, name, tok, s->told);
    o->handed += s->told != 0;
    oracle_relies(w, d, tok, secret, s->told != 0);
    t->secret = secret;
    t->daemon = s->daemon;
    t->incarnation = s->incarnation;
    t->yes = s->yes;
    t->valid = s->valid;
    t->blind = s->blind;
    for (unsigned i = d->first; i < d->masters; i++)
        t->at[i].epoch = s->at[i].epoch;
    before->forgotten = true;
    s->told = tok;
}

void oracle_sends_settle(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok)
{
    uint32_t to = oracle_tok(w, &action->u.command.to, w->oracle.tok[tok].name);
    struct sim_tok *s = &w->oracle.tok[tok], *t = &w->oracle.tok[to];
    if (s->told != to || !oracle_is_ours(s, d))
        violation(w, 8, "d%u settles T%u as T%u, which is not the token that was told for it", d->index, tok,
                  to);
    if (s->released)
        violation(w, 7, "d%u settles T%u of n%u, which it has released", d->index, to, t->name);
    s->settles = true;
    oracle_sent(d, action, t);
}

/* Q masters are said not to have the key, although Q have it, and have had it all the time: a heal may have set it
 * after the masters were asked. */
bool oracle_lost_wrongly(const struct sim_world *w, uint32_t tok)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    unsigned kept = 0;
    int64_t asked_us = 2000 * w->plan->param[P_NODE_TIMEOUT]; /* the question is not older */
    if (generation_class(w) || t->secret == 0 || t->resumed || t->given_up || t->parent != 0 ||
        w->oracle.tok[oracle_other(w, tok)].resumed)
        return false;
    for (unsigned i = 0; i < w->daemon[t->daemon].masters; i++) {
        const struct sim_master *m = &w->master[i];
        int64_t kept_ms = oracle_kept_ms(w, m, clock_ms(&m->clock, w->now_us), tok);
        bool healed = w->now_us - w->oracle.tok[t->secret].at[i].healed_us < asked_us;
        kept += kept_ms != 0 && !m->restored && !healed;
    }
    return kept >= w->daemon[t->daemon].quorum;
}
