/* Clients: each does one op of its plan after the other: think, lock, keep, end.
 *
 *     THINKING -> ASKING -> HOLDING -> ENDING -> THINKING ... DONE
 *                              \ <-> RESUMING (sim_resume.c)
 *
 * A client believes that it holds from the arrival of +LOCKED until it sends the release,
 * hears !LOST, or its clock shows the deadline that it was told. */
#include <string.h>

#include "tests/sim/sim.h"

const struct sim_record *client_op(const struct sim_world *w, const struct sim_client *c)
{
    return c->fresh ? &c->fresh_op : &w->plan->op[c->op - 1];
}

static void client_next(struct sim_world *w, struct sim_client *c);

void client_after(struct sim_world *w, struct sim_client *c, int64_t ms)
{
    c->timer++;
    queue_push(w, w->now_us + ms * 1000, ITEM_CLIENT, c->index, 0, c->timer);
}

/* ---- sessions ---- */

unsigned client_via(const struct sim_world *w, const struct sim_client *c)
{
    return (c->home + (unsigned)client_op(w, c)->field[O_VIA]) % w->daemons;
}

/* The client closes its end of a session: the daemon hears a FIN, or a reset. */
void session_close(struct sim_world *w, struct sim_client *c, uint32_t session, enum line_kind how)
{
    if (session == 0 || w->oracle.session[session].client_gone)
        return;
    w->oracle.session[session].client_gone = true;
    if (c->old == session)
        c->old = 0;
    for (uint32_t tok = w->oracle.session[session].toks; how == LINE_FIN && tok != 0;
         tok = w->oracle.tok[tok].session_next) {
        if (w->oracle.tok[tok].lease)
            continue;
        if (!w->oracle.tok[tok].moved)
            oracle_gives_up(w, c->index, tok);
        else /* the answer to its RESUME may never have come: the client gives back what it knows of */
            oracle_hears_lost(w, c->index, tok);
    }
    message_send(w, session, UP, message_new(w, how, session, 0));
}

static void client_close(struct sim_world *w, struct sim_client *c, unsigned daemon, enum line_kind how)
{
    uint32_t session = c->session[daemon];
    c->session[daemon] = 0;
    session_close(w, c, session, how);
}

static unsigned client_name(const struct sim_world *w, const struct sim_client *c)
{
    const int64_t *op = client_op(w, c)->field;
    return op[O_NAMES] != 0 ? SIM_LIST | (unsigned)op[O_NAMES] : (unsigned)op[O_NAME];
}

uint32_t client_ask(struct sim_world *w, struct sim_client *c, unsigned daemon, const struct request *what,
                    uint32_t target, uint32_t tok)
{
    if (!w->daemon[daemon].running)
        return 0; /* connection refused */
    if (c->session[daemon] == 0)
        c->session[daemon] = session_new(w, c->index, daemon);
    uint32_t session = c->session[daemon];
    uint32_t request =
        asked_new(w, session, what->verb, what->name.len != 0 ? name_index(&what->name) : client_name(w, c));
    struct sim_asked *asked = &w->oracle.asked[request];
    asked->wait_ms = what->wait_ms;
    asked->max_ms = what->max_ms;
    asked->keep_ms = what->keep_ms;
    asked->tok = tok;
    asked->slots = what->slots;
    asked->reentry = what->verb == VERB_LOCK && what->has_token;
    asked->down = asked->reentry && down_is_asked(w, tok, what);
    asked->up = asked->reentry && !what->shared && w->oracle.tok[tok].shared;
    asked->lease = what->verb == VERB_LOCK && what->hold == HOLD_LEASE;
    asked->shared = what->shared;
    asked->from = what->verb == VERB_RESUME ? tok : 0;
    asked->tells = what->verb == VERB_LOCK && what->data.len != 0;
    uint32_t index = message_new(w, LINE_REQUEST, session, request);
    struct sim_message *message = message_at(w, index);
    message->target = target;
    message->what = *what;
    oracle_tells(&message->what, request);
    message_send(w, session, UP, index);
    return request;
}

