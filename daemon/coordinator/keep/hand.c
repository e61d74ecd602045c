#include "daemon/coordinator/keep/hand.h"

#include <assert.h>

#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/master/wall.h"
#include "daemon/coordinator/mode/acquire_slots.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/turn.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

/* Fences of a reserve: some for each waiter, or a little more than the last lease used. A reserve may be
 * larger the faster it is used up, so that fences never run ahead of the clock by more than a few ms. */
enum { EACH = 4, SOME = 16, MOST = 255 };

/* ---- the reserve ---- */

static uint64_t reserve_size(const struct resource *resource)
{
    uint64_t size = EACH * (uint64_t)resource->queue->waiters + SOME;
    uint64_t used = (uint64_t)resource->handed + resource->handed / 4;
    size = size < MOST ? size : MOST;
    return used > size ? used : size;
}

static bool reserve_is_far(const struct coordinator *c, uint64_t top)
{
    return fence_is_beyond(top) || top > wall_most_us(c);
}

/* Begins a reserve above this fence; NULL: none was sent. */
static struct round *reserve_begin(struct coordinator *c, struct resource *resource, uint64_t fence,
                                   masters_t masters)
{
    static const struct token none;
    uint64_t top = fence + reserve_size(resource);
    if (!quorum_has(&c->quorum, masters) || reserve_is_far(c, top))
        return NULL;
    struct round *round = round_begin(c, ROUND_RESERVING, resource->name, &none, 0);
    if (round == NULL)
        return NULL;
    round->purpose = ROUND_RESERVE;
    round->proposal = top;
    round->tally.asked = round->tally.granted = masters;
    if (top > resource->reserved)
        resource->reserved = top & FENCE_MAX;
    fence_ask(c, round, masters);
    return round;
}

static void reserve_for(struct coordinator *c, struct lease *lease)
{
    struct secret *secret = lease->secret;
    masters_t counted = heal_counted(c, lease);
    uint64_t above = secret->reserved > lease->hold.fence ? secret->reserved : lease->hold.fence;
    if (secret->reserving != 0)
        return;
    struct round *round = reserve_begin(c, lease->resource, above, lease->copies.may & counted & c->voters);
    if (round == NULL)
        return;
    round->lease = lease->id;
    secret->reserving = round->id;
}

/* More is reserved while the last quarter is being used. */
static void reserve_more(struct coordinator *c, struct lease *lease)
{
    uint64_t left = lease->secret->reserved - lease->hold.fence;
    if (left <= lease->secret->reserved_at_once / 4)
        reserve_for(c, lease);
}

void hand_asked(struct coordinator *c, struct resource *resource, const struct round *round)
{
    struct queue *queue = resource->queue;
    if (!slots_base(resource)->hands || !secret_is_wanted(c, queue->head))
        return;
    const struct round *reserve = reserve_begin(c, resource, round->proposal, round->fence.asked);
    if (reserve != NULL)
        queue->attempt.reserve = reserve->id;
}

void hand_granted(struct coordinator *c, struct lease *lease, const struct round *round)
{
    struct queue *queue = lease->resource->queue;
    struct secret *secret = lease->secret;
    if (secret == NULL)
        return;
    secret_granted(lease, fence_standing(c, round));
    struct round *reserve = pool_find(&c->rounds, queue->attempt.reserve);
    if (reserve != NULL && reserve->phase == ROUND_RESERVING && reserve->proposal > lease->hold.fence) {
        reserve->lease = lease->id;
        secret->reserving = reserve->id;
    }
    reserve_for(c, lease);
    lease->resource->handed = 0;
    slots_base(lease->resource)->hands = true; /* each slot ends with its release */
}

void hand_look(struct coordinator *c, struct round *round, bool late)
{
    struct lease *lease = pool_find(&c->leases, round->lease);
    struct secret *secret = lease != NULL ? lease->secret : NULL;
    bool over = late || round->fence.pending == 0;
    bool mine = secret != NULL && secret->reserving == round->id;
    masters_t stored = mine ? fence_standing(c, round) & secret->granting & round->fence.answered : 0;
    if (mine && quorum_has(&c->quorum, stored) && round->proposal > secret->reserved) {
        secret->reserved_at_once = round->proposal - lease->hold.fence;
        secret->reserved = round->proposal;
    }
    if (mine && (over || secret->reserved >= round->proposal))
        secret->reserving = 0;
    if (over || (mine && secret->reserving == 0))
        round_decided(c, round);
}

/* ---- from one holder to the next ---- */

/* A holder that dies must not keep the name for longer than its own TTL says, and the next one must have time
 * to do its work: at least half of its TTL, so that its first renewal comes before the deadline. */
static bool hand_has_time(const struct coordinator *c, const struct lease *lease, const struct wait *head)
{
    int64_t left_ms = lease->until_ms - c->now_ms;
    int64_t least_ms = head->ttl_ms / 2;
    bool longer = lease->renewing && lease->ttl_ms > head->ttl_ms;
    return left_ms >= c->config.min_validity_ms && left_ms >= least_ms && left_ms <= head->ttl_ms && !longer;
}

/* While an EXTEND is under way, or a trial may show that less time is left, the lease is released. */
static bool hand_may(const struct coordinator *c, const struct lease *lease)
{
    const struct resource *resource = lease->resource;
    const struct queue *queue = resource->queue;
    if (lease->secret == NULL || lease->secret->settling || queue->head == NULL)
        return false;
    if (lease->extending != 0 || queue->sweeping || (queue->round != NULL && queue->slots == NULL))
        return false;
    if (c->draining || c->differing != 0 || trial_is_open(c) || names_use(resource) != NAMES_FREE)
        return false;
    return lease->hold.fence < lease->secret->reserved && turn_is_young(c, resource) &&
           secret_may_pass_to(c, queue->head) && hand_has_time(c, lease, queue->head);
}

static void hand_on(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    if (resource->queue->slots != NULL)
        slots_pass_on(c, resource->queue->slots);
    lease_pass(c, lease, resource->queue->head);
    lease->hold.fence++;
    if (resource->handed < HANDED)
        resource->handed++;
    c->stats.handed_on++;
    lease_granted(c, resource, lease);
    reserve_more(c, lease);
}

/* Hands the lease on, if that is safe; the session and request are of the UNLOCK to answer. */
static bool hand_try(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request)
{
    if (!hand_may(c, lease))
        return false;
    action_handed(c, session, request, lease->resource->name);
    hand_on(c, lease);
    return true;
}

void hand_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                    bool bound)
{
    if (!hand_try(c, lease, session, request))
        lease->keeping->give_back(c, lease, session, request, bound);
}
