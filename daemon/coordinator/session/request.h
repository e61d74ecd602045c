/* A client's request (LOCK, UNLOCK, EXTEND, CHECK, RESUME, CANCEL): its arguments and limits are checked,
 * then the file for its verb goes on. */
#ifndef REDLOCKD_REQUEST_H
#define REDLOCKD_REQUEST_H

#include "daemon/coordinator/data/state.h"

/* Handles EVENT_REQUEST. The request is answered once, in this step or a later one. */
void request_begin(struct coordinator *c, const struct coordinator_event *event);

/* Handles EVENT_DENY: the session gets !LOST for its lock of the name, or -DENIED for its waiting LOCK. Does
 * nothing if it has neither. */
void request_deny(struct coordinator *c, const struct coordinator_event *event);

#endif
