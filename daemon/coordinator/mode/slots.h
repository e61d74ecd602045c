/* A name with numbered slots: at most n clients hold it at once, each a slot of its own.
 *
 *     resource "job" (the base) --< slots >-- resource "job,0", resource "job,7": each a lock like any other
 *          |
 *          +--< requests wait here, whichever slot they get; all these resources share the queue
 *
 * Each slot is a lock of its own: with a key, a token, a fence, a lease, releases and turns of its own. Only what
 * stands before the grant is the name's: the queue here, and the queue on the masters.
 *
 * Here is the data of a name with slots. acquire_slots.c asks for a slot. */
#ifndef REDLOCKD_SLOTS_H
#define REDLOCKD_SLOTS_H

#include "daemon/coordinator/data/state.h"

enum { SLOT_WORDS = SLOTS_MAX / 64, LOOK_PLANES = 4 };

struct slots {
    uint64_t id;
    struct resource *base; /* (ref) the name itself, without a lease of its own */
    struct queue queue;
    uint32_t n;                /* 0: not known yet, since only tokens of slots were shown here */
    uint32_t here;             /* slots with a resource of their own */
    uint32_t bound;            /* of these, slots with a lease that is bound to a session here */
    uint32_t awaited;          /* slots whose release stands before the next head: release_is_awaited() */
    int32_t last;              /* the slot that was given back here last; -1: none */
    uint64_t attempt;          /* id of the wait whose attempt is under way; 0: none */
    int64_t began_ms;          /* when that attempt began */
    uint8_t tries;             /* SETs that were refused since it began, or since its last LOOK */
    bool looked;               /* a LOOK of that attempt is over */
    bool joined;               /* with the last LOOK this daemon joined the queue on the masters */
    int64_t looked_ms;         /* when the last LOOK was over; 0: it counts no more */
    int64_t wanted_ms;         /* until then other daemons are believed to want a slot */
    masters_t passes;          /* masters that woke this daemon before its last LOOK */
    struct tally tally;        /* of the last LOOK */
    uint64_t mine[SLOT_WORDS]; /* slots with a resource of their own */
    uint64_t free[SLOT_WORDS]; /* slots that Q masters showed without a key, and not tried since */
    uint64_t planes[LOOK_PLANES][SLOT_WORDS]; /* how many masters showed that: bit p of each slot's number */
    uint16_t said[MASTERS]; /* how many slots each master said there are; 0: it did not say */
};

/* Makes a name that nothing uses yet one with slots. Returns false if there are too many such names. */
bool slots_make(struct coordinator *c, struct resource *base);
void slots_free(struct coordinator *c, struct slots *slots);

/* The resource is that of slot i of the name from now on, or is it no more. */
void slots_join(struct slots *slots, struct resource *resource);
void slots_leave(struct slots *slots, const struct resource *resource);

/* The name as clients know it: the base of a slot's resource, else the resource itself. */
static inline struct resource *slots_base(struct resource *resource)
{
    return resource->queue->slots != NULL ? resource->queue->slots->base : resource;
}

/* How many slots of the name requests here ask for; 0: none, or not known yet. */
static inline uint16_t slots_asked(const struct resource *resource)
{
    return resource->queue->slots != NULL ? (uint16_t)resource->queue->slots->n : 0;
}

/* Whether a slot of the name is used here. */
static inline bool slots_are_here(const struct resource *resource)
{
    return resource->queue->slots != NULL && resource->queue->slots->here != 0;
}

/* Whether sessions here hold all slots of the name. */
static inline bool slots_are_held(const struct slots *slots)
{
    return slots->n != 0 && slots->bound >= slots->n;
}

/* Whether no slot can be asked for before a release here is answered: all others are held here. */
static inline bool slots_are_awaited(const struct slots *slots)
{
    return slots->awaited != 0 && slots->n != 0 && slots->bound + slots->awaited >= slots->n;
}

/* Whether a LOCK with slots=n fits to the slots in use here; notes n if it was not known before. */
bool slots_fit(struct slots *slots, uint32_t n);
/* Fills in what -MODE tells of a name with these slots; NULL: with none. */
void slots_differ(struct reply *reply, const struct slots *slots);
/* How many slots the name has, or at least has. */
uint16_t slots_count(const struct slots *slots);

/* The slot was given back here: it is the first that the next head asks for. */
void slots_freed(struct resource *resource);
/* Other daemons want a slot; and whether they are believed to. */
void slots_wanted(const struct coordinator *c, struct resource *resource);
bool slots_are_wanted(const struct coordinator *c, const struct resource *resource);

/* ---- LOOK ---- */

void slots_look_begin(struct slots *slots, bool joins);
void slots_look_count(struct slots *slots, unsigned master, const struct slots_seen *seen);
/* Whether so many masters or more showed the slot without a key. */
bool slots_look_is_free(const struct slots *slots, unsigned slot, unsigned masters);
/* How many slots Q masters say there are, if that is another number; 0: they do not. */
uint16_t slots_look_differs(const struct coordinator *c, const struct slots *slots);

static inline bool slots_has(const uint64_t set[SLOT_WORDS], unsigned slot)
{
    return set[slot / 64] >> (slot % 64) & 1;
}

static inline void slots_put(uint64_t set[SLOT_WORDS], unsigned slot, bool in)
{
    uint64_t bit = UINT64_C(1) << (slot % 64);
    set[slot / 64] = in ? set[slot / 64] | bit : set[slot / 64] & ~bit;
}

#endif
