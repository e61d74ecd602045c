/* A round: one question to several masters, and their votes, until it is decided. This file has what all rounds
 * share, and calls none of their owners: acquire.c, extend.c and resume.c know what they ask, and votes.c hands
 * them the votes. */
#ifndef REDLOCKD_ROUND_H
#define REDLOCKD_ROUND_H

#include "daemon/coordinator/state.h"

/* NULL: the table is full. It begins now, with nothing asked. The name is a kept one. */
struct round *round_begin(struct coordinator *c, enum round_phase phase, const struct name *name,
                          const struct token *token, int64_t ttl_ms);
void round_move(struct coordinator *c, struct round *round, enum round_phase to); /* a new time-out begins */
/* A time-out begins, so the round goes to the end of the list. */
void round_wait(struct coordinator *c, struct round *round);
void round_free(struct coordinator *c, struct round *round);
void round_send(struct coordinator *c, const struct round *round, enum command_verb verb, masters_t masters,
                uint64_t number);

/* Masters that refused, and so have no key of this token. A master that was asked a second time may refuse because it
 * has the key: that shows when it tells whose key is there. */
masters_t round_without_key(const struct round *round);
masters_t round_silent(const struct round *round);  /* did not answer SET, EXTEND or CHECK yet */
masters_t round_unheard(const struct round *round); /* did not answer something yet */

/* Over for the client: it only waits for late votes, to learn who is slow and who has the
 * key; gone when there are none to come. */
void round_decided(struct coordinator *c, struct round *round);

/* What rounds heard from this master, or were to hear, counts no more: its connection is gone, or our
 * trust in it. These rounds become stale, and votes_look_stale() looks at them. */
void rounds_lost(struct coordinator *c, unsigned master);

/* The lease is given back or lost: EXTENDs of it that are under way are told so, whatever the masters
 * answer. */
void rounds_end_extends(struct coordinator *c, struct lease *lease);

#endif
