/* Healing, and which masters' "extended" count: invariants 2, 7 and 9. */
#include <assert.h>

#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

/* The greatest difference of two clocks in ms while a TTL lasts, and the greatest age of the TIME by
 * which a heal was sent. */
enum {
    HEAL_SLACK_US = 15000,
    HEAL_CLOCK_US = 4000000,
    AGAIN_US = 1500000 /* the next probe, and its answer */
};

/* The master acknowledged the key, remembers it as far as the daemon can know, and the key cannot have
 * run out: if the key is gone there, a client released it. After a restart of the master the daemon does not know that,
 * also where restart_guard is off, so that the master is not kept out; and where its doubt could not be written into the
 * marker, it doubts again. */
static bool has_acknowledged(const struct sim_world *w, const struct sim_daemon *d, unsigned master,
                             const struct sim_tok *t)
{
    const struct sim_tok_master *at = &t->at[master];
    const struct sim_master *m = &w->master[master];
    bool in_vain = at->acked_us < m->error_until_us + AGAIN_US;
    if (w->plan->param[P_UNGUARDED] != 0 && (at->acked_epoch != m->epoch || in_vain))
        return false;
    return at->acked_us != 0 && !at->acked_late && at->acked_lost_us == w->master[master].lost_us &&
           d->node[master].quarantined_us < at->acked_us && w->now_us < at->acked_ends_us - HEAL_SLACK_US;
}

/* The time until which its daemon can take the token for held: the deadline that it told, or the end of a TTL
 * that a master has acknowledged to it. */
static int64_t held_until_us(const struct sim_world *w, const struct sim_daemon *d, const struct sim_tok *t)
{
    const struct sim_tok *key = t->secret != 0 ? &w->oracle.tok[t->secret] : t;
    int64_t until_us = clock_when(&d->clock, t->told_ms * 1000);
    for (unsigned i = d->first; i < d->masters; i++) {
        if (key->at[i].acked_ends_us > until_us)
            until_us = key->at[i].acked_ends_us;
    }
    return until_us;
}

void oracle_sends_heal(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok)
{
    oracle_heals_down(w, d, tok);
    const struct sim_tok *t = &w->oracle.tok[oracle_holder(w, tok)];
    const struct sim_tok *key = &w->oracle.tok[oracle_key(w, tok)];
    if (w->oracle.tok[tok].settles)
        violation(w, 7, "d%u heals T%u of n%u, after it began to settle T%u", d->index, tok, t->name,
                  oracle_holder(w, tok));
    if (oracle_is_mark(w, tok))
        oracle_heals_kept(w, d, tok);
    if (!oracle_is_ours(t, d))
        violation(w, 7, "d%u heals T%u of n%u, which is not its lock", d->index, tok, t->name);
    if (t->released || t->forgotten)
        violation(w, 7, "d%u heals T%u of n%u, which it released at %.6f or said to be lost", d->index, tok,
                  t->name, (double)t->released_us / 1e6);
    if (t->told_ms != 0 && w->now_us >= held_until_us(w, d, t))
        violation(w, 7, "d%u heals T%u of n%u, whose time is over", d->index, tok, t->name);
    for (unsigned i = d->first; i < d->masters; i++) {
        if (action->masters & oracle_bit(i))
            w->oracle.tok[tok].at[i].healed_us = w->now_us;
        if ((action->masters & oracle_bit(i)) && has_acknowledged(w, d, i, key))
            violation(w, 7, "d%u heals T%u of n%u on m%u, which acknowledged it at %.6f", d->index, tok,
                      t->name, i, (double)key->at[i].acked_us / 1e6);
    }
}

/* A heal may be delayed in any way, but its key must not live beyond this time. */
void oracle_ran_heal(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote)
{
    const struct sim_tok *t = &w->oracle.tok[oracle_holder(w, msg->tok)];
    const struct sim_daemon *d = &w->daemon[t->daemon];
    if (vote->kind != VOTE_YES || msg->sent_us < m->jumped_us + HEAL_CLOCK_US || !t->granted)
        return;
    if (m->drifts > 0 || msg->sent_us < m->drifted_us + HEAL_CLOCK_US ||
        (d->stall.number > 0 && msg->sent_us < d->stall.ends_us + d->full_us))
        return; /* the heal's instant was right by clocks that were wrong: the key may stay a little longer */
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    int64_t ends_us =
        clock_when(&m->clock, store_keeps_ms(master_key(m, first_name(msg->name)), now_ms, msg->tok) * 1000);
    int64_t held_us = held_until_us(w, d, t);
    /* The daemon's clock and the master's may go apart until the lock's deadline. */
    int64_t apart_us = (held_us - w->now_us) / 1000000 * 2 * w->plan->param[P_PPM];
    if (ends_us > held_us + HEAL_SLACK_US + apart_us && ends_us > w->now_us)
        violation(w, 7, "m%u is healed of T%u's key of n%u until %.6f, but it is held until %.6f", m->index,
                  msg->tok, msg->name, (double)ends_us / 1e6, (double)held_us / 1e6);
}

static void acknowledge(struct sim_tok_master *at, const struct sim_msg *msg, int64_t now_us,
                        int64_t timeout_us, int64_t most_ms)
{
    bool ttl = msg->verb == COMMAND_SET || msg->verb == COMMAND_SHARE || msg->verb == COMMAND_EXTEND ||
               msg->verb == COMMAND_SETTLE || msg->verb == COMMAND_DOWN;
    bool longer = msg->vote.kind == VOTE_NUMBER &&
                  msg->vote.number > msg->number; /* the key had longer to live than was asked for */
    uint64_t ttl_ms = longer ? msg->vote.number : msg->number;
    if (longer && ttl_ms > (uint64_t)most_ms) /* somebody may cut it */
        ttl_ms = (uint64_t)most_ms;
    int64_t ends_us = ttl ? msg->sent_us + (int64_t)ttl_ms * 1000 : now_us;
    if (at->acked_lost_us != msg->lost_us || at->acked_ends_us < ends_us)
        at->acked_ends_us = ends_us;
    at->acked_us = now_us;
    at->acked_late = now_us - msg->sent_us >= timeout_us - 1000;
    at->acked_lost_us = msg->lost_us;
    at->acked_epoch = msg->epoch;
}