void client_words_of(const struct sim_world *w, struct request *what, enum verb verb, unsigned name,
                     uint32_t tok)
{
    *what = (struct request){.verb = verb, .ttl_ms = -1, .max_ms = -1};
    char *text = what->name.text;
    FOR_NAMES(n, name)
    {
        if (text != what->name.text)
            *text++ = ',';
        *text++ = 'n';
        *text++ = (char)('0' + n);
    }
    what->name.len = (size_t)(text - what->name.text) & 0x7ff;
    what->name.more = what->name.len / 3u & 0xf;
    if (tok != 0) {
        what->has_token = true;
        what->token = w->oracle.tok[tok].token;
    }
}

void client_words(const struct sim_world *w, const struct sim_client *c, struct request *what, enum verb verb,
                  uint32_t tok)
{
    client_words_of(w, what, verb, client_name(w, c), tok);
}

/* ---- an op ---- */

void client_start(struct sim_world *w, struct sim_client *c)
{
    const struct sim_record *plan = &w->plan->client[c->index];
    c->home = (unsigned)plan->field[C_DAEMON] % w->daemons;
    c->remote = plan->field[C_REMOTE] != 0;
    c->paused_until_us = -1;
    client_next(w, c);
}

static int64_t client_sync_ms(const struct sim_world *w, const int64_t *op)
{
    int64_t at_ms = w->now_us / 1000 + op[O_THINK];
    return at_ms + op[O_SYNC] - at_ms % op[O_SYNC] - w->now_us / 1000;
}

static void client_next(struct sim_world *w, struct sim_client *c)
{
    session_close(w, c, c->old, LINE_FIN);
    c->tok = 0;
    c->request = c->second = 0;
    c->acts = c->resumes = c->tries = 0;
    c->at = c->home;
    c->timer++;
    c->state = CLIENT_DONE;
    if (c->fresh) {
        if (++c->fresh_op.field[O_NAME] >= (int64_t)w->names)
            return;
    } else {
        do {
            c->op++;
            if (c->op > w->plan->ops || w->healing) {
                client_leave(w, c);
                return;
            }
        } while (client_op(w, c)->field[O_CLIENT] != (int64_t)c->index);
    }
    c->state = CLIENT_THINKING;
    client_after(w, c, client_op(w, c)->field[O_THINK]);
    if (client_op(w, c)->field[O_SYNC] > 0) /* at the next multiple of so many ms, together with all others */
        client_after(w, c, client_sync_ms(w, client_op(w, c)->field));
}

/* The second phase: the client asks for each name once, and must be granted each. */
void client_fresh(struct sim_world *w, struct sim_client *c)
{
    c->fresh = true;
    c->fresh_op = (struct sim_record){.field = {[O_NAME] = -1,
                                                [O_DATA] = c->index % 2,
                                                [O_WATCH] = 1,
                                                [O_TTL] = w->plan->param[P_MAX_TTL],
                                                [O_WAIT] = 60000,
                                                [O_MAX] = -1,
                                                [O_KEEP] = 2,
                                                [O_GIVE_UP] = -1}};
    client_next(w, c);
}

void client_leave(struct sim_world *w, struct sim_client *c)
{
    for (unsigned i = 0; i < w->daemons; i++)
        client_close(w, c, i, LINE_FIN);
}

/* Some clients are mistaken about the number of slots. */
static unsigned op_slots(const struct sim_world *w, const struct sim_record *op, unsigned name)
{
    unsigned slots = name_slots(w, name), off = (unsigned)op->field[O_SLOTS_OFF];
    return slots == 0 ? 0 : 1 + (slots - 1 + off) % SIM_SLOTS;
}

