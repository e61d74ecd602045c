/* RESUME: a client that shows a lock's token takes the lock over, on its own connection, with a new token
 * and a new fence.
 *
 *   MOVING      MOVE old -> new on masters that are up or in quarantine; the TTL stays
 *      |
 *      | Q masters moved the key
 *      v
 *   RESUMING    EXTEND new, and behind it the proposal of a fence; the validity counts from here
 *      |
 *      | Q masters extended and took the proposal (or the fence is raised, as in an acquire)
 *      v
 *   +LOCKED     a lease of the new token
 *
 * If a RESUME fails, it is set back: MOVE new -> old on every master in service, even if the master did not
 * answer. Releasing the new token instead would let others in, although the holder of the old token may
 * still have the lock. */
#ifndef REDLOCKD_RESUME_H
#define REDLOCKD_RESUME_H

#include "daemon/coordinator/data/state.h"

/* Begins a RESUME, or refuses the request at once; the limits of its session were checked. */
void resume_request(struct coordinator *c, struct session *session, uint64_t request,
                    const struct request *what);

/* Decides a RESUME if its votes allow it, and may free the round. Called after each vote, and with late when
 * the time-out of the phase has passed. */
void resume_look(struct coordinator *c, struct round *round, bool late);

/* The client wants this RESUME no more, which is under way: it is set back, and answered -CANCELLED. */
void resume_cancel(struct coordinator *c, uint64_t session, uint64_t request);

#endif
