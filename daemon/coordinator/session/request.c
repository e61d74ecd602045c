#include "daemon/coordinator/session/request.h"

#include <assert.h>

#include "daemon/coordinator/ask/resume.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/hand.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/kept.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/mode/downgrade.h"
#include "daemon/coordinator/mode/fit.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/session/repeat.h"
#include "daemon/coordinator/wait/resource.h"
#include "daemon/coordinator/watch/watch.h"
#include "proto/slot.h"

static struct reply *reply_to(struct coordinator *c, const struct coordinator_event *event,
                              enum reply_code code)
{
    return action_reply(c, event->session, event->request, code, &event->what.name);
}

/* Returns this daemon's lease of the name if the request shows its token, even if its time is over; else NULL. */
static struct lease *recorded_lease(const struct coordinator *c, const struct request *what)
{
    const struct resource *resource = resource_find(c, &what->name);
    return resource != NULL ? resource_lease(c, resource, &what->token) : NULL;
}

/* Returns this daemon's valid lease of the name if the request shows its token; else NULL. */
static struct lease *known_lease(const struct coordinator *c, const struct request *what)
{
    struct lease *lease = recorded_lease(c, what);
    return lease != NULL && c->now_ms < lease->until_ms ? lease : NULL;
}

/* Why the token holds nothing any more, whatever the masters say; TEXT_NONE: they must be asked. A lease
 * that is bound to a session is over at its deadline, even if its timer, which tells the session, has not
 * run yet. */
static enum text why_over(const struct coordinator *c, const struct request *what)
{
    const struct lease *lease = recorded_lease(c, what);
    /* The masters' clocks may not have gone on while this daemon believed that it stood still. */
    if (lease == NULL)
        return ended_has(&c->ended, &what->token, c->now_ms - stall_lately_ms(c)) ? TEXT_MAX_OVER : TEXT_NONE;
    if (c->now_ms >= lease->hold.ends_ms)
        return TEXT_MAX_OVER;
    return lease_is_bound(lease) && c->now_ms >= lease->until_ms ? TEXT_EXPIRED : TEXT_NONE;
}

static bool is_bound_to(const struct lease *lease, uint64_t session)
{
    return lease->hold.session != NULL && lease->hold.session->key == session;
}

/* ---- LOCK, RESUME ---- */

static void relock(struct coordinator *c, const struct coordinator_event *event)
{
    struct lease *lease = known_lease(c, &event->what);
    if (lease == NULL || !lease->keeping->stands(c, lease) || !lease_is_bound(lease) ||
        !is_bound_to(lease, event->session)) {
        reply_to(c, event, REPLY_NOTHELD)->text = TEXT_NOT_BOUND;
        return;
    }
    if (downgrade_answers(c, event, lease))
        return;
    if (lease->hold.depth == UINT32_MAX) {
        reply_to(c, event, REPLY_LIMIT)->limit = LIMIT_DEPTH;
        return;
    }
    lease->hold.depth++;
    struct reply *reply = reply_to(c, event, REPLY_LOCKED);
    action_locked(c, reply, lease);
    reply->depth = lease->hold.depth;
}

/* Refuses a ttl= or max= that is out of range; returns true if it did. */
static bool bad_times(struct coordinator *c, const struct coordinator_event *event)
{
    const struct request *what = &event->what;
    int64_t ttl_ms = what->ttl_ms >= 0 ? what->ttl_ms : c->config.default_ttl_ms;
    enum text text = TEXT_NONE;
    int64_t limit_ms = 0;
    if (ttl_ms < c->config.min_ttl_ms) {
        text = TEXT_TTL_TOO_SHORT;
        limit_ms = c->config.min_ttl_ms;
    } else if (ttl_ms > c->longest_ttl_ms) {
        text = TEXT_TTL_TOO_LONG;
        limit_ms = c->longest_ttl_ms;
    } else if (what->max_ms >= 0 && what->max_ms < ttl_ms) {
        text = TEXT_MAX_BELOW_TTL;
        limit_ms = ttl_ms;
    }
    if (text == TEXT_NONE)
        return false;
    struct reply *reply = reply_to(c, event, REPLY_BADARG);
    reply->text = text;
    reply->limit_ms = limit_ms;
    return true;
}

