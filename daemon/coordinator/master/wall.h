/* What time of day it is, as far as fences go.
 *
 * Proposals of fences carry the time of day, so that they stay above what masters forgot. A daemon whose own
 * clock is ahead would carry the fences of all names along, for ever; and one master with a score from the far
 * future would do so as well. So the masters' clocks bound both: the *median* of their TIMEs, of which at least Q
 * were read within F (fresh.h), and the others within an hour. With fewer, only this host's clock is known. A
 * majority of masters whose clocks are behind makes proposals lower than they were, so that fences may fall if
 * these masters forget as well. A majority that is ahead lets a daemon that is ahead, too, propose more than the
 * masters' quarantine makes up for, with the same end. Each clock that is not known makes that one master fewer,
 * since at most a minority may be behind: one is enough while only Q are known. */
#ifndef REDLOCKD_MASTER_WALL_H
#define REDLOCKD_MASTER_WALL_H

#include "daemon/coordinator/data/state.h"

/* A master told its TIME: the median is found anew. */
void wall_told(struct coordinator *c);

/* Whether Q TIMEs are fresh. They are when Q masters vote; but after a pause their probes come first. */
bool wall_is_known(const struct coordinator *c);
/* This host's clock and its lead (fence.h), in us, but no later than half of max_ttl after the median. */
uint64_t wall_proposal_us(const struct coordinator *c);
/* Reserves of fences (hand.h) end no later: half of max_ttl after the earlier of this host's clock and the median. */
uint64_t wall_most_us(const struct coordinator *c);
/* No proposal may be as high as this, and no honest score is: a day and max_ttl after the later of this host's
 * clock and the median. */
uint64_t wall_bound_us(const struct coordinator *c);
/* How far this host's clock is ahead of the median; false: the median is not known. */
bool wall_ahead(const struct coordinator *c, int64_t now_ms, int64_t *ahead_ms);

#endif
