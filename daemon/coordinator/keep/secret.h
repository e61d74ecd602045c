/* Secret tokens. As a rule the value of a lock's key is the token that its holder was told. Where other
 * requests wait here, the key of a session lock has a secret token instead, which no client is ever told.
 * Only this daemon can release, extend or move such a key, so until the lease's deadline it may hand the lock
 * from one waiter to the next without asking any master (hand.h).
 *
 *     secret --50 ms, broken session, RESUME, drain--> settling --Q have the told token--> settled
 *
 * Settling puts the told token in the place of the secret one, so that other daemons can find the lock by it.
 * From then on a master may have either token, and the lock is not handed on any more. The secret token is
 * kept as long as the lease, since a master that was away, or came back with old data, may still have it. */
#ifndef REDLOCKD_SECRET_H
#define REDLOCKD_SECRET_H

#include "daemon/coordinator/data/state.h"

/* Whether this waiter can be handed a lock. */
bool secret_may_pass_to(const struct coordinator *c, const struct wait *wait);
/* Whether the head's lease is to have a secret: the next waiter may be handed it. */
bool secret_is_wanted(const struct coordinator *c, const struct wait *head);
/* Keeps the lease's token secret from now on and makes another one to tell. This is allowed once in a
 * step, and only if the step has made no token. */
void secret_make(struct coordinator *c, struct lease *lease);
/* The lease becomes a reader's: a new token to tell is to take the place of those that its keys have (downgrade.h).
 * The lease settles from then on. */
void secret_downgrade(struct coordinator *c, struct lease *lease);
/* The lease ends: frees its secret. */
void secret_forget(struct coordinator *c, struct lease *lease);

/* Begins to settle the lease, if the lease has a secret. */
void secret_settle(struct lease *lease);
/* When settling is to begin, as the present holder has had the lock for long enough then; INT64_MAX: the
 * lease has no secret, or settles already. */
int64_t secret_settle_ms(const struct lease *lease);
/* A master is known to have the told token. */
void secret_settled(struct coordinator *c, struct lease *lease, masters_t bit);
/* These masters have granted the lease's SET. */
void secret_granted(struct lease *lease, masters_t masters);
/* A master may have lost its memory. */
void secret_unsettled(struct lease *lease, masters_t bit);
/* Whether the lease settles and fewer than Q masters have acknowledged that. */
bool secret_is_open(const struct lease *lease);
/* The same of a lease that was downgraded. */
bool secret_is_downgrading(const struct lease *lease);
/* Masters that may still have the secret token of a lease that settles. */
masters_t secret_left(const struct lease *lease);

/* The token that a command for the lease's key shows. */
const struct token *secret_key(const struct lease *lease);
/* All tokens that the key may have, in the order in which a release shows them; returns how many. */
enum { SECRET_TOKENS = 3 };
unsigned secret_tokens(const struct lease *lease, struct token tokens[SECRET_TOKENS]);
/* The token that a heal sets. */
const struct token *secret_heals(const struct lease *lease);
/* The token that the key may have instead; NULL: none. */
const struct token *secret_other(const struct lease *lease);

#endif
