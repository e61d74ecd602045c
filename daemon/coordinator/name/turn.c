#include "daemon/coordinator/name/turn.h"

#include "daemon/coordinator/name/wake.h"

enum { YOUNG_MS = 50, WOKEN_MS = 3, WAITS_SHARE = 16 };

void turn_granted(const struct coordinator *c, struct resource *resource)
{
    if (resource->turn_ms == 0)
        resource->turn_ms = c->now_ms;
}

void turn_refused(struct resource *resource)
{
    resource->turn_ms = 0;
    resource->turn_goes_on = resource->hands = false;
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
    if (resource->turn_ms == 0 && resource->retry_ms <= c->now_ms && !resource->sought)
        return;
    int64_t forgotten_ms = c->now_ms + c->config.retry_max_ms;
    if (resource->retry_ms > forgotten_ms)
        forgotten_ms = resource->retry_ms;
    *turn_slot_of(c, resource) =
        (struct turn){resource->hash, resource->turn_ms, resource->retry_ms, forgotten_ms, resource->sought};
}

void turn_recall(struct coordinator *c, struct resource *resource)
{
    struct turn *turn = turn_slot_of(c, resource);
    if (turn->hash != resource->hash || c->now_ms >= turn->forgotten_ms)
        return;
    resource->turn_ms = turn->began_ms;
    resource->turn_goes_on = turn->began_ms != 0;
    resource->retry_ms = turn->retry_ms;
    resource->sought = turn->sought;
    turn->forgotten_ms = 0;
}

void turn_unwanted(const struct coordinator *c, struct resource *resource)
{
    if (resource->queue->head != NULL)
        resource->turn_ms = 0; /* the next grant begins it */
    else if (resource->turn_goes_on)
        resource->turn_ms = c->now_ms;
}

void turn_join(struct coordinator *c, struct resource *resource)
{
    int64_t last_ms = resource->queue->wake.joined_ms, every_ms = c->config.retry_max_ms;
    if (last_ms != 0 && c->now_ms - last_ms < every_ms)
        return;
    resource->queue->wake.joined_ms = c->now_ms;
    wake_join(c, resource, 0);
}

/* Where the others poll, the pause is longer than their longest pause between two attempts. Where one was
 * woken, the pause leaves time for its attempt; its wait tells how far away it may be. */
int64_t turn_yield(const struct coordinator *c, struct resource *resource, int64_t waited_ms)
{
    int64_t most_ms = c->config.retry_max_ms, pause_ms = waited_ms / WAITS_SHARE;
    turn_refused(resource);
    if (waited_ms < 0)
        return c->now_ms + most_ms + most_ms / 4;
    if (pause_ms < WOKEN_MS)
        pause_ms = WOKEN_MS;
    return c->now_ms + earlier_ms(pause_ms, most_ms);
}