/* NULL: there is none of that number, or not any more. */
static struct sim_extending *extending_at(struct sim_oracle *o, const struct sim_daemon *d, unsigned number)
{
    bool there = number != 0 && number + ORACLE_EXTENDS > o->extendings[d->index];
    return there ? &o->extending[d->index][number % ORACLE_EXTENDS] : NULL;
}

static struct sim_extending *extending_of(struct sim_world *w, const struct sim_daemon *d,
                                          const struct sim_msg *msg)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_tok *t = &o->tok[msg->tok];
    struct sim_extending *e = extending_at(o, d, t->extending);
    while (e != NULL && e->ref != msg->ref)
        e = extending_at(o, d, e->before);
    assert(e == NULL || e->tok == msg->tok); /* a token has one daemon */
    if (e != NULL)
        return e;
    unsigned before = t->extending;
    t->extending = ++o->extendings[d->index];
    e = extending_at(o, d, t->extending);
    *e = (struct sim_extending){.ref = msg->ref, .tok = msg->tok, .before = before};
    return e;
}

static bool is_extend(const struct sim_msg *msg)
{
    return msg->verb == COMMAND_EXTEND || msg->verb == COMMAND_SETTLE || msg->verb == COMMAND_DOWN;
}

void oracle_heard_extend(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    unsigned master = w->conn[msg->conn].master;
    struct sim_tok *t = &w->oracle.tok[oracle_key(w, msg->tok)];
    struct sim_tok_master *at = &t->at[master];
    bool yes = msg->vote.kind == VOTE_YES || (is_extend(msg) && msg->vote.kind == VOTE_NUMBER);
    bool heals = msg->verb == COMMAND_HEAL || msg->verb == COMMAND_SHARE_AT;
    bool takes = msg->verb == COMMAND_SET || msg->verb == COMMAND_SHARE || is_extend(msg) || heals;
    if (!yes || !takes || !oracle_is_ours(t, d))
        return;
    acknowledge(at, msg, w->now_us, w->plan->param[P_NODE_TIMEOUT] * 1000, w->plan->param[P_MAX_TTL]);
    bool counted = at->counted_held_us == msg->held_us && at->counted_held_us != 0;
    if (oracle_may_vote(w, d, msg) || heals)
        at->counted_held_us = msg->held_us;
    if (heals)
        at->confirmed_lost_us = msg->lost_us;
    if (!is_extend(msg))
        return;
    struct sim_extending *e = extending_of(w, d, msg);
    e->yes |= oracle_bit(master);
    at->extended_lost_us = msg->lost_us;
    bool before =
        at->confirmed_lost_us != 0 && d->node[master].unaware; /* the yes came from the memory before */
    bool kept = msg->ran_us >=
                msg->held_us + d->full_us; /* only its clock is in doubt: keys that it has were never gone */
    bool confirmed = before || counted || kept || at->confirmed_lost_us == msg->lost_us;
    if (confirmed || oracle_may_vote(w, d, msg))
        e->counts |= oracle_bit(master);
    if (e->told) /* Q masters said so without this one */
        at->confirmed_lost_us = msg->lost_us;
}

/* The masters of a round in which Q said so count from the next round on, also those that did not count in it. */
static void confirm(const struct sim_daemon *d, struct sim_extending *e, struct sim_tok *t)
{
    e->told = true;
    for (unsigned i = d->first; i < d->masters; i++)
        if (e->yes & oracle_bit(i))
            t->at[i].confirmed_lost_us = t->at[i].extended_lost_us;
}

/* A round that lost a master meanwhile is decided in a step of its own. */
static void told_later(struct sim_world *w, const struct sim_daemon *d, uint32_t key)
{
    struct sim_tok *t = &w->oracle.tok[key];
    struct sim_extending *e = extending_at(&w->oracle, d, t->extending);
    if (e != NULL && __builtin_popcount(e->counts & ~oracle_differing(d)) >= (int)d->quorum)
        confirm(d, e, t);
}

/* Q masters that count must have said so. */
void oracle_told_extended(struct sim_world *w, struct sim_daemon *d, uint32_t tok)
{
    struct sim_tok *t = &w->oracle.tok[oracle_key(w, tok)];
    const struct sim_msg *heard = w->heard;
    if (heard == NULL && oracle_is_ours(t, d))
        told_later(w, d, oracle_key(w, tok));
    if (heard == NULL || !is_extend(heard) || heard->tok != oracle_key(w, tok) || !oracle_is_ours(t, d))
        return;
    struct sim_extending *e = extending_of(w, d, heard);
    unsigned count = (unsigned)__builtin_popcount(e->counts & ~oracle_differing(d));
    if (count < d->quorum)
        violation(w, 9, "d%u says that T%u of n%u is extended, but only %u masters that count said so",
                  d->index, tok, t->name, count);
    if (__builtin_popcount(oracle_fresh(w, d, e->yes)) < (int)d->quorum)
        violation(w, 9, "d%u says that T%u of n%u is extended, by masters that were not probed lately",
                  d->index, tok, t->name);
    confirm(d, e, t);
}
