/* UNLOCK keep=: names that are kept though nobody holds them.
 *
 *     T --move--> K --extended for as long as was asked--> +KEPT: nobody gets the name while N-Q+1 masters hold K
 *
 * A mark is excused by the master: one that forgot it, or whose clock was set, does not hold it any more, whatever its
 * daemon did for that. Where masters are only restarted, one after the other, its daemon must have set it again. */
#include "tests/sim/oracle.h"

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"
#include "tests/sim/sim.h"

enum { WOKEN_US = 1000000 };

/* The mark is made for the UNLOCK of this token that is not answered yet. */
static void kept_begins(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t of)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_tok *mark = &o->tok[tok];
    mark->kept_of = of;
    mark->daemon = (uint8_t)d->index;
    mark->incarnation = d->incarnation;
    for (uint32_t i = o->asks - 1; i > 0 && mark->keep_ms == 0; i--)
        if (o->asked[i].verb == VERB_UNLOCK && o->asked[i].tok == of && o->asked[i].keep_ms != 0 &&
            !o->asked[i].answered && o->asked[i].daemon == d->index && o->asked[i].mark == 0) {
            mark->keep_ms = o->asked[i].keep_ms;
            o->asked[i].mark = tok;
        }
    if (mark->keep_ms == 0)
        violation(w, 6, "d%u marks n%u in place of T%u, though nobody asked for that", d->index, mark->name,
                  of);
}

bool oracle_is_mark(const struct sim_world *w, uint32_t tok)
{
    return token_is_mark(&w->oracle.tok[tok].token);
}

void oracle_sends_keep(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t of = oracle_holder(w, tok), to = oracle_tok(w, &action->u.command.to, o->tok[tok].name);
    struct sim_tok *t = &o->tok[of], *mark = &o->tok[to];
    if (t->granted && !t->given_up)
        violation(w, 2, "d%u marks n%u in place of T%u, which nobody gave up", d->index, t->name, of);
    if (mark->kept_of == 0)
        kept_begins(w, d, to, of);
    oracle_sent(d, action, mark);
    if (oracle_is_ours(t, d))
        t->forgotten = true;
}

/* In one phase an answer that is lost could keep a name for long that nobody was told of. */
void oracle_extends_kept(struct sim_world *w, const struct sim_daemon *d, const struct action *action,
                         uint32_t tok)
{
    struct sim_tok *mark = &w->oracle.tok[tok];
    bool looks = action->u.command.number == 1;
    if (!looks && mark->kept_sent_us == 0)
        mark->kept_sent_us = w->now_us;
    if (!looks && (unsigned)__builtin_popcount(mark->yes) < d->quorum)
        violation(w, 7, "d%u extends mark T%u of n%u, which only %d masters have as far as it knows",
                  d->index, tok, mark->name, __builtin_popcount(mark->yes));
}

/* Since then the master has lost its memory, or its clock was wrong: keys end early there. */
static bool may_have_lost(const struct sim_master *m, int64_t since_us)
{
    bool clock = m->jumped_us >= since_us || m->drifts > 0 || m->drifted_us >= since_us || m->set_far;
    return m->lost_us >= since_us || m->held_us >= since_us || clock || m->restored;
}

/* Masters that have the mark for that long. */
static uint16_t to_the_end(const struct sim_world *w, uint32_t tok, int64_t left_ms)
{
    enum { CLOCKS_MS = 50 };
    uint16_t set = 0;
    for (unsigned i = 0; i < w->masters; i++) {
        const struct sim_master *m = &w->master[i];
        int64_t now_ms = clock_ms(&m->clock, w->now_us);
        int64_t ends_ms = store_keeps_ms(master_key(m, w->oracle.tok[tok].name), now_ms, tok);
        if (ends_ms - now_ms + CLOCKS_MS >= left_ms)
            set |= oracle_bit(i);
    }
    return set;
}

/* The master was sent the mark again, or for the first time, or is to have it for longer. A heal ends early where the
 * daemon does not know the master's clock well, or takes jumps of clocks for a stall of its own host. Nobody can be sure
 * of the name after that. */
