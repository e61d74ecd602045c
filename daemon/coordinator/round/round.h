/* A round: one question to several masters, and their votes, until it is decided. Attempts, renewals, EXTEND,
 * CHECK, RESUME and the reserve of fences are rounds (see enum round_phase in state.h).
 *
 * Here is what all rounds share. This file calls none of the files that begin rounds: acquire.c, extend.c,
 * hand.c and resume.c decide them, and votes.c passes the votes on to these. Rounds belong to the pool c->rounds. */
#ifndef REDLOCKD_ROUND_H
#define REDLOCKD_ROUND_H

#include "daemon/coordinator/data/state.h"

/* Begins a round with t0 = now, its time-out running and no master asked. Returns NULL if the pool is
 * full. The name must be interned; the round keeps its own reference to it. */
struct round *round_begin(struct coordinator *c, enum round_phase phase, const struct name *name,
                          const struct token *token, int64_t ttl_ms);

/* Moves the round to another phase, which must be legal. A new time-out begins, except in DECIDED. */
void round_move(struct coordinator *c, struct round *round, enum round_phase to);

/* Starts a time-out of node_timeout for a round that is not in the list of pending rounds, and appends it
 * there. */
void round_wait(struct coordinator *c, struct round *round);

/* Gives the round back to the pool. Its resource, request and resume must have been taken from it. */
void round_free(struct coordinator *c, struct round *round);

/* Sends a command with the round's name and token. number is the TTL in ms, the score of a ZADD, or 0. */
void round_send(struct coordinator *c, const struct round *round, enum command_verb verb, masters_t masters,
                uint64_t number);

/* Masters that refused, and so have no key of this token. A master that was asked a second time may refuse
 * because it has the key; its answer to GET shows that. */
masters_t round_without_key(const struct round *round);
/* Masters that have not answered SET, EXTEND, CHECK or MOVE yet. */
masters_t round_silent(const struct round *round);
/* Masters that have not answered some command of the round yet. */
masters_t round_unheard(const struct round *round);

/* The client has its answer. The round only waits for late votes, which show which masters are slow and
 * which have the key. It is freed at once if no vote is to come. */
void round_decided(struct coordinator *c, struct round *round);

/* A master's connection is gone, or its memory is doubted: what it granted, or was still to answer, counts no
 * more in any round. These rounds become stale, and votes_look_stale() decides them in later steps. */
void rounds_lost(struct coordinator *c, unsigned master);
/* The same for grants alone: locks, RESUMEs and reserves of fences. */
void rounds_lose_grants(struct coordinator *c, masters_t masters);
/* Has the rounds looked at again that waited for a trial, or for masters to be probed. */
void rounds_look_again(struct coordinator *c);

/* The round of this request, which has no answer yet; NULL: there is none. */
struct round *round_of_request(struct coordinator *c, uint64_t session, uint64_t request);

/* The lease is given back or lost: an EXTEND of it that is under way is answered -NOTHELD even if Q masters
 * extend the key. */
void rounds_end_extends(struct coordinator *c, struct lease *lease);

#endif
