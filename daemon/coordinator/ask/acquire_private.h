/* acquire.c and acquire_slots.c, the files of an attempt, share these. */
#ifndef REDLOCKD_ACQUIRE_PRIVATE_H
#define REDLOCKD_ACQUIRE_PRIVATE_H

#include "daemon/coordinator/data/state.h"

/* Begins a round of the head that asks for the resource: the name itself, or one of its slots. */
struct round *acquire_round(struct coordinator *c, struct resource *resource, enum round_phase phase,
                            const struct token *token);
/* Begins a round with a fresh token, and sends its SETs. */
void acquire_set(struct coordinator *c, struct resource *resource);
/* Takes the round from its resource, which it returns. */
struct resource *acquire_detach(struct coordinator *c, struct round *round);

#endif
