/* Split votes, except of heads that wait and poll. If ten daemons ask for a free lock at the same moment,
 * each may get a few masters and none a quorum, and all would answer -BUSY for a lock that is free. A plain
 * retry could not tell this from a lock that Q masters hold.
 *
 * So the first master in order of run_id, which is the same for all daemons, decides. The attempt that it
 * granted asks the other masters again, up to eight times; the others are refused and give back at once
 * what they got.
 *
 *     ASKING --Q answered, fewer granted--> was it granted by the deciding master?
 *        no:  BUSY
 *        yes: REASKING --SET and GET, after 1, 1, 2, 4 ... 64 ms--> Q granted: WON
 *                                                                   Q hold one other token: BUSY
 *                                                                   else, at the end: BUSY or HOPELESS */
#ifndef REDLOCKD_ACQUIRE_SPLIT_H
#define REDLOCKD_ACQUIRE_SPLIT_H

#include "daemon/coordinator/data/state.h"

enum split_outcome {
    SPLIT_OPEN,     /* the attempt waits for answers, or asks again later */
    SPLIT_WON,      /* Q masters have granted it */
    SPLIT_BUSY,     /* another client has the lock, or will get it */
    SPLIT_HOPELESS, /* a quorum cannot grant it any more, or not in time */
};

/* Says what becomes of a round in ASKING: Q masters answered, and Q grants are out of reach. May begin
 * REASKING. */
enum split_outcome acquire_split(struct coordinator *c, struct round *round, bool late);
/* The same for a round in REASKING: called after each vote, and with late when the time-out of the phase
 * has passed. */
enum split_outcome acquire_split_look(struct coordinator *c, struct round *round, bool late);
/* For a round in REASKING: the queue's deadline has come, so ask again. */
enum split_outcome acquire_split_timer(struct coordinator *c, struct round *round);
/* Notes a master's answer to GET. */
void acquire_split_vote(struct round *round, unsigned master, const struct vote *vote);

#endif