/* One name for each session, and no list or name with slots. */
static void client_watches(struct sim_world *w, struct sim_client *c)
{
    unsigned name = client_name(w, c);
    struct request what;
    if (client_op(w, c)->field[O_WATCH] == 0 || name & SIM_LIST || name_slots(w, name) != 0 ||
        !w->daemon[c->home].running)
        return;
    if (c->session[c->home] != 0 && w->oracle.session[c->session[c->home]].watch.name != 0)
        return;
    client_words(w, c, &what, VERB_WATCH, 0);
    if (client_ask(w, c, c->home, &what, 0, 0) != 0)
        w->oracle.session[c->session[c->home]].watch.name = 1 + name;
}

static void client_lock(struct sim_world *w, struct sim_client *c)
{
    client_watches(w, c);
    const struct sim_record *op = client_op(w, c);
    struct request what;
    client_words(w, c, &what, VERB_LOCK, 0);
    what.hold = op->field[O_LEASE] ? HOLD_LEASE : HOLD_SESSION;
    what.shared = op->field[O_SHARED] != 0 && op->field[O_NAMES] == 0;
    what.ttl_ms = op->field[O_TTL];
    if (what.ttl_ms > w->daemon[c->home].max_ttl_ms)
        what.ttl_ms = w->daemon[c->home].max_ttl_ms;
    what.wait_ms = op->field[O_WAIT];
    what.max_ms = what.hold == HOLD_SESSION ? op->field[O_MAX] : -1;
    what.slots = (uint16_t)op_slots(w, op, client_name(w, c));
    what.shared = what.shared && what.slots == 0;
    bool alone = !what.shared && what.slots == 0 && what.hold == HOLD_SESSION && what.name.more == 0;
    what.data.len = op->field[O_DATA] != 0 && alone;
    c->request = client_ask(w, c, c->home, &what, 0, 0);
    if (c->request == 0) {
        client_after(w, c, 50);
        return;
    }
    c->state = CLIENT_ASKING;
    c->timer++;
    beside_begin(w, c, BESIDE_AT_ONCE);
    if (op->field[O_GIVE_UP] < 0)
        return;
    if (op->field[O_HOW] == END_UNDELIVERED)
        w->oracle.asked[c->request].undelivered = true;
    else
        client_after(w, c, op->field[O_GIVE_UP]);
}

static void client_give_up(struct sim_world *w, struct sim_client *c)
{
    struct request what;
    switch ((enum op_end)client_op(w, c)->field[O_HOW]) {
    case END_CANCEL:
        client_words(w, c, &what, VERB_CANCEL, 0);
        what.name.len = 0;
        w->oracle.asked[c->request].cancelled = true;
        client_ask(w, c, c->home, &what, c->request, 0);
        return; /* the LOCK is answered either way */
    case END_RESET: client_close(w, c, c->home, LINE_RESET); break;
    default: client_close(w, c, c->home, LINE_FIN);
    }
    client_next(w, c);
}

static int64_t client_acts(const int64_t *op)
{
    return op[O_EXTENDS] + op[O_CHECKS] + op[O_REENTER] + op[O_RESUMES] + down_acts(op);
}

static int64_t client_spread_ms(const int64_t *op)
{
    return op[O_KEEP] / (client_acts(op) + 1);
}

/* The holder tells others something else. */
static void client_tells(struct sim_world *w, struct sim_client *c)
{
    struct request what;
    if (client_op(w, c)->field[O_DATA] < 2 || c->session[c->at] == 0)
        return;
    client_words(w, c, &what, VERB_DATA, 0);
    what.data.len = what.name.more == 0;
    client_ask(w, c, c->at, &what, 0, c->tok);
}

