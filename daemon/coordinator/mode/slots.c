#include "daemon/coordinator/mode/slots.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/name/wake.h"
#include "proto/slot.h"

enum { WANTED_MS = 2 * WAKE_SLEEP_MS };

bool slots_make(struct coordinator *c, struct resource *base)
{
    assert(base->queue == &c->nobody && base->name->more == 0);
    struct slots *slots = pool_take(&c->slots);
    if (slots == NULL)
        return false;
    slots->base = base;
    slots->last = -1;
    slots->queue.item.kind = ITEM_QUEUE;
    slots->queue.resource = base;
    slots->queue.slots = slots;
    slots->queue.verdict.code = REPLY_BUSY;
    base->queue = &slots->queue;
    base->mode = c->modes[MODE_SLOT];
    return true;
}

void slots_free(struct coordinator *c, struct slots *slots)
{
    assert(slots->here == 0 && slots->bound == 0 && slots->queue.head == NULL);
    assert(slots->queue.item.place == 0);
    slots->base->queue = &c->nobody;
    pool_give(&c->slots, slots);
}

static unsigned slots_number(const struct resource *resource)
{
    unsigned len;
    int slot = slot_of_name(resource->name, &len);
    assert(slot >= 0 && slot < SLOTS_MAX);
    return (unsigned)slot;
}

void slots_join(struct slots *slots, struct resource *resource)
{
    resource->queue = &slots->queue;
    slots_put(slots->mine, slots_number(resource), true);
    slots->here++;
}

void slots_leave(struct slots *slots, const struct resource *resource)
{
    slots_put(slots->mine, slots_number(resource), false);
    slots->here--;
}

/* 1 + the highest slot that is used here. */
static uint16_t slots_used(const struct slots *slots)
{
    unsigned used = SLOTS_MAX;
    while (used > 0 && !slots_has(slots->mine, used - 1))
        used--;
    return (uint16_t)used;
}

bool slots_fit(struct slots *slots, uint32_t n)
{
    if (slots->n == 0 && n >= slots_used(slots))
        slots->n = n;
    return slots->n == n;
}

uint16_t slots_count(const struct slots *slots)
{
    return slots->n != 0 ? (uint16_t)slots->n : slots_used(slots);
}

void slots_differ(struct reply *reply, const struct slots *slots)
{
    reply->slots = slots != NULL ? slots_count(slots) : 0;
    reply->text = slots == NULL ? TEXT_NO_SLOTS : reply->name.more != 0 ? TEXT_LIST_OF_SLOTS : TEXT_NONE;
}

void slots_freed(struct resource *resource)
{
    struct slots *slots = resource->queue->slots;
    if (slots->base != resource)
        slots->last = (int32_t)slots_number(resource);
}

/* The release of any slot may wake a daemon, and more may wait: so a release that found nobody is no reason to
 * believe that nobody waits for another slot. */
void slots_wanted(const struct coordinator *c, struct resource *resource)
{
    resource->queue->slots->wanted_ms = c->now_ms + WANTED_MS;
}

bool slots_are_wanted(const struct coordinator *c, const struct resource *resource)
{
    return resource->contended || c->now_ms < resource->queue->slots->wanted_ms;
}

/* ---- LOOK ---- */

void slots_look_begin(struct slots *slots, bool joins)
{
    memset(slots->planes, 0, sizeof slots->planes);
    memset(slots->said, 0, sizeof slots->said);
    slots->joined = joins;
    slots->looked_ms = 0;
}

/* Adds one to the number of each slot without a key. The numbers of 64 slots at a time lie across the planes, as
 * in an adder. */
void slots_look_count(struct slots *slots, unsigned master, const struct slots_seen *seen)
{
    static_assert(MASTERS < 1 << LOOK_PLANES, "a number is at most the number of masters");
    for (unsigned word = 0; word < SLOT_WORDS; word++) {
        uint64_t carry = 0;
        for (unsigned i = 0; i < 8; i++)
            carry |= (uint64_t)(uint8_t)~seen->taken[8 * word + i] << (8 * i);
        for (unsigned p = 0; p < LOOK_PLANES; p++) {
            uint64_t next = slots->planes[p][word] & carry;
            slots->planes[p][word] ^= carry;
            carry = next;
        }
    }
    slots->said[master] = seen->slots;
}

bool slots_look_is_free(const struct slots *slots, unsigned slot, unsigned masters)
{
    unsigned number = 0;
    for (unsigned p = 0; p < LOOK_PLANES; p++)
        number |= (unsigned)slots_has(slots->planes[p], slot) << p;
    return number >= masters;
}

uint16_t slots_look_differs(const struct coordinator *c, const struct slots *slots)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        unsigned same = 0;
        for (unsigned k = 0; k < c->config.masters; k++)
            same += (c->quorum.of & masters_bit(k)) && slots->said[k] == slots->said[i];
        if (slots->said[i] != 0 && slots->said[i] != slots->n && same >= c->quorum.needed)
            return slots->said[i];
    }
    return 0;
}
