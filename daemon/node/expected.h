/* The replies that we expect from a master, oldest first, in a ring that grows. */
#ifndef REDLOCKD_EXPECTED_H
#define REDLOCKD_EXPECTED_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

enum expected_kind {
    EXPECTED_VOTE,  /* detail: enum command_verb */
    EXPECTED_ASIDE, /* of node_ask(); detail: the script */
    EXPECTED_AUTH,
    EXPECTED_SELECT,
    EXPECTED_TRIAL,  /* of a script: are they there? */
    EXPECTED_SCRIPT, /* SCRIPT LOAD; detail: which */
    EXPECTED_CLIENT_ID,
    EXPECTED_INFO,
    EXPECTED_KILL,
    EXPECTED_SUBSCRIBE,
    EXPECTED_PONG,
};

struct expected {
    uint64_t ref;
    uint8_t kind;
    uint8_t detail;
    uint8_t replies_to; /* how many entries, from this one on, the next reply answers */
};

struct expected_ring {
    struct expected *list;
    size_t capacity; /* a power of two */
    uint64_t pushed; /* pushed and popped only grow while the connection lives */
    uint64_t popped;
};

static inline size_t expected_count(const struct expected_ring *ring)
{
    return (size_t)(ring->pushed - ring->popped);
}

/* Doubles the room. Returns 0, or -1 if there is no memory. */
int expected_grow(struct expected_ring *ring) __attribute__((cold));

/* Returns 0, or -1 if there is no memory. */
static inline int expected_push(struct expected_ring *ring, enum expected_kind kind, unsigned detail,
                                uint64_t ref)
{
    if (expected_count(ring) == ring->capacity && expected_grow(ring) < 0)
        return -1;
    ring->list[ring->pushed++ & (ring->capacity - 1)] =
        (struct expected){.ref = ref, .kind = (uint8_t)kind, .detail = (uint8_t)detail, .replies_to = 1};
    return 0;
}

/* The same for several entries that one reply answers. After -1 some of them may have been pushed. */
int expected_push_all(struct expected_ring *ring, enum expected_kind kind, unsigned detail,
                      const uint64_t refs[], unsigned count);

/* The ring must not be empty. */
static inline struct expected expected_pop(struct expected_ring *ring)
{
    assert(expected_count(ring));
    return ring->list[ring->popped++ & (ring->capacity - 1)];
}

/* Frees the memory of an empty ring if it is large. */
void expected_trim(struct expected_ring *ring);
/* Forgets all entries, and frees the memory if it is large. */
void expected_clear(struct expected_ring *ring);
void expected_free(struct expected_ring *ring);

#endif
