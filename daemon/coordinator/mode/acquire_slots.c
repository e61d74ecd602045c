#include "daemon/coordinator/mode/acquire_slots.h"

#include "daemon/coordinator/ask/acquire.h"
#include "daemon/coordinator/ask/acquire_private.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/cut.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/turn.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"
#include "proto/slot.h"

enum {
    TRIES = 4,      /* slots that are tried after a LOOK */
    LOOKED_MS = 10, /* for so long a LOOK serves other heads */
};

/* ---- which slot ---- */

/* Whether nothing here stands before a SET for the slot: neither a holder nor a release without answers. */
static bool slots_may_ask(const struct coordinator *c, const struct slots *slots, unsigned slot)
{
    struct name own;
    if (!slots_has(slots->mine, slot))
        return true;
    slot_name(&own, slots->base->name, slot);
    const struct resource *resource = resource_find(c, &own);
    bool held = resource->lease != NULL && lease_is_bound(resource->lease);
    return !held && !release_is_awaited(resource);
}

/* A slot at random: of those that the LOOK showed free, or of those that are not in use here; -1: there is none. */
static int slots_pick(struct coordinator *c, const struct slots *slots, bool looked)
{
    unsigned n = slots->n, from = (unsigned)random_between(c, 0, (int64_t)n - 1);
    for (unsigned i = 0; i < n; i++) {
        unsigned slot = (from + i) % n;
        if (looked ? slots_has(slots->free, slot) && slots_may_ask(c, slots, slot)
                   : !slots_has(slots->mine, slot))
            return (int)slot;
    }
    return -1;
}

/* Whether the last LOOK says enough for this head. A head that waits must have joined the queue by it, and looks
 * again each time that it asks again. */
static bool slots_know(const struct coordinator *c, const struct slots *slots, const struct wait *head)
{
    if (slots->looked_ms == 0)
        return false;
    if (slots->looked)
        return true;
    bool changed = slots->queue.wake.woken != 0 || slots->queue.attempt.release_seen;
    return !changed && !head->tried && c->now_ms - slots->looked_ms < LOOKED_MS &&
           (slots->joined || !head->patient);
}

static int slots_choose(struct coordinator *c, const struct slots *slots, const struct wait *head)
{
    /* A slot that was resumed here and given back may lie beyond: its client named more slots elsewhere. */
    bool within = slots->last >= 0 && (unsigned)slots->last < slots->n;
    if (within && slots_may_ask(c, slots, (unsigned)slots->last))
        return slots->last;
    if (slots_know(c, slots, head))
        return slots_pick(c, slots, true);
    if (head->tried || slots->tries > 0 || c->now_ms < slots->wanted_ms)
        return -1;
    return slots_pick(c, slots, false);
}

/* ---- an attempt ---- */

/* A head with wait=0 is answered within two time-outs: it begins no round after the first. */
static bool slots_is_late(const struct coordinator *c, const struct slots *slots)
{
    return !slots->queue.head->patient && c->now_ms - slots->began_ms >= c->config.node_timeout_ms;
}

static void slots_end(struct coordinator *c, struct slots *slots, const struct verdict *verdict)
{
    slots->attempt = 0;
    slots->looked = false;
    resource_refused(c, slots->base, verdict);
}

static void slots_ask(struct coordinator *c, struct slots *slots, unsigned slot)
{
    struct name own;
    slot_name(&own, slots->base->name, slot);
    struct resource *resource = resource_find_or_make(c, &own);
    if (slots->last == (int)slot)
        slots->last = -1;
    slots_put(slots->free, slot, false);
    if (resource == NULL)
        slots_end(c, slots, &(struct verdict){.code = REPLY_LIMIT, .limit = LIMIT_MAX_LOCKS});
    else
        acquire_set(c, resource);
}

static void slots_look_send(struct coordinator *c, const struct round *round, masters_t masters)
{
    const struct slots *slots = round->resource->queue->slots;
    struct command command = {.verb = COMMAND_LOOK,
                              .ref = round->id,
                              .slots = (uint16_t)slots->n,
                              .number = 2 * (uint64_t)c->longest_ttl_ms,
                              .waited_ms = (uint64_t)(c->now_ms - slots->queue.head->asked_ms)};
    if (slots->joined)
        command.to = c->config.self;
    name_copy(&command.name, slots->base->name);
    action_send(c, masters, &command);
}

static void slots_look_ask(struct coordinator *c, struct slots *slots)
{
    static const struct token none;
    struct queue *queue = &slots->queue;
    struct round *round = acquire_round(c, slots->base, ROUND_LOOKING, &none);
    slots_look_begin(slots, queue->head->patient);
    queue->attempt.release_seen = false;
    if (slots->joined)
        queue->wake.queued |= c->voters;
    slots_look_send(c, round, round->tally.asked);
}

/* The LOOK showed no slot that may be asked for. */
static void slots_busy(struct coordinator *c, struct slots *slots)
{
    struct verdict verdict = {
        .code = REPLY_BUSY, .tally = slots->tally, .joined = slots->joined, .heard = slots->queue.wake.heard};
    slots_end(c, slots, &verdict);
}

void slots_begin(struct coordinator *c, struct resource *base)
{
    struct slots *slots = base->queue->slots;
    const struct wait *head = slots->queue.head;
    if (slots->attempt != head->id) {
        slots->attempt = head->id;
        slots->began_ms = c->now_ms;
        slots->tries = 0;
        slots->looked = false;
    }
    if (slots_is_late(c, slots)) {
        slots_end(c, slots, &(struct verdict){.code = REPLY_BUSY, .split = slots->looked});
        return;
    }
    int slot = slots_choose(c, slots, head);
    if (slot >= 0)
        slots_ask(c, slots, (unsigned)slot);
    else if (slots_know(c, slots, head))
        slots_busy(c, slots);
    else
        slots_look_ask(c, slots);
}