/* The acts of a holder are evenly spread over the time that it keeps the lock. */
static void client_act(struct sim_world *w, struct sim_client *c)
{
    const int64_t *op = client_op(w, c)->field;
    int64_t act = c->acts++;
    int64_t spread_ms = client_spread_ms(op);
    unsigned daemon = act % 2 == 1 ? client_via(w, c) : c->at;
    struct request what;
    if (down_is_now(op, act)) {
        down_ask(w, c);
        client_after(w, c, spread_ms);
        return;
    }
    act = down_without(op, act);
    if (act < op[O_EXTENDS]) {
        client_words(w, c, &what, VERB_EXTEND, c->tok);
        what.ttl_ms = op[O_EXTEND_TTL];
        client_ask(w, c, daemon, &what, 0, c->tok);
        client_tells(w, c);
    } else if (act < op[O_EXTENDS] + op[O_CHECKS]) {
        client_words(w, c, &what, VERB_CHECK, c->tok);
        client_ask(w, c, daemon, &what, 0, c->tok);
    } else if (act >= op[O_EXTENDS] + op[O_CHECKS] + op[O_REENTER]) {
        resume_begin(w, c);
        return;
    } else if (c->session[c->at] != 0) {
        client_words(w, c, &what, VERB_LOCK, c->tok);
        what.shared = w->oracle.tok[c->tok].shared && (down_acts(op) == 0 || act % 2 == 0);
        client_ask(w, c, c->at, &what, 0, c->tok);
    }
    client_after(w, c, spread_ms);
}

/* Whether the session of this reader's lock may have another of the name: then UNLOCK has to say which. */
static bool client_shares_more(const struct sim_world *w, uint32_t tok)
{
    const struct sim_tok *t = &w->oracle.tok[tok];
    uint32_t other = t->shared ? w->oracle.session[t->session].toks : 0;
    while (other != 0 && (other == tok || other == oracle_other(w, tok) ||
                          w->oracle.tok[other].name != t->name || w->oracle.tok[other].given_up))
        other = w->oracle.tok[other].session_next;
    return other != 0;
}

/* Whether the session may hold more than one slot of the name: without a token the daemon chooses. */
static bool client_has_more(const struct sim_world *w, const struct sim_client *c, uint32_t session)
{
    unsigned toks = 0, name = (unsigned)client_op(w, c)->field[O_NAME];
    if (name_slots(w, name) == 0)
        return false;
    for (uint32_t tok = w->oracle.session[session].toks; tok != 0; tok = w->oracle.tok[tok].session_next)
        toks += !w->oracle.tok[tok].moved && key_base(w->oracle.tok[tok].name) == name;
    return toks > 1;
}

/* For so long the name is to be kept; 0: not at all. Only a single exclusive lock can be kept, and not by a daemon of an
 * old version. */
static int64_t client_keeps_ms(const struct sim_world *w, const struct sim_client *c, unsigned daemon)
{
    const int64_t *op = client_op(w, c)->field;
    const struct sim_tok *t = &w->oracle.tok[c->tok];
    bool alone =
        op[O_NAMES] == 0 && name_slots(w, (unsigned)op[O_NAME]) == 0 && !t->shared && op[O_DOWN] == 0;
    return alone && !daemon_is_old(w, &w->daemon[daemon]) ? op[O_KEPT] : 0;
}

static void client_unlock(struct sim_world *w, struct sim_client *c, unsigned daemon, bool by_token)
{
    struct request what;
    bool bound = c->session[daemon] != 0 && w->oracle.tok[c->tok].session == c->session[daemon];
    by_token =
        by_token || !bound || client_shares_more(w, c->tok) || client_has_more(w, c, c->session[daemon]);
    by_token = by_token || (c->beside.session == c->session[daemon] && c->beside.name == client_name(w, c));
    client_words(w, c, &what, VERB_UNLOCK, by_token ? c->tok : 0);
    what.keep_ms = client_keeps_ms(w, c, daemon);
    oracle_gives_up(w, c->index, c->tok);
    c->request = client_ask(w, c, daemon, &what, 0, c->tok);
    c->state = CLIENT_ENDING;
    c->timer++;
    if (c->request == 0)
        client_after(w, c, 100); /* the client stops trying to give the lock back */
}

