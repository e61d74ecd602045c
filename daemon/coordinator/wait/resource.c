#include "daemon/coordinator/wait/resource.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/ask/acquire.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/mode/fit.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/turn.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/wait/queue.h"

/* The states of a name's queue:
 *
 *   empty --LOCK--> standing --acquire_begin()--> asking --granted, or refused--> sweeping --swept--+
 *     ^                ^                                                                             |
 *     +-- none left ---+-----------------------------------------------------------------------------+
 *
 * standing: the head waits for a lease here to end, for a release to be answered, or for retry_ms.
 * sweeping: requests with wait=0 get the result of the head's attempt, SWEEP of them a step. */
enum { SWEEP = 8 };

/* ---- waiters ---- */

bool wait_is_trying(const struct coordinator *c, const struct wait *wait)
{
    const struct resource *resource = wait->resource;
    if (wait->tried || resource->queue->head != wait || c->draining)
        return false;
    return resource->queue->round != NULL || release_is_awaited(resource) ||
           (!wait->mode->in_way(resource) && c->now_ms >= resource->retry_ms &&
            names_use(resource) == NAMES_FREE);
}

/* Lets a waiter leave its queue without the lock: the waiter is skipped. Its attempt, if it has one, is
 * undone, and the next waiter may ask. */
static void wait_leave(struct coordinator *c, struct wait *wait)
{
    struct resource *resource = wait->resource;
    if (resource->queue->head == wait && resource->queue->round != NULL)
        acquire_abandon(c, resource);
    queue_remove(c, wait);
    queue_due(c, resource);
}

/* ---- refusals ---- */

static struct reply *wait_refuse(struct coordinator *c, struct wait *wait, enum reply_code code)
{
    struct reply *reply = action_reply(c, wait->session->key, wait->request, code, wait->resource->name);
    c->stats.refused_busy += code == REPLY_BUSY;
    c->stats.refused_timeout += code == REPLY_TIMEOUT;
    c->stats.refused_noquorum += code == REPLY_NOQUORUM;
    c->stats.refused_limit += code == REPLY_LIMIT;
    if (code == REPLY_TIMEOUT)
        reply->waited_ms = c->now_ms - wait->asked_ms;
    return reply;
}

/* Answers a waiter whose wait= is over: -NOQUORUM if too few masters may vote, or if the waiter is the head
 * and its last attempt found no quorum; else -TIMEOUT. */
static void refuse_timeout(struct coordinator *c, struct wait *wait)
{
    const struct queue *queue = wait->resource->queue;
    bool few = !quorum_has(&c->quorum, c->voters);
    bool in_vain = wait->tried && queue->head == wait && queue->verdict.code == REPLY_NOQUORUM;
    if (!few && !in_vain)
        wait_refuse(c, wait, REPLY_TIMEOUT);
    else
        action_noquorum(c, wait_refuse(c, wait, REPLY_NOQUORUM), in_vain ? &queue->verdict.tally : NULL);
}

static void refuse_busy(struct coordinator *c, struct wait *wait, bool split)
{
    const struct lease *lease = wait->resource->lease;
    struct reply *reply = wait_refuse(c, wait, REPLY_BUSY);
    reply->split = split;
    if (lease != NULL && !lease->mode->shares && !lease_is_bound(lease) && lease->until_ms > c->now_ms)
        reply->retry_ms = lease->until_ms - c->now_ms;
}

static void refuse_with(struct reply *reply, const struct verdict *verdict)
{
    reply->limit = verdict->limit;
    reply->slots = verdict->slots;
}

static void refuse_verdict(struct coordinator *c, struct wait *wait, const struct verdict *verdict)
{
    if (verdict->code == REPLY_BUSY)
        refuse_busy(c, wait, verdict->split);
    else if (verdict->code == REPLY_NOQUORUM)
        action_noquorum(c, wait_refuse(c, wait, REPLY_NOQUORUM), &verdict->tally);
    else
        refuse_with(wait_refuse(c, wait, verdict->code), verdict);
}

/* Answers a request that must not wait any longer, by the reason for that. */
static void refuse_waiting(struct coordinator *c, struct wait *wait)
{
    if (wait->session->state >= SESSION_RELEASING)
        return; /* the client is gone */
    if (c->draining)
        wait_refuse(c, wait, REPLY_DRAINING);
    else if (c->now_ms >= wait->deadline_ms)
        refuse_timeout(c, wait);
    else
        wait_refuse(c, wait, REPLY_CANCELLED);
}

