/* The head's attempt at a name with slots: which slot it asks for.
 *
 *     the slot that was given back here last, or a random one --granted--> granted
 *        |
 *        '--refused--> LOOKING: up to four of those that Q masters showed free, one after the other
 *                         |                 '--all refused: BUSY split=1, or a short pause
 *                         '--none is free: BUSY, or asleep in the queue of the name
 *
 * Where other daemons want slots too, the attempt begins with LOOK, by which a head that waits also joins the
 * queue on the masters. A LOOK serves every head here for a moment. Each SET is a round of its own, as for a name
 * without slots, and the slot is granted by its votes alone. */
#ifndef REDLOCKD_ACQUIRE_SLOTS_H
#define REDLOCKD_ACQUIRE_SLOTS_H

#include "daemon/coordinator/data/state.h"

/* Begins an attempt for the head of a name with slots, or goes on with it; a SET for a slot was granted, so that the
 * attempt is over; or it failed with this verdict, and was undone (struct mode). */
void slots_begin(struct coordinator *c, struct resource *base);
void slots_taken(struct coordinator *c, const struct round *round, struct resource *resource);
void slots_refused(struct coordinator *c, struct resource *resource, const struct verdict *verdict);

/* A master answered a LOOK. */
void slots_told(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote);
/* Decides a LOOK if its votes allow it, and frees the round then. */
void slots_look(struct coordinator *c, struct round *round, bool late);
/* The head is about to be handed another slot than the one that it asks for: its attempt goes on for the next
 * request, or is undone. */
void slots_pass_on(struct coordinator *c, struct slots *slots);

#endif
