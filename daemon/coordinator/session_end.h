/* A session ends: its client asks nothing more, has given its locks back, or is cut off. */
#ifndef REDLOCKD_SESSION_END_H
#define REDLOCKD_SESSION_END_H

#include "daemon/coordinator/state.h"

void session_finish(struct coordinator *c, uint64_t key);
void session_end(struct coordinator *c, uint64_t key, enum session_state how); /* RELEASING or DROPPING */
void session_timer(struct coordinator *c, struct session *session);

#endif
