/* Resources by their names: found, made and freed. */
#include <assert.h>
#include <string.h>

#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/turn.h"
#include "daemon/coordinator/wait/resource.h"
#include "proto/slot.h"

static uint32_t resource_hash(const struct coordinator *c, const struct name *name)
{
    return table_hash(c->config.hash_seed, name->text, name->len);
}

static struct resource *find(const struct coordinator *c, const struct name *name, uint32_t hash)
{
    uint32_t place = table_first(&c->names, hash), slot;
    while (table_next(&c->names, hash, &place, &slot)) {
        struct resource *resource = pool_at(&c->resources, slot);
        const struct name *other = resource->name;
        bool alike = memcmp(other, name, offsetof(struct name, text)) == 0;
        if (alike && memcmp(other->text, name->text, name->len) == 0)
            return resource;
    }
    return NULL;
}

struct resource *resource_find(const struct coordinator *c, const struct name *name)
{
    return find(c, name, resource_hash(c, name));
}

struct resource *resource_find_or_make(struct coordinator *c, const struct name *name)
{
    uint32_t hash = resource_hash(c, name);
    struct resource *resource = find(c, name, hash);
    if (resource != NULL)
        return resource;
    resource = pool_take(&c->resources);
    if (resource == NULL)
        return NULL;
    resource->queue = &c->nobody;
    resource->mode = mode_of_name(c, name);
    resource->hash = hash;
    resource->name = intern_name(&c->intern, name);
    table_add(&c->names, pool_slot(&c->resources, resource));
    turn_recall(c, resource);
    if (resource->mode->made(c, resource))
        return resource;
    resource_free(c, resource);
    return NULL;
}

void resource_free(struct coordinator *c, struct resource *resource)
{
    assert(resource->lease == NULL && resource->giving_back == NULL && resource->resumes == NULL);
    assert(!names_keep(resource));
    resource->mode->ends(c, resource);
    assert(resource->queue == &c->nobody);
    turn_remember(c, resource);
    table_remove(&c->names, pool_slot(&c->resources, resource));
    intern_name_back(&c->intern, resource->name);
    pool_give(&c->resources, resource);
}

bool resource_is_used(const struct resource *resource)
{
    return resource->queue->head != NULL || resource->lease != NULL || resource->giving_back != NULL ||
           resource->resumes != NULL || resource->mode->stays(resource);
}

struct resource *resource_rest(struct coordinator *c, struct resource *resource)
{
    struct resource *base = slots_base(resource);
    if (base == resource)
        return base;
    const struct round *round = base->queue->round;
    bool asked = round != NULL && round->resource == resource;
    bool held = resource->lease != NULL || resource->giving_back != NULL || resource->resumes != NULL;
    if (!asked && !held)
        resource_free(c, resource);
    return base;
}
