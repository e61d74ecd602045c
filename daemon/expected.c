#include "daemon/expected.h"

#include <assert.h>
#include <stdlib.h>

enum { RING_MIN = 64, RING_KEPT = 4096 };

size_t expected_count(const struct expected_ring *ring)
{
    return (size_t)(ring->pushed - ring->popped);
}

static int ring_grow(struct expected_ring *ring)
{
    size_t capacity = ring->capacity ? ring->capacity * 2 : RING_MIN;
    struct expected *list = malloc(capacity * sizeof *list);
    if (!list)
        return -1;
    for (uint64_t i = ring->popped; i != ring->pushed; i++)
        list[i & (capacity - 1)] = ring->list[i & (ring->capacity - 1)];
    free(ring->list);
    ring->list = list;
    ring->capacity = capacity;
    return 0;
}

int expected_push(struct expected_ring *ring, enum expected_kind kind, unsigned detail, uint64_t ref)
{
    if (expected_count(ring) == ring->capacity && ring_grow(ring) < 0)
        return -1;
    ring->list[ring->pushed++ & (ring->capacity - 1)] =
        (struct expected){.ref = ref, .kind = (uint8_t)kind, .detail = (uint8_t)detail};
    return 0;
}

struct expected expected_pop(struct expected_ring *ring)
{
    assert(expected_count(ring));
    return ring->list[ring->popped++ & (ring->capacity - 1)];
}

void expected_clear(struct expected_ring *ring)
{
    if (ring->capacity > RING_KEPT)
        expected_free(ring);
    ring->pushed = ring->popped = 0;
}

void expected_free(struct expected_ring *ring)
{
    free(ring->list);
    *ring = (struct expected_ring){0};
}
