/* The attempt of a name's head to get its lock: SET on all masters that may vote, a fence
 * that is above every earlier one, and what is left of the time.
 *
 * Source: the Redlock page for the quorum and the validity; Kleppmann, "How to do
 * distributed locking", for the fence. */
#ifndef REDLOCKD_ACQUIRE_H
#define REDLOCKD_ACQUIRE_H

#include "daemon/coordinator/state.h"

/* The head asks. Answers it at once where that is all there is to do. */
void acquire_begin(struct coordinator *c, struct resource *resource);

/* Nobody wants it any more: what it set is taken back. The resource has no round then. */
void acquire_abandon(struct coordinator *c, struct resource *resource);

void acquire_look(struct coordinator *c, struct round *round, bool late);
/* The time has come to ask again for a lock whose votes were split. */
void acquire_timer(struct coordinator *c, struct round *round);

#endif
