/* RESUME: whoever shows a token takes its lock over, bound to another connection, with a new
 * token and a fence of its own.
 *
 *   1  MOVE old -> new on all masters, the TTL kept
 *   2  Q moved: EXTEND new, a fresh proposal behind it, and the raise as in an acquire;
 *      validity counts from here
 *
 * In every other end it is set back: MOVE new -> old on all masters, also where nothing was heard
 * (to release the new token would let others in while the holder of the old one may hold). */
#ifndef REDLOCKD_RESUME_H
#define REDLOCKD_RESUME_H

#include "daemon/coordinator/state.h"

/* The limits of its session were looked at. */
void resume_request(struct coordinator *c, struct session *session, uint64_t request,
                    const struct request *what);

void resume_look(struct coordinator *c, struct round *round, bool late);

#endif
