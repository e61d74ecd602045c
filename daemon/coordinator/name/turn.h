/* Turns between daemons. Each daemon has a queue of its own for a name; without turns, the daemon that has
 * the lock would hand it on from waiter to waiter for ever, and the waiters of other daemons would starve.
 *
 *     none --granted--> young --50 ms--> old --a release wakes another daemon--> none, and a pause
 *      ^                  |                |             (nobody waits: the next waiter asks)
 *      +------refused-----+----------------+
 *
 * In a young turn the lock is handed on here (hand.h), or the next head's SETs follow the release on the
 * same connections at once. In an old turn the release wakes the first daemon of the queue on the masters
 * (wake.h). The next head then waits until Q masters have answered the release. */
#ifndef REDLOCKD_TURN_H
#define REDLOCKD_TURN_H

#include "daemon/coordinator/data/state.h"

/* Begins a turn with a grant, unless one goes on. */
void turn_granted(const struct coordinator *c, struct resource *resource);
/* Ends the turn: the head was refused, or other daemons wait. */
void turn_refused(struct resource *resource);
/* Whether the resource has a turn that began less than 50 ms ago. */
bool turn_is_young(const struct coordinator *c, const struct resource *resource);

/* A client that gives a lock back and asks for it again at once leaves the queue empty in between, and the
 * resource is freed. Its turn must not begin anew each time, or other daemons starve. So turn_remember()
 * keeps the turn, or the pause, of a resource that is freed, for as long as other daemons pause at most;
 * turn_recall() restores it when the name is used again. In a turn that went on in this way, a release
 * looks into the queue even if nobody waits here. */
void turn_remember(struct coordinator *c, const struct resource *resource);
void turn_recall(struct coordinator *c, struct resource *resource);
/* Handles a release that found nobody in the queue: the next grant here begins a turn. If nobody waits here
 * either, a turn that went on begins anew, so that the queue of a name that one daemon alone uses is looked
 * at only now and then. */
void turn_unwanted(const struct coordinator *c, struct resource *resource);

/* Joins the queue for a head that polls, so that others give way to it, unless that was done lately. */
void turn_join(struct coordinator *c, struct resource *resource);

/* Other daemons wait: ends the turn, and returns the time from which the head may ask again. waited_ms: for
 * so long the daemon had waited that was woken; -1: none was woken, and they poll. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource, int64_t waited_ms);

#endif