void oracle_kept_healed(struct sim_world *w, const struct sim_master *m, uint32_t tok)
{
    struct sim_tok *mark = &w->oracle.tok[tok];
    if (mark->kept_us == 0 ||
        !(to_the_end(w, tok, (mark->kept_until_us - w->now_us) / 1000) & oracle_bit(m->index)))
        return;
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    int64_t left_ms = store_keeps_ms(master_key(m, mark->name), now_ms, tok) - now_ms;
    mark->kept_had |= oracle_bit(m->index);
    if (mark->kept_sure_us > w->now_us + (left_ms - 1) * 1000)
        mark->kept_sure_us = w->now_us + (left_ms - 1) * 1000;
}

void oracle_ran_kept(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    const struct sim_tok *mark = &w->oracle.tok[msg->tok];
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    int64_t left_ms = store_keeps_ms(master_key(m, msg->name), now_ms, msg->tok) - now_ms;
    bool right = mark->kept_us != 0 ? left_ms <= mark->keep_ms
                                    : left_ms == mark->keep_ms; /* once told: it is lengthened */
    if (msg->number != 1)
        oracle_kept_healed(w, m, msg->tok);
    if (mark->kept_us != 0 && may_have_lost(m, mark->kept_us))
        return; /* a clock that was set moves what is left */
    if (msg->number != 1 && !right)
        violation(w, 2, "n%u is to be kept for %lld ms, but mark T%u is extended to %lld ms on m%u",
                  mark->name, (long long)mark->keep_ms, msg->tok, (long long)left_ms, m->index);
}

static bool has_mark(const struct sim_world *w, unsigned master, uint32_t tok)
{
    const struct sim_master *m = &w->master[master];
    return store_keeps_ms(master_key(m, w->oracle.tok[tok].name), clock_ms(&m->clock, w->now_us), tok) != 0;
}

static unsigned have_mark(const struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint16_t *set)
{
    *set = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        if (has_mark(w, i, tok))
            *set |= oracle_bit(i);
    return (unsigned)__builtin_popcount(*set);
}

void oracle_kept(struct sim_world *w, const struct sim_daemon *d, const struct reply *reply,
                 const struct sim_asked *asked)
{
    struct sim_oracle *o = &w->oracle;
    uint32_t tok = asked->mark;
    unsigned name = asked->name;
    struct sim_tok *mark = &o->tok[tok];
    int64_t now_ms = clock_ms(&d->clock, w->now_us);
    unsigned lost = 0, have;
    have_mark(w, d, tok, &mark->kept_had);
    mark->kept_had &= to_the_end(w, tok, reply->until_ms - now_ms);
    have = (unsigned)__builtin_popcount(mark->kept_had);
    for (unsigned i = d->first; i < d->masters; i++)
        lost += may_have_lost(&w->master[i], w->now_us - 2 * w->plan->param[P_TAIL] - 10000000);
    if (mark->keep_ms == 0 || reply->until_ms > now_ms + mark->keep_ms)
        violation(w, 2, "d%u says that n%u is kept until %lld, longer than was asked", d->index, name,
                  (long long)reply->until_ms);
    bool stalled =
        w->now_us >= mark->kept_sent_us + mark->keep_ms * 1000; /* its clock stood still meanwhile */
    bool over = reply->until_ms <= now_ms || mark->broken || stalled;
    if (!over && have + lost < d->quorum)
        violation(w, 9, "d%u says that n%u is kept, but only %u masters have mark T%u", d->index, name, have,
                  tok);
    mark->kept_us = w->now_us;
    mark->kept_until_us = mark->kept_sure_us = clock_when(&d->clock, reply->until_ms * 1000);
    if (d->paused_until_us >= mark->kept_sent_us) /* its clock stood still since, and the masters' did not */
        mark->kept_sure_us = mark->kept_sent_us + mark->keep_ms * 1000;
    o->kept[name] = tok;
}

/* Where masters are only restarted one by one, a daemon that runs sets its marks again, if each restart leaves a quorum
 * that has them. */
