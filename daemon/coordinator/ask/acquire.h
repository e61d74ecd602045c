/* The attempt of a name's head to get its lock: SET on all masters that may vote, a fence above every
 * earlier one (fence.h), and enough time left.
 *
 *     ASKING --Q granted, fence agreed, validity left--> granted (lease_grant)
 *        |
 *        +--fewer than Q can grant, or late-----------> refused, and undone by a release
 *        +--the same, Q answered and some refused-----> REASKING (acquire_split.h), unless the head polls
 *
 * A head that probably finds a key begins in QUEUING instead: it joins the queue on the masters (wake.h), and
 * asks there whether the key is there.
 *
 * The head is answered through resource.c. Sources: the Redlock page for the quorum and the validity;
 * Kleppmann, "How to do distributed locking", for the fence. */
#ifndef REDLOCKD_ACQUIRE_H
#define REDLOCKD_ACQUIRE_H

#include "daemon/coordinator/data/state.h"

/* Begins an attempt for the head, which must exist and have none. If the attempt cannot begin (no quorum,
 * a limit), the head is refused at once. */
void acquire_begin(struct coordinator *c, struct resource *resource);

/* Ends the head's attempt without an answer: its keys are released, and the resource has no round any
 * more. */
void acquire_abandon(struct coordinator *c, struct resource *resource);

/* Decides the attempt if its votes allow it, and may free the round. Called after each vote, and with late
 * when the time-out of the phase has passed. */
void acquire_look(struct coordinator *c, struct round *round, bool late);
/* The time has come to ask the masters that fanout: quorum left out, or to ask again for a lock whose votes were
 * split. */
void acquire_timer(struct coordinator *c, struct round *round);

#endif
