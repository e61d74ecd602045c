/* What an attempt is made of: acquire.c has it, and modes begin with it. */
#ifndef REDLOCKD_ACQUIRE_PRIVATE_H
#define REDLOCKD_ACQUIRE_PRIVATE_H

#include "daemon/coordinator/data/state.h"

/* Begins a round of the head that asks for the resource: the name itself, or one of its slots. */
struct round *acquire_round(struct coordinator *c, struct resource *resource, enum round_phase phase,
                            const struct token *token);
/* Where somebody else has the name in all likelihood, the head joins the queue and asks whether the key is
 * there, before it sends SETs that would have to be taken back. */
void acquire_queue(struct coordinator *c, struct resource *resource);
/* Begins a round with a fresh token, and sends its SETs. */
void acquire_set(struct coordinator *c, struct resource *resource);
/* Takes the round from its resource, which it returns. */
struct resource *acquire_detach(struct coordinator *c, struct round *round);

#endif
