/* Heads that are due: whatever ended something that stood before a queue's head puts the head's next attempt into a step
 * of its own, which comes next. So a step begins one attempt at most, and has random bytes for it. */
#ifndef REDLOCKD_DUE_H
#define REDLOCKD_DUE_H

#include "daemon/coordinator/data/state.h"

/* Something that stood before the head of this resource may be gone. */
void queue_due(struct coordinator *c, struct resource *resource);
/* The lock may be free now. */
void queue_freed(struct coordinator *c, struct resource *resource);

/* Takes the next head that is due, the one that came first: where lists have names, what it keeps decides about the
 * others. So each of them is looked at once, however many there are. Returns its resource, which may advance. */
struct resource *queue_take_due(struct coordinator *c);

/* Returns the resource whose head may ask now, as far as this name alone says; NULL: something stands before the head,
 * whose end or time comes back here, or nobody uses the resource, which is freed. Of a slot, it is its name's. */
struct resource *queue_ready(struct coordinator *c, struct resource *resource);

#endif
