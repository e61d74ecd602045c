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
    table_add(&c->session_keys, hash_of(c, key), pool_slot(&c->sessions, session));
    return session;
}

/* ---- what is bound to it ---- */

void session_link_wait(struct coordinator *c, struct session *session, struct wait *wait)
{
    (void)c;
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
    (void)c;
    struct session *session = wait->session;
    *(wait->session_prev ? &wait->session_prev->session_next : &session->waiting) = wait->session_next;
    if (wait->session_next != NULL)
        wait->session_next->session_prev = wait->session_prev;
    session->waits--;
}

void session_link_lease(struct coordinator *c, struct session *session, struct lease *lease)
{
    lease->session = session;
    lease->session_prev = NULL;
    lease->session_next = session->leases;
    if (session->leases != NULL)
        session->leases->session_prev = lease;
    session->leases = lease;
    session->locks++;
    c->bound += lease->hold == HOLD_SESSION;
}

void session_unlink_lease(struct coordinator *c, struct lease *lease)
{
    struct session *session = lease->session;
    *(lease->session_prev ? &lease->session_prev->session_next : &session->leases) = lease->session_next;
    if (lease->session_next != NULL)
        lease->session_next->session_prev = lease->session_prev;
    lease->session = NULL;
    session->locks--;
    c->bound -= lease->hold == HOLD_SESSION;
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
    struct lease *lease = session->leases;
    while (lease != NULL && lease->request != request)
        lease = lease->session_next;
    return lease;
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
    if (session->state == SESSION_DROPPING || lease->hold == HOLD_LEASE) {
        lease_unbind(c, lease);
        return;
    }
    action_notice(c, session->key, NOTICE_LOST, &lease->resource->name, &lease->token)->reason = LOST_CLOSED;
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
    } else if (session->leases != NULL) {
        end_lease(c, session, session->leases);
    }
    if (session->waiting != NULL || session->leases != NULL) {
        heap_set(&c->deadlines, &session->item, c->now_ms);
        return;
    }
    action_push(c, ACTION_SESSION_ENDED)->session = session->key;
    heap_remove(&c->deadlines, &session->item);
    table_remove(&c->session_keys, hash_of(c, session->key), pool_slot(&c->sessions, session));
    pool_give(&c->sessions, session);
}
