#include "daemon/node/expected.h"

#include <stdlib.h>

enum { RING_MIN = 64, RING_KEPT = 4096 };

int expected_grow(struct expected_ring *ring)
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

int expected_push_all(struct expected_ring *ring, enum expected_kind kind, unsigned detail,
                      const uint64_t refs[], unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (expected_push(ring, kind, detail, refs[i]) < 0)
            return -1;
        ring->list[(ring->pushed - 1) & (ring->capacity - 1)].replies_to = (uint8_t)(count - i);
    }
    return 0;
}

void expected_trim(struct expected_ring *ring)
{
    if (expected_count(ring) > 0 || ring->capacity <= RING_KEPT)
        return;
    free(ring->list);
    ring->list = NULL;
    ring->capacity = 0; /* pushed and popped keep counting */
}

void expected_clear(struct expected_ring *ring)
{
    ring->pushed = ring->popped = 0;
    expected_trim(ring);
}

void expected_free(struct expected_ring *ring)
{
    free(ring->list);
    *ring = (struct expected_ring){0};
}
