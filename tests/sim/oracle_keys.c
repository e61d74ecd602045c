/* Commands of coordinators and their effect on masters: invariants 7, 8 and parts of 2 and 9. */
#include <assert.h>

#include "daemon/coordinator/base/token.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum { DRIFT_US = 10000 /* the daemon's clock and true time drift apart while a quarantine lasts */ };

bool oracle_is_ours(const struct sim_tok *t, const struct sim_daemon *d)
{
    return t->daemon == d->index && t->incarnation == d->incarnation;
}

/* ---- what a daemon sends ---- */

uint16_t oracle_sent(const struct sim_daemon *d, const struct action *action, struct sim_tok *t)
{
    uint16_t sent = 0;
    for (unsigned i = d->first; i < d->masters; i++) {
        if (!(action->masters & oracle_bit(i)) || d->node[i].conn == 0)
            continue;
        sent |= oracle_bit(i);
        t->at[i].conn = d->node[i].conn;
    }
    t->sent |= sent;
    return sent;
}

static void sends_set(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok)
{
    struct sim_tok *t = &w->oracle.tok[tok];
    t->daemon = (uint8_t)d->index;
    t->incarnation = d->incarnation;
    if (t->sent == 0) /* other masters may be asked a little later */
        t->set_us = w->now_us;
    oracle_busy_sent(w, d, tok);
    if (!(t->name & SIM_LIST))
        w->oracle.last_set[d->index][t->name] = tok;
    oracle_sent(d, action, t);
}

/* The key is deleted by a release or a set-back. Where its SET or MOVE went by a connection that is still
 * open, the key must be gone as soon as all commands that were sent by now have arrived. */
void oracle_gives_back(struct sim_world *w, struct sim_daemon *d, uint32_t tok)
{
    struct sim_tok *t = &w->oracle.tok[tok];
    if (!oracle_is_ours(t, d) || t->released)
        return;
    int64_t now_ms = clock_ms(&d->clock, w->now_us);
    bool room = w->plan->param[P_MAX_UNDO] > 1000; /* otherwise its undo list may overflow */
    const struct sim_tok *holder = &w->oracle.tok[oracle_holder(w, tok)];
    t->owed = room && (!holder->granted || (!holder->forgotten && now_ms < holder->told_ms));
    t->released = true;
    t->released_us = w->now_us;
    FOR_NAMES(n, t->name) w->oracle.given_us[d->index][n] = w->now_us;
    for (unsigned i = d->first; i < d->masters; i++) {
        if (!(t->sent & oracle_bit(i)) || d->node[i].conn != t->at[i].conn || !daemon_has_in_use(d, i))
            continue;
        struct sim_oracle *o = &w->oracle;
        assert(o->marks < ORACLE_MARKS);
        o->mark[o->marks].conn = d->node[i].conn - 1;
        o->mark[o->marks++].tok = tok;
    }
}

void oracle_send_marks(struct sim_world *w)
{
    struct sim_oracle *o = &w->oracle;
    for (unsigned i = 0; i < o->marks; i++) {
        struct sim_msg mark = {.kind = MSG_MARK, .number = MARK_RELEASED, .tok = o->mark[i].tok};
        if (w->conn[o->mark[i].conn].open_daemon)
            link_send(w, o->mark[i].conn, UP, &mark);
    }
    o->marks = 0;
}

static void sends_release(struct sim_world *w, struct sim_daemon *d, uint32_t tok, uint32_t other)
{
    const struct sim_tok *t = &w->oracle.tok[oracle_holder(w, tok)];
    const struct sim_tok *parent = &w->oracle.tok[t->parent];
    if (t->granted && !t->given_up && !t->moved)
        violation(w, 2, "d%u releases T%u of n%u, which was granted and which nobody gave up", d->index, tok,
                  t->name);
    if (t->parent != 0 && (!t->granted || t->undelivered) && !parent->given_up && !parent->moved)
        violation(w, 2, "d%u releases T%u, a RESUME's of T%u that failed: it is held still", d->index, tok,
                  t->parent);
    const struct sim_tok *key = &w->oracle.tok[tok];
    if (oracle_is_mark(w, tok))
        oracle_drops_kept(w, d, tok);
    if (key->settles && !oracle_is_forgotten(w, d, tok))
        other = key->told; /* the told token may be on a master, whether the command names it or not */
    oracle_gives_back(w, d, tok);
    if (other != 0)
        oracle_gives_back(w, d, other);
    /* These may be on a master, too. A RESUME leaves no record of them, nor does a loss that nobody is told of. */
    if (key->down_of != 0 && !key->forgotten && !oracle_is_forgotten(w, d, key->down_of)) {
        oracle_gives_back(w, d, key->down_of);
        oracle_gives_back(w, d, oracle_key(w, key->down_of));
    }
}

