/* The transport to masters, as daemon/node/ does it: it dials, logs in, loads scripts, and dials again with
 * jittered back-off. */
#include <string.h>

#include "proto/names.h"
#include "tests/sim/mutant.h"
#include "tests/sim/sim.h"

enum { DIAL_TIMEOUT_US = 1000000, BACKOFF_US = 50000, BACKOFF_MOST_US = 1000000 };

static void node_again(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct sim_node *node = &d->node[master];
    if (node->backoff_us == 0)
        node->backoff_us = BACKOFF_US;
    node->dials++;
    int64_t jitter_us =
        chance_below(w->seed, d->index * SIM_MASTERS + master, node->dials, CHANCE_BACKOFF, node->backoff_us);
    queue_push(w, w->now_us + node->backoff_us / 2 + jitter_us, ITEM_DIAL, d->index, master, node->dials);
    node->backoff_us = 2 * node->backoff_us < BACKOFF_MOST_US ? 2 * node->backoff_us : BACKOFF_MOST_US;
}

void node_start(struct sim_world *w, struct sim_daemon *d)
{
    memset(d->node, 0, sizeof(d->node));
    for (unsigned i = d->first; i < d->masters; i++) {
        const struct sim_master *m = &w->master[i];
        d->node[i].blind = m->unseen && master_young_us(m, d->full_us) > w->now_us;
        d->node[i].unaware = d->node[i].blind;
        d->node[i].from_us = LONG_BEFORE;
        d->node[i].quarantined_us = LONG_BEFORE;
        d->node[i].dials = d->incarnation * 100000;
        if (generation_class(w) && !(d->open >> i & 1))
            continue;
        node_dial(w, d, i);
        ear_dial(w, d, i);
    }
}

void node_open(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    node_dial(w, d, master);
    if (d->node[master].ear == 0)
        ear_dial(w, d, master);
}

void node_dial(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct sim_node *node = &d->node[master];
    if (!d->running || node->conn != 0 || (generation_class(w) && !(d->open >> master & 1)))
        return;
    uint32_t index;
    struct sim_conn *conn = conn_new(w, d->index, master, &index);
    conn->number = ++node->numbers;
    node->conn = index + 1;
    node->settled = false;
    struct sim_msg login = {.kind = MSG_LOGIN};
    link_send(w, index, UP, &login);
    queue_push(w, w->now_us + DIAL_TIMEOUT_US, ITEM_DIAL_TIMEOUT, 0, index, 0);
}

/* The daemon's end is gone: the coordinator is told, if it knew of the connection. */
static void node_down(struct sim_world *w, struct sim_daemon *d, unsigned master, bool tell)
{
    struct sim_node *node = &d->node[master];
    uint32_t index = node->conn - 1;
    bool known = w->conn[index].connected;
    link_close(w, index);
    node->conn = 0;
    node->settled = false;
    node_again(w, d, master);
    if (!known)
        return;
    const struct sim_conn *conn = &w->conn[index];
    trace_add(w, TRACE_LOST, d->index, master, conn->number, conn->client_id, 0, 0, 0);
    if (!tell)
        return;
    struct coordinator_event event = {
        .kind = EVENT_MASTER_LOST, .master = master, .connection = conn->number};
    daemon_step(w, d, &event);
}

void node_dial_timeout(struct sim_world *w, uint32_t index)
{
    struct sim_conn *conn = &w->conn[index];
    struct sim_daemon *d = &w->daemon[conn->daemon];
    if (!conn->open_daemon || conn->connected)
        return;
    if (w->now_us <= d->paused_until_us)
        queue_push(w, d->paused_until_us + 1, ITEM_DIAL_TIMEOUT, 0, index, 0);
    else
        node_down(w, d, conn->master, false);
}

void node_close(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    if (d->node[master].conn != 0)
        node_down(w, d, master, false);
}

void node_reset(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    if (d->node[master].conn != 0)
        node_down(w, d, master, true);
}

static bool has_token(enum command_verb verb)
{
    switch (verb) {
    case COMMAND_SET:
    case COMMAND_HEAL:
    case COMMAND_RELEASE:
    case COMMAND_EXTEND:
    case COMMAND_CHECK:
    case COMMAND_SETTLE:
    case COMMAND_DOWN:
    case COMMAND_SHARE:
    case COMMAND_SHARE_AT:
    case COMMAND_DATA:
    case COMMAND_ADOPT:
    case COMMAND_MOVE: return true;
    default: return false;
    }
}

/* Only the planted bug counts a heal's time from the moment at which it runs. */
static uint64_t heal_number(const struct sim_world *w, unsigned master, uint64_t number)
{
    int64_t left_ms = (int64_t)number - clock_ms(&w->master[master].clock, w->now_us);
    if (!mutant(MUTANT_HEAL_BY_PX))
        return number;
    return left_ms > 0 ? (uint64_t)left_ms : 1;
}

unsigned name_index(const struct name *name)
{
    unsigned names = SIM_LIST, base = name->len >= 2 ? (unsigned)(name->text[1] - '0') : 0;
    bool slot = name->len == 4 && name->text[2] == ',';
    if (name->more == 0)
        return slot ? key_of_slot(base, (unsigned)(name->text[3] - '0')) : base;
    for (unsigned at = 1; at < name->len; at += 3)
        names |= 1u << (name->text[at] - '0');
    return names;
}

unsigned name_slots(const struct sim_world *w, unsigned name)
{
    return plan_slots(w->plan, name);
}

