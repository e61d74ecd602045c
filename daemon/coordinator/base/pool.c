#include "daemon/coordinator/base/pool.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* An id is serial << POOL_SLOT_BITS | slot. In a free slot the serial is 0, and the low bits link the free
 * list. */
static const uint64_t SLOT_MASK = ((uint64_t)1 << POOL_SLOT_BITS) - 1;

static uint64_t *pool_id_of(const struct pool *pool, uint32_t slot)
{
    return (uint64_t *)(void *)(pool->slots + (size_t)slot * pool->size);
}

bool pool_init(struct pool *pool, size_t size, uint32_t capacity)
{
    assert(capacity <= POOL_CAPACITY && size % sizeof(uint64_t) == 0);
    memset(pool, 0, sizeof *pool);
    pool->slots = calloc(capacity ? capacity : 1, size);
    pool->size = size;
    pool->capacity = capacity;
    return pool->slots != NULL;
}

void pool_free(struct pool *pool)
{
    free(pool->slots);
}

void *pool_take(struct pool *pool)
{
    uint32_t slot;
    if (pool->free != 0) {
        slot = pool->free - 1;
        pool->free = (uint32_t)*pool_id_of(pool, slot);
    } else if (pool->fresh < pool->capacity) {
        slot = pool->fresh++;
    } else {
        return NULL;
    }
    uint64_t *id = pool_id_of(pool, slot);
    memset(id, 0, pool->size);
    *id = ++pool->serial << POOL_SLOT_BITS | slot;
    pool->used++;
    return id;
}

void pool_give(struct pool *pool, void *object)
{
    uint32_t slot = pool_slot(pool, object);
    uint64_t *id = object;
    assert(*id > SLOT_MASK);
    *id = pool->free;
    pool->free = slot + 1;
    pool->used--;
}

void *pool_find(const struct pool *pool, uint64_t id)
{
    uint32_t slot = (uint32_t)(id & SLOT_MASK);
    if (id <= SLOT_MASK || slot >= pool->fresh || *pool_id_of(pool, slot) != id)
        return NULL;
    return pool_id_of(pool, slot);
}

void *pool_at(const struct pool *pool, uint32_t slot)
{
    uint64_t *id = pool_id_of(pool, slot);
    return *id > SLOT_MASK ? id : NULL;
}

uint32_t pool_slot(const struct pool *pool, const void *object)
{
    return (uint32_t)((size_t)((const char *)object - pool->slots) / pool->size);
}