/* Releases on a connection of its own, as a program that only has the token does. */
static void client_unlock_beside(struct sim_world *w, struct sim_client *c)
{
    unsigned daemon = client_via(w, c);
    uint32_t before = c->session[daemon];
    c->session[daemon] = 0;
    client_unlock(w, c, daemon, true);
    uint32_t session = c->session[daemon];
    c->session[daemon] = before;
    if (session != 0) /* that connection asks nothing else */
        message_send(w, session, UP, message_new(w, LINE_FIN, session, 0));
}

/* The client's connection ends, with all session locks on it. */
static void client_hang_up(struct sim_world *w, struct sim_client *c, enum line_kind how, bool dies)
{
    bool session = w->oracle.tok[c->tok].session == c->session[c->at] && !w->oracle.tok[c->tok].lease;
    if (how == LINE_FIN && session && c->session[c->at] != 0)
        oracle_gives_up(w, c->index, c->tok);
    else if (dies)
        oracle_hears_lost(w, c->index, c->tok);
    client_close(w, c, c->at, how);
    client_next(w, c);
}

static void client_end(struct sim_world *w, struct sim_client *c)
{
    const int64_t *op = client_op(w, c)->field;
    /* Only its own daemon knows the token of a lock that was to become a reader's. */
    bool here = op[O_END] == END_UNLOCK_VIA && down_is_open(w, c->tok);
    switch (here ? END_UNLOCK_TOKEN : (enum op_end)op[O_END]) {
    case END_UNLOCK: client_unlock(w, c, c->at, false); return;
    case END_UNLOCK_TOKEN: client_unlock(w, c, c->at, true); return;
    case END_UNLOCK_VIA: client_unlock_beside(w, c); return;
    case END_FIN: client_hang_up(w, c, LINE_FIN, false); return;
    case END_CRASH: client_hang_up(w, c, LINE_FIN, true); return;
    case END_RESET: client_hang_up(w, c, LINE_RESET, false); return;
    default: client_next(w, c); /* a session lock stays with its session in any case */
    }
}

void client_timer(struct sim_world *w, struct sim_client *c)
{
    if (w->now_us <= c->paused_until_us) {
        queue_push(w, c->paused_until_us + 1, ITEM_CLIENT, c->index, 0, c->timer);
        return;
    }
    const int64_t *op = c->state == CLIENT_DONE ? NULL : client_op(w, c)->field;
    switch (c->state) {
    case CLIENT_THINKING: client_lock(w, c); return;
    case CLIENT_ASKING: client_give_up(w, c); return;
    case CLIENT_HOLDING:
        if (c->acts < client_acts(op))
            client_act(w, c);
        else if (beside_is_needed(w, c))
            client_after(w, c, 5);
        else
            client_end(w, c);
        return;
    case CLIENT_RESUMING: resume_timer(w, c); return;
    case CLIENT_ENDING: /* the client could not even ask: the end of its connection releases the lock */
        client_close(w, c, c->at, LINE_FIN);
        client_next(w, c);
        return;
    case CLIENT_DONE: return;
    }
}

/* ---- what it hears ---- */

int64_t client_deadline(const struct sim_world *w, uint32_t session, int64_t until_ms)
{
    const struct sim_session *s = &w->oracle.session[session];
    if (!s->remote)
        return clock_when(&w->daemon[s->daemon].clock, until_ms * 1000);
    /* On another machine the deadline counts from the time at which HELLO was sent, less 0.1 % of the
     * time since. */
    int64_t since_us = (until_ms - s->hello_now_ms) * 1000;
    const struct sim_client *c = &w->client[s->client];
    const struct sim_clock *clock = c->remote ? &c->clock : &w->daemon[c->home].clock;
    return clock_when(clock, s->hello_sent_us + since_us - since_us / 1000);
}

/* An until= that did not grow never moves a deadline later, however the clocks were measured since. */
void client_told(struct sim_world *w, struct sim_client *c, uint32_t session, uint32_t tok, int64_t until_ms)
{
    struct sim_tok *t = &w->oracle.tok[tok];
    bool same =
        t->until_us > w->now_us && t->believer == c->index && t->teller == w->oracle.session[session].daemon;
    if (same && until_ms <= t->heard_ms)
        return;
    t->heard_ms = until_ms;
    oracle_holds(w, c->index, session, tok, client_deadline(w, session, until_ms));
}

