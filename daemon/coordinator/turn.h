/* Turns between daemons. Each has a FIFO of its own for a name; without turns the one that has it
 * would hand it on from waiter to waiter for ever, and the others starve.
 *
 *     none --granted--> young --100 ms--> old --a release finds another daemon's mark--> none, and a pause
 *      ^                  |                |                     (else the next waiter asks)
 *      +------refused-----+----------------+
 *
 * In a young turn the next head's SETs follow the release on the same connections at once. In an old one
 * the release asks for the mark that a daemon leaves on the masters while its head is refused there, and
 * the head waits for the answers of Q. */
#ifndef REDLOCKD_TURN_H
#define REDLOCKD_TURN_H

#include "daemon/coordinator/state.h"

void turn_granted(const struct coordinator *c, struct resource *resource);
void turn_refused(struct resource *resource);
bool turn_is_young(const struct coordinator *c, const struct resource *resource);

/* Where each daemon has one client that gives the lock back and asks for it anew, no FIFO lasts long enough for
 * this: so for as long as others pause at most, a name that is not in use any more is remembered, its turn or its
 * pause goes on, and the release of a turn that went on asks for the mark even if nobody waits here. */
void turn_remember(struct coordinator *c, const struct resource *resource);
void turn_recall(struct coordinator *c, struct resource *resource);
/* Nobody else waits, and nobody here: it begins anew, so that a name which one daemon alone uses is asked about
 * now and then only. */
void turn_unwanted(const struct coordinator *c, struct resource *resource);

/* The head was refused and waits: others are told, unless they were lately. */
void turn_mark(struct coordinator *c, struct resource *resource);

/* Other daemons wait: it is over. Returns when the head may ask again. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource);

#endif
