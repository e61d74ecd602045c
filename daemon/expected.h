/* The replies that a master owes us, oldest first: a ring that grows. */
#ifndef REDLOCKD_EXPECTED_H
#define REDLOCKD_EXPECTED_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum expected_kind {
    EXPECTED_VOTE, /* detail: enum command_verb */
    EXPECTED_AUTH,
    EXPECTED_SELECT,
    EXPECTED_SCRIPT, /* SCRIPT LOAD; detail: which */
};

struct expected {
    uint64_t ref;
    uint8_t kind;
    uint8_t detail;
    uint8_t replies_to; /* how many of these, from here on, one reply is the answer to */
};

struct expected_ring {
    struct expected *list;
    size_t capacity; /* a power of two */
    uint64_t pushed; /* both only grow while the connection lives */
    uint64_t popped;
};

static inline size_t expected_count(const struct expected_ring *ring)
{
    return (size_t)(ring->pushed - ring->popped);
}

/* Twice the room. 0, or -1: no memory. */
int expected_grow(struct expected_ring *ring) __attribute__((cold));

/* One reply, to all refs. 0, or -1: no memory. */
static inline int expected_push(struct expected_ring *ring, enum expected_kind kind, unsigned detail,
                                const uint64_t refs[], unsigned count)
{
    while (ring->capacity - expected_count(ring) < count)
        if (expected_grow(ring) < 0)
            return -1;
    uint64_t at = ring->pushed, mask = ring->capacity - 1;
    ring->pushed += count;
    ring->list[at & mask] = (struct expected){refs[0], (uint8_t)kind, (uint8_t)detail, (uint8_t)count};
    for (unsigned i = 1; i < count; i++)
        ring->list[(at + i) & mask] =
            (struct expected){refs[i], (uint8_t)kind, (uint8_t)detail, (uint8_t)(count - i)};
    return 0;
}

/* There must be one. */
static inline struct expected expected_pop(struct expected_ring *ring)
{
    assert(expected_count(ring));
    return ring->list[ring->popped++ & (ring->capacity - 1)];
}

/* Where nothing is expected: gives the memory back if it is much. */
void expected_trim(struct expected_ring *ring);
/* Forgets all and gives the memory back where it is much. */
void expected_clear(struct expected_ring *ring);
void expected_free(struct expected_ring *ring);

#endif