static void sends_zadd(struct sim_world *w, struct sim_daemon *d, const struct command *command,
                       unsigned name)
{
    struct sim_oracle *o = &w->oracle;
    unsigned at = o->fence_next[d->index]++ % ORACLE_FENCES;
    oracle_proposes(w, d, command->number);
    o->fence_number[d->index][at] = command->number;
    o->fences[d->index][at] = (struct sim_fence_acks){
        .bucket = command->bucket, .name = name, .sent_us = w->now_us, .number = command->number};
}

void oracle_send(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok,
                 unsigned name)
{
    const struct command *command = &action->u.command;
    uint32_t other = command->has_other ? oracle_tok(w, &command->other, w->oracle.tok[tok].name) : 0;
    switch (command_for_one(command->verb)) {
    case COMMAND_SHARE:
    case COMMAND_SET: sends_set(w, d, action, tok); return;
    case COMMAND_SETTLE: oracle_sends_settle(w, d, action, tok); return;
    case COMMAND_DOWN: oracle_sends_down(w, d, action, tok); return;
    case COMMAND_RELEASE: sends_release(w, d, tok, other); return;
    case COMMAND_ZADD: sends_zadd(w, d, &action->u.command, name); return;
    case COMMAND_LOOK:
        if (command->slots != name_slots(w, name))
            w->misled_us = w->now_us;
        return;
    case COMMAND_SHARE_AT:
    case COMMAND_HEAL: oracle_sends_heal(w, d, action, tok); return;
    case COMMAND_EXTEND:
        if (oracle_is_mark(w, tok))
            oracle_extends_kept(w, d, action, tok);
        return;
    case COMMAND_MOVE:
        if (token_is_mark(&command->to))
            oracle_sends_keep(w, d, action, tok);
        else
            oracle_sends_move(w, d, action, tok);
        return;
    default: return;
    }
}

/* ---- what a master does ---- */

/* A master without CLIENT KILL is to have no vote for a full quarantine after a connection was lost. */
static bool votes_early(const struct sim_world *w, const struct sim_daemon *d, const struct sim_master *m)
{
    const struct sim_node *node = &d->node[m->index];
    if (node->conn == 0 || daemon_master_state(d, m->index) != MASTER_UP)
        return false;
    return w->now_us < w->conn[node->conn - 1].born_us + d->full_us - DRIFT_US;
}

void oracle_runs(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg)
{
    const struct sim_conn *conn = &w->conn[msg->conn];
    const struct sim_daemon *d = &w->daemon[conn->daemon];
    const struct sim_node *node = &d->node[m->index];
    bool old = msg->verb >= COMMAND_SET && conn->incarnation == d->incarnation && d->running &&
               conn->number < node->settled_number;
    bool unkillable = master_is_unkillable(w, m);
    if (old && unkillable && votes_early(w, d, m))
        violation(
            w, 9,
            "m%u runs a command for T%u of d%u's old connection #%u, and votes for d%u less than a full "
            "quarantine after the new one was made",
            m->index, msg->tok, d->index, conn->number, d->index);
    if (old && !unkillable)
        violation(w, 7,
                  "m%u runs a command for T%u of d%u's old connection #%u after its new one #%u was in use",
                  m->index, msg->tok, d->index, conn->number, node->settled_number);
}

static void ran_release(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg, uint32_t before,
                        const struct vote *vote)
{
    struct sim_tok *t = &w->oracle.tok[msg->tok], *other = &w->oracle.tok[msg->other];
    bool blocked = vote->kind == VOTE_NOT_RUN || vote->kind == VOTE_ERROR;
    *(blocked ? &t->blocked : &t->ran) |= oracle_bit(m->index);
    *(blocked ? &other->blocked : &other->ran) |= oracle_bit(m->index);
    struct sim_tok *third = &w->oracle.tok[msg->third];
    *(blocked ? &third->blocked : &third->ran) |= oracle_bit(m->index);
    if (vote->kind != VOTE_YES && vote->kind != VOTE_HEARD && vote->kind != VOTE_UNHEARD)
        return;
    if (before != msg->tok && (msg->other == 0 || before != msg->other) &&
        (msg->third == 0 || before != msg->third))
        violation(w, 8, "a release of T%u deletes T%u's key of n%u on m%u", msg->tok, before, msg->name,
                  m->index);
    oracle_deleted(w, &w->oracle.tok[before]);
    oracle_covers_each(w, msg->name);
}