/* Other daemons got four of the slots that were free a moment ago. Another LOOK follows a pause. */
void slots_refused(struct coordinator *c, struct resource *resource, const struct verdict *verdict)
{
    struct slots *slots = resource->queue->slots;
    bool more = !slots->looked || slots->tries + 1 < TRIES;
    turn_refused(resource);
    slots->tries++;
    resource_rest(c, resource);
    if (more && verdict->code == REPLY_BUSY && !slots_is_late(c, slots) && !slots_are_held(slots)) {
        slots->base->retry_ms = 0;
        heap_set(&c->deadlines, &slots->queue.item, c->now_ms);
        return;
    }
    struct verdict last = *verdict;
    last.split = verdict->code == REPLY_BUSY && slots->looked;
    last.joined = true;
    last.heard = 0;
    slots->looked_ms = 0;
    slots_end(c, slots, &last);
}

/* Where it had to look, others may be in the queue whom only the release of this slot wakes. */
void slots_taken(struct coordinator *c, const struct round *round, struct resource *resource)
{
    (void)round;
    struct slots *slots = resource->queue->slots;
    if (slots->looked)
        slots_wanted(c, slots->base);
    slots->attempt = 0;
    slots->looked = false;
    slots->passes = 0;
}

/* The SETs of an attempt have the TTL of the request that began it. */
void slots_pass_on(struct coordinator *c, struct slots *slots)
{
    const struct round *round = slots->queue.round;
    const struct wait *next = slots->queue.head->next;
    if (round == NULL)
        return;
    if (next != NULL && (round->phase == ROUND_LOOKING || next->ttl_ms == round->ttl_ms))
        slots->attempt = next->id;
    else
        acquire_abandon(c, slots->base);
}

/* ---- LOOK ---- */

static bool slots_any_free(const struct slots *slots, unsigned masters)
{
    unsigned slot = 0;
    while (slot < slots->n && !slots_look_is_free(slots, slot, masters))
        slot++;
    return slot < slots->n;
}

static bool slots_shows_free(const struct slots *slots, const struct slots_seen *seen)
{
    unsigned slot = 0;
    while (slot < slots->n && (seen->taken[slot / 8] >> (slot % 8) & 1))
        slot++;
    return slot < slots->n;
}

static void slots_seen(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
{
    struct slots *slots = round->resource->queue->slots;
    struct queue *queue = &slots->queue;
    masters_t bit = masters_bit(master);
    slots_look_count(slots, master, &vote->seen);
    if (slots_shows_free(slots, &vote->seen))
        round->tally.granted |= bit;
    else
        round->tally.refused |= bit;
    if (slots->joined && vote->seen.heard)
        queue->wake.heard |= bit;
    cut_if_long(c, slots->base, master, vote->seen.longest_ms);
    if (vote->number == 0 || vote->number > (uint64_t)INT32_MAX)
        return;
    queue->attempt.ends |= bit;
    queue->attempt.ends_ms[master] = (uint64_t)(c->now_ms + (int64_t)vote->number + 1);
}

void slots_told(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round_silent(round) & bit))
        return;
    if (vote->kind == VOTE_LOOKED)
        slots_seen(c, round, master, vote);
    else if (vote->kind == VOTE_NOT_RUN)
        slots_look_send(c, round, bit);
    else
        round->tally.failed |= bit;
}

/* Notes what was seen, and goes on with the attempt. */
static void slots_looked(struct coordinator *c, struct round *round)
{
    struct resource *base = round->resource;
    struct slots *slots = base->queue->slots;
    bool any = false;
    for (unsigned slot = 0; slot < slots->n; slot++) {
        bool is_free = slots_look_is_free(slots, slot, c->quorum.needed);
        slots_put(slots->free, slot, is_free);
        any |= is_free;
    }
    if (!any)
        slots->passes = 0; /* whoever else was woken got it, or wakes the next one */
    slots->tally = round->tally;
    slots->looked = true;
    slots->looked_ms = c->now_ms;
    slots->tries = 0;
    acquire_detach(c, round);
    round_free(c, round);
    if (slots_are_held(slots)) /* by a RESUME meanwhile */
        slots_busy(c, slots);
    else
        queue_due(c, base);
}

static void slots_give_up(struct coordinator *c, struct round *round, const struct verdict *verdict)
{
    struct slots *slots = acquire_detach(c, round)->queue->slots;
    round_free(c, round);
    slots_end(c, slots, verdict);
}

/* Where no slot is free, a head that waits may sleep only if Q masters told all holders so. */
void slots_look(struct coordinator *c, struct round *round, bool late)
{
    const struct slots *slots = round->resource->queue->slots;
    masters_t answered = round->tally.granted | round->tally.refused, heard = slots->queue.wake.heard;
    masters_t silent = late ? 0 : round_silent(round);
    bool enough = quorum_has(&c->quorum, answered);
    unsigned needed = c->quorum.needed, more = quorum_count(&c->quorum, silent);
    if (!quorum_has(&c->quorum, answered | silent)) {
        slots_give_up(c, round, &(struct verdict){.code = REPLY_NOQUORUM, .tally = round->tally});
        return;
    }
    uint16_t differs = slots_look_differs(c, slots);
    if (differs != 0) {
        slots_give_up(c, round, &(struct verdict){.code = REPLY_MODE, .slots = differs});
        return;
    }
    bool sleeps = slots->joined && !quorum_has(&c->quorum, heard) && quorum_has(&c->quorum, heard | silent);
    bool open = !enough || sleeps || (more != 0 && slots_any_free(slots, needed - more));
    if (!open || (enough && slots_any_free(slots, needed)))
        slots_looked(c, round);
}
