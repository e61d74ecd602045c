/* Names that several readers share (mode=shared). Each reader has a lease and a token of its own, as any other
 * holder; on the masters all their tokens are members of one sorted set. So a reader's token works at every
 * daemon, and what happens to one reader concerns no other. Where there are many, see join.h.
 *
 * A resource knows the leases of all readers that were granted here, in a list: those that are bound to a session
 * stand before all others. */
#ifndef REDLOCKD_SHARED_H
#define REDLOCKD_SHARED_H

#include "daemon/coordinator/data/state.h"

struct shared *shared_of(const struct coordinator *c, const struct lease *lease);
struct crowd *crowd_of(const struct coordinator *c, const struct resource *resource);

/* Puts a reader's lease into the list of its resource; whether it is bound decides the place. */
void shared_add(struct coordinator *c, struct lease *lease);
/* Takes it out. */
void shared_remove(struct coordinator *c, struct lease *lease);
/* Counts the lease of a reader that comes (1) or goes (-1). */
void shared_count(struct coordinator *c, const struct lease *lease, int by);
/* The lease behind this one; NULL: it is the last. */
struct lease *shared_next(const struct coordinator *c, const struct lease *lease);

/* The lease of the name that has this token, or had it before it was made a reader's; NULL: none here. */
struct lease *resource_lease(const struct coordinator *c, const struct resource *resource,
                             const struct token *token);
/* The lease of the name that the session took last; NULL: it has none. */
struct lease *resource_lease_of(const struct coordinator *c, const struct resource *resource,
                                uint64_t session);

#endif
