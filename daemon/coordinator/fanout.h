/* fanout: quorum. An attempt asks only Q masters at first, and the others as soon as one of these does not grant
 * it at once: that saves commands where the masters are the bottleneck. A lease that lives for a little while
 * is set on the other masters by a heal (heal_spread()), which is no vote.
 *
 * Until then there is no slack: with N = 5, where one of the three masters loses its memory and nobody can
 * see it, that one and the two that were not asked are a quorum for another client. */
#ifndef REDLOCKD_FANOUT_H
#define REDLOCKD_FANOUT_H

#include "daemon/coordinator/state.h"

/* The masters that an attempt for the name asks first: all voters, unless fanout is a quorum. Then these are Q
 * of the masters that answer fastest. The name's hash chooses among masters that are about as fast, so that
 * the load spreads and daemons that ask for the same name choose the same masters. */
masters_t fanout_first(const struct coordinator *c, const struct name *name);

/* When an answer of these masters, asked now, is late, and the other masters are asked as well. */
int64_t fanout_late_ms(const struct coordinator *c, masters_t masters);

/* When a lease that only a quorum was asked for is set on the other masters next. */
int64_t fanout_spread_ms(const struct lease *lease);

#endif
