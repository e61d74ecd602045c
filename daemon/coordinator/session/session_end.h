/* The end of a session: its client asks nothing more, has given its locks back, or was cut off. The work is
 * done a little at a time, in steps that the session's deadline item asks for. */
#ifndef REDLOCKD_SESSION_END_H
#define REDLOCKD_SESSION_END_H

#include "daemon/coordinator/data/state.h"

/* FIN or QUIT: cancels the requests that would have to wait. */
void session_finish(struct coordinator *c, uint64_t key);
/* The connection is over. SESSION_RELEASING gives its session locks back, SESSION_DROPPING lets them run
 * out, and SESSION_DENYING does the same and tells the client. The session is freed after the last of its locks, with ACTION_SESSION_ENDED. */
void session_end(struct coordinator *c, uint64_t key, enum session_state how);
/* Does the next part of a session's end. */
void session_timer(struct coordinator *c, struct session *session);

#endif
