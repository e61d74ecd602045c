#include "daemon/coordinator/session/session_end.h"

#include <assert.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/hand.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/session/repeat.h"
#include "daemon/coordinator/wait/resource.h"
#include "daemon/coordinator/watch/watch.h"

enum { CANCELLED_A_STEP = 3 /* few, since each may undo an attempt and begin another */ };

/*   OPEN --FIN, QUIT--> FINISHING --every request is answered---> RELEASING --one lock a step--> gone
 *    |                      |
 *    +----------------------+-------connection broke------------> DROPPING ---one lock a step--> gone
 *    |                      |
 *    +----------------------+-------its right was taken away----> DENYING ----one lock a step--> gone
 *
 *   (OPEN may also go to RELEASING at once. Gone: ACTION_SESSION_ENDED.) */
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

/* The next wait to cancel. A request with wait=0, and a request whose first attempt is under way or comes
 * next, is still answered by that attempt. */
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
    bool more = wait != NULL || repeat_finish(c, session);
    heap_set(&c->deadlines, &session->item, more ? c->now_ms : INT64_MAX);
}

static void end_lease(struct coordinator *c, struct session *session, struct lease *lease)
{
    if (session->state == SESSION_DROPPING || lease->hold.kind == HOLD_LEASE) {
        lease_unbind(c, lease);
        return;
    }
    if (session->state == SESSION_DENYING) {
        lease_lost(c, lease, LOST_DENIED);
        return;
    }
    action_notice(c, NOTICE_LOST, lease)->reason = LOST_CLOSED;
    hand_give_back(c, lease, 0, 0, true);
}

void session_timer(struct coordinator *c, struct session *session)
{
    if (session->state == SESSION_FINISHING) {
        finish_some(c, session);
        return;
    }
    watch_leave(c, session);
    if (session->repeats != NULL) {
        repeat_drop(c, session);
    } else if (session->waiting != NULL && session->state == SESSION_DENYING) {
        wait_cancel(c, session->waiting, REPLY_DENIED);
    } else if (session->waiting != NULL) {
        wait_drop(c, session->waiting);
    } else if (session->holds != NULL) {
        end_lease(c, session, lease_of_hold(session->holds));
    }
    if (session->waiting != NULL || session->holds != NULL || session->repeats != NULL ||
        session->watching != NULL) {
        heap_set(&c->deadlines, &session->item, c->now_ms);
        return;
    }
    action_push(c, ACTION_SESSION_ENDED)->session = session->key;
    heap_remove(&c->deadlines, &session->item);
    table_remove(&c->session_keys, pool_slot(&c->sessions, session));
    pool_give(&c->sessions, session);
}