static enum limit peer_limit_reached(const struct coordinator *c, const struct session *session,
                                     const struct peer *peer, enum verb verb)
{
    uint32_t max_locks = peer->is_user ? peer->max_locks : c->config.max_locks_per_peer;
    uint32_t max_waits = peer->is_user ? peer->max_waits : c->config.max_waits_per_peer;
    if (verb == VERB_LOCK && max_waits && c->peer_waits[session->peer] >= max_waits)
        return peer->is_user ? LIMIT_MAX_WAITS_PER_USER : LIMIT_MAX_WAITS_PER_PEER;
    if (max_locks && c->peer_locks[session->peer] >= max_locks)
        return peer->is_user ? LIMIT_MAX_LOCKS_PER_USER : LIMIT_MAX_LOCKS_PER_PEER;
    return LIMIT_NONE;
}

static enum limit limit_reached(const struct coordinator *c, const struct session *session,
                                const struct peer *peer, enum verb verb)
{
    if (session == NULL)
        return LIMIT_MAX_CLIENTS;
    if (verb == VERB_LOCK && session->waits >= c->config.max_waits_per_client)
        return LIMIT_MAX_WAITS_PER_CLIENT;
    if (session->locks + session->waits + session->resumes >= c->config.max_locks_per_client)
        return LIMIT_MAX_LOCKS_PER_CLIENT;
    return peer_limit_reached(c, session, peer, verb);
}

/* LOCK without a token, and RESUME: the session asks for a lock that it does not have yet. */
static void request_take(struct coordinator *c, const struct coordinator_event *event)
{
    if (c->draining) {
        reply_to(c, event, REPLY_DRAINING);
        return;
    }
    if (bad_times(c, event) || !fit_resume(c, event))
        return;
    struct session *session = session_find_or_make(c, event->session);
    /* A new session has no peer yet. Without waits, nothing is counted by the session's peer. */
    if (session != NULL && session->waits == 0)
        session->peer = event->peer.number;
    enum limit limit = limit_reached(c, session, &event->peer, event->what.verb);
    if (limit != LIMIT_NONE) {
        c->stats.refused_limit++;
        reply_to(c, event, REPLY_LIMIT)->limit = limit;
        return;
    }
    assert(session->state < SESSION_RELEASING);
    if (event->what.verb == VERB_RESUME)
        resume_request(c, session, event->request, &event->what);
    else
        resource_ask(c, session, event->request, &event->what);
}

/* ---- UNLOCK ---- */

static void unlock_own(struct coordinator *c, const struct coordinator_event *event, struct lease *lease)
{
    if (lease->hold.depth > 1) {
        lease->hold.depth--;
        const struct name *name = lease->resource->name;
        struct reply *reply = action_reply(c, event->session, event->request, REPLY_UNLOCKED, name);
        reply->masters = (uint8_t)masters_count(c->quorum.of);
        reply->depth = lease->hold.depth;
        return;
    }
    if (event->what.has_lost) /* what was lost is not handed on */
        lease->keeping->give_back(c, lease, event->session, event->request, true);
    else
        hand_give_back(c, lease, event->session, event->request, true);
}

/* A client that shows the token may release the lock, whatever its depth. A session that holds it is told
 * !LOST. */
