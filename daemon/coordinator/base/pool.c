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

bool pool_keep_order(struct pool *pool)
{
    assert(pool->used == 0);
    pool->ages = calloc(pool->capacity ? pool->capacity : 1, sizeof *pool->ages);
    return pool->ages != NULL;
}

void pool_free(struct pool *pool)
{
    free(pool->slots);
    free(pool->ages);
}

static void pool_age_add(struct pool *pool, uint32_t slot)
{
    pool->ages[slot] = (struct pool_age){.older = pool->newest};
    *(pool->newest != 0 ? &pool->ages[pool->newest - 1].newer : &pool->oldest) = slot + 1;
    pool->newest = slot + 1;
}

static void pool_age_remove(struct pool *pool, uint32_t slot)
{
    struct pool_age age = pool->ages[slot];
    *(age.older != 0 ? &pool->ages[age.older - 1].newer : &pool->oldest) = age.newer;
    *(age.newer != 0 ? &pool->ages[age.newer - 1].older : &pool->newest) = age.older;
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
    if (pool->ages != NULL)
        pool_age_add(pool, slot);
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
    if (pool->ages != NULL)
        pool_age_remove(pool, slot);
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

void *pool_oldest(const struct pool *pool)
{
    return pool->oldest != 0 ? pool_at(pool, pool->oldest - 1) : NULL;
}

void *pool_newer(const struct pool *pool, const void *object)
{
    uint32_t newer = pool->ages[pool_slot(pool, object)].newer;
    return newer != 0 ? pool_at(pool, newer - 1) : NULL;
}

uint32_t pool_slot(const struct pool *pool, const void *object)
{
    return (uint32_t)((size_t)((const char *)object - pool->slots) / pool->size);
}
