#include "daemon/coordinator/mode/shared.h"

#include <string.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"

struct shared *shared_of(const struct coordinator *c, const struct lease *lease)
{
    return &c->sharing[pool_slot(&c->leases, lease)];
}

struct crowd *crowd_of(const struct coordinator *c, const struct resource *resource)
{
    return &c->crowds[pool_slot(&c->resources, resource)];
}

/* The list is a ring: the link before the first one is the last one. */
static void shared_insert(const struct coordinator *c, struct lease *first, struct lease *lease)
{
    struct shared *links = shared_of(c, lease);
    links->next = links->prev = lease;
    if (first == NULL)
        return;
    links->next = first;
    links->prev = shared_of(c, first)->prev;
    shared_of(c, links->prev)->next = lease;
    shared_of(c, first)->prev = lease;
}

void shared_add(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    shared_insert(c, resource->lease, lease);
    if (resource->lease == NULL || lease_is_bound(lease))
        resource->lease = lease;
}

void shared_remove(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    const struct shared *links = shared_of(c, lease);
    struct crowd *crowd = crowd_of(c, resource);
    if (crowd->lettered == lease)
        crowd->lettered = shared_next(c, lease);
    if (resource->lease == lease)
        resource->lease = links->next != lease ? links->next : NULL;
    shared_of(c, links->prev)->next = links->next;
    shared_of(c, links->next)->prev = links->prev;
}

void shared_count(struct coordinator *c, const struct lease *lease, int by)
{
    c->readers[lease->hold.kind] += (uint32_t)by;
    crowd_of(c, lease->resource)->readers += (uint32_t)by;
}

struct lease *shared_next(const struct coordinator *c, const struct lease *lease)
{
    if (!lease->mode->shares)
        return NULL;
    struct lease *next = shared_of(c, lease)->next;
    return next != lease->resource->lease ? next : NULL;
}

struct lease *resource_lease(const struct coordinator *c, const struct resource *resource,
                             const struct token *token)
{
    struct lease *lease = resource->lease;
    while (lease != NULL &&
           (!lease->keeping->told || (memcmp(lease->hold.token.bytes, token->bytes, TOKEN_BYTES) != 0 &&
                                      !lease_was_known_by(lease, token))))
        lease = shared_next(c, lease);
    return lease;
}

struct lease *resource_lease_of(const struct coordinator *c, const struct resource *resource,
                                uint64_t session)
{
    struct lease *lease = resource->lease;
    if (lease == NULL || !lease->mode->shares)
        return lease != NULL && lease->hold.session != NULL && lease->hold.session->key == session ? lease
                                                                                                   : NULL;
    const struct session *found = session_find(c, session);
    struct hold *hold = found != NULL ? found->holds : NULL;
    while (hold != NULL && lease_of_hold(hold)->resource != resource)
        hold = hold->session_next;
    return hold != NULL ? lease_of_hold(hold) : NULL;
}
