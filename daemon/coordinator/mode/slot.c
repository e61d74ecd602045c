/* A numbered slot of a name (slots.h). Its resource and that of the name share the queue, and answer alike. */
#include "proto/slot.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/mode/acquire_slots.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/mode/writer.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/wait/resource.h"

/* The answers to LOOK, and wakes since then, stand while the head asks for slots. */
static void slot_forget(struct queue *queue, bool looks)
{
    if (!looks)
        return;
    queue->slots->passes |= queue->wake.woken;
    writer_forget(queue, looks);
}

/* The slots of the name that this one is of are made if nothing uses the name yet. */
static bool slot_made(struct coordinator *c, struct resource *resource)
{
    struct name name;
    slot_base(&name, resource->name);
    struct resource *base = resource_find(c, &name);
    bool is_new = base == NULL;
    if (is_new)
        base = resource_find_or_make(c, &name);
    if (base == NULL)
        return false;
    if (is_new && !slots_make(c, base)) {
        resource_free(c, base);
        return false;
    }
    if (base->queue->slots == NULL)
        return false; /* the name is used without slots */
    slots_join(base->queue->slots, resource);
    return true;
}

static void slot_ends(struct coordinator *c, struct resource *resource)
{
    struct slots *slots = resource->queue->slots;
    if (slots == NULL)
        return; /* it was made in vain */
    if (slots->base == resource)
        slots_free(c, slots);
    else
        slots_leave(slots, resource);
    resource->queue = &c->nobody;
}

/* The queue stays, as new. */
static void slot_queue_ends(struct coordinator *c, struct resource *resource)
{
    (void)c;
    struct slots *slots = resource->queue->slots;
    slots->queue = (struct queue){.item.kind = ITEM_QUEUE, .resource = resource, .slots = slots};
    slots->queue.verdict.code = REPLY_BUSY;
}

static bool slot_in_way(const struct resource *resource)
{
    return slots_are_held(resource->queue->slots);
}

static bool slot_awaits(const struct resource *resource)
{
    return release_is_awaited(resource) || slots_are_awaited(resource->queue->slots);
}

static bool slot_stays(const struct resource *resource)
{
    return resource->queue->slots->here != 0;
}

static void slot_stands(struct resource *resource, int by)
{
    resource->queue->slots->awaited += (uint32_t)by;
}

/* A head that is asking for another slot already, or is about to, goes on with that. */
static bool slot_follows(const struct coordinator *c, const struct resource *resource)
{
    const struct queue *queue = resource->queue;
    (void)c;
    return queue->round == NULL && queue->look.place == 0 && !queue->sweeping;
}

/* The head asks for another slot, or was just refused. */
static bool slot_asks_on(const struct queue *queue)
{
    return queue->round != NULL || queue->sweeping;
}

/* Other slots may be free. */
static int64_t slot_along_ms(const struct coordinator *c, const struct resource *base)
{
    if (slots_are_held(base->queue->slots))
        return INT64_MAX;
    return base->retry_ms > c->now_ms ? base->retry_ms : c->now_ms;
}

/* A head that pauses already asks no later for that. */
static int64_t slot_yields(const struct coordinator *c, struct resource *base, int64_t at_ms)
{
    slots_wanted(c, base);
    return base->retry_ms > c->now_ms ? earlier_ms(base->retry_ms, at_ms) : at_ms;
}

/* The name is asked: of several slots it is the latest that the session got. */
static struct lease *slot_lease_of(const struct coordinator *c, const struct resource *resource, uint64_t key)
{
    const struct slots *slots = resource->queue->slots;
    if (slots->base != resource)
        return resource_lease_of(c, resource, key);
    const struct session *session = session_find(c, key);
    struct hold *hold = session != NULL ? session->holds : NULL;
    while (hold != NULL && lease_of_hold(hold)->resource->queue->slots != slots)
        hold = hold->session_next;
    return hold != NULL ? lease_of_hold(hold) : NULL;
}

/* A wake that brought this daemon no slot is passed on, whether it has another slot or not. */
static void slot_left(struct coordinator *c, struct resource *resource)
{
    struct slots *slots = resource->queue->slots;
    masters_t woken = slots->queue.wake.woken | slots->passes;
    wake_send(c, COMMAND_DEQUEUE, slots->base->name, slots->queue.wake.queued);
    wake_pass(c, slots->base->name, woken);
    slots->passes = 0;
}

/* The holder of a slot hears of those who wait, and the last head takes this daemon out of the queue. */
static void slot_got(const struct coordinator *c, struct resource *resource)
{
    (void)c;
    resource->queue->wake.hushed = false;
}

/* No master decides whose attempt goes on, since another slot may be free. */
const struct mode mode_slot = {
    .keeping = &keeping_own,
    .grant = lease_grant,
    .token = TOKEN_SLOT,
    .wakes = true,
    .hands_on = true,
    .fans_out = true,
    .one_stops = true,
    .proposes = true,
    .begin = slots_begin,
    .forget = slot_forget,
    .ask = writer_ask,
    .granted = slots_taken,
    .refused = slots_refused,
    .made = slot_made,
    .ends = slot_ends,
    .queue_ends = slot_queue_ends,
    .in_way = slot_in_way,
    .awaits = slot_awaits,
    .stays = slot_stays,
    .stands = slot_stands,
    .follows = slot_follows,
    .asks_on = slot_asks_on,
    .along_ms = slot_along_ms,
    .yields = slot_yields,
    .lease_of = slot_lease_of,
    .freed = slots_freed,
    .contended = slots_wanted,
    .is_contended = slots_are_wanted,
    .woken_in_vain = wake_pass, /* another slot is free then */
    .left = slot_left,
    .got = slot_got,
    .enter = writer_enter,
    .leave = writer_leave,
    .count = writer_count,
    .beside = writer_beside,
};