static void unlock_by_token(struct coordinator *c, const struct coordinator_event *event)
{
    const struct request *what = &event->what;
    struct lease *lease = known_lease(c, what), *over = lease == NULL ? recorded_lease(c, what) : NULL;
    if (lease != NULL) {
        if (lease_is_bound(lease))
            action_notice(c, NOTICE_LOST, lease)->reason = LOST_RELEASED;
        hand_give_back(c, lease, event->session, event->request, false);
        return;
    }
    struct release_order order = {
        .name = intern_name(&c->intern, &what->name),
        .token = &what->token,
        .ttl_ms = c->longest_ttl_ms,
        .may = coordinator_places(c), /* which masters were sent the key is not known here */
        .resource = fit_unlock(c, what),
        .wakes = true, /* which daemons wait for the lock is not known here */
        .session = event->session,
        .request = event->request};
    if (order.resource != NULL)
        resume_given_back(order.resource, &what->token);
    if (order.resource != NULL && order.resource->lease != NULL && lease_is_bound(order.resource->lease))
        order.resource = NULL; /* another token holds the name: its waiters need not wait for this release */
    release_begin(c, &order);
    intern_name_back(&c->intern, order.name);
    if (over != NULL &&
        !lease_is_bound(over)) { /* an EXTEND under way would set the key again behind the release */
        rounds_end_extends(c, over);
        lease_lost(c, over, LOST_EXPIRED);
    }
}

/* The lease that the request is about: by its token, or of its session. */
static struct lease *lease_of(struct coordinator *c, const struct coordinator_event *event)
{
    const struct resource *resource = resource_find(c, &event->what.name);
    if (resource == NULL)
        return NULL;
    if (event->what.has_token)
        return resource_lease(c, resource, &event->what.token);
    return resource->mode->lease_of(c, resource, event->session);
}

/* The holder gives the lock back because it was lost to it. The notice is for logs and figures, since the holder knows. */
static void unlock_lost(struct coordinator *c, const struct request *what, struct lease *lease)
{
    lease->hold.depth = 1;
    c->stats.lost++;
    action_notice(c, NOTICE_LOST, lease)->reason = (enum lost_reason)what->lost;
}

/* UNLOCK keep=. A lock that is over is not kept; one that was extended elsewhere beyond its record here may be. */
static void unlock_keep(struct coordinator *c, const struct coordinator_event *event, struct lease *lease,
                        bool own)
{
    bool bound = lease != NULL && lease_is_bound(lease);
    enum text over = event->what.has_token ? why_over(c, &event->what) : TEXT_NONE;
    if (bound && c->now_ms >= lease->until_ms)
        over = TEXT_EXPIRED;
    if (over != TEXT_NONE) {
        reply_to(c, event, REPLY_NOTHELD)->text = over;
        return;
    }
    if (lease == NULL || c->now_ms < lease->until_ms) {
        kept_request(c, event, lease, own);
        return;
    }
    struct coordinator_event by_token = *event; /* the session need not have shown it */
    by_token.what.token = lease->hold.token;
    rounds_end_extends(c, lease);
    lease_lost(c, lease, LOST_EXPIRED);
    kept_request(c, &by_token, NULL, false);
}

static void unlock(struct coordinator *c, const struct coordinator_event *event)
{
    const struct request *what = &event->what;
    struct lease *lease = lease_of(c, event);
    bool own = lease != NULL && is_bound_to(lease, event->session);
    if (own && what->has_lost)
        unlock_lost(c, what, lease);
    if (what->keep_ms != 0 && (own ? lease->hold.depth == 1 : what->has_token))
        unlock_keep(c, event, lease, own);
    else if (own)
        unlock_own(c, event, lease);
    else if (what->has_token)
        unlock_by_token(c, event);
    else
        reply_to(c, event, REPLY_NOTHELD)->text = TEXT_NOT_YOURS;
}

/* ---- EXTEND, CHECK, CANCEL ---- */

static void request_extend(struct coordinator *c, const struct coordinator_event *event)
{
    if (event->what.ttl_ms >= 0 && bad_times(c, event))
        return;
    enum text over = why_over(c, &event->what);
    if (over != TEXT_NONE)
        reply_to(c, event, REPLY_NOTHELD)->text = over;
    else
        extend_request(c, event->session, event->request, &event->what, known_lease(c, &event->what));
}

