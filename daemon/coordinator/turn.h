/* Turns between daemons. Each daemon has a queue of its own for a name; without turns, the daemon that has
 * the lock would hand it on from waiter to waiter for ever, and the waiters of other daemons would starve.
 *
 *     none --granted--> young --100 ms--> old --a release finds another daemon's mark--> none, and a pause
 *      ^                  |                |                  (no mark: the next waiter asks)
 *      +------refused-----+----------------+
 *
 * In a young turn the next head's SETs follow the release on the same connections at once. In an old turn
 * the release also looks for a mark: a key that other daemons set on the masters while their own heads are
 * refused there. The next head then waits until Q masters have answered the release. */
#ifndef REDLOCKD_TURN_H
#define REDLOCKD_TURN_H

#include "daemon/coordinator/state.h"

/* Begins a turn with a grant, unless one goes on. */
void turn_granted(const struct coordinator *c, struct resource *resource);
/* Ends the turn: the head was refused. */
void turn_refused(struct resource *resource);
/* Whether the resource has a turn that began less than 100 ms ago. */
bool turn_is_young(const struct coordinator *c, const struct resource *resource);

/* A client that gives a lock back and asks for it again at once leaves the queue empty in between, and the
 * resource is freed. Its turn must not begin anew each time, or other daemons starve. So turn_remember()
 * keeps the turn, or the pause, of a resource that is freed, for as long as other daemons pause at most;
 * turn_recall() restores it when the name is used again. In a turn that went on in this way, a release
 * looks for the mark even if nobody waits here. */
void turn_remember(struct coordinator *c, const struct resource *resource);
void turn_recall(struct coordinator *c, struct resource *resource);
/* Handles a release that found no mark: no other daemon waits. If nobody waits here either, a turn that went
 * on begins anew, so that the masters are asked only now and then for the mark of a name that one daemon
 * alone uses. */
void turn_unwanted(const struct coordinator *c, struct resource *resource);

/* Sets the mark on the masters for a head that was refused and waits, unless that was done lately. */
void turn_mark(struct coordinator *c, struct resource *resource);

/* Ends this daemon's turn, because other daemons wait. Returns the time from which the head may ask again. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource);

#endif
