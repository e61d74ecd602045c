/* Names that readers have: what a sorted set on a master must be, and readers that share one key. Invariants 2, 7
 * and 8. */
#include "tests/sim/oracle.h"

#include "daemon/coordinator/base/token.h"
#include "tests/sim/sim.h"

static int64_t name_kept_ms(const struct sim_world *w, const struct sim_master *m, int64_t now_ms,
                            uint32_t tok, unsigned name)
{
    const struct store_key *key = master_key(m, name);
    int64_t kept_ms = 0;
    if (!store_there(key, now_ms))
        return 0;
    if (key->readers == 0)
        return oracle_keeps(w, key->tok, tok) ? key->expires_ms : 0;
    for (unsigned i = 0; i < key->readers; i++) {
        int64_t ends_ms = store_keeps_ms(key, now_ms, key->reader[i].tok);
        if (ends_ms > kept_ms && oracle_keeps(w, key->reader[i].tok, tok))
            kept_ms = ends_ms;
    }
    return kept_ms;
}

int64_t oracle_kept_ms(const struct sim_world *w, const struct sim_master *m, int64_t now_ms, uint32_t tok)
{
    int64_t least_ms = INT64_MAX;
    FOR_NAMES(n, w->oracle.tok[tok].name)
    {
        int64_t kept_ms = name_kept_ms(w, m, now_ms, tok, n);
        least_ms = kept_ms < least_ms ? kept_ms : least_ms;
    }
    return least_ms;
}

/* A command for one reader leaves the others as they are, and a set's TTL is that of its last reader. */
void oracle_ran_readers(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                        unsigned readers)
{
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    const struct store_key *key = master_key(m, msg->name), *before = &w->oracle.key_before;
    bool was_there = before->there && now_ms <= before->expires_ms;
    for (unsigned i = 0; was_there && i < readers; i++) {
        const struct store_reader *reader = &before->reader[i];
        if (reader->tok == msg->tok || reader->tok == msg->to || reader->ends_ms <= now_ms)
            continue;
        if (msg->verb == COMMAND_CUT)
            continue; /* see oracle_cut.c */
        if (store_keeps_ms(key, now_ms, reader->tok) < reader->ends_ms)
            violation(w, 8, "a command for T%u ends T%u's time as a reader of n%u on m%u", msg->tok,
                      reader->tok, msg->name, m->index);
    }
    int64_t last_ms = 0;
    for (unsigned i = 0; i < key->readers; i++)
        if (key->reader[i].ends_ms > last_ms)
            last_ms = key->reader[i].ends_ms;
    if (key->there && key->readers > 0 && key->expires_ms > last_ms)
        violation(w, 7, "n%u's key on m%u lives longer than its last reader", msg->name, m->index);
    oracle_covers(w, msg->name);
}

/* ---- readers without a key of their own ---- */

bool oracle_joined_by(const struct sim_world *w, uint32_t key, uint32_t tok)
{
    const struct sim_tok *k = &w->oracle.tok[key], *t = &w->oracle.tok[tok];
    return k->common && t->joined && k->name == t->name && k->daemon == t->daemon &&
           k->incarnation == t->incarnation;
}

static void relies_on(struct sim_tok *t, const struct sim_tok *s)
{
    t->joined = true;
    t->daemon = s->daemon;
    t->incarnation = s->incarnation;
    t->yes = s->yes;
    t->valid = s->valid;
    t->blind = s->blind;
    for (unsigned i = 0; i < SIM_MASTERS; i++)
        t->at[i].epoch = s->at[i].epoch;
}

/* A reader is granted a token that no master was sent: the daemon's last key that nobody was told stands for it. */
void oracle_joins(struct sim_world *w, struct sim_daemon *d, uint32_t tok, unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_tok *s = &o->tok[0];
    for (uint32_t i = o->toks - 1; i > 0 && s == &o->tok[0]; i--) {
        struct sim_tok *t = &o->tok[i];
        bool set = t->sent != 0 && t->parent == 0 && t->down_of == 0 && !t->released && !t->granted;
        bool has = (unsigned)__builtin_popcount(t->valid) >= d->quorum;
        if (set && has && t->name == name && oracle_is_ours(t, d) && token_is_shared(&t->token))
            s = t;
    }
    if (s == &o->tok[0])
        violation(w, 2, "d%u grants T%u of n%u to a reader, but has no key of it", d->index, tok, name);
    oracle_relies(w, d, tok, (uint32_t)(s - o->tok), s->common);
    s->common = s->shared = true;
    relies_on(&o->tok[tok], s);
    o->joined++;
}

/* RESUME of such a token changes no master. */
void oracle_joined_again(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t from)
{
    struct sim_tok *t = &w->oracle.tok[tok], *f = &w->oracle.tok[from];
    if (!oracle_is_ours(f, d))
        violation(w, 2, "d%u answers a RESUME of T%u, which joined another daemon's key", d->index, from);
    relies_on(t, f);
    t->broken = f->broken;
    t->excused |= f->broken;
    t->parent = from;
    t->root = oracle_family(w, from);
}
