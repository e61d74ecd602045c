/* Requests with wait= that the daemon asks again until they are granted: RESUME, and LOCK mode=shared of a
 * writer that becomes a reader.
 *
 *     request --> asking --granted, or refused for good------------------> answered
 *                 ^    |
 *                 |    | -NOQUORUM, -LIMIT max_rounds; -NOTHELD of a RESUME that came less than 100 ms ago
 *                 |    v
 *                 +-- pausing --CANCEL, FIN-------------------------------> -CANCELLED
 *                   |   |  \----a reload took the right to the name away---> -DENIED
 *      20 to 200 ms        \----the next attempt would begin too late-----> answered as it was refused last
 *
 * Whoever decides a request does not know of this: at the end of each step the refusals that are not the last
 * ones are taken out of its actions. While a RESUME pauses, its lock is set back. */
#ifndef REDLOCKD_REPEAT_H
#define REDLOCKD_REPEAT_H

#include "daemon/coordinator/data/state.h"

/* Notes a request that is to be repeated. Returns false if it was refused, because too many are. */
bool repeat_begin(struct coordinator *c, const struct coordinator_event *event);
/* Takes refusals that are not the last ones out of the step's actions, and forgets what was answered. */
void repeat_answered(struct coordinator *c, struct actions *actions);
void repeat_timer(struct coordinator *c, struct repeat *repeat);

/* Ends the request, and sets it back where that is possible; returns false if no such request is repeated. */
bool repeat_cancel(struct coordinator *c, struct session *session, uint64_t request);
/* The same, since its user may not lock the name any more. */
void repeat_deny(struct coordinator *c, struct session *session, uint64_t request);
/* The next one of all, as coordinator_lock_row() goes through locks; NULL: there is none. */
const struct repeat *repeat_next(const struct coordinator *c, struct cursor *cursor);
/* The session asks nothing more: one of its requests is ended. Returns whether there are more. */
bool repeat_finish(struct coordinator *c, struct session *session);
/* The session is gone, and nobody is answered. */
void repeat_drop(struct coordinator *c, struct session *session);

#endif
