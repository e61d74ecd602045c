/* A writer's mark: where other daemons' readers have a name, a writer that waits for it leaves a mark on the
 * masters with ENQUEUE, so that readers of other daemons who come later do not pass it for ever. The mark lasts
 * for two seconds, and is written again with each ENQUEUE. When that writer waits no longer, its daemon removes
 * the mark, and whoever waits next is woken. */
#ifndef REDLOCKD_MARK_H
#define REDLOCKD_MARK_H

#include "daemon/coordinator/data/state.h"

/* The head leaves its queue: removes its marks, if it has any. */
void mark_remove(struct coordinator *c, struct resource *resource);
/* Readers have the name, and a reader here was woken, or nobody waits here: wakes the next daemon in the queue
 * of these masters, since its readers may come along. */
void mark_along(struct coordinator *c, const struct name *name, masters_t masters);

#endif
