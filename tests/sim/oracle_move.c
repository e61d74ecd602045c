/* RESUME: invariants 2, 7, 8 and 9 of tokens that are moved, and set back.
 *
 *     T --move--> N --granted--> T has moved: N is the lock now
 *                  \--failed---> N is set back to T, on all masters that it was sent to
 *
 * All tokens of a family belong to one holder: any of their keys keeps other clients out. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

uint32_t oracle_family(const struct sim_world *w, uint32_t tok)
{
    uint32_t root = w->oracle.tok[tok].root;
    return root != 0 ? root : tok;
}

static void moves_on(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok,
                     uint32_t to)
{
    struct sim_tok *t = &w->oracle.tok[to];
    w->oracle.tok[tok].resumed = true;
    oracle_repeats(w, d, tok, to);
    if (t->granted || t->released || (t->parent != 0 && t->parent != tok))
        violation(w, 6, "d%u moves T%u to T%u, which is not new", d->index, tok, to);
    t->parent = tok;
    t->root = oracle_family(w, tok);
    t->daemon = (uint8_t)d->index;
    t->incarnation = d->incarnation;
    t->unmoved &= (uint16_t)~oracle_sent(d, action, t);
}

void oracle_sends_move(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok)
{
    uint32_t to = oracle_tok(w, &action->u.command.to, w->oracle.tok[tok].name);
    const struct sim_tok *t = &w->oracle.tok[tok];
    if (t->parent != to) {
        moves_on(w, d, action, tok, to);
        return;
    }
    if (t->granted && !t->given_up && !t->undelivered)
        violation(w, 2, "d%u sets T%u of n%u back, which was granted and which nobody gave up", d->index, tok,
                  t->name);
    oracle_gives_back(w, d, tok);
}

void oracle_ran_move(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg, uint32_t before,
                     const struct vote *vote)
{
    struct sim_tok *t = &w->oracle.tok[msg->tok];
    bool back = t->parent == msg->to;
    if (back && (vote->kind == VOTE_NOT_RUN || vote->kind == VOTE_ERROR))
        t->blocked |= oracle_bit(m->index);
    else if (back)
        t->ran |= oracle_bit(m->index);
    if (vote->kind != VOTE_YES)
        return;
    if (before != msg->tok && (msg->other == 0 || before != msg->other))
        violation(w, 8, "a move of T%u takes T%u's key of n%u on m%u", msg->tok, before, msg->name, m->index);
    if (back) /* the key may have been released meanwhile: it then stays for one TTL more */
        w->oracle.tok[msg->to].blocked |= oracle_bit(m->index);
    oracle_covers_each(w, msg->name);
}

/* A master that says that the new token is not there has nothing to set back. */
void oracle_heard_move(struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg)
{
    bool moves = msg->verb == COMMAND_MOVE;
    struct sim_tok *t = &w->oracle.tok[moves ? msg->to : msg->tok];
    bool gone = moves ? msg->vote.kind != VOTE_YES : msg->verb == COMMAND_EXTEND && msg->vote.kind == VOTE_NO;
    if (gone && t->parent != 0 && oracle_is_ours(t, d))
        t->unmoved |= oracle_bit(w->conn[msg->conn].master);
    if (moves && msg->vote.kind == VOTE_NO) /* what a server refuses natively is asked again by script */
        oracle_refused(w, d, msg->to);
}

void oracle_resumed(struct sim_world *w, struct sim_daemon *d, uint32_t request, const struct reply *reply)
{
    struct sim_oracle *o = &w->oracle;
    struct sim_asked *a = &o->asked[request];
    uint32_t tok = oracle_tok(w, &reply->token, a->name);
    struct sim_tok *from = &o->tok[a->from];
    if (from->joined && o->tok[tok].sent == 0)
        oracle_joined_again(w, d, tok, a->from);
    uint32_t parent = o->tok[tok].parent;
    if (tok == a->from || (parent != a->from && (parent == 0 || o->tok[parent].down_of != a->from)))
        violation(w, 6, "d%u answers a RESUME of T%u with T%u, which it was not moved to", d->index, a->from,
                  tok);
    if (o->tok[tok].released)
        violation(w, 2, "d%u grants T%u of n%u, which it has set back", d->index, tok, a->name);
    from->moved = true;
    if (oracle_other(w, a->from) != 0)
        o->tok[oracle_other(w, a->from)].moved = true;
    if (oracle_is_ours(from, d))
        from->forgotten = true;
}

/* Where nothing is wrong, the daemon that has the lock finds it on a quorum, by whichever token its key has. */
void oracle_resume_refused(struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                           const struct reply *reply)
{
    const struct sim_tok *t = &w->oracle.tok[w->oracle.asked[request].from];
    bool ours = oracle_is_ours(t, d) && t->granted && !t->shared && !t->forgotten;
    bool ended = t->given_up || t->moved || t->released || t->broken || t->undelivered;
    if (reply->code != REPLY_NOTHELD || w->plan->faults != 0 || !ours || ended)
        return;
    for (uint32_t i = 1; i < w->oracle.asks; i++) /* another RESUME may have it already */
        ended |= i != request && w->oracle.asked[i].verb == VERB_RESUME &&
                 w->oracle.asked[i].from == w->oracle.asked[request].from;
    if (!ended && clock_ms(&d->clock, w->now_us) < t->told_ms)
        violation(w, 2, "d%u says -NOTHELD to a RESUME of T%u of n%u, which it holds", d->index,
                  w->oracle.asked[request].from, t->name);
}

/* A RESUME of tok has failed: its moved keys must be on their way back by now, where there is a way. */
void oracle_orphans(struct sim_world *w, struct sim_daemon *d, uint32_t tok)
{
    const struct sim_oracle *o = &w->oracle;
    unsigned orphans = 0, asking = 0;
    uint32_t last = 0;
    for (uint32_t i = tok + 1; i < o->toks; i++) {
        const struct sim_tok *t = &o->tok[i];
        bool reachable = false;
        if (t->parent != tok || !oracle_is_ours(t, d) || t->granted || t->released)
            continue;
        for (unsigned m = d->first; m < d->masters; m++)
            reachable |= (t->sent & ~t->unmoved & oracle_bit(m)) != 0 && d->node[m].conn == t->at[m].conn &&
                         d->node[m].settled;
        orphans += reachable;
        last = i;
    }
    for (uint32_t i = 1; i < o->asks && orphans > 0; i++) {
        const struct sim_asked *a = &o->asked[i];
        bool of_it = a->from == tok || (a->from != 0 && a->from == o->tok[tok].down_of);
        asking += a->verb == VERB_RESUME && of_it && !a->answered && a->daemon == d->index &&
                  a->incarnation == d->incarnation;
    }
    if (orphans > asking)
        violation(w, 7, "a RESUME of T%u failed in d%u, but T%u is not set back", tok, d->index, last);
}
