/* A grant's fence: a proposal that Q granting masters take as the highest, or where that is not
 * so, the raise: what stands there is read from Q of them, and one above it is stored on Q.
 *
 * Source: Kleppmann, "How to do distributed locking". The round ends in its owner's grant or
 * refusal, with the fence in round->proposal. */
#ifndef REDLOCKD_FENCE_H
#define REDLOCKD_FENCE_H

#include "daemon/coordinator/state.h"

uint64_t fence_propose(struct coordinator *c); /* above every one before */
/* No fence can be as high: the clock is wrong by centuries. Then the round is refused. */
bool fence_is_beyond(struct coordinator *c, struct round *round, uint64_t proposal);

/* The round's proposal, behind what else is asked of these masters. */
void fence_ask(struct coordinator *c, struct round *round, masters_t masters);
/* A fresh proposal, once Q granted. */
void fence_begin(struct coordinator *c, struct round *round);

/* Q granted: ends the round or raises, where enough is known for that; else false. */
bool fence_decide(struct coordinator *c, struct round *round);
void fence_look(struct coordinator *c, struct round *round, bool late); /* in FENCING and after */
void fence_vote(struct round *round, unsigned master, enum command_verb verb, const struct vote *vote);

unsigned fence_needed(const struct coordinator *c); /* Q */
/* Granted it, took part in the fence without an error, and may still be asked: not a master that became slow,
 * or was lost, in between. */
masters_t fence_standing(const struct coordinator *c, const struct round *round);
/* What -NOQUORUM shows: a master that granted and then said nothing of the fence is a silent one. */
struct tally fence_shown(const struct round *round);

#endif
