/* The replies that a master owes us, oldest first: a ring that grows. */
#ifndef REDLOCKD_EXPECTED_H
#define REDLOCKD_EXPECTED_H

#include <stddef.h>
#include <stdint.h>

enum expected_kind {
    EXPECTED_VOTE,   /* detail: enum command_verb */
    EXPECTED_AUTH,
    EXPECTED_SELECT,
    EXPECTED_SCRIPT, /* SCRIPT LOAD; detail: which */
};

struct expected {
    uint64_t ref;
    uint8_t kind;
    uint8_t detail;
};

struct expected_ring {
    struct expected *list;
    size_t capacity; /* a power of two */
    uint64_t pushed; /* both only grow while the connection lives */
    uint64_t popped;
};

size_t expected_count(const struct expected_ring *ring);
/* 0, or -1: no memory. */
int expected_push(struct expected_ring *ring, enum expected_kind kind, unsigned detail, uint64_t ref);
/* There must be one. */
struct expected expected_pop(struct expected_ring *ring);
/* Forgets all and gives the memory back where it is much. */
void expected_clear(struct expected_ring *ring);
void expected_free(struct expected_ring *ring);

#endif
