/* The queue of a name: the requests that wait for it, in order of arrival. A resource has a queue of its
 * own only while at least one request waits; otherwise its queue is the coordinator's empty one,
 * c->nobody. */
#ifndef REDLOCKD_QUEUE_H
#define REDLOCKD_QUEUE_H

#include "daemon/coordinator/data/state.h"

/* Appends the wait to the queue of the resource, and links it to its session. */
void queue_append(struct coordinator *c, struct resource *resource, struct session *session,
                  struct wait *wait);
/* Removes the wait from its queue and its session, and frees it. With the last wait the queue is freed too,
 * so the head's attempt must be over by then. */
void queue_remove(struct coordinator *c, struct wait *wait);

#endif
