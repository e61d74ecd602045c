/* A pool of objects of one type: a fixed number of slots, allocated once, and ids that are never reused.
 *
 * An object's first member is its uint64_t id. The id contains the slot, so finding an object by its id is
 * one comparison, and the id of an object that is gone finds nothing. Slots that were never used cost no
 * memory. */
#ifndef REDLOCKD_POOL_H
#define REDLOCKD_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { POOL_SLOT_BITS = 21, POOL_CAPACITY = (1 << POOL_SLOT_BITS) - 1 };

struct pool {
    char *slots;
    size_t size;       /* bytes of an object */
    uint32_t capacity; /* at most POOL_CAPACITY */
    uint32_t used;     /* objects that are taken now */
    uint32_t fresh;    /* slots from here on were never used */
    uint32_t free;     /* head of the free list: 1 + the slot that was freed last; 0: none */
    uint64_t serial;   /* upper bits of the last id */
};

/* Allocates capacity objects of size bytes, a multiple of 8. Returns false when there is no memory. */
bool pool_init(struct pool *pool, size_t size, uint32_t capacity);
void pool_free(struct pool *pool);

/* Returns an object that is zero but for its new id; NULL if the pool is full. The pool owns the memory. */
void *pool_take(struct pool *pool);
/* Returns an object to the pool; its id is dead from now on. */
void pool_give(struct pool *pool, void *object);
/* The object with this id; NULL if it was given back. */
void *pool_find(const struct pool *pool, uint64_t id);
/* The object in a slot below pool->fresh; NULL if the slot is free. */
void *pool_at(const struct pool *pool, uint32_t slot);
/* The slot of an object. */
uint32_t pool_slot(const struct pool *pool, const void *object);

#endif
