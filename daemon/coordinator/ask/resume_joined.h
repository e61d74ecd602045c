/* RESUME of a lease that joined another one (join.h): the masters do not know its token, so none is asked. */
#ifndef REDLOCKD_RESUME_JOINED_H
#define REDLOCKD_RESUME_JOINED_H

#include "daemon/coordinator/data/state.h"

void resume_joined(struct coordinator *c, struct session *session, uint64_t request,
                   const struct request *what, struct lease *lease);

#endif
