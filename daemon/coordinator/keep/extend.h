/* EXTEND, CHECK and renewals: rounds that ask which masters hold a token, and for how long. */
#ifndef REDLOCKD_EXTEND_H
#define REDLOCKD_EXTEND_H

#include "daemon/coordinator/data/state.h"

/* Begins a renewal, when lease_timer() says that one is due; if it cannot begin, another is planned. */
void extend_renew(struct coordinator *c, struct lease *lease);

/* EXTEND of the name and token of what. lease is this daemon's valid lease of the token, or NULL. The
 * request is answered now or when the round is decided. */
void extend_request(struct coordinator *c, uint64_t session, uint64_t request, const struct request *what,
                    struct lease *lease);
/* Begins the round of an EXTEND, of a CHECK, or of a LOCK that makes the lease a reader's; the caller sends it. Returns NULL
 * if the request was refused. */
struct round *extend_begin(struct coordinator *c, uint64_t session, uint64_t request,
                           const struct request *what, struct lease *lease, int64_t ttl_ms);
/* CHECK of a token whose lock is not bound to a session here; answered like extend_request(). */
void check_request(struct coordinator *c, uint64_t session, uint64_t request, const struct request *what,
                   struct lease *lease);

/* Decides the round if its votes allow it, and may free the round. Called after each vote, and with late
 * when the time-out of the phase has passed. */
void extend_look(struct coordinator *c, struct round *round, bool late);
/* The client wants no answer any more to this LOCK that makes its lease a reader's: it is answered -CANCELLED, and the
 * masters are told all the same. */
void extend_cancel(struct coordinator *c, uint64_t session, uint64_t request);
/* Whether Q masters that were probed lately hold the lock, whatever the others will say. */
bool extend_is_held(const struct coordinator *c, const struct round *round);

#endif
