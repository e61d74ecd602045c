/* EXTEND, CHECK and renewals: what do the masters hold of a token, and for how long? */
#ifndef REDLOCKD_EXTEND_H
#define REDLOCKD_EXTEND_H

#include "daemon/coordinator/state.h"

void extend_renew(struct coordinator *c, struct lease *lease); /* when lease_timer() says that it is due */

/* A request of session for a name and token; lease is what is known here of it, or NULL. */
void extend_request(struct coordinator *c, uint64_t session, uint64_t request, const struct request *what,
                    struct lease *lease);
void check_request(struct coordinator *c, uint64_t session, uint64_t request, const struct request *what);

void extend_look(struct coordinator *c, struct round *round, bool late);

#endif