void client_lost(struct sim_world *w, struct sim_client *c)
{
    client_next(w, c);
}

void client_holds_on(struct sim_world *w, struct sim_client *c)
{
    c->state = CLIENT_HOLDING;
    client_after(w, c, client_spread_ms(client_op(w, c)->field));
}

static void client_locked(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    uint32_t tok = w->oracle.asked[message->request].tok;
    c->tok = tok;
    client_told(w, c, message->session, tok, message->reply.until_ms);
    client_holds_on(w, c);
    client_tells(w, c);
    beside_begin(w, c, BESIDE_WHILE_HELD);
}

static void client_unlocked(struct sim_world *w, struct sim_client *c, const struct reply *reply)
{
    if (reply->code == REPLY_UNLOCKED && reply->depth > 0) { /* the client had taken it more than once */
        client_unlock(w, c, c->at, false);
        return;
    }
    /* No other daemon knows the token of a lock that was just handed on. A client of a world in which nothing else is
     * wrong does not leave the lock behind. */
    bool beside = w->oracle.asked[c->request].daemon != c->at;
    bool calm = w->plan->param[P_CLASS] == CLASS_TURNS || w->plan->param[P_CALM] != 0;
    if (reply->code == REPLY_NOTHELD && beside && calm) {
        client_unlock(w, c, c->at, true);
        return;
    }
    if (reply->code != REPLY_UNLOCKED && reply->code != REPLY_KEPT && reply->code != REPLY_NOTHELD)
        client_close(w, c, c->at, LINE_FIN);
    client_next(w, c);
}

/* The masters keep for two max_ttl what a mistaken client said of a name's slots. */
static bool is_misled(const struct sim_world *w, const struct reply *reply)
{
    int64_t stands_us = 2 * w->plan->param[P_MAX_TTL] * 1000 + 2 * w->plan->param[P_TAIL] + w->jump_us;
    return reply->code == REPLY_MODE && w->misled_us != 0 && w->now_us - w->misled_us < stands_us;
}

static void client_reply(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    const struct sim_asked *asked = &w->oracle.asked[message->request];
    const struct reply *reply = &message->reply;
    bool mine = message->request == c->request;
    switch (asked->verb) {
    case VERB_LOCK:
        if (beside_reply(w, c, message))
            return;
        if (asked->down && reply->code == REPLY_LOCKED) {
            down_locked(w, c, message);
        } else if (asked->reentry && reply->code == REPLY_LOCKED) {
            client_told(w, c, message->session, asked->tok, reply->until_ms);
        } else if (mine && c->state == CLIENT_ASKING && reply->code == REPLY_LOCKED) {
            client_locked(w, c, message);
        } else if (mine && c->state == CLIENT_ASKING) {
            if (c->fresh && !is_misled(w, reply))
                violation(w, 5, "c%u: LOCK of n%u is refused (code %d) though all is well", c->index,
                          asked->name, reply->code);
            client_next(w, c);
        }
        return;
    case VERB_EXTEND:
    case VERB_CHECK:
        if (reply->code == REPLY_EXTENDED || reply->code == REPLY_HELD)
            client_told(w, c, message->session, asked->tok, reply->until_ms);
        return;
    case VERB_RESUME: resume_reply(w, c, message); return;
    case VERB_UNLOCK:
        if (mine && c->state == CLIENT_ENDING)
            client_unlocked(w, c, reply);
        return;
    default: return;
    }
}

enum { ROUND_TRIP_US = 1000 }; /* of a HELLO */

/* The client has measured its clock against the daemon's present clock. The answer to HELLO comes behind all
 * that was on its way to the client, and so behind the next !CLOCK. */
