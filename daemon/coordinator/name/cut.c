#include "daemon/coordinator/name/cut.h"

#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/mode/slots.h"

enum { AGAIN_MS = 10000 };

/* No daemon tells anybody more than its max_ttl. While daemons disagree about it, the largest one counts. */
static uint64_t in_force_ms(const struct coordinator *c)
{
    int64_t most_ms = c->longest_ttl_ms;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *master = &c->masters[i];
        if (master->memory.strange && master->memory.theirs.max_ttl_ms > most_ms)
            most_ms = master->memory.theirs.max_ttl_ms;
    }
    return (uint64_t)most_ms;
}

uint64_t cut_most_ms(const struct coordinator *c, const struct token *token)
{
    return token_is_mark(token) ? 0 : in_force_ms(c);
}

static void cut_send(struct coordinator *c, const struct resource *resource, masters_t masters)
{
    if (masters == 0)
        return;
    struct command *command = action_command(c, masters, COMMAND_CUT, resource->name);
    command->number = in_force_ms(c);
    command->slots = slots_asked(resource);
}

void cut_if_long(struct coordinator *c, const struct resource *resource, unsigned master, uint64_t left_ms)
{
    if (left_ms > in_force_ms(c))
        cut_send(c, resource, masters_bit(master));
}

void cut_while_polling(struct coordinator *c, const struct resource *resource)
{
    struct queue *queue = resource->queue;
    if (c->now_ms < queue->wake.cut_ms)
        return;
    if (queue->wake.cut_ms != 0)
        cut_send(c, resource, c->voters);
    queue->wake.cut_ms = c->now_ms + AGAIN_MS;
}
