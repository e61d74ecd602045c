/* A client's request: checked, and handed to whom it concerns. */
#ifndef REDLOCKD_REQUEST_H
#define REDLOCKD_REQUEST_H

#include "daemon/coordinator/state.h"

void request_begin(struct coordinator *c, const struct coordinator_event *event);

#endif
