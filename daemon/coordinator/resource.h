/* A lock name in use: who waits for it, in order, and what stands before the head. */
#ifndef REDLOCKD_RESOURCE_H
#define REDLOCKD_RESOURCE_H

#include "daemon/coordinator/state.h"

struct resource *resource_find(const struct coordinator *c, const struct name *name);   /* NULL: not in use */
struct resource *resource_find_or_make(struct coordinator *c, const struct name *name); /* NULL: full */

/* A LOCK joins the FIFO of its name; limits were checked. */
void resource_ask(struct coordinator *c, struct session *session, uint64_t request,
                  const struct request *what);

/* The head asks the masters if nothing stands before it. Frees the resource when nobody
 * uses it: it may be gone afterwards. */
void resource_advance(struct coordinator *c, struct resource *resource);
void resource_released(struct coordinator *c,
                       struct resource *resource); /* the lock may be free: ask at once */
/* It is free, but other daemons wait for it: those who wait here go on a little later. */
void resource_yield(struct coordinator *c, struct resource *resource);

/* The head's attempt has ended. */
struct reply *resource_answer_head(struct coordinator *c, struct resource *resource, enum reply_code code);
void resource_granted(struct coordinator *c, struct resource *resource);
void resource_refused(struct coordinator *c, struct resource *resource, const struct verdict *verdict);

/* The head's wait is over: the head is told so, its attempt is undone, and the next may ask. */
void resource_head_leaves(struct coordinator *c, struct resource *resource);

void resource_timer(struct coordinator *c, struct resource *resource);

/* A waiter leaves: its time is over, it is told why, or nobody is there to be told. */
void wait_timer(struct coordinator *c, struct wait *wait);
void wait_cancel(struct coordinator *c, struct wait *wait, enum reply_code code);
void wait_drop(struct coordinator *c, struct wait *wait);
/* Its first attempt is under way or comes next: that is seen through, when its session asks nothing more and
 * when its time is over, so that wait=1ms is no worse than wait=0. */
bool wait_is_trying(const struct coordinator *c, const struct wait *wait);

#endif
