/* A priority queue of deadlines: a 4-ary min-heap of items that are embedded in the objects that own them.
 *
 * Each parent has four children: that halves the levels of a binary heap, and four entries fill 64 bytes.
 * The capacity is fixed, and the caller sizes it so that every item in use finds a place. Times are in ms. */
#ifndef REDLOCKD_HEAP_H
#define REDLOCKD_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct heap_item {
    uint32_t place; /* 1-based; 0: not in the heap */
    uint32_t kind;  /* set by the owner: which type of object the item is part of */
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

/* Allocates room for capacity items. Returns false when there is no memory; heap_free() is allowed even
 * then. */
bool heap_init(struct heap *heap, uint32_t capacity);
void heap_free(struct heap *heap);

/* Inserts the item, or moves it to another time; INT64_MAX removes it. */
void heap_set(struct heap *heap, struct heap_item *item, int64_t at_ms);
/* Removes the item; does nothing if the item is not in the heap. */
void heap_remove(struct heap *heap, struct heap_item *item);
/* The earliest deadline; INT64_MAX if the heap is empty. */
int64_t heap_next_ms(const struct heap *heap);
/* The item with the earliest deadline, which stays in the heap; NULL if the heap is empty. */
struct heap_item *heap_top(const struct heap *heap);
/* The item's deadline; INT64_MAX if the item is not in the heap. */
int64_t heap_at_ms(const struct heap *heap, const struct heap_item *item);
/* Asserts the heap's order and the place of each item. */
void heap_check(const struct heap *heap);

#endif
