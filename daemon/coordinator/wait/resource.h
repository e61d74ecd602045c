/* Resources: a lock name in use, the requests that wait for it, and whether its head may ask the masters.
 *
 * A resource exists while a request waits for its name, a lease of it is held here, a RESUME of it is under
 * way, or a release still stands before its next head; the pool of the coordinator owns it. Only the head of
 * the queue asks the masters (acquire.c). A request with wait=0 is "impatient" here, any other "patient". The
 * picture is in resource.c. */
#ifndef REDLOCKD_RESOURCE_H
#define REDLOCKD_RESOURCE_H

#include "daemon/coordinator/data/state.h"

/* The resource of this name; NULL if the name is not in use. */
struct resource *resource_find(const struct coordinator *c, const struct name *name);
/* The same, and makes the resource if there is none; NULL if the table is full. The caller gives it a use,
 * or frees it with queue_due(). */
struct resource *resource_find_or_make(struct coordinator *c, const struct name *name);

/* Whether anything needs the resource. */
bool resource_is_used(const struct resource *resource);
/* Frees a resource that nothing uses, and with a list its links. */
void resource_free(struct coordinator *c, struct resource *resource);

/* A LOCK joins the queue of its name, or is answered at once; the limits of its session were checked. */
void resource_ask(struct coordinator *c, struct session *session, uint64_t request,
                  const struct request *what);

/* Lets the head ask the masters in this step, unless something stands before it: for a new request and for what is due;
 * all others call queue_due() (due.h). Frees a resource that nobody uses any more, so it may be gone afterwards. */
void resource_advance(struct coordinator *c, struct resource *resource);
/* Frees the resource of a slot that nobody uses; returns the resource of its name. Of any other resource, returns it
 * as it is. */
struct resource *resource_rest(struct coordinator *c, struct resource *resource);
/* The lock is free, but other daemons wait for it: the head here asks a little later. For waited_ms see turn.h. */
void resource_yield(struct coordinator *c, struct resource *resource, int64_t waited_ms);

/* Answers the head with this code and removes it from the queue. Returns the reply, for the caller to fill
 * in. */
struct reply *resource_answer_head(struct coordinator *c, struct resource *resource, enum reply_code code);
/* The lock was granted here, to the head (which was answered) or to a RESUME. */
void resource_granted(struct coordinator *c, struct resource *resource);
/* The head's attempt failed with this verdict: the head tries again later, or is answered and leaves. */
void resource_refused(struct coordinator *c, struct resource *resource, const struct verdict *verdict);

/* Answers a head whose wait is over, undoes its attempt, and lets the next head ask. */
void resource_head_leaves(struct coordinator *c, struct resource *resource);

/* Handles the queue's deadline item: the head's next attempt, what its present one does later (acquire_timer()), or
 * the next requests to sweep. */
void resource_timer(struct coordinator *c, struct resource *resource);

/* Handles the end of a wait's time. */
void wait_timer(struct coordinator *c, struct wait *wait);
/* Removes a wait and answers its request with this code. */
void wait_cancel(struct coordinator *c, struct wait *wait, enum reply_code code);
/* Removes a wait without an answer, because its client is gone. */
void wait_drop(struct coordinator *c, struct wait *wait);
/* Whether the wait's first attempt is under way or comes next. Such an attempt is not cut short, neither
 * when the session asks nothing more nor when the wait's time is over; so wait=1ms is never worse than
 * wait=0. */
bool wait_is_trying(const struct coordinator *c, const struct wait *wait);

#endif
