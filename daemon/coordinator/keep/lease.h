/* The leases of this daemon: locks that it granted or resumed. A session lock is renewed as long as its
 * connection lives; a lock with hold=lease, or whose connection broke, runs until its deadline. The
 * picture of its states is in lease.c.
 *
 * All times are in ms of the coordinator's clock. The pool of the coordinator owns every lease. */
#ifndef REDLOCKD_LEASE_H
#define REDLOCKD_LEASE_H

#include "daemon/coordinator/data/state.h"

/* Grants the round's lock to the head of the resource's queue: makes the lease, answers the head with
 * +LOCKED and removes it from the queue. Returns the lease. */
struct lease *lease_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence, int64_t until_ms);

/* Makes the lease of a RESUME for the session and returns it; the caller answers the request. If another
 * lease of the name is held here, it ends, and its session, if it has one, gets !LOST. */
struct lease *lease_resume(struct coordinator *c, const struct round *round, struct session *session,
                           int64_t until_ms);

/* Ends a lease that was not given back: the session gets !LOST. The keys are left to expire, because
 * somebody may have extended them through another daemon. While a RESUME of the token is under way,
 * LOST_GONE proves nothing and the lease stays. */
void lease_lost(struct coordinator *c, struct lease *lease, enum lost_reason reason);

/* Unbinds the lease from its session, which ends or broke: the lease is not renewed any more and runs out. */
void lease_unbind(struct coordinator *c, struct lease *lease);

/* The told token is to take the place of the secret one at once, if the lease has one. */
void lease_settle(struct coordinator *c, struct lease *lease);

/* Answers the head of the queue with +LOCKED: it has the lease. */
void lease_granted(struct coordinator *c, struct resource *resource, const struct lease *lease);
/* These four are for what keeps leases (keeping.h). lease_new() makes a lease without a token. lease_begin() makes that of
 * a round that was granted; the caller gives it a holder, unless the daemon itself has it. lease_bind() gives the lease its
 * session (NULL: none) and its deadline. lease_free() ends it, and begins nothing. */
struct lease *lease_new(struct coordinator *c, struct resource *resource);
struct lease *lease_begin(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence);
void lease_bind(struct coordinator *c, struct lease *lease, const struct round *round,
                struct session *session, int64_t until_ms);
void lease_free(struct coordinator *c, struct lease *lease);
/* The lease gets a holder, who is counted for the limits of the session's peer. */
void lease_hold(struct coordinator *c, struct lease *lease, const struct session *session, uint64_t request,
                int64_t ends_ms);

/* Hands the lease on to the session of this wait, with a new token to tell. The caller answers and removes
 * the wait. */
void lease_pass(struct coordinator *c, struct lease *lease, struct wait *wait);

/* Handles the lease's deadline item: end, warning or renewal. Returns true if a renewal is due and may
 * begin now; the caller begins it with extend_renew(). */
bool lease_timer(struct coordinator *c, struct lease *lease);

#endif
