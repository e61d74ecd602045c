#include "daemon/coordinator/name/mark.h"

void mark_along(struct coordinator *c, const struct name *name, masters_t masters)
{
    masters &= c->releasers;
    if (masters == 0)
        return;
    struct command *command = action_command(c, masters, COMMAND_ALONG, name);
    command->to = c->config.self;
    command->number = 2 * (uint64_t)c->longest_ttl_ms;
}

void mark_remove(struct coordinator *c, struct resource *resource)
{
    resource->queue->wake.marked = false;
    mark_along(c, resource->name, c->releasers); /* a master may have answered too late to be heard */
}