static void ran_extend(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg, uint32_t before,
                       const struct vote *vote)
{
    bool down = msg->verb == COMMAND_DOWN, settles = down || msg->verb == COMMAND_SETTLE;
    const struct sim_tok *t = &w->oracle.tok[settles ? msg->to : msg->tok];
    if (vote->kind != VOTE_NUMBER)
        return;
    if (before != 0 && before != msg->tok && (!settles || before != msg->to) &&
        (!down || before != msg->other))
        violation(w, 8, "an extend of T%u touches T%u's key of n%u on m%u", msg->tok, before, msg->name,
                  m->index);
    if (before == 0 && t->given_up)
        violation(w, 7, "an extend of T%u, which was given up, brings its key of n%u back on m%u", msg->tok,
                  msg->name, m->index);
    oracle_covers_each(w, msg->name);
}

/* Of several keys, the one whose token a command should not have found. */
static uint32_t odd_of(const struct sim_msg *msg, const uint32_t before[SIM_KEYS])
{
    uint32_t found = 0;
    FOR_NAMES(n, msg->name)
    {
        bool ours = before[n] == msg->tok;
        if (found == 0 || (before[n] != 0 && !ours))
            found = before[n];
    }
    return found;
}

/* A release of several keys deletes those that are its own. */
static uint32_t deleted_of(const struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                           const uint32_t before[SIM_KEYS])
{
    uint32_t found = msg->tok;
    FOR_NAMES(n, msg->name)
    {
        bool left = store_keeps_ms(master_key(m, n), clock_ms(&m->clock, w->now_us), before[n]) != 0;
        if (before[n] != 0 && !left && before[n] != msg->tok)
            found = before[n];
    }
    return found;
}

void oracle_ran(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg,
                const uint32_t befores[SIM_KEYS], struct vote *vote)
{
    bool deletes = (msg->name & SIM_LIST) && msg->verb == COMMAND_RELEASE;
    uint32_t before = deletes ? deleted_of(w, m, msg, befores) : odd_of(msg, befores);
    oracle_key_ends(w, m, msg, vote);
    if (msg->verb == COMMAND_ENQUEUE || (msg->verb == COMMAND_LOOK && msg->self != 0))
        oracle_joined(w, m, msg);
    if (msg->verb == COMMAND_RELEASE)
        ran_release(w, m, msg, before, vote);
    if (msg->verb == COMMAND_EXTEND || msg->verb == COMMAND_SETTLE || msg->verb == COMMAND_DOWN)
        ran_extend(w, m, msg, before, vote);
    oracle_ran_long(w, m, msg, vote);
    oracle_watch_ran(w, m, msg);
    if (msg->verb == COMMAND_DATA || msg->verb == COMMAND_ADOPT)
        oracle_ran_told(w, m, msg);
    if (msg->verb == COMMAND_MOVE)
        oracle_ran_move(w, m, msg, before, vote);
    if (msg->verb == COMMAND_HEAL || msg->verb == COMMAND_SHARE_AT)
        oracle_ran_heal(w, m, msg, vote);
    if (msg->verb == COMMAND_HEAL && vote->kind == VOTE_YES)
        oracle_kept_healed(w, m, msg->tok);
    bool group = msg->verb == COMMAND_GROUP_SET || msg->verb == COMMAND_GROUP_NEW;
    if (vote->kind == VOTE_YES)
        oracle_marker_ran(w, m, msg);
    if (group && vote->kind == VOTE_YES && w->conn[msg->conn].daemon != w->daemons - 1)
        w->others_wrote |= oracle_bit(m->index);
}

static void tok_settled(struct sim_world *w, const struct sim_master *m, const struct sim_daemon *d,
                        const struct sim_msg *msg, uint32_t tok, unsigned name)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    if (!oracle_is_ours(t, d) || !t->owed || t->released_us >= (int64_t)msg->ref ||
        (t->blocked & oracle_bit(m->index)))
        return;
    bool known_gone = (t->ran & oracle_bit(m->index)) || w->plan->param[P_CLASS] == CLASS_MEMORY;
    if (m->restored && known_gone)
        return; /* was deleted or missed once, and is back from an old snapshot: it runs out */
    if (t->broken || master_is_unkillable(w, m))
        return; /* is left of a broken list, or was set by a connection that was lost, behind its release: it runs out */
    if (m->set_back || w->plan->param[P_CLASS] == CLASS_CLOCK)
        return; /* runs out later than its daemon thinks; or the name was granted again */
    violation(w, 7, "m%u is in use by d%u again, but T%u's key of n%u is there, which was released at %.6f",
              m->index, d->index, tok, name, (double)t->released_us / 1e6);
}

