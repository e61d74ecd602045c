/* The second connection of a daemon to each master, which only listens: as node_new_subscriber() does it. */
#include "proto/slot.h"
#include "tests/sim/sim.h"

enum { EAR_BACKOFF_US = 50000, EAR_BACKOFF_MOST_US = 1000000, EAR_PING_US = 1000000 };

static bool was_old(const struct sim_world *w, unsigned daemon, uint32_t incarnation)
{
    return w->plan->param[P_DEAF] == DEAF_OLD && daemon == 0 && incarnation % 2 == 1;
}

bool daemon_is_old(const struct sim_world *w, const struct sim_daemon *d)
{
    return was_old(w, d->index, d->incarnation);
}

bool conn_is_old(const struct sim_world *w, uint32_t index)
{
    return was_old(w, w->conn[index].daemon, w->conn[index].incarnation);
}

bool daemon_is_deaf(const struct sim_world *w, const struct sim_daemon *d)
{
    int64_t deaf = w->plan->param[P_DEAF];
    return deaf == DEAF_ALL || (deaf == DEAF_FIRST && d->index == 0) || daemon_is_old(w, d);
}

void ear_dial(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct sim_node *node = &d->node[master];
    uint32_t index;
    if (!d->running || node->ear != 0 || daemon_is_deaf(w, d))
        return;
    struct sim_conn *conn = conn_new(w, d->index, master, &index);
    conn->ear = true;
    conn->id = daemon_id(d);
    node->ear = index + 1;
    struct sim_msg login = {.kind = MSG_LOGIN};
    link_send(w, index, UP, &login);
    queue_push(w, w->now_us + EAR_PING_US, ITEM_EAR_PING, 0, index, 0);
}

static void ear_event(struct sim_world *w, struct sim_daemon *d, unsigned master, enum event_kind kind,
                      unsigned name, uint32_t from)
{
    struct coordinator_event event = {.kind = kind, .master = master};
    unsigned base = key_base(name), slot = key_slot(name);
    for (unsigned i = 0; i < TOKEN_ID_BYTES; i++)
        event.what.token.bytes[i] = (uint8_t)(from >> (24 - 8 * i));
    event.what.name.len = 2;
    event.what.name.text[0] = 'n';
    event.what.name.text[1] = (char)('0' + base);
    if (slot != 0)
        slot_name(&event.what.name, &(struct name){.len = 2, .text = {'n', (char)('0' + base)}}, slot - 1);
    trace_add(w, TRACE_EAR, d->index, master, kind, name, 0, 0, 0);
    daemon_step(w, d, &event);
}

static void ear_down(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    struct sim_node *node = &d->node[master];
    uint32_t index = node->ear - 1;
    bool heard = w->conn[index].connected;
    link_close(w, index);
    node->ear = 0;
    node->ear_backoff_us = heard || node->ear_backoff_us == 0 ? EAR_BACKOFF_US : 2 * node->ear_backoff_us;
    if (node->ear_backoff_us > EAR_BACKOFF_MOST_US)
        node->ear_backoff_us = EAR_BACKOFF_MOST_US;
    queue_push(w, w->now_us + node->ear_backoff_us, ITEM_EAR, d->index, master, d->incarnation);
    if (heard)
        ear_event(w, d, master, EVENT_MASTER_DEAF, 0, 0);
}

void ear_reset(struct sim_world *w, struct sim_daemon *d, unsigned master)
{
    if (d->node[master].ear != 0)
        ear_down(w, d, master);
}

/* A connection that was not made within that time, or whose last PING was not answered, is given up. */
void ear_ping(struct sim_world *w, uint32_t index)
{
    struct sim_conn *conn = &w->conn[index];
    struct sim_daemon *d = &w->daemon[conn->daemon];
    if (!conn->open_daemon)
        return;
    if (w->now_us <= d->paused_until_us) {
        queue_push(w, d->paused_until_us + 1, ITEM_EAR_PING, 0, index, 0);
        return;
    }
    if (!conn->connected || conn->unanswered > 0) {
        ear_down(w, d, conn->master);
        return;
    }
    struct sim_msg ping = {.kind = MSG_PING};
    conn->unanswered++;
    link_send(w, index, UP, &ping);
    queue_push(w, w->now_us + EAR_PING_US, ITEM_EAR_PING, 0, index, 0);
}

void ear_receive(struct sim_world *w, const struct sim_msg *msg)
{
    struct sim_conn *conn = &w->conn[msg->conn];
    struct sim_daemon *d = &w->daemon[conn->daemon];
    unsigned master = conn->master;
    switch ((enum msg_kind)msg->kind) {
    case MSG_LOGGED_IN:
        conn->connected = true;
        ear_event(w, d, master, EVENT_MASTER_LISTENS, 0, 0);
        return;
    case MSG_HEARD:
        if (msg->verb == 'g')
            oracle_hears_letter(w, d, master, msg->name);
        ear_event(w, d, master,
                  msg->verb == 'w'   ? EVENT_MASTER_WOKE
                  : msg->verb == 'l' ? EVENT_MASTER_WOKE_LATE
                  : msg->verb == 'g' ? EVENT_MASTER_LETTER
                  : msg->verb == 'v' ? EVENT_MASTER_WATCHED
                  : msg->verb == 'n' ? EVENT_MASTER_NEWS
                                     : EVENT_MASTER_TOLD,
                  msg->name, (uint32_t)msg->number);
        return;
    case MSG_PING: conn->unanswered = 0; return;
    default: ear_down(w, d, master);
    }
}

/* ---- at the master ---- */

/* The connection before is killed first, where that is allowed. */
void ear_subscribed(struct sim_world *w, struct sim_master *m, uint32_t index)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < m->ears; i++) {
        struct sim_conn *old = &w->conn[m->ear[i]];
        if (old->id == w->conn[index].id && !master_is_unkillable(w, m))
            old->open_master = false;
        if (old->open_master)
            m->ear[kept++] = m->ear[i];
    }
    m->ears = kept;
    if (m->ears < SIM_EARS)
        m->ear[m->ears++] = index;
}

unsigned ear_publish(void *arg, uint32_t id, char what, unsigned name, unsigned slot)
{
    bool watches = what == 'v';
    unsigned at_name = slot != 0 && !watches ? key_of_slot(name, slot - 1) : name;
    const struct ear_master *at = arg;
    unsigned heard = 0;
    for (unsigned i = 0; i < at->master->ears; i++) {
        uint32_t index = at->master->ear[i];
        const struct sim_conn *conn = &at->world->conn[index];
        if (!conn->open_master || conn->id != id)
            continue;
        struct sim_msg message = {
            .kind = MSG_HEARD, .verb = (uint8_t)what, .name = at_name, .number = watches ? slot : 0};
        link_send(at->world, index, DOWN, &message);
        heard++;
    }
    return heard;
}