void client_hello(struct sim_world *w, uint32_t session)
{
    struct sim_session *s = &w->oracle.session[session];
    const struct sim_daemon *d = &w->daemon[s->daemon];
    const struct sim_client *c = &w->client[s->client];
    if (w->now_us <= c->paused_until_us) {
        queue_push(w, c->paused_until_us + ROUND_TRIP_US, ITEM_HELLO, 0, session, 0);
        return;
    }
    if (d->running && coordinator_behind_ms(d->core) != s->behind_ms)
        return;
    s->hello_sent_us = clock_us(c->remote ? &c->clock : &w->daemon[c->home].clock, w->now_us);
    s->hello_now_ms = clock_ms(&d->clock, w->now_us);
    oracle_measured(w, session);
}

static void client_hears_clock(struct sim_world *w, struct sim_client *c, uint32_t session, int64_t behind_ms)
{
    struct sim_session *s = &w->oracle.session[session];
    oracle_hears_behind(w, c->index, s->daemon, behind_ms - s->behind_ms);
    s->behind_ms = behind_ms;
    queue_push(w, w->now_us + ROUND_TRIP_US, ITEM_HELLO, 0, session, 0);
}

static void client_notice(struct sim_world *w, struct sim_client *c, const struct sim_message *message)
{
    const struct notice *notice = &message->notice;
    bool of_lock = notice->kind != NOTICE_DRAIN && notice->kind != NOTICE_CLOCK && notice->kind != NOTICE_NOW;
    uint32_t tok = !of_lock ? 0 : oracle_tok(w, &notice->token, 0);
    if (notice->kind == NOTICE_NOW)
        return;
    if (notice->kind == NOTICE_RENEWED)
        client_told(w, c, message->session, tok, notice->until_ms);
    if (notice->kind == NOTICE_CLOCK)
        client_hears_clock(w, c, message->session, notice->behind_ms);
    if (notice->kind != NOTICE_LOST)
        return;
    oracle_hears_lost(w, c->index, tok);
    beside_lost(c, tok);
    if (c->tok == tok && c->state == CLIENT_HOLDING)
        client_next(w, c);
}

/* A session is over, whoever closed it: the client waits for nothing on it any more. */
void client_closed(struct sim_world *w, struct sim_client *c, uint32_t session)
{
    if (c->old == session)
        c->old = 0;
    for (unsigned i = 0; i < w->daemons; i++) {
        if (c->session[i] == session)
            c->session[i] = 0;
    }
    if ((c->state == CLIENT_ASKING || c->state == CLIENT_ENDING) && c->request != 0 &&
        w->oracle.asked[c->request].session == session) {
        if (c->fresh)
            violation(w, 6, "c%u: its session %u was closed though all is well", c->index, session);
        if (c->state == CLIENT_ENDING)
            client_close(w, c, c->at, LINE_FIN); /* its release was not answered */
        client_next(w, c);
    }
    resume_closed(w, c, session);
    /* The client's daemon is gone: a client that changes daemons goes to another one. */
    if (c->state == CLIENT_HOLDING && w->oracle.tok[c->tok].session == session &&
        client_op(w, c)->field[O_RESUMES] > 0 && !w->oracle.tok[c->tok].given_up) {
        c->acts = (unsigned)(client_acts(client_op(w, c)->field) - client_op(w, c)->field[O_RESUMES]);
        client_after(w, c, chance_below(w->seed, c->index, (uint64_t)w->now_us, CHANCE_CLIENT, 60));
    }
}

void client_tell(struct sim_world *w, uint32_t index)
{
    const struct sim_message *message = message_at(w, index);
    struct sim_session *s = &w->oracle.session[message->session];
    struct sim_client *c = &w->client[s->client];
    if (s->client_gone)
        return;
    if (message->kind == TELL_REPLY)
        client_reply(w, c, message);
    else if (message->kind == TELL_NOTICE)
        client_notice(w, c, message);
    else
        client_closed(w, c, message->session);
}