/* Whether the verdict is that of a head that waits, too. */
static bool is_final(const struct verdict *verdict)
{
    return verdict->code == REPLY_LIMIT || verdict->code == REPLY_MODE;
}

/* Whether a head that was refused may try again. */
static bool may_retry(const struct coordinator *c, const struct wait *wait, const struct verdict *verdict)
{
    return wait->patient && !is_final(verdict) && c->now_ms < wait->deadline_ms &&
           wait->session->state == SESSION_OPEN && !c->draining;
}

static void refuse_for_good(struct coordinator *c, struct wait *wait, const struct verdict *verdict)
{
    bool gone = wait->session->state >= SESSION_RELEASING;
    if (!gone && !c->draining && (!wait->patient || is_final(verdict)))
        refuse_verdict(c, wait, verdict);
    else
        refuse_waiting(c, wait);
}

/* ---- the head ---- */

/* The head may not ask, because a list has its name, or one of the list's names is used otherwise. Requests that
 * must not wait are answered, one head a step; for the others names_changed() comes back. */
static void resource_blocked(struct coordinator *c, struct resource *resource, enum names_use use)
{
    struct queue *queue = resource->queue;
    struct wait *head = queue->head;
    names_blocked(c, resource);
    if (use != NAMES_USED)
        return;
    queue->verdict = (struct verdict){.code = REPLY_BUSY};
    if (head->patient && !may_retry(c, head, &queue->verdict)) {
        refuse_waiting(c, head);
        queue_remove(c, head);
    } else if (queue->impatient != 0) {
        queue->attempt.asked = queue->tail->id;
        queue->attempt.asked_alone = false;
        queue->sweeping = true;
    } else {
        return;
    }
    if (resource->queue->head != NULL)
        heap_set(&c->deadlines, &resource->queue->item, c->now_ms);
    else
        queue_due(c, resource);
}

void resource_advance(struct coordinator *c, struct resource *resource)
{
    resource = queue_ready(c, resource);
    if (resource == NULL)
        return;
    enum names_use use = names_use(resource);
    if (use == NAMES_FREE)
        acquire_begin(c, resource);
    else
        resource_blocked(c, resource, use);
}

/* The next request with wait=0 that gets the head's last result instead of an attempt of its own; NULL if
 * there is none. Behind a patient head, which goes on asking, that is every such request. If the head
 * itself has wait=0, then it gets the result if the name is held here by now, or if it was in the queue
 * when the last attempt began; a request that came later asks for itself. */
static bool resource_was_asked(const struct queue *queue, const struct wait *wait)
{
    return wait->id <= queue->attempt.asked && !(wait->mode->shares && queue->attempt.asked_alone);
}

static struct wait *to_sweep(const struct resource *resource)
{
    struct wait *wait = resource->queue->head;
    if (resource->queue->impatient == 0)
        return NULL;
    if (!wait->patient)
        return wait->mode->in_way(resource) || resource_was_asked(resource->queue, wait) ? wait : NULL;
    for (wait = resource->queue->tail; wait->patient;)
        wait = wait->prev; /* requests with wait=0 arrived lately, so they stand near the tail */
    return wait;
}

static void queue_sweeps(struct resource *resource, bool sweeping)
{
    if (resource->queue->head != NULL)
        resource->queue->sweeping = sweeping;
}

/* Arms what comes after an attempt: the sweep, if requests with wait=0 are to be answered, else the head's
 * next attempt at retry_ms; a head that the name's holders stand before waits for these. */
static void sweep_or(struct coordinator *c, struct resource *resource, int64_t retry_ms)
{
    resource->retry_ms = retry_ms;
    queue_sweeps(resource, to_sweep(resource) != NULL);
    if (resource->queue->sweeping)
        heap_set(&c->deadlines, &resource->queue->item, c->now_ms);
    else if (resource->queue->head == NULL)
        queue_due(c, resource);
    else if (resource->queue->head->mode->in_way(resource))
        heap_remove(&c->deadlines, &resource->queue->item);
    else
        heap_set(&c->deadlines, &resource->queue->item, retry_ms);
}

static int64_t next_retry_ms(struct coordinator *c, const struct resource *resource)
{
    if (resource->queue->head == NULL)
        return 0;
    if (resource->queue->attempt.release_seen)
        return c->now_ms;
    return c->now_ms + random_between(c, c->config.retry_min_ms, c->config.retry_max_ms);
}

