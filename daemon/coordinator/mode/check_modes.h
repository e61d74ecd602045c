/* The invariants of what modes have beside a name's queue and leases: parts of coordinator_check(). */
#ifndef REDLOCKD_CHECK_MODES_H
#define REDLOCKD_CHECK_MODES_H

#include "daemon/coordinator/data/state.h"

/* A queue that is not `nobody`: where it lies. */
void check_queue_of_mode(const struct coordinator *c, const struct queue *queue);

/* Whether the resource is that of a slot, not of a name: then it has a use, and its own queue is that of its name. */
bool check_is_slot(const struct resource *resource);
/* Whether the release of a slot is awaited: when it is answered, the head asks. */
bool check_slots_await(const struct coordinator *c, const struct resource *base);
void check_slots(const struct coordinator *c, const struct resource *base);

/* The readers of a name: those that are bound stand first. Returns how many there are. */
uint32_t check_readers(const struct coordinator *c, const struct resource *resource);
/* A lease that readers join is nobody's, and a lease that joined one has no key. */
void check_joined(const struct coordinator *c, const struct lease *lease);

void check_lists(const struct coordinator *c);

#endif
