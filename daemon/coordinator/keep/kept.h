/* Names that are kept though nobody holds them (UNLOCK keep=): a job that is to run once an hour, on one host. The lock's
 * key gets a mark in place of its token, which no client is told, and lives on for as long as was asked.
 *
 *     UNLOCK keep= --> the lock is over here
 *        |
 *     MOVING        MOVE of the lock's tokens to the mark; the TTL stays
 *        |   \-- N-Q+1 never had it: -NOTHELD, and the mark is released
 *        |    \- no quorum: -NOQUORUM; what is left ends with the lock's TTL
 *        | Q masters moved it
 *     EXTENDING     EXTEND of the mark to exactly keep
 *        |   \-- no quorum: -NOQUORUM, and mark and lock are released
 *        | Q masters extended it
 *     +KEPT         only now the others are healed; the mark stays in mind until its end
 *
 * In one phase an answer that is lost could keep a name for a day that nobody was told of.
 *
 * Whoever tries to lock the name is refused by the masters, as by any other key, so nothing else here need know of marks.
 * While N-Q+1 masters hold the mark nobody gets the name. That is weaker than a lock: a quarantine does not wait for it,
 * and if it is lost, a job runs a second time, with a greater fence. So this daemon looks after its marks for as long as it
 * runs (kept_look.c): when a master is new or comes back, the mark is set again there, where Q masters hold it still; but
 * never on a master that acknowledged it and lost it, since somebody released it there. When N-Q+1 masters did so, by BREAK
 * or UNLOCK <name> kept, it is dropped. */
#ifndef REDLOCKD_KEPT_H
#define REDLOCKD_KEPT_H

#include "daemon/coordinator/data/state.h"

/* The tables of marks, and their end. */
bool kept_init(struct coordinator *c);
void kept_free_all(struct coordinator *c);

/* UNLOCK keep= of this daemon's valid lease, or, NULL, of the token that the request shows. own: the session has it. */
void kept_request(struct coordinator *c, const struct coordinator_event *event, struct lease *lease,
                  bool own);

/* A master answered a command of this round, in time or late. Then the round is decided if its votes allow it; late: the
 * time-out of the phase has passed. */
void kept_voted(struct coordinator *c, const struct round *round, unsigned master, const struct vote *vote);
void kept_decide(struct coordinator *c, struct round *round, bool late);
/* Sends the command of the round's phase to these masters. */
void kept_ask(struct coordinator *c, const struct round *round, masters_t masters);
/* Records the reply to a HEAL command, if ref is the id of a mark. */
void kept_healed(struct coordinator *c, uint64_t ref, unsigned master, const struct vote *vote);

/* Handles the deadline item of a mark, and that of the walk over all marks. */
void kept_timer(struct coordinator *c, struct kept *kept);
void kept_walk_timer(struct coordinator *c);
/* This master published a letter about the name: somebody ended a mark there, or says so. */
void kept_letter(struct coordinator *c, const struct name *name);
/* At the end of each step: a walk begins where a master is new or came back. */
void kept_step(struct coordinator *c);

/* The invariants of marks, for tests and simulation. */
void kept_check(const struct coordinator *c);

/* ---- between kept.c and kept_look.c ---- */

/* Forgets what was recorded of masters that lost their memory since the last call. */
void kept_refresh(struct coordinator *c, struct kept *kept);
/* These masters have the mark. Where it was released, a mark that is there again came with older data, and proves
 * nothing. */
static inline void kept_is_at(struct kept *kept, masters_t masters)
{
    kept->had |= masters_without(masters, kept->gone);
}

/* Sets the mark on those of these masters that are in service. */
void kept_heal(struct coordinator *c, struct kept *kept, masters_t masters);
/* Lets the mark live on to its end on masters where it would end before; the answers are this round's. */
void kept_lengthen(struct coordinator *c, const struct kept *kept, const struct round *round,
                   masters_t masters);
/* The mark was told to its client: it is looked after from now on. An older one of the name is dropped. */
void kept_begins(struct coordinator *c, struct kept *kept);
/* The masters are to be asked about it. */
void kept_doubt(struct coordinator *c, struct kept *kept);
/* Forgets the mark; drop: takes it back from all masters, too. */
void kept_free(struct coordinator *c, struct kept *kept);
void kept_drop(struct coordinator *c, struct kept *kept);
/* Decides the round that looked for the mark, and may drop it. */
void kept_looked(struct coordinator *c, struct kept *kept, struct round *round, bool late);
/* Masters of this round that have the mark, and whose answers count. */
masters_t kept_yes(const struct coordinator *c, const struct round *round);

#endif
