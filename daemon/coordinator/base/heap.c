#include "daemon/coordinator/base/heap.h"

#include <assert.h>
#include <stdlib.h>

enum { CHILDREN = 4 };

bool heap_init(struct heap *heap, uint32_t capacity)
{
    heap->entries = malloc(((size_t)capacity + 1) * sizeof *heap->entries);
    heap->count = 0;
    heap->capacity = capacity;
    return heap->entries != NULL;
}

void heap_free(struct heap *heap)
{
    free(heap->entries);
}

/* Places are 1-based so that 0 can mean "not in the heap"; the children of place p are 4p-2 .. 4p+1. */
static uint32_t parent_of(uint32_t place)
{
    return (place + 2) / CHILDREN;
}

static uint32_t first_child_of(uint32_t place)
{
    return place * CHILDREN - 2;
}

static void heap_put(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    heap->entries[place] = entry;
    entry.item->place = place;
}

static void sift_up(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    while (place > 1 && heap->entries[parent_of(place)].at_ms > entry.at_ms) {
        heap_put(heap, place, heap->entries[parent_of(place)]);
        place = parent_of(place);
    }
    heap_put(heap, place, entry);
}

static uint32_t earliest_child(const struct heap *heap, uint32_t place)
{
    uint32_t first = first_child_of(place), best = first;
    for (uint32_t child = first + 1; child < first + CHILDREN && child <= heap->count; child++)
        if (heap->entries[child].at_ms < heap->entries[best].at_ms)
            best = child;
    return best;
}

static void sift_down(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    while (first_child_of(place) <= heap->count) {
        uint32_t child = earliest_child(heap, place);
        if (heap->entries[child].at_ms >= entry.at_ms)
            break;
        heap_put(heap, place, heap->entries[child]);
        place = child;
    }
    heap_put(heap, place, entry);
}

static void settle(struct heap *heap, uint32_t place, struct heap_entry entry)
{
    if (place > 1 && heap->entries[parent_of(place)].at_ms > entry.at_ms)
        sift_up(heap, place, entry);
    else
        sift_down(heap, place, entry);
}

void heap_set(struct heap *heap, struct heap_item *item, int64_t at_ms)
{
    if (at_ms == INT64_MAX) {
        heap_remove(heap, item);
        return;
    }
    struct heap_entry entry = {at_ms, item};
    if (item->place != 0) {
        if (heap->entries[item->place].at_ms != at_ms)
            settle(heap, item->place, entry);
        return;
    }
    assert(heap->count < heap->capacity);
    heap->count++;
    sift_up(heap, heap->count, entry);
}

void heap_remove(struct heap *heap, struct heap_item *item)
{
    uint32_t place = item->place;
    if (place == 0)
        return;
    struct heap_entry last = heap->entries[heap->count--];
    item->place = 0;
    if (last.item != item)
        settle(heap, place, last);
}

int64_t heap_next_ms(const struct heap *heap)
{
    return heap->count == 0 ? INT64_MAX : heap->entries[1].at_ms;
}

struct heap_item *heap_top(const struct heap *heap)
{
    return heap->count == 0 ? NULL : heap->entries[1].item;
}

int64_t heap_at_ms(const struct heap *heap, const struct heap_item *item)
{
    return item->place == 0 ? INT64_MAX : heap->entries[item->place].at_ms;
}

void heap_check(const struct heap *heap)
{
    assert(heap->count <= heap->capacity);
    for (uint32_t place = 1; place <= heap->count; place++) {
        assert(heap->entries[place].item->place == place);
        assert(place == 1 || heap->entries[parent_of(place)].at_ms <= heap->entries[place].at_ms);
    }
}
