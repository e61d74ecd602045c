/* A grant's fence: a proposal that Q granting masters take as the highest, or where that is not
 * so, the raise: what stands there is read from Q of them, and one above it is stored on Q.
 *
 * Source: Kleppmann, "How to do distributed locking". The outcome goes back to the caller, which ends its round
 * by it; the fence is round->proposal. */
#ifndef REDLOCKD_FENCE_H
#define REDLOCKD_FENCE_H

#include "daemon/coordinator/state.h"

enum fence_outcome {
    FENCE_OPEN,     /* more answers are needed, and can come */
    FENCE_STANDS,   /* the proposal is the fence */
    FENCE_BEYOND,   /* no fence can be as high as it would have to be: the clock is wrong by centuries */
    FENCE_HOPELESS, /* no quorum can agree on one any more, or not in time */
};

uint64_t fence_propose(struct coordinator *c); /* above every proposal before */
bool fence_is_beyond(uint64_t proposal);       /* for such a proposal the outcome is FENCE_BEYOND */

/* The round's proposal, behind what else is asked of these masters. */
void fence_ask(struct coordinator *c, struct round *round, masters_t masters);
/* A fresh proposal, once Q granted. */
enum fence_outcome fence_begin(struct coordinator *c, struct round *round);

/* Q granted: where enough is known for that, the proposal stands, or the raise begins (the round is
 * READING then). */
enum fence_outcome fence_decide(struct coordinator *c, struct round *round);
enum fence_outcome fence_look(struct coordinator *c, struct round *round,
                              bool late); /* in FENCING and after */
void fence_vote(struct round *round, unsigned master, enum command_verb verb, const struct vote *vote);

/* Granted it, took part in the fence without an error, and may still be asked: not a master that became slow,
 * or was lost, in between. */
masters_t fence_standing(const struct coordinator *c, const struct round *round);
/* What -NOQUORUM shows: a master that granted and then said nothing of the fence is a silent one. */
struct tally fence_shown(const struct round *round);

#endif
