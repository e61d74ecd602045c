/* fanout: quorum. An attempt asks only Q masters at first, and the others as soon as one of these does not grant
 * it at once: that saves commands where the masters are the bottleneck. A lease that lives for a little while
 * is set on the other masters by a heal (heal_spread()), which is no vote.
 *
 * Until then there is no slack: with N = 5, where one of the three masters loses its memory and nobody can
 * see it, that one and the two that were not asked are a quorum for another client. */
#ifndef REDLOCKD_FANOUT_H
#define REDLOCKD_FANOUT_H

#include "daemon/coordinator/data/state.h"

/* The masters that an attempt asks first: all voters, unless fanout is a quorum. Then these are Q of the masters
 * that answer fastest. Masters that are about as fast take turns of 4 ms, in which all attempts ask the same ones: a
 * master then reads many commands at once, or none, and a read costs the master as much as a command does. Each
 * turn begins one master further, so that the load spreads, and daemons begin at masters of their own. Daemons that
 * ask for a name at the same time need not choose the same masters: any two quorums have a master in common, and
 * that master refuses the second. */
masters_t fanout_first(const struct coordinator *c);

/* When an answer of these masters, asked now, is late, and the other masters are asked as well. */
int64_t fanout_late_ms(const struct coordinator *c, masters_t masters);

/* When a lease that only a quorum was asked for is set on the other masters next. */
int64_t fanout_spread_ms(const struct lease *lease);

#endif
