/* The FIFO of a name: there while somebody waits for it. */
#ifndef REDLOCKD_QUEUE_H
#define REDLOCKD_QUEUE_H

#include "daemon/coordinator/state.h"

void queue_append(struct coordinator *c, struct resource *resource, struct session *session,
                  struct wait *wait);
/* And frees it. If it was the last, the queue is gone, and its head's attempt must be. */
void queue_remove(struct coordinator *c, struct wait *wait);

#endif
