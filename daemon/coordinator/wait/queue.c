#include "daemon/coordinator/wait/queue.h"

#include <assert.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/name/mark.h"
#include "daemon/coordinator/name/wake.h"

static struct queue *queue_make(struct coordinator *c, struct resource *resource)
{
    struct queue *queue = pool_take(&c->queues);
    assert(queue != NULL); /* the pools of queues and waits have the same size */
    queue->item.kind = ITEM_QUEUE;
    queue->resource = resource;
    queue->verdict.code = REPLY_BUSY;
    return queue;
}

static void queue_free(struct coordinator *c, struct resource *resource)
{
    assert(resource->queue->round == NULL);
    resource->mode->left(c, resource);
    heap_remove(&c->deadlines, &resource->queue->item);
    heap_remove(&c->looks, &resource->queue->look);
    resource->retry_ms = 0;
    resource->mode->queue_ends(c, resource);
}

void queue_append(struct coordinator *c, struct resource *resource, struct session *session,
                  struct wait *wait)
{
    if (resource->queue == &c->nobody)
        resource->queue = queue_make(c, resource);
    struct queue *queue = resource->queue;
    wait->resource = resource;
    wait->prev = queue->tail;
    *(queue->tail ? &queue->tail->next : &queue->head) = wait;
    queue->tail = wait;
    queue->waiters++;
    queue->impatient += !wait->patient;
    session_link_wait(c, session, wait);
}

void queue_remove(struct coordinator *c, struct wait *wait)
{
    struct resource *resource = wait->resource;
    struct queue *queue = resource->queue;
    if (queue->wake.marked && queue->head == wait)
        mark_remove(c, resource);
    *(wait->prev ? &wait->prev->next : &queue->head) = wait->next;
    *(wait->next ? &wait->next->prev : &queue->tail) = wait->prev;
    queue->waiters--;
    queue->impatient -= !wait->patient;
    if (wait->prev == NULL)
        names_changed(c, resource);
    if (queue->head == NULL)
        queue_free(c, resource);
    session_unlink_wait(c, wait);
    heap_remove(&c->deadlines, &wait->item);
    intern_note_back(&c->intern, wait->note);
    pool_give(&c->waits, wait);
}
