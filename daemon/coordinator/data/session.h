/* Sessions: for each client's connection, the locks that are bound to it and the requests that wait. The
 * pool of the coordinator owns every session; a session exists from the first request for a lock (or FIN)
 * until ACTION_SESSION_ENDED. */
#ifndef REDLOCKD_SESSION_H
#define REDLOCKD_SESSION_H

#include "daemon/coordinator/data/state.h"

/* The session with this key, which is the number that events give the connection; NULL if there is none. */
struct session *session_find(const struct coordinator *c, uint64_t key);
/* The same, and makes the session if there is none; NULL if the table is full. */
struct session *session_find_or_make(struct coordinator *c, uint64_t key);

/* Add and remove a wait or a hold of the session, and count it for the client's limits. Waits are also
 * counted for the peer's limits here; lease.c counts its locks. Objects are neither made nor freed. */
void session_link_wait(struct coordinator *c, struct session *session, struct wait *wait);
void session_unlink_wait(struct coordinator *c, struct wait *wait);
void session_link_hold(struct coordinator *c, struct session *session, struct hold *hold);
void session_unlink_hold(struct coordinator *c, struct hold *hold);

/* The wait of this request; NULL if it does not wait. */
struct wait *session_wait(const struct session *session, uint64_t request);
/* The lease that this request was granted and that is still bound to the session; NULL if there is none. */
struct lease *session_lease(const struct session *session, uint64_t request);

#endif