void resource_refused(struct coordinator *c, struct resource *resource, const struct verdict *verdict)
{
    struct wait *head = resource->queue->head;
    head->tried = true;
    resource->queue->verdict = *verdict;
    turn_refused(resource);
    names_changed(c, resource); /* a list may let others pass from now on */
    if (!may_retry(c, head, verdict)) {
        refuse_for_good(c, head, verdict);
        queue_remove(c, head);
    } else if (verdict->tally.refused != 0 && resource->mode->wakes) {
        resource->mode->contended(c, resource);
        if (!wake_may_come(c) && resource->mode->turns)
            turn_join(c, resource);
    }
    sweep_or(c, resource, wake_next_ms(c, resource, verdict));
}

/* A head with wait=0 cannot let other daemons go first, since it must be answered at once. */
void resource_yield(struct coordinator *c, struct resource *resource, int64_t waited_ms)
{
    const struct wait *head = resource->queue->head;
    const struct queue *queue = resource->queue;
    bool impatient = head != NULL && !head->patient;
    bool held = (head != NULL ? head->mode : resource->mode)->in_way(resource);
    if (impatient || queue->round != NULL || held || queue->sweeping) {
        queue_freed(c, resource);
        return;
    }
    if (head != NULL)
        resource->queue->verdict = (struct verdict){.code = REPLY_BUSY};
    int64_t at_ms = turn_yield(c, resource, waited_ms);
    struct resource *base = resource_rest(c, resource);
    base->sought = true;
    sweep_or(c, base, base->mode->yields(c, base, at_ms));
}

void resource_head_leaves(struct coordinator *c, struct resource *resource)
{
    refuse_waiting(c, resource->queue->head);
    wait_leave(c, resource->queue->head);
}

struct reply *resource_answer_head(struct coordinator *c, struct resource *resource, enum reply_code code)
{
    struct wait *head = resource->queue->head;
    struct reply *reply = action_reply(c, head->session->key, head->request, code, resource->name);
    resource->mode->got(c, resource);
    queue_remove(c, head);
    return reply;
}

void resource_granted(struct coordinator *c, struct resource *resource)
{
    struct queue *queue = resource->queue;
    struct wait *head = queue->head;
    turn_granted(c, resource);
    if (resource->mode->asks_on(queue))
        return;
    if (head != NULL) {
        queue->verdict = (struct verdict){.code = REPLY_BUSY};
        queue->attempt.release_seen = false;
    }
    /* After a RESUME the head is still here: its attempt was abandoned, and with it the answer to a head
     * that must not wait any longer. */
    if (head != NULL && head->patient && !may_retry(c, head, &queue->verdict)) {
        refuse_waiting(c, head);
        queue_remove(c, head);
    }
    queue = resource->queue;
    resource = slots_base(resource);
    const struct mode *mode = queue->head != NULL ? queue->head->mode : resource->mode;
    int64_t along_ms = mode->along_ms(c, resource);
    if (along_ms == INT64_MAX) {
        sweep_or(c, resource, next_retry_ms(c, resource));
    } else if (queue->head != NULL) {
        queue->attempt.asked = 0; /* the heads behind ask for themselves */
        resource->retry_ms = along_ms;
        heap_set(&c->deadlines, &queue->item, along_ms);
    }
}

static void sweep(struct coordinator *c, struct resource *resource)
{
    struct wait *wait = to_sweep(resource);
    for (unsigned i = 0; i < SWEEP && wait != NULL; i++) {
        refuse_for_good(c, wait, &resource->queue->verdict);
        queue_remove(c, wait);
        wait = to_sweep(resource);
    }
    queue_sweeps(resource, wait != NULL);
}

void resource_timer(struct coordinator *c, struct resource *resource)
{
    if (resource->queue->round != NULL) {
        acquire_timer(c, resource->queue->round);
        return;
    }
    if (resource->queue->sweeping)
        sweep(c, resource);
    if (resource->queue->sweeping)
        heap_set(&c->deadlines, &resource->queue->item, c->now_ms);
    else
        resource_advance(c, resource);
}

/* ---- a request comes ---- */

