/* A pool of objects of one type: a fixed number of slots, allocated once, and ids that are never reused.
 *
 * An object's first member is its uint64_t id. The id contains the slot, so finding an object by its id is
 * one comparison, and the id of an object that is gone finds nothing. Slots that were never used cost no
 * memory. A pool that was told to also knows the order in which its objects were taken. */
#ifndef REDLOCKD_POOL_H
#define REDLOCKD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_SLOT_BITS = 21, POOL_CAPACITY = (1 << POOL_SLOT_BITS) - 1 };

/* The neighbours of a slot in the order in which objects were taken: 1 + their slots; 0: none. */
struct pool_age {
    uint32_t older, newer;
};

struct pool {
    char *slots;
    size_t size;             /* bytes of an object */
    uint32_t capacity;       /* at most POOL_CAPACITY */
    uint32_t used;           /* objects that are taken now */
    uint32_t fresh;          /* slots from here on were never used */
    uint32_t free;           /* head of the free list: 1 + the slot that was freed last; 0: none */
    uint64_t serial;         /* upper bits of the last id */
    struct pool_age *ages;   /* NULL: the order is not kept */
    uint32_t oldest, newest; /* 1 + slot; 0: none */
};

/* Allocates capacity objects of size bytes, a multiple of 8. Returns false when there is no memory. */
bool pool_init(struct pool *pool, size_t size, uint32_t capacity);
/* From now on the pool, which is empty, keeps the order of its objects, for pool_oldest() and pool_newer().
 * Returns false when there is no memory. */
bool pool_keep_order(struct pool *pool);
void pool_free(struct pool *pool);

/* Returns an object that is zero but for its new id; NULL if the pool is full. The pool owns the memory. */
void *pool_take(struct pool *pool);
/* Returns an object to the pool; its id is dead from now on. */
void pool_give(struct pool *pool, void *object);
/* The object with this id; NULL if it was given back. */
void *pool_find(const struct pool *pool, uint64_t id);
/* The object in a slot below pool->fresh; NULL if the slot is free. */
void *pool_at(const struct pool *pool, uint32_t slot);
/* The object that was taken first, and the one that was taken next after an object; NULL: none. */
void *pool_oldest(const struct pool *pool);
void *pool_newer(const struct pool *pool, const void *object);
/* The slot of an object. */
uint32_t pool_slot(const struct pool *pool, const void *object);

#endif
