#include "daemon/coordinator/session.h"

#include <assert.h>

#include "daemon/coordinator/lease.h"
#include "daemon/coordinator/resource.h"

enum { CANCELLED_A_STEP = 3 /* each may undo an attempt and begin another */ };

static uint32_t hash_of(const struct coordinator *c, uint64_t key)
{
    return table_hash(c->config.hash_seed, &key, sizeof key);
}

struct session *session_find(const struct coordinator *c, uint64_t key)
{
    uint32_t hash = hash_of(c, key), place = table_first(&c->session_keys, hash), slot;
    while (table_next(&c->session_keys, hash, &place, &slot)) {
        struct session *session = pool_at(&c->sessions, slot);
        if (session->key == key)
            return session;
    }
    return NULL;
}

struct session *session_find_or_make(struct coordinator *c, uint64_t key)
{
    struct session *session = session_find(c, key);
    if (session != NULL)
        return session;
    session = pool_take(&c->sessions);
    if (session == NULL)
        return NULL;
    session->item.kind = ITEM_SESSION;
    session->key = key;
    session->hash = hash_of(c, key);
    table_add(&c->session_keys, pool_slot(&c->sessions, session));
    return session;
}

/* ---- what is bound to it ---- */

void session_link_wait(struct coordinator *c, struct session *session, struct wait *wait)
{
    c->peer_waits[session->peer]++;
    wait->session = session;
    wait->session_prev = NULL;
    wait->session_next = session->waiting;
    if (session->waiting != NULL)
        session->waiting->session_prev = wait;
    session->waiting = wait;
    session->waits++;
}

void session_unlink_wait(struct coordinator *c, struct wait *wait)
{
    struct session *session = wait->session;
    c->peer_waits[session->peer]--;
    *(wait->session_prev ? &wait->session_prev->session_next : &session->waiting) = wait->session_next;
    if (wait->session_next != NULL)
        wait->session_next->session_prev = wait->session_prev;
    session->waits--;
}

void session_link_hold(struct coordinator *c, struct session *session, struct hold *hold)
{
    hold->session = session;
    hold->session_prev = NULL;
    hold->session_next = session->holds;
    if (session->holds != NULL)
        session->holds->session_prev = hold;
    session->holds = hold;
    session->locks++;
    c->bound += hold->kind == HOLD_SESSION;
}

void session_unlink_hold(struct coordinator *c, struct hold *hold)
{
    struct session *session = hold->session;
    *(hold->session_prev ? &hold->session_prev->session_next : &session->holds) = hold->session_next;
    if (hold->session_next != NULL)
        hold->session_next->session_prev = hold->session_prev;
    hold->session = NULL;
    session->locks--;
    c->bound -= hold->kind == HOLD_SESSION;
}

struct wait *session_wait(const struct session *session, uint64_t request)
{
    struct wait *wait = session->waiting;
    while (wait != NULL && wait->request != request)
        wait = wait->session_next;
    return wait;
}

struct lease *session_lease(const struct session *session, uint64_t request)
{
    struct hold *hold = session->holds;
    while (hold != NULL && hold->request != request)
        hold = hold->session_next;
    return hold != NULL ? lease_of_hold(hold) : NULL;
}

/* ---- its end, a little in each step ---- */

/*   OPEN --FIN, QUIT--> FINISHING --> RELEASING or DROPPING --> gone (ACTION_SESSION_ENDED) */
static void session_move(struct coordinator *c, struct session *session, enum session_state to)
{
    assert(to > session->state && session->state < SESSION_RELEASING);
    session->state = to;
    heap_set(&c->deadlines, &session->item, c->now_ms);
}

void session_finish(struct coordinator *c, uint64_t key)
{
    struct session *session = session_find_or_make(c, key);
    if (session != NULL && session->state == SESSION_OPEN)
        session_move(c, session, SESSION_FINISHING);
}

void session_end(struct coordinator *c, uint64_t key, enum session_state how)
{
    struct session *session = session_find(c, key);
    if (session == NULL)
        action_push(c, ACTION_SESSION_ENDED)->session = key;
    else if (session->state < SESSION_RELEASING)
        session_move(c, session, how);
}

/* The next that would have to wait; what does not wait, or tries for the first time, is
 * still answered. */
static struct wait *to_cancel(const struct coordinator *c, const struct session *session)
{
    struct wait *wait = session->waiting;
    while (wait != NULL && (!wait->patient || wait_is_trying(c, wait)))
        wait = wait->session_next;
    return wait;
}

static void finish_some(struct coordinator *c, struct session *session)
{
    struct wait *wait = to_cancel(c, session);
    for (unsigned i = 0; wait != NULL && i < CANCELLED_A_STEP; i++) {
        wait_cancel(c, wait, REPLY_CANCELLED);
        wait = to_cancel(c, session);
    }
    heap_set(&c->deadlines, &session->item, wait != NULL ? c->now_ms : INT64_MAX);
}

static void end_lease(struct coordinator *c, struct session *session, struct lease *lease)
{
    if (session->state == SESSION_DROPPING || lease->hold.kind == HOLD_LEASE) {
        lease_unbind(c, lease);
        return;
    }
    action_notice(c, session->key, NOTICE_LOST, lease->resource->name, &lease->token)->reason = LOST_CLOSED;
    lease_give_back(c, lease, 0, 0, true);
}

void session_timer(struct coordinator *c, struct session *session)
{
    if (session->state == SESSION_FINISHING) {
        finish_some(c, session);
        return;
    }
    if (session->waiting != NULL) {
        wait_drop(c, session->waiting);
    } else if (session->holds != NULL) {
        end_lease(c, session, lease_of_hold(session->holds));
    }
    if (session->waiting != NULL || session->holds != NULL) {
        heap_set(&c->deadlines, &session->item, c->now_ms);
        return;
    }
    action_push(c, ACTION_SESSION_ENDED)->session = session->key;
    heap_remove(&c->deadlines, &session->item);
    table_remove(&c->session_keys, pool_slot(&c->sessions, session));
    pool_give(&c->sessions, session);
}