static bool is_looked_after(const struct sim_world *w, const struct sim_tok *mark)
{
    const struct sim_daemon *d = &w->daemon[mark->daemon];
    bool spare = (unsigned)__builtin_popcount(mark->kept_had) > d->quorum;
    bool rolling = w->plan->param[P_CLASS] == CLASS_ROLLING && spare;
    return (rolling || generation_smooth(w)) && d->running && mark->incarnation == d->incarnation;
}

/* A daemon whose clock stood still since it asked tells a grant of keys that ended meanwhile. Its client hears of the
 * stall, and nobody but that client was told anything. */
static bool is_outdated(const struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    unsigned have = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        have += oracle_kept_ms(w, &w->master[i], clock_ms(&w->master[i].clock, w->now_us),
                               oracle_key(w, tok)) != 0;
    return have < d->quorum && d->paused_until_us + WOKEN_US >= w->now_us;
}

/* A lock of the name was granted, so the mark is over. */
void oracle_kept_granted(struct sim_world *w, const struct sim_daemon *d, unsigned name, uint32_t tok)
{
    uint32_t kept = w->oracle.kept[name];
    const struct sim_tok *mark = &w->oracle.tok[kept];
    unsigned left = 0, blocking = quorum_blocking(d->masters - d->first);
    if (w->oracle.tok[tok].broken || is_outdated(w, d, tok)) /* before its daemon heard that it has it */
        return;
    w->oracle.kept[name] = 0;
    if (kept == 0 || mark->broken || w->now_us >= mark->kept_until_us || w->now_us >= mark->kept_sure_us)
        return;
    for (unsigned i = d->first; i < d->masters; i++) {
        bool had = (mark->kept_had & oracle_bit(i)) != 0 && !may_have_lost(&w->master[i], mark->kept_us);
        left += had || is_looked_after(w, mark);
    }
    if (left >= blocking)
        violation(w, 2, "n%u is granted to T%u, though it is kept by T%u until %.6f", name, tok, kept,
                  (double)mark->kept_until_us / 1e6);
}

void oracle_heals_kept(struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    const struct sim_tok *mark = &w->oracle.tok[tok];
    if (!oracle_is_ours(mark, d) || mark->kept_us == 0)
        violation(w, 7, "d%u heals mark T%u of n%u, which it did not tell", d->index, tok, mark->name);
    if (mark->released)
        violation(w, 7, "d%u heals mark T%u of n%u, which it released at %.6f", d->index, tok, mark->name,
                  (double)mark->released_us / 1e6);
}

/* A mark that was told, and that no lock followed, is released only where somebody else had deleted it. */
void oracle_drops_kept(struct sim_world *w, const struct sim_daemon *d, uint32_t tok)
{
    const struct sim_tok *mark = &w->oracle.tok[tok];
    unsigned lost = 0;
    uint16_t set;
    for (unsigned i = d->first; i < d->masters; i++)
        lost += may_have_lost(&w->master[i], mark->kept_us);
    if (mark->kept_us == 0 || w->oracle.kept[mark->name] != tok || mark->broken)
        return;
    if (lost >= quorum_blocking(d->masters - d->first)) { /* it looks as if somebody had released it there */
        w->oracle.kept[mark->name] = 0;
        return;
    }
    if (have_mark(w, d, tok, &set) >= quorum_blocking(d->masters - d->first) &&
        w->now_us < mark->kept_until_us)
        violation(w, 2, "d%u drops mark T%u of n%u, which keeps the name until %.6f", d->index, tok,
                  mark->name, (double)mark->kept_until_us / 1e6);
}

/* Some master has a mark of the name: whoever waits for it waits rightly. */
bool oracle_is_kept(const struct sim_world *w, unsigned name)
{
    for (unsigned i = 0; i < w->masters; i++) {
        const struct store_key *key = master_key(&w->master[i], name);
        if (store_there(key, clock_ms(&w->master[i].clock, w->now_us)) && key->readers == 0 &&
            oracle_is_mark(w, key->tok))
            return true;
    }
    return false;
}
