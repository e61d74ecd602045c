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

/* The head was refused and waits: others are told, unless they were lately. */
void turn_mark(struct coordinator *c, struct resource *resource);

/* Other daemons wait: it is over. Returns when the head may ask again. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource);

#endif