void node_send(struct sim_world *w, struct sim_daemon *d, const struct action *action)
{
    const struct command *command = &action->u.command;
    enum command_verb native = command_is_native(command->verb) ? command->verb : 0;
    enum command_verb verb = command_for_one(command->verb); /* the name tells that it is for several */
    bool old = daemon_is_old(w, d), wakes = !old || verb != COMMAND_RELEASE;
    if (verb == COMMAND_LETTER && old)
        return;
    unsigned name = name_index(&command->name);
    uint32_t tok = has_token(verb) ? oracle_tok(w, &command->token, name) : 0;
    bool moves = verb == COMMAND_MOVE || verb == COMMAND_SETTLE || verb == COMMAND_DOWN;
    bool letter = verb == COMMAND_LETTER || verb == COMMAND_NEWS;
    bool marks = verb >= COMMAND_GROUP_SET && verb <= COMMAND_GROUP_NEW;
    struct sim_msg msg = {.kind = MSG_COMMAND,
                          .verb = (uint8_t)verb,
                          .native = (uint8_t)native,
                          .name = name,
                          .bucket = command->bucket,
                          .tok = tok,
                          .to = moves ? oracle_tok(w, &command->to, name) : 0,
                          .other = command->has_other ? oracle_tok(w, &command->other, name) : 0,
                          .third = command->has_third ? oracle_tok(w, &command->third, name) : 0,
                          .self = moves || !wakes ? 0 : store_id(letter ? &command->token : &command->to),
                          .waited_ms = command->waited_ms,
                          .stays = command->stays && wakes,
                          .shared = command->shared,
                          .slots = command->slots,
                          .most_ms = old ? 0 : command->most_ms,
                          .ref = command->ref,
                          .number = command->number,
                          .sent_us = w->now_us};
    trace_add(w, TRACE_SEND, d->index, action->masters, native != 0 ? native : verb, tok,
              marks ? (uint64_t)command->group.from_ms : command->number, msg.to, 0);
    for (unsigned i = d->first; i < d->masters; i++) {
        if (!(action->masters >> i & 1) || d->node[i].conn == 0 || !w->conn[d->node[i].conn - 1].connected)
            continue;
        if (marks) /* to read its own mark is no news to it */
            d->node[i].from_ms = command->group.from_ms;
        w->conn[d->node[i].conn - 1].unanswered++;
        if (verb == COMMAND_HEAL)
            msg.number = heal_number(w, i, command->number);
        struct sim_msg *sent = link_send(w, d->node[i].conn - 1, UP, &msg);
        if (marks)
            sent->vote.group = command->group;
        if (verb == COMMAND_DATA)
            data_copy(&sent->vote.data, &command->data);
    }
    oracle_send(w, d, action, tok, name);
    oracle_flood_sent(w, d, action, tok);
    oracle_marker_extends(w, d, action, tok);
    for (unsigned i = d->first; i < d->masters; i++) {
        struct sim_conn *conn = d->node[i].conn == 0 ? NULL : &w->conn[d->node[i].conn - 1];
        if (conn == NULL || conn->backlog_told || conn->unanswered <= w->plan->param[P_BACKLOG])
            continue;
        conn->backlog_told = true;
        uint32_t message = message_new(w, LINE_BACKLOG, d->node[i].conn - 1, 0);
        queue_push(w, w->now_us, ITEM_INTERNAL, d->index, message, 0);
    }
}

static void node_connected(struct sim_world *w, struct sim_daemon *d, uint32_t index)
{
    struct sim_conn *conn = &w->conn[index];
    unsigned master = conn->master;
    conn->connected = true;
    d->node[master].backoff_us = 0;
    trace_add(w, TRACE_CONNECTED, d->index, master, conn->number, conn->client_id, 0, 0, 0);
    struct coordinator_event event = {
        .kind = EVENT_MASTER_CONNECTED, .master = master, .connection = conn->number};
    daemon_step(w, d, &event);
}

static void node_voted(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    struct sim_conn *conn = &w->conn[msg->conn];
    unsigned master = conn->master;
    conn->unanswered--;
    if (msg->vote.kind == VOTE_NOT_RUN) {
        struct sim_msg load = {.kind = MSG_LOAD};
        link_send(w, msg->conn, UP, &load);
    }
    uint64_t number = msg->vote.kind == VOTE_NUMBER ? msg->vote.number : msg->number;
    if (msg->vote.kind == VOTE_GROUP)
        number = (uint64_t)msg->vote.group.from_ms;
    trace_add(w, TRACE_VOTE, d->index, master, msg->verb, msg->tok, number, msg->vote.kind, 0);
    oracle_heard(w, d, msg);
    oracle_native_heard(w, msg);
    struct coordinator_event event; /* most events are votes, so that what they do not have is not cleared */
    event.kind = EVENT_MASTER_VOTE;
    event.master = master;
    event.connection = conn->number;
    event.verb = msg->native != 0 ? msg->native : msg->verb;
    event.ref = msg->ref;
    event.vote = msg->vote;
    event.rtt_us = w->now_us - msg->sent_us;
    w->heard = msg;
    daemon_step(w, d, &event);
    w->heard = NULL;
    oracle_native_stepped(w, d, master);
}

void node_receive(struct sim_world *w, const struct sim_msg *msg)
{
    struct sim_conn *conn = &w->conn[msg->conn];
    struct sim_daemon *d = &w->daemon[conn->daemon];
    switch ((enum msg_kind)msg->kind) {
    case MSG_LOGGED_IN: node_connected(w, d, msg->conn); return;
    case MSG_REPLY: node_voted(w, d, msg); return;
    default: node_down(w, d, conn->master, true);
    }
}