/* The daemon's new connection is in use: no key that the daemon released before may be left. */
static void mark_settled(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg)
{
    const struct sim_conn *conn = &w->conn[msg->conn];
    struct sim_daemon *d = &w->daemon[conn->daemon];
    if (conn->incarnation != d->incarnation || !d->running)
        return;
    if (d->node[m->index].settled_number < conn->number)
        d->node[m->index].settled_number = conn->number;
    int64_t now_ms = clock_ms(&m->clock, w->now_us);
    for (unsigned name = 0; name < w->keys; name++) {
        const struct store_key *key = master_key(m, name);
        if (!store_there(key, now_ms))
            continue;
        if (key->readers == 0)
            tok_settled(w, m, d, msg, key->tok, name);
        for (unsigned i = 0; i < key->readers; i++)
            if (store_keeps_ms(key, now_ms, key->reader[i].tok) != 0)
                tok_settled(w, m, d, msg, key->reader[i].tok, name);
    }
}

void oracle_mark(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg)
{
    if (msg->number == MARK_SETTLED) {
        mark_settled(w, m, msg);
        return;
    }
    const struct sim_tok *t = &w->oracle.tok[msg->tok];
    bool left = false, whole = true;
    FOR_NAMES(n, t->name)
    {
        bool is_there = store_keeps_ms(master_key(m, n), clock_ms(&m->clock, w->now_us), msg->tok) != 0;
        left |= is_there;
        whole &= is_there;
    }
    /* A list is set back as a whole: not where the key of one name ended by itself since, as the others will. */
    if (left && !whole && t->parent != 0 && (!t->granted || t->undelivered))
        return;
    if (left && !t->broken && !(t->blocked & oracle_bit(m->index)))
        violation(w, 7,
                  "T%u's key of n%u is on m%u still, though all that d%u sent at its release has arrived",
                  msg->tok, t->name, m->index, t->daemon);
}

/* ---- what a daemon hears ---- */

static void heard_zadd(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    unsigned master = w->conn[msg->conn].master;
    for (unsigned i = 0; i < ORACLE_FENCES; i++) {
        struct sim_fence_acks *acks = &w->oracle.fences[d->index][i];
        if (w->oracle.fence_number[d->index][i] != msg->number || acks->bucket != msg->bucket)
            continue;
        acks->epoch[master] = msg->epoch;
        if (oracle_may_vote(w, d, msg))
            acks->valid |= oracle_bit(master);
        if (oracle_is_blind(w, d, msg))
            acks->blind |= oracle_bit(master);
    }
}

/* The token that a master's answer shows to be in its key; 0: none. The answer is that to the token's SET or
 * MOVE, or that to a GET. */
static uint32_t granted_by(struct sim_world *w, const struct sim_msg *msg)
{
    if (msg->verb == COMMAND_GET && msg->vote.kind == VOTE_TOKEN)
        return oracle_tok(w, &msg->vote.token, msg->name);
    if (msg->vote.kind != VOTE_YES)
        return 0;
    if (msg->verb == COMMAND_SET || msg->verb == COMMAND_SHARE)
        return msg->tok;
    return msg->verb == COMMAND_MOVE ? msg->to : 0;
}

void oracle_heard(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    unsigned master = w->conn[msg->conn].master;
    oracle_learns(w, d, msg);
    oracle_busy_heard(w, d, msg);
    bool stored = msg->vote.kind == VOTE_YES || msg->vote.kind == VOTE_NO || msg->vote.kind == VOTE_NUMBER;
    if (msg->verb == COMMAND_ZADD && stored)
        heard_zadd(w, d, msg);
    oracle_heard_extend(w, d, msg);
    oracle_heard_move(w, d, msg);
    uint32_t tok = granted_by(w, msg);
    struct sim_tok *t = &w->oracle.tok[tok];
    if (tok == 0 || !oracle_is_ours(t, d))
        return;
    t->yes |= oracle_bit(master);
    t->at[master].epoch = msg->epoch;
    if (oracle_may_vote(w, d, msg))
        t->valid |= oracle_bit(master);
    if (oracle_is_blind(w, d, msg))
        t->blind |= oracle_bit(master);
}
