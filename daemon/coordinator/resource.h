/* A lock name in use: who waits for it, in order, and what stands before the head. */
#ifndef REDLOCKD_RESOURCE_H
#define REDLOCKD_RESOURCE_H

#include "daemon/coordinator/state.h"

struct resource *resource_find(const struct coordinator *c, const struct name *name); /* NULL: not in use */

/* A LOCK joins the FIFO of its name; limits were checked. */
void resource_ask(struct coordinator *c, struct session *session, uint64_t request,
                  const struct request *what);

/* The head asks the masters if nothing stands before it. Frees the resource when nobody
 * uses it: it may be gone afterwards. */
void resource_pump(struct coordinator *c, struct resource *resource);
void resource_released(struct coordinator *c,
                       struct resource *resource); /* the lock may be free: ask at once */

/* The head's attempt has ended. */
struct reply *resource_answer_head(struct coordinator *c, struct resource *resource, enum reply_code code);
void resource_granted(struct coordinator *c, struct resource *resource);
void resource_refused(struct coordinator *c, struct resource *resource, const struct verdict *verdict);

void resource_timer(struct coordinator *c, struct resource *resource);

/* A waiter leaves: its time is over, it is told why, or nobody is there to be told. */
void wait_timer(struct coordinator *c, struct wait *wait);
void wait_cancel(struct coordinator *c, struct wait *wait, enum reply_code code);
void wait_drop(struct coordinator *c, struct wait *wait);
/* Its first attempt is under way: that is still answered when its session asks nothing more. */
bool wait_is_trying(const struct wait *wait);

#endif
