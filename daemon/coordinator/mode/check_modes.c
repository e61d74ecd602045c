#include "daemon/coordinator/mode/check_modes.h"

#include <assert.h>

#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/slots.h"
#include "proto/slot.h"

/* ---- slots ---- */

void check_queue_of_mode(const struct coordinator *c, const struct queue *queue)
{
    if (queue->slots != NULL)
        assert(pool_find(&c->slots, queue->slots->id) == queue->slots && queue == &queue->slots->queue);
    else
        assert(pool_find(&c->queues, queue->id) == queue && queue->waiters > 0);
}

bool check_slots_await(const struct coordinator *c, const struct resource *base)
{
    const struct slots *slots = base->queue->slots;
    for (uint32_t place = 0; place < c->resources.fresh; place++) {
        const struct resource *resource = pool_at(&c->resources, place);
        if (slots != NULL && resource != NULL && resource->queue->slots == slots &&
            release_is_awaited(resource))
            return true;
    }
    return false;
}

/* The resource of a slot: it has a use, and its own queue is that of its name. */
static void check_slot(const struct resource *resource)
{
    const struct slots *slots = resource->queue->slots;
    const struct round *round = slots->queue.round;
    unsigned len;
    int slot = slot_of_name(resource->name, &len);
    assert(slot >= 0 && slots_has(slots->mine, (unsigned)slot) && len == slots->base->name->len);
    assert(resource->lease != NULL || resource->giving_back != NULL || resource->resumes != NULL ||
           (round != NULL && round->resource == resource));
}

bool check_is_slot(const struct resource *resource)
{
    if (resource->queue->slots == NULL || resource->queue->resource == resource)
        return false;
    check_slot(resource);
    return true;
}

void check_slots(const struct coordinator *c, const struct resource *base)
{
    const struct slots *slots = base->queue->slots;
    uint32_t here = 0, bound = 0, awaited = 0;
    if (slots == NULL)
        return;
    for (uint32_t place = 0; place < c->resources.fresh; place++) {
        const struct resource *resource = pool_at(&c->resources, place);
        if (resource == NULL || resource->queue != base->queue || resource == base)
            continue;
        here++;
        bound += resource->lease != NULL && lease_is_bound(resource->lease);
        awaited += release_is_awaited(resource);
    }
    assert(slots->base == base && slots->queue.resource == base && base->lease == NULL);
    assert(here == slots->here && bound == slots->bound && awaited == slots->awaited);
}

/* ---- readers ---- */

uint32_t check_readers(const struct coordinator *c, const struct resource *resource)
{
    uint32_t count = 0;
    const struct lease *lease = resource->lease;
    if (lease == NULL || !lease->mode->shares) {
        assert(crowd_of(c, resource)->readers == 0 && crowd_of(c, resource)->home == NULL);
        return 0;
    }
    bool bound = true, walked = crowd_of(c, resource)->lettered == NULL;
    for (; lease != NULL; lease = shared_next(c, lease)) {
        count += lease->keeping->told;
        assert(lease->resource == resource && lease->mode->shares);
        assert(lease->secret == NULL || (lease->secret->down && lease->secret->settling));
        assert(bound || !lease_is_bound(lease));
        bound = lease_is_bound(lease);
        walked |= lease == crowd_of(c, resource)->lettered;
    }
    assert(walked && count == crowd_of(c, resource)->readers);
    return count;
}

void check_joined(const struct coordinator *c, const struct lease *lease)
{
    uint32_t readers = 0, bound = 0;
    if (lease->keeping == &keeping_own)
        return;
    assert(lease->mode->shares && lease->secret == NULL && lease->hold.kind == HOLD_SESSION);
    assert(!lease->keeping->told || (lease->copies.sent == 0 && !lease->renewing));
    if (!lease->keeping->has_key)
        return;
    assert(lease->hold.session == NULL && lease->resume == NULL);
    for (uint32_t slot = 0; slot < c->leases.fresh; slot++) {
        const struct lease *joined = pool_at(&c->leases, slot);
        if (joined == NULL || joined->keeping->has_key || shared_of(c, joined)->joins != lease->id)
            continue;
        assert(joined->resource == lease->resource && joined->until_ms <= lease->until_ms);
        readers++;
        bound += lease_is_bound(joined);
    }
    assert(readers == shared_of(c, lease)->readers && bound == shared_of(c, lease)->bound);
}

/* ---- lists ---- */

void check_lists(const struct coordinator *c)
{
    uint32_t used = 0;
    for (uint32_t slot = 0; slot < c->lists.fresh; slot++) {
        const struct list *list = pool_at(&c->lists, slot);
        if (list == NULL)
            continue;
        used++;
        assert(names_list(list->resource) == list && list->count == list->resource->name->more + 1u);
        assert((list->passing != 0 || list->firm) == (list->item.place != 0));
        for (uint32_t i = 0; i < list->count; i++) {
            const struct link *link = &list->link[i];
            assert(link->list == list && pool_find(&c->resources, link->resource->id) == link->resource);
            assert(link->prev != NULL ? link->prev->next == link : link->resource->links == link);
            assert(link->next == NULL || link->next->prev == link);
        }
    }
    assert(used == c->lists.used);
}
