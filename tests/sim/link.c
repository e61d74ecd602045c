/* Messages between a daemon and a master. In one connection bytes stay in order and are lost only at
 * its end; an old connection and a new one can deliver in any order. */
#include <assert.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/sim.h"

struct sim_conn *conn_new(struct sim_world *w, unsigned daemon, unsigned master, uint32_t *index)
{
    if (w->conns == w->conn_capacity) {
        w->conn_capacity = w->conn_capacity == 0 ? 256 : 2 * w->conn_capacity;
        w->conn = realloc(w->conn, w->conn_capacity * sizeof(*w->conn));
        assert(w->conn != NULL);
    }
    struct sim_conn *conn = &w->conn[w->conns];
    *conn = (struct sim_conn){.daemon = (uint8_t)daemon,
                              .master = (uint8_t)master,
                              .open_daemon = true,
                              .incarnation = w->daemon[daemon].incarnation,
                              .epoch = w->master[master].epoch,
                              .born_us = w->now_us};
    *index = w->conns++;
    return conn;
}

static struct sim_msg *msg_at(const struct sim_world *w, uint32_t index)
{
    return &w->msg[index / MSG_BLOCK][index % MSG_BLOCK];
}

static uint32_t msg_new(struct sim_world *w)
{
    if (w->msg_free != 0) {
        uint32_t index = w->msg_free - 1;
        w->msg_free = msg_at(w, index)->next;
        return index;
    }
    struct sim_msg **block = &w->msg[w->msgs / MSG_BLOCK];
    assert(w->msgs < MSG_BLOCK * MSG_BLOCKS);
    if (*block == NULL)
        *block = malloc(MSG_BLOCK * sizeof(**block));
    assert(*block != NULL);
    return w->msgs++;
}

static void msg_free(struct sim_world *w, uint32_t index)
{
    msg_at(w, index)->next = w->msg_free;
    w->msg_free = index + 1;
}

static int64_t link_delay_us(const struct sim_world *w, unsigned daemon, unsigned master, int direction)
{
    const int64_t *param = w->plan->param;
    const struct sim_link *link = &w->link[daemon][master];
    uint64_t who = 1000 + (daemon * SIM_MASTERS + master) * 2 + (unsigned)direction;
    uint64_t now = (uint64_t)w->now_us;
    int64_t delay_us = param[P_DELAY] + chance_below(w->seed, who, now, CHANCE_DELAY, param[P_JITTER]);
    if (w->healing)
        return delay_us;
    if (param[P_TAIL_PPM] != 0 && param[P_TAIL_PPM] > chance_below(w->seed, who, now, CHANCE_TAIL, 1000000))
        delay_us += chance_below(w->seed, who, now + 1, CHANCE_TAIL, param[P_TAIL]);
    if (w->now_us < link->slow_until_us[direction])
        delay_us += link->slow_us[direction];
    return delay_us;
}

/* Puts the message, which is filled in, behind the others of that direction. */
static void link_put(struct sim_world *w, uint32_t at, uint32_t index, int direction)
{
    struct sim_conn *conn = &w->conn[index];
    struct sim_msg *msg = msg_at(w, at);
    int64_t at_us = w->now_us + link_delay_us(w, conn->daemon, conn->master, direction);
    const struct sim_link *link = &w->link[conn->daemon][conn->master];
    if (msg->kind == MSG_HEARD && w->now_us < link->ear_slow_until_us && !w->healing)
        at_us += link->ear_slow_us;
    if (msg->kind == MSG_LOGIN) /* the SYN and its answer come first */
        at_us += 2 * w->plan->param[P_DELAY];
    msg->conn = index;
    msg->next = 0;
    msg->at_us = at_us;
    if (conn->last[direction] != 0) {
        msg_at(w, conn->last[direction] - 1)->next = at + 1;
    } else {
        conn->first[direction] = at + 1;
        queue_push(w, at_us, direction == UP ? ITEM_UP : ITEM_DOWN, 0, index, 0);
    }
    conn->last[direction] = at + 1;
}

struct sim_msg *link_send(struct sim_world *w, uint32_t index, int direction, const struct sim_msg *msg)
{
    uint32_t copy = msg_new(w);
    memcpy(msg_at(w, copy), msg, offsetof(struct sim_msg, ran_us));
    link_put(w, copy, index, direction);
    return msg_at(w, copy);
}

