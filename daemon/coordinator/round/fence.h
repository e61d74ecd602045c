/* The fence of a grant: a number above every fence that was granted for the name before.
 *
 *     proposal: ZADD --the highest on Q masters that granted--> the proposal is the fence
 *                 |
 *                 +--else: read the scores of Q masters, and send
 *                    one more than the highest --Q of them answer----> that is the fence
 *
 * A first attempt sends ZADD right behind its SETs, so masters that refuse get it as well. The second way is
 * called the raise. The functions return an outcome, by which the caller (acquire.c or resume.c) goes on or
 * ends its round; the fence is round->proposal.
 *
 * Source: Kleppmann, "How to do distributed locking". */
#ifndef REDLOCKD_FENCE_H
#define REDLOCKD_FENCE_H

#include "daemon/coordinator/data/state.h"

enum fence_outcome {
    FENCE_OPEN,     /* more answers are needed, and can come */
    FENCE_STANDS,   /* the proposal is the fence */
    FENCE_BEYOND,   /* the fence would be above FENCE_MAX: a clock is wrong by centuries */
    FENCE_HOPELESS, /* no quorum can agree on a fence any more, or not in time */
};

/* Returns a proposal for the name, above all earlier ones of this daemon and all fences that it reserved
 * for the name. */
uint64_t fence_propose(struct coordinator *c, struct resource *resource);
/* The proposal is too high to be a fence: the outcome is FENCE_BEYOND. */
bool fence_is_beyond(uint64_t proposal);

/* Sends the round's proposal to these masters, behind what else they were sent. */
void fence_ask(struct coordinator *c, struct round *round, masters_t masters);
/* Q masters granted, but the round has no proposal (a retry), or a proposal that does not count (after a
 * re-ask): makes a new proposal and sends it. The round is FENCING then. */
enum fence_outcome fence_begin(struct coordinator *c, struct round *round);

/* Q masters granted a round with a proposal. If Q of them have answered it, either the proposal stands, or
 * the raise begins: the outcome is FENCE_OPEN, and the round is READING. */
enum fence_outcome fence_decide(struct coordinator *c, struct round *round);
/* The fence stands: what the holder tells goes to the masters together with it. The round is TELLING then, and its outcome
 * is FENCE_STANDS once a quorum has it. */
void fence_tell(struct coordinator *c, struct round *round);
/* Decides the fence of a round in FENCING, READING, RAISING or TELLING, as far as its votes allow. Called after
 * each vote, and with late when the time-out of the phase has passed. */
enum fence_outcome fence_look(struct coordinator *c, struct round *round, bool late);
/* Notes a master's answer to ZADD or ZSCORE. */
void fence_vote(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                const struct vote *vote);
enum { FENCE_SHOWN_MS = 60000 /* a master is shown as one with a score beyond all clocks for so long */ };

/* The master has to be asked again for its grant. What it said of the proposal counts no more: another client may have
 * had the lock, and a higher fence, in between. */
void fence_forget(struct round *round, masters_t bit);

/* Masters whose grant counts: no error of theirs and no loss voided it, and they may vote now (a slow
 * master may not). */
masters_t fence_standing(const struct coordinator *c, const struct round *round);
/* The votes as -NOQUORUM shows them: a master that granted, but did not answer for the fence, is shown as
 * silent. */
struct tally fence_shown(const struct coordinator *c, const struct round *round);

#endif
