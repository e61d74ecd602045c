/* Split votes of wait=0: of ten daemons that ask for one free lock in the same moment each may get
 * a few masters, and none Q. Then the first master in order of run_id, the same for all, decides:
 * whom it granted the lock goes on asking the others, which the rest give back at once.
 *
 * A plain repeat could not tell this from a lock that Q masters hold while one is free. */
#ifndef REDLOCKD_ACQUIRE_SPLIT_H
#define REDLOCKD_ACQUIRE_SPLIT_H

#include "daemon/coordinator/state.h"

/* What is to become of the attempt. */
enum split_outcome {
    SPLIT_OPEN,     /* it waits for answers, or asks again later */
    SPLIT_WON,      /* Q masters granted it by now */
    SPLIT_BUSY,     /* another has the lock, or wins it */
    SPLIT_HOPELESS, /* no quorum can be had, or not in time */
};

/* Q masters answered, and Q grants are out of reach. */
enum split_outcome acquire_split(struct coordinator *c, struct round *round, bool late);

enum split_outcome acquire_split_look(struct coordinator *c, struct round *round,
                                      bool late);                                       /* in REASKING */
enum split_outcome acquire_split_timer(struct coordinator *c, struct round *round);     /* likewise */
void acquire_split_vote(struct round *round, unsigned master, const struct vote *vote); /* GET's */

#endif