static void request_check(struct coordinator *c, const struct coordinator_event *event)
{
    struct lease *lease = known_lease(c, &event->what);
    enum text over = why_over(c, &event->what);
    if (over != TEXT_NONE) {
        reply_to(c, event, REPLY_NOTHELD)->text = over;
        return;
    }
    if (lease != NULL && !lease->keeping->stands(c, lease)) {
        reply_to(c, event, REPLY_NOTHELD);
        return;
    }
    if (lease == NULL || (!lease_is_bound(lease) && lease->keeping->has_key)) {
        check_request(c, event->session, event->request, &event->what, lease);
        return;
    }
    struct reply *reply = reply_to(c, event, REPLY_HELD);
    reply->until_ms = lease->until_ms;
    reply->valid_ms = lease->until_ms - c->now_ms;
}

static void request_cancel(struct coordinator *c, const struct coordinator_event *event)
{
    struct session *session = session_find(c, event->session);
    struct wait *wait = session != NULL ? session_wait(session, event->target) : NULL;
    if (wait != NULL)
        wait_cancel(c, wait, REPLY_CANCELLED);
    bool cancelled = wait != NULL || repeat_cancel(c, session, event->target);
    reply_to(c, event, cancelled ? REPLY_OK : REPLY_BADTAG);
}

/* The lock's keys stay until their TTL is over: its holder may not have read !LOST yet, so no client may get
 * the lock before. */
void request_deny(struct coordinator *c, const struct coordinator_event *event)
{
    struct session *session = session_find(c, event->session);
    if (session == NULL || session->state >= SESSION_RELEASING)
        return;
    if (event->request != 0) {
        struct wait *wait = session_wait(session, event->request);
        if (wait != NULL)
            wait_cancel(c, wait, REPLY_DENIED);
        else
            repeat_deny(c, session, event->request);
        return;
    }
    int slot = token_slot(&event->what.token);
    struct name name;
    if (slot >= 0)
        slot_name(&name, &event->what.name, (unsigned)slot);
    else
        name_copy(&name, &event->what.name);
    const struct resource *resource = resource_find(c, &name);
    struct lease *lease = resource != NULL ? resource_lease(c, resource, &event->what.token) : NULL;
    if (lease != NULL && lease_is_bound(lease) && lease->hold.session == session)
        lease_lost(c, lease, LOST_DENIED);
}

/* A list is stored at most three times in the step of a request. */
static bool is_crowded(struct coordinator *c, const struct coordinator_event *event)
{
    if (event->what.verb == VERB_CANCEL || event->what.name.more == 0 || intern_has_room(&c->intern, 3))
        return false;
    c->stats.refused_limit++;
    reply_to(c, event, REPLY_LIMIT)->limit = LIMIT_MAX_ROUNDS;
    return true;
}

static void request_do(struct coordinator *c, const struct coordinator_event *event)
{
    switch (event->what.verb) {
    case VERB_LOCK:
        if (event->what.has_token)
            relock(c, event);
        else
            request_take(c, event);
        break;
    case VERB_RESUME: request_take(c, event); break;
    case VERB_UNLOCK: unlock(c, event); break;
    case VERB_EXTEND: request_extend(c, event); break;
    case VERB_CHECK: request_check(c, event); break;
    case VERB_CANCEL: request_cancel(c, event); break;
    case VERB_WATCH:
    case VERB_UNWATCH: watch_request(c, event); break;
    case VERB_DATA: data_request(c, event, lease_of(c, event)); break;
    default: assert(0 && "the driver answers the other verbs itself");
    }
}

/* The token of a slot says which slot of the name is meant. */
static void request_of_slot(struct coordinator *c, const struct coordinator_event *event, unsigned slot)
{
    struct coordinator_event of_slot = *event;
    slot_name(&of_slot.what.name, &event->what.name, slot);
    request_do(c, &of_slot);
}

void request_begin(struct coordinator *c, const struct coordinator_event *event)
{
    int slot = event->what.has_token ? token_slot(&event->what.token) : -1;
    if (!fit_request(c, event) || is_crowded(c, event) || !repeat_begin(c, event))
        return;
    if (slot >= 0 && event->what.name.len != 0 && event->what.name.more == 0)
        request_of_slot(c, event, (unsigned)slot);
    else
        request_do(c, event);
}
