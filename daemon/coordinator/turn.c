#include "daemon/coordinator/turn.h"

enum { YOUNG_MS = 100 };

void turn_granted(const struct coordinator *c, struct resource *resource)
{
    if (resource->turn_ms == 0)
        resource->turn_ms = c->now_ms;
}

void turn_refused(struct resource *resource)
{
    resource->turn_ms = 0;
    resource->turn_goes_on = false;
}

bool turn_is_young(const struct coordinator *c, const struct resource *resource)
{
    return resource->turn_ms != 0 && c->now_ms - resource->turn_ms < YOUNG_MS;
}

static struct turn *turn_slot_of(struct coordinator *c, const struct resource *resource)
{
    return &c->turns[resource->hash % TURNS];
}

void turn_remember(struct coordinator *c, const struct resource *resource)
{
    if (resource->turn_ms == 0 && resource->retry_ms <= c->now_ms)
        return;
    int64_t forgotten_ms = c->now_ms + c->config.retry_max_ms;
    if (resource->retry_ms > forgotten_ms)
        forgotten_ms = resource->retry_ms;
    *turn_slot_of(c, resource) =
        (struct turn){resource->hash, resource->turn_ms, resource->retry_ms, forgotten_ms};
}

void turn_recall(struct coordinator *c, struct resource *resource)
{
    struct turn *turn = turn_slot_of(c, resource);
    if (turn->hash != resource->hash || c->now_ms >= turn->forgotten_ms)
        return;
    resource->turn_ms = turn->began_ms;
    resource->turn_goes_on = turn->began_ms != 0;
    resource->retry_ms = turn->retry_ms;
    turn->forgotten_ms = 0;
}

void turn_unwanted(const struct coordinator *c, struct resource *resource)
{
    if (resource->queue->head == NULL && resource->turn_goes_on)
        resource->turn_ms = c->now_ms;
}

void turn_mark(struct coordinator *c, struct resource *resource)
{
    int64_t last_ms = resource->queue->marked_ms, every_ms = c->config.retry_max_ms;
    if (last_ms != 0 && c->now_ms - last_ms < every_ms)
        return;
    resource->queue->marked_ms = c->now_ms;
    struct command command = {.verb = COMMAND_ENQUEUE, .to = c->config.self};
    command.number = 2 * (uint64_t)c->config.max_ttl_ms;
    command.waited_ms = (uint64_t)(c->now_ms - resource->queue->head->asked_ms);
    name_copy(&command.name, resource->name);
    action_send(c, c->voters, &command);
}

/* The pause is longer than the longest pause of another daemon between two attempts. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource)
{
    turn_refused(resource);
    return c->now_ms + c->config.retry_max_ms + c->config.retry_max_ms / 4;
}
