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
}

bool turn_is_young(const struct coordinator *c, const struct resource *resource)
{
    return resource->turn_ms != 0 && c->now_ms - resource->turn_ms < YOUNG_MS;
}

void turn_mark(struct coordinator *c, struct resource *resource)
{
    int64_t last_ms = resource->marked_ms, every_ms = c->config.retry_max_ms;
    if (last_ms != 0 && c->now_ms - last_ms < every_ms)
        return;
    resource->marked_ms = c->now_ms;
    struct command command = {
        .verb = COMMAND_WANT, .number = 2 * (uint64_t)every_ms, .to = c->config.self};
    name_copy(&command.name, resource->name);
    action_send(c, c->voters, &command);
}

/* Longer than any of the others pauses between two attempts. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource)
{
    resource->turn_ms = 0;
    return c->now_ms + c->config.retry_max_ms + c->config.retry_max_ms / 4;
}
