#include "daemon/coordinator/mode/writer.h"

#include "daemon/coordinator/ask/acquire_private.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/mark.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

void writer_begin(struct coordinator *c, struct resource *resource)
{
    if (wake_joins(c, resource))
        acquire_queue(c, resource);
    else
        acquire_set(c, resource);
}

void writer_forget(struct queue *queue, bool looks)
{
    (void)looks;
    queue->wake.woken = queue->wake.late = queue->wake.heard = queue->wake.kept = queue->attempt.ends = 0;
}

void writer_ask(struct coordinator *c, const struct round *round, masters_t masters)
{
    round_send(c, round, COMMAND_SET, masters, (uint64_t)round->ttl_ms);
}

void writer_granted(struct coordinator *c, const struct round *round, struct resource *resource)
{
    (void)c, (void)round, (void)resource;
}

bool writer_made(struct coordinator *c, struct resource *resource)
{
    (void)c, (void)resource;
    return true;
}

void writer_ends(struct coordinator *c, struct resource *resource)
{
    (void)c, (void)resource;
}

void writer_queue_ends(struct coordinator *c, struct resource *resource)
{
    pool_give(&c->queues, resource->queue);
    resource->queue = &c->nobody;
}

bool writer_in_way(const struct resource *resource)
{
    return resource->lease != NULL && lease_is_bound(resource->lease);
}

void writer_stands(struct resource *resource, int by)
{
    (void)resource, (void)by;
}

bool writer_follows(const struct coordinator *c, const struct resource *resource)
{
    (void)c;
    return names_use(resource) == NAMES_FREE;
}

bool writer_asks_on(const struct queue *queue)
{
    (void)queue;
    return false;
}

int64_t writer_along_ms(const struct coordinator *c, const struct resource *resource)
{
    (void)c, (void)resource;
    return INT64_MAX;
}

int64_t writer_yields(const struct coordinator *c, struct resource *resource, int64_t at_ms)
{
    (void)c, (void)resource;
    return at_ms;
}

void writer_freed(struct resource *resource)
{
    (void)resource;
}

void writer_enter(struct coordinator *c, struct lease *lease)
{
    (void)c;
    lease->resource->lease = lease;
}

void writer_leave(struct coordinator *c, struct lease *lease)
{
    (void)c;
    lease->resource->lease = NULL;
}

void writer_count(struct coordinator *c, const struct lease *lease, int by)
{
    (void)c, (void)lease, (void)by;
}

bool writer_beside(const struct lease *other)
{
    (void)other;
    return false;
}

/* A mark of this daemon may have brought a wake in vain. */
#define WRITER                                                                                              \
    .keeping = &keeping_own, .grant = lease_grant, .token = TOKEN_EXCLUSIVE, .wakes = true, .splits = true, \
    .turns = true, .begin = writer_begin, .forget = writer_forget, .ask = writer_ask,                       \
    .granted = writer_granted, .refused = resource_refused, .made = writer_made, .ends = writer_ends,       \
    .queue_ends = writer_queue_ends, .in_way = writer_in_way, .awaits = release_is_awaited,                 \
    .stays = names_keep, .stands = writer_stands, .follows = writer_follows, .asks_on = writer_asks_on,     \
    .along_ms = writer_along_ms, .yields = writer_yields, .lease_of = resource_lease_of,                    \
    .freed = writer_freed, .contended = wake_contended, .is_contended = wake_is_contended,                  \
    .woken_in_vain = mark_along, .left = wake_leave, .got = wake_granted, .enter = writer_enter,            \
    .leave = writer_leave, .count = writer_count, .beside = writer_beside

const struct mode mode_writer = {
    WRITER,
    .hands_on = true,
    .fans_out = true,
};

/* A leader tells others something (keep/data.h): a grant waits until a quorum of masters has that, and is never handed
 * on. */
const struct mode mode_leader = {
    WRITER,
    .tells = true,
    .number = TOKEN_TELLS,
};
