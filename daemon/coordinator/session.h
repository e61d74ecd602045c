/* A client's connection, as far as locks go: what is bound to it and what it waits for. */
#ifndef REDLOCKD_SESSION_H
#define REDLOCKD_SESSION_H

#include "daemon/coordinator/state.h"

struct session *session_find(const struct coordinator *c, uint64_t key);
struct session *session_find_or_make(struct coordinator *c, uint64_t key); /* NULL: the table is full */

void session_link_wait(struct coordinator *c, struct session *session, struct wait *wait);
void session_unlink_wait(struct coordinator *c, struct wait *wait);
void session_link_hold(struct coordinator *c, struct session *session, struct hold *hold);
void session_unlink_hold(struct coordinator *c, struct hold *hold);

struct wait *session_wait(const struct session *session, uint64_t request); /* NULL: none */
struct lease *session_lease(const struct session *session,
                            uint64_t request); /* granted to that request; NULL: none */

#endif
