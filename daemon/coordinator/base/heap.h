/* Deadlines in order: a heap of items that live inside their owners.
 *
 * Four children a parent: half the levels of a binary heap, and a parent's children
 * share a cache line. Its capacity is fixed: every owner has one item. */
#ifndef REDLOCKD_HEAP_H
#define REDLOCKD_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_item {
    uint32_t place; /* 1-based; 0: not in the heap */
    uint32_t kind;  /* the owner's: says what the item is part of */
};

struct heap_entry {
    int64_t at_ms;
    struct heap_item *item;
};

struct heap {
    struct heap_entry *entries;
    uint32_t count;
    uint32_t capacity;
};

bool heap_init(struct heap *heap, uint32_t capacity); /* false: no memory */
void heap_free(struct heap *heap);

/* Inserts, or moves to another time; INT64_MAX takes it out. */
void heap_set(struct heap *heap, struct heap_item *item, int64_t at_ms);
void heap_remove(struct heap *heap, struct heap_item *item);               /* no harm when it is not there */
int64_t heap_next_ms(const struct heap *heap);                             /* INT64_MAX: empty */
struct heap_item *heap_top(const struct heap *heap);                       /* NULL: empty */
int64_t heap_at_ms(const struct heap *heap, const struct heap_item *item); /* INT64_MAX: not in it */
void heap_check(const struct heap *heap);

#endif
