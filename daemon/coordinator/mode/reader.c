/* A lock that readers have together (shared.h, join.h), as the head's attempt sees it. */
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/mode/crowd.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/writer.h"
#include "daemon/coordinator/name/mark.h"
#include "daemon/coordinator/wait/resource.h"

static void share_send(struct coordinator *c, const struct round *round, masters_t masters)
{
    if (masters == 0)
        return;
    struct command *command = action_command(c, masters, COMMAND_SHARE, round->name);
    command->ref = round->id;
    command->token = round->token;
    command->number = (uint64_t)round->ttl_ms;
    command->to = c->config.self;
    if (round->resource != NULL)
        command->waited_ms = (uint64_t)(c->now_ms - round->resource->queue->head->asked_ms);
}

static void reader_begin(struct coordinator *c, struct resource *resource)
{
    struct lease *common = join_found(c, resource);
    if (common == NULL)
        writer_begin(c, resource);
    else
        crowd_join(c, resource, common);
}

static bool reader_in_way(const struct resource *resource)
{
    const struct lease *lease = resource->lease;
    return lease != NULL && lease_is_bound(lease) && !lease->mode->shares;
}

/* Readers of other daemons may wait, too. */
static void reader_granted(struct coordinator *c, const struct round *round, struct resource *resource)
{
    if (round->woken || (resource->contended && resource->lease == NULL))
        mark_along(c, round->name, c->voters);
}

static struct lease *reader_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                                  uint64_t fence, int64_t until_ms)
{
    return join_is_wanted(c, resource) ? crowd_grant(c, resource, round, fence, until_ms)
                                       : lease_grant(c, resource, round, fence, until_ms);
}

/* The next reader asks beside the readers that have the name. */
static int64_t reader_along_ms(const struct coordinator *c, const struct resource *resource)
{
    return resource->lease != NULL && resource->lease->mode->shares ? c->now_ms : INT64_MAX;
}

static bool reader_beside(const struct lease *other)
{
    return other->mode->shares;
}

/* Readers do not split votes among themselves, and a writer that took some asks again. What a resource, not a wait, is
 * asked has no answer here: the resource of a name is of mode_writer. */
const struct mode mode_reader = {
    .keeping = &keeping_own,
    .grant = reader_grant,
    .token = TOKEN_SHARED,
    .shares = true,
    .wakes = true,
    .fans_out = true,
    .begin = reader_begin,
    .forget = writer_forget,
    .ask = share_send,
    .granted = reader_granted,
    .refused = resource_refused,
    .in_way = reader_in_way,
    .along_ms = reader_along_ms,
    .enter = shared_add,
    .leave = shared_remove,
    .count = shared_count,
    .beside = reader_beside,
};
