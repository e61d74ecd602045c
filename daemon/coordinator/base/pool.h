/* Objects of one kind: a fixed number, taken once, with ids that are never reused.
 *
 * An object's first member is its uint64_t id. The id tells the slot, so that
 * finding an object by its id is one comparison, and a late id finds nothing.
 * Slots that were never used cost no memory. */
#ifndef REDLOCKD_POOL_H
#define REDLOCKD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_SLOT_BITS = 21, POOL_CAPACITY = (1 << POOL_SLOT_BITS) - 1 };

struct pool {
    char *slots;
    size_t size;       /* of an object */
    uint32_t capacity; /* at most POOL_CAPACITY */
    uint32_t used;
    uint32_t fresh; /* slots from here on were never used */
    uint32_t free;  /* 1 + the slot that was freed last; 0: none */
    uint64_t serial;
};

bool pool_init(struct pool *pool, size_t size, uint32_t capacity); /* false: no memory */
void pool_free(struct pool *pool);

void *pool_take(struct pool *pool); /* zeroed but for its id; NULL: full */
void pool_give(struct pool *pool, void *object);
void *pool_find(const struct pool *pool, uint64_t id); /* NULL: gone */
void *pool_at(const struct pool *pool, uint32_t slot); /* NULL: free; slot < fresh */
uint32_t pool_slot(const struct pool *pool, const void *object);

#endif
