#include "daemon/coordinator/mode/writer.h"

#include "daemon/coordinator/ask/acquire_private.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

void writer_begin(struct coordinator *c, struct resource *resource)
{
    if (wake_joins(c, resource))
        acquire_queue(c, resource);
    else if (c->token_drawn) /* a step has random bytes for one token: begin in the next step */
        heap_set(&c->deadlines, &resource->queue->item, c->now_ms);
    else
        acquire_set(c, resource);
}

void writer_forget(struct queue *queue, bool looks)
{
    (void)looks;
    queue->woken = queue->late = queue->heard = queue->ends = 0;
}

void writer_ask(struct coordinator *c, const struct round *round, masters_t masters)
{
    round_send(c, round, COMMAND_SET, masters, (uint64_t)round->ttl_ms);
}

void writer_granted(struct coordinator *c, const struct round *round, struct resource *resource)
{
    (void)c, (void)round, (void)resource;
}

const struct mode mode_writer = {
    .token = TOKEN_EXCLUSIVE,
    .wakes = true,
    .fans_out = true,
    .splits = true,
    .begin = writer_begin,
    .forget = writer_forget,
    .ask = writer_ask,
    .granted = writer_granted,
    .refused = resource_refused,
};
