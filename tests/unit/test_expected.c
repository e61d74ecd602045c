/* The ring of replies that a master owes. */
#include <check.h>

#include "daemon/node/expected.h"
#include "tests/unit/suite.h"

enum { MANY = 5000 };

static void is_next(struct expected_ring *ring, uint64_t ref)
{
    struct expected expected = expected_pop(ring);
    ck_assert_uint_eq(expected.ref, ref);
    ck_assert_uint_eq(expected.kind, EXPECTED_VOTE);
    ck_assert_uint_eq(expected.detail, ref % 20);
}

static void push(struct expected_ring *ring, uint64_t ref)
{
    ck_assert_int_eq(expected_push(ring, EXPECTED_VOTE, (unsigned)(ref % 20), ref), 0);
}

T(first_in_first_out_while_it_grows)
{
    struct expected_ring ring = {0};
    uint64_t pushed = 0, popped = 0;
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 50; i++)
            push(&ring, pushed++);
        for (unsigned i = 0; i < 25; i++)
            is_next(&ring, popped++);
        ck_assert_uint_eq(expected_count(&ring), pushed - popped);
    }
    while (popped < pushed)
        is_next(&ring, popped++);
    expected_free(&ring);
}

T(much_memory_is_given_back_when_nothing_is_expected)
{
    struct expected_ring ring = {0};
    for (uint64_t i = 0; i < MANY; i++)
        push(&ring, i);
    expected_trim(&ring);
    ck_assert_uint_ge(ring.capacity, MANY);
    for (uint64_t i = 0; i < MANY; i++)
        is_next(&ring, i);
    expected_trim(&ring);
    ck_assert_uint_eq(ring.capacity, 0);
    ck_assert_uint_eq(ring.pushed, MANY); /* the counts go on */
    ck_assert_uint_eq(ring.popped, MANY);
    for (uint64_t i = 0; i < 10; i++)
        push(&ring, i);
    for (uint64_t i = 0; i < 10; i++)
        is_next(&ring, i);
    expected_trim(&ring);
    ck_assert_uint_gt(ring.capacity, 0); /* little is kept */
    expected_clear(&ring);
    ck_assert_uint_eq(ring.pushed, 0);
    push(&ring, 7);
    is_next(&ring, 7);
    expected_free(&ring);
}
