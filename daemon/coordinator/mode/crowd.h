/* How the leases of a crowd of readers are kept (keeping.h, join.h). */
#ifndef REDLOCKD_CROWD_H
#define REDLOCKD_CROWD_H

#include "daemon/coordinator/keep/keeping.h"

/* A lease that readers join: the daemon's own. A reader's lease that joined it has no key. */
extern const struct keeping keeping_common, keeping_joined;

/* Lets the head of the queue, a reader, join the common lease: answers the head, and removes it from the queue. */
void crowd_join(struct coordinator *c, struct resource *resource, struct lease *common);

/* The round of the head, a reader, was granted: makes a common lease, which the head joins. */
struct lease *crowd_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence, int64_t until_ms);

/* RESUME of a lease that joined another one: the masters do not know its token, so none is asked. */
void crowd_resume(struct coordinator *c, struct session *session, uint64_t request,
                  const struct request *what, struct lease *lease);

#endif
