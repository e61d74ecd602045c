/* A lock that was granted here: renewed while its session lives, lost at its deadline. */
#ifndef REDLOCKD_LEASE_H
#define REDLOCKD_LEASE_H

#include "daemon/coordinator/state.h"

/* The round's lock is granted to its waiter, who is told. Returns the lease's id. */
uint64_t lease_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                     uint64_t fence, int64_t until_ms);

/* The same for a RESUME; who had it here before is told. */
struct lease *lease_resume(struct coordinator *c, const struct round *round, struct session *session,
                           int64_t until_ms);

/* Nobody was told of the RESUME: the token before holds it again, until it runs out or is shown. */
void lease_set_back(struct coordinator *c, struct lease *lease);

/* Its holder, or somebody with its token, gives it back. */
void lease_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                     bool bound);

/* It is over without being given back: the session is told, and the keys expire by
 * themselves (somebody may have extended them through another daemon). */
void lease_lost(struct coordinator *c, struct lease *lease, enum lost_reason reason);

/* Its session is gone without giving it back: it runs out. */
void lease_unbind(struct coordinator *c, struct lease *lease);

/* The masters hold it up to until_ms; returns what the holder is told, which max= cuts. */
int64_t lease_extended(struct coordinator *c, struct lease *lease, const struct round *round,
                       int64_t until_ms);
void lease_not_renewed(struct coordinator *c, struct lease *lease,
                       bool at_once); /* the next one goes at once, or soon */

/* A renewal begins; it is over, however it ended. */
void lease_renewing(struct coordinator *c, struct lease *lease);
void lease_renewed(struct coordinator *c, struct lease *lease); /* no harm where none is under way */

/* Its item. True: a renewal is due, see extend_renew(). */
bool lease_timer(struct coordinator *c, struct lease *lease);

#endif