static struct wait *wait_new(struct coordinator *c, const struct resource *resource,
                             const struct request *what, uint64_t request)
{
    struct wait *wait = pool_take(&c->waits);
    if (wait == NULL)
        return NULL;
    wait->item.kind = ITEM_WAIT;
    wait->request = request;
    wait->asked_ms = c->now_ms;
    wait->patient = what->wait_ms > 0;
    wait->deadline_ms = c->now_ms + what->wait_ms;
    wait->ttl_ms = what->ttl_ms >= 0 ? what->ttl_ms : c->config.default_ttl_ms;
    wait->max_ms = what->max_ms;
    wait->hold = what->hold;
    wait->mode = mode_of(c, resource, what->shared);
    data_asked(c, wait, &what->data);
    wait->note = intern_note(&c->intern, &what->note);
    wait->order = what->order;
    if (wait->patient)
        heap_set(&c->deadlines, &wait->item, wait->deadline_ms);
    return wait;
}

static void refuse_limit(struct coordinator *c, const struct session *session, uint64_t request,
                         const struct name *name, enum limit limit)
{
    c->stats.refused_limit++;
    action_reply(c, session->key, request, REPLY_LIMIT, name)->limit = limit;
}

/* Gives a request the result of the head's last attempt, without the tally of the masters: that may be
 * outdated. */
static void refuse_behind_head(struct coordinator *c, struct wait *wait)
{
    const struct verdict *last = &wait->resource->queue->verdict;
    refuse_verdict(c, wait, &(struct verdict){.code = last->code, .limit = last->limit});
}

/* Answers a new request if no master need be asked for that: the name is held here, another request is
 * before it and pauses between attempts, or the session has finished and must not wait. If a quorum has come
 * back since that other request found none, lets it ask at once instead; its result is then the answer.
 * Returns false if nothing was done. */
static bool answer_at_once(struct coordinator *c, struct wait *wait)
{
    struct resource *resource = wait->resource;
    const struct queue *queue = resource->queue;
    bool is_head = queue->head == wait;
    bool head_pauses = queue->round == NULL && !release_is_awaited(resource) && !queue->sweeping;
    /* A head that is about to ask does not pause: its item is due in this millisecond. */
    head_pauses = head_pauses && (c->now_ms < resource->retry_ms || names_use(resource) == NAMES_USED);
    if (wait->patient && wait->session->state == SESSION_OPEN)
        return false;
    bool used = wait->mode->in_way(resource) || (is_head && names_use(resource) == NAMES_USED);
    if (wait->patient) {
        if (is_head && !used)
            return false; /* its first attempt comes next */
        wait_refuse(c, wait, REPLY_CANCELLED);
    } else if (used || queue->head->mode->in_way(resource)) {
        refuse_busy(c, wait, false);
    } else {
        bool quorum_is_back =
            resource->queue->verdict.code == REPLY_NOQUORUM && quorum_has(&c->quorum, c->voters);
        if (is_head || !head_pauses)
            return false; /* the request asks for itself, or will be swept */
        if (quorum_is_back) {
            resource->retry_ms = 0;
            resource_advance(c, resource);
            return true;
        }
        refuse_behind_head(c, wait);
    }
    queue_remove(c, wait);
    if (resource->links != NULL)
        queue_due(c, resource);
    return true;
}

void resource_ask(struct coordinator *c, struct session *session, uint64_t request,
                  const struct request *what)
{
    struct resource *resource = fit_lock(c, session, request, what);
    if (resource == NULL)
        return;
    struct wait *wait = wait_new(c, resource, what, request);
    if (wait == NULL) {
        refuse_limit(c, session, request, &what->name, LIMIT_MAX_WAITERS);
        queue_due(c, resource);
        return;
    }
    if (resource->queue->head == NULL && !wait->patient)
        resource->retry_ms = 0; /* only patient requests pause for the turn of other daemons */
    queue_append(c, resource, session, wait);
    if (answer_at_once(c, wait))
        return;
    if (resource->queue->head == wait)
        resource_advance(c, resource);
}

/* ---- a waiter leaves ---- */

void wait_timer(struct coordinator *c, struct wait *wait)
{
    heap_remove(&c->deadlines, &wait->item);
    if (wait_is_trying(c, wait))
        return;
    refuse_timeout(c, wait);
    wait_leave(c, wait);
}

void wait_cancel(struct coordinator *c, struct wait *wait, enum reply_code code)
{
    wait_refuse(c, wait, code);
    wait_leave(c, wait);
}

void wait_drop(struct coordinator *c, struct wait *wait)
{
    wait_leave(c, wait);
}
