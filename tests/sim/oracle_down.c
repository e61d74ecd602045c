/* Writers that become readers: invariants 1, 2, 3, 6, 7 and 8.
 *
 *     T, exclusive --its client asks: T is shared--> DOWN sent: R is on some masters --+LOCKED R--> R is the lock
 *
 * T and R belong to one holder, so they are of one family. As long as the client does not know R it holds by T; who
 * gives one of them up gives both up. Keys may have T, the secret token instead of it, or R. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

uint32_t oracle_other(const struct sim_world *w, uint32_t tok)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    return t->down_of != 0 ? t->down_of : t->down_to;
}

/* The daemon has no record any more of a lock that was made a reader's: of an old token it knows only that. */
bool oracle_is_forgotten(const struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    const struct sim_tok *t = &w->oracle.tok[tok], *r = &w->oracle.tok[t->down_to];
    int64_t told_ms = r->told_ms > t->told_ms ? r->told_ms : t->told_ms;
    bool bound =
        w->oracle.session[t->session].state == SESSION_OPEN; /* nobody is told of others that are lost */
    return t->down_to != 0 && (t->forgotten || !bound || clock_ms(&d->clock, w->now_us) >= told_ms);
}

/* From the moment on at which its client asks, the lock is shared for it, whatever it is told. */
void oracle_down_asked(struct sim_world *w, uint32_t tok)
{
    w->oracle.tok[tok].down_asked = w->oracle.tok[tok].shared = true;
}

static void down_link(struct sim_world *w, const struct sim_daemon *d, uint32_t from, uint32_t to)
{
    struct sim_tok *t = &w->oracle.tok[from], *r = &w->oracle.tok[to];
    r->down_of = from;
    t->down_to = to;
    r->root = oracle_family(w, from);
    r->secret = oracle_key(w, from);
    r->daemon = (uint8_t)d->index;
    r->incarnation = d->incarnation;
    r->shared = true;
    r->session = t->session;
    r->request = t->request;
    r->fence = t->fence;
    r->told_ms = t->told_ms;
    r->ends_ms = t->ends_ms;
    r->given_up = t->given_up;
    r->renewed_us = t->renewed_us;
    r->thin = t->thin;
    r->outlived = t->outlived;
    r->excused = t->excused;
}

/* A heal may set the reader's token before any DOWN was sent: as long as no master may vote, only an EXTEND from before
 * the downgrade is under way, and its answers still come. */
void oracle_heals_down(struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    const struct sim_tok *r = &w->oracle.tok[tok];
    if (r->sent != 0 || r->granted || r->down_of != 0)
        return;
    for (uint32_t i = w->oracle.toks - 1; i > 0; i--) {
        const struct sim_tok *t = &w->oracle.tok[i];
        if (!t->down_asked || t->down_to != 0 || t->released || t->name != r->name || !oracle_is_ours(t, d))
            continue;
        down_link(w, d, i, tok);
        return;
    }
}

void oracle_sends_down(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok)
{
    unsigned name = w->oracle.tok[tok].name;
    uint32_t from = oracle_tok(w, &action->u.command.other, name);
    uint32_t to = oracle_tok(w, &action->u.command.to, name);
    struct sim_tok *t = &w->oracle.tok[from], *r = &w->oracle.tok[to], *key = &w->oracle.tok[tok];
    if (!t->down_asked || !oracle_is_ours(t, d) || oracle_key(w, from) != tok)
        violation(w, 8, "d%u makes T%u of n%u, by T%u, a reader's, which its client did not ask for",
                  d->index, from, name, tok);
    if (t->released || key->released || r->released)
        violation(w, 7, "d%u makes T%u of n%u a reader's, which it has released", d->index, from, name);
    if ((t->down_to != 0 && t->down_to != to) || (r->down_of != 0 && r->down_of != from))
        violation(w, 6, "d%u replaces T%u by T%u, but before by T%u", d->index, from, to, t->down_to);
    if (r->down_of == 0 && to != from)
        down_link(w, d, from, to);
    key->settles = t->settles = true;
    if (to != from)
        key->told = t->told = to;
    oracle_sent(d, action, r);
}

static void down_told(struct sim_world *w, struct sim_daemon *d, const struct sim_asked *a,
                      const struct reply *reply)
{
    uint32_t to = oracle_tok(w, &reply->token, a->name);
    struct sim_tok *r = &w->oracle.tok[to];
    const struct sim_tok *t = &w->oracle.tok[a->tok];
    if (to == a->tok && !t->down_asked)
        return;
    if (r->down_of != a->tok)
        violation(w, 6, "d%u says that T%u is T%u as a reader, which it did not become", d->index, a->tok,
                  to);
    if (reply->fence != t->fence)
        violation(w, 3, "d%u tells a downgraded T%u another fence than before", d->index, a->tok);
    if (r->granted)
        return;
    r->granted = true;
    r->session_next = w->oracle.session[a->session].toks;
    w->oracle.session[a->session].toks = to;
    if (t->told_ms > r->told_ms)
        r->told_ms = t->told_ms;
}

/* +LOCKED to a LOCK with a token. */
void oracle_reentered(struct sim_world *w, struct sim_daemon *d, uint32_t request, const struct reply *reply)
{
    const struct sim_asked *a = &w->oracle.asked[request];
    const struct sim_tok *t = &w->oracle.tok[a->tok];
    bool refused = t->down_asked &&
                   t->down_to == 0; /* the daemon could not ask a master, and the lock stayed exclusive */
    if (a->up && !refused)
        violation(w, 1, "d%u takes T%u, which is a reader's, for a writer's", d->index, a->tok);
    if (a->down)
        down_told(w, d, a, reply);
}