/* When the first msg can be read at the earliest; NEVER: it is lost. */
static int64_t link_due_up(struct sim_world *w, uint32_t index, const struct sim_msg *msg)
{
    struct sim_conn *conn = &w->conn[index];
    const struct sim_master *m = &w->master[conn->master];
    const struct sim_link *link = &w->link[conn->daemon][conn->master];
    int64_t due_us = msg->at_us;
    if (msg->kind != MSG_LOGIN && (!conn->open_master || conn->epoch != m->epoch))
        return NEVER;
    if (!conn->open_daemon && msg->kind != MSG_GONE && w->now_us > conn->stray_until_us)
        return NEVER; /* the daemon closed it: bytes on their way may arrive late or not at all */
    if (!conn->open_daemon)
        due_us += conn->stray_later_us;
    if (w->now_us <= link->cut_until_us[UP] && due_us <= link->cut_until_us[UP])
        due_us = link->cut_until_us[UP] + 1;
    if (m->running && w->now_us <= m->hung_until_us) {
        /* A master that wakes up reads its connections in an order of its own. */
        int64_t order_us = chance_below(w->seed, index, (uint64_t)m->hung_until_us, CHANCE_WAKE, 300);
        conn->not_before_us = m->hung_until_us + 1 + order_us;
    }
    if (due_us < flood_due_us(w, m, msg))
        due_us = flood_due_us(w, m, msg);
    return due_us < conn->not_before_us ? conn->not_before_us : due_us;
}

static int64_t link_due_down(const struct sim_world *w, uint32_t index, const struct sim_msg *msg)
{
    const struct sim_conn *conn = &w->conn[index];
    const struct sim_daemon *d = &w->daemon[conn->daemon];
    const struct sim_link *link = &w->link[conn->daemon][conn->master];
    int64_t due_us = msg->at_us;
    if (!conn->open_daemon)
        return NEVER;
    if (w->now_us <= link->cut_until_us[DOWN] && due_us <= link->cut_until_us[DOWN])
        due_us = link->cut_until_us[DOWN] + 1;
    if (w->now_us <= d->paused_until_us && due_us <= d->paused_until_us)
        due_us = d->paused_until_us + 1;
    return due_us;
}

/* Whether the message has become the master's answer. */
static bool link_up(struct sim_world *w, struct sim_msg *msg)
{
    struct sim_master *m = &w->master[w->conn[msg->conn].master];
    flood_served(w, m, msg);
    return master_receive(w, m, msg);
}

void link_arrive(struct sim_world *w, uint32_t index, int direction)
{
    enum item_kind kind = direction == UP ? ITEM_UP : ITEM_DOWN;
    struct sim_conn *conn = &w->conn[index];
    uint32_t first = conn->first[direction] - 1;
    struct sim_msg *msg = msg_at(w, first);
    int64_t due_us = direction == UP ? link_due_up(w, index, msg) : link_due_down(w, index, msg);
    if (due_us > w->now_us && due_us != NEVER) {
        queue_push(w, due_us, kind, 0, index, 0);
        return;
    }
    /* The message is taken out first, because handling it may send others. */
    conn->first[direction] = msg->next;
    if (msg->next == 0)
        conn->last[direction] = 0;
    else
        queue_push(w, msg_at(w, msg->next - 1)->at_us, kind, 0, index, 0);
    bool is_answer = false;
    if (due_us != NEVER && direction == UP)
        is_answer = link_up(w, msg);
    else if (due_us != NEVER && conn->ear)
        ear_receive(w, msg);
    else if (due_us != NEVER)
        node_receive(w, msg);
    if (is_answer)
        link_put(w, first, index, DOWN);
    else
        msg_free(w, first);
}

/* The daemon's end is gone at once; the master's end when the bytes before the FIN have arrived. */
void link_close(struct sim_world *w, uint32_t index)
{
    struct sim_conn *conn = &w->conn[index];
    if (!conn->open_daemon)
        return;
    conn->open_daemon = false;
    int64_t stray_us = w->healing ? 0 : w->plan->param[P_STRAY];
    switch (chance_below(w->seed, index, 0, CHANCE_STRAY, 4)) {
    case 0: /* the reset throws away what the kernel had not sent */ conn->stray_until_us = w->now_us; break;
    case 1:
        conn->stray_until_us =
            w->now_us + chance_below(w->seed, index, 1, CHANCE_STRAY, 2 * w->plan->param[P_DELAY]);
        break;
    case 2: conn->stray_until_us = NEVER; break;
    default:
        conn->stray_until_us = NEVER;
        conn->stray_later_us = chance_below(w->seed, index, 2, CHANCE_STRAY, stray_us);
    }
    struct sim_msg gone = {.kind = MSG_GONE};
    link_send(w, index, UP, &gone);
}

bool link_healthy(const struct sim_world *w, unsigned daemon, unsigned master)
{
    const struct sim_link *link = &w->link[daemon][master];
    return w->now_us > link->cut_until_us[UP] && w->now_us > link->cut_until_us[DOWN];
}
