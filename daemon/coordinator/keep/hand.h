/* Hand-off: a lock whose key has a secret token goes from one waiter to the next within a step, and no master
 * is asked. For the masters it is one long lease, which ends at its deadline whoever holds it.
 *
 * Each holder is told a token and a fence of its own. The fences come from a reserve: a number above them
 * that Q of the masters which granted the lease have stored. It is sent behind the proposal where the lock
 * was handed on before, else behind the grant, and again when most of it is used up. The daemon's own
 * proposals are not moved by it, but for this name: else the fences of all names would run ahead of the
 * clock. */
#ifndef REDLOCKD_HAND_H
#define REDLOCKD_HAND_H

#include "daemon/coordinator/data/state.h"

/* Ends the present hold in the way in which holders give a lock back: hands the lease on to the head, if that
 * is safe, or else releases it. The parameters are those of keeping's give_back(). */
void hand_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                    bool bound);

/* The head's attempt was sent: sends a reserve behind it, if one will probably be used. */
void hand_asked(struct coordinator *c, struct resource *resource, const struct round *round);
/* The attempt was granted, and the lease is the name's. */
void hand_granted(struct coordinator *c, struct lease *lease, const struct round *round);
/* Decides a reserve, as far as its votes allow. */
void hand_look(struct coordinator *c, struct round *round, bool late);

#endif
