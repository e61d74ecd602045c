#include "daemon/coordinator/name/due.h"

#include <stddef.h>

#include "daemon/coordinator/mode/mode.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/wait/resource.h"

/* A writer that stands behind readers becomes the head while readers have the name: the requests with wait=0
 * behind it are not to wait for these. Where the name is held alone, none of them waits. */
static void answer_impatient(struct coordinator *c, struct queue *queue)
{
    if (queue->impatient == 0 || c->draining)
        return;
    queue->verdict = (struct verdict){.code = REPLY_BUSY};
    queue->sweeping = true;
    heap_set(&c->deadlines, &queue->item, c->now_ms);
}

/* The head's time is over, which is seen here first after a pause of this daemon: wait_timer() is due, and comes back
 * here. An attempt for nobody would be a reason to answer others -BUSY. */
static bool is_leaving(const struct coordinator *c, const struct wait *head)
{
    return head->tried && head->item.place != 0 && c->now_ms >= head->deadline_ms;
}

struct resource *queue_ready(struct coordinator *c, struct resource *resource)
{
    resource = resource_rest(c, resource);
    struct queue *queue = resource->queue;
    /* The end of a sweep, of an attempt or of an awaited release comes back here. */
    if (queue->sweeping || queue->round != NULL)
        return NULL;
    if (!resource_is_used(resource)) {
        resource_free(c, resource);
        return NULL;
    }
    heap_remove(&c->deadlines, &queue->item);
    if (resource->mode->awaits(resource))
        return NULL;
    if (queue->head == NULL || queue->head->mode->in_way(resource) || c->draining) {
        answer_impatient(c, queue);
        return NULL;
    }
    if (c->now_ms < resource->retry_ms) {
        heap_set(&c->deadlines, &queue->item, resource->retry_ms);
        return NULL;
    }
    return is_leaving(c, queue->head) ? NULL : resource;
}

void queue_due(struct coordinator *c, struct resource *resource)
{
    resource = queue_ready(c, resource);
    if (resource == NULL)
        return;
    struct queue *queue = resource->queue;
    if (c->looks.count == 0)
        c->looks_ms = c->now_ms;
    heap_set(&c->looks, &queue->look, (int64_t)queue->head->id);
}

struct resource *queue_take_due(struct coordinator *c)
{
    struct queue *queue =
        (struct queue *)(void *)((char *)heap_top(&c->looks) - offsetof(struct queue, look));
    heap_remove(&c->looks, &queue->look);
    c->looks_ms = c->now_ms; /* what was due before goes before the next one */
    return queue->resource;
}

void queue_freed(struct coordinator *c, struct resource *resource)
{
    resource->mode->freed(resource);
    if (resource->queue->head != NULL)
        resource->queue->attempt.release_seen = true;
    slots_base(resource)->retry_ms = 0;
    queue_due(c, resource);
}
