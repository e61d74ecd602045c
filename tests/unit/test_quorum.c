/* Redlock's arithmetic: each rounding on the safe side, for every number of masters. */
#include <check.h>
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "proto/command.h"
#include "tests/unit/suite.h"

/* ---- quorums ---- */

T(quorum_is_a_majority_of_the_configured)
{
    static const unsigned quorum[] = {0, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8};
    for (unsigned n = 1; n <= MASTERS; n++) {
        ck_assert_uint_eq(quorum_of(n), quorum[n]);
        ck_assert_uint_gt(2 * quorum_of(n), n); /* two quorums share a master */
        ck_assert_uint_le(2 * (quorum_of(n) - 1), n);
    }
}

T(blocking_masters_leave_no_quorum)
{
    static const unsigned blocking[] = {0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8};
    for (unsigned n = 1; n <= MASTERS; n++) {
        ck_assert_uint_eq(quorum_blocking(n), blocking[n]);
        ck_assert_uint_lt(n - quorum_blocking(n), quorum_of(n));
        ck_assert_uint_eq(n - (quorum_blocking(n) - 1), quorum_of(n));
    }
}

T(sets_of_masters)
{
    ck_assert_uint_eq(masters_all(1), 0x1);
    ck_assert_uint_eq(masters_all(5), 0x1f);
    ck_assert_uint_eq(masters_all(MASTERS), 0x7fff);
    ck_assert_uint_eq(masters_bit(0), 1);
    ck_assert_uint_eq(masters_bit(MASTERS - 1), 0x4000);
    for (unsigned n = 1; n <= MASTERS; n++)
        ck_assert_uint_eq(masters_count(masters_all(n)), n);
    for (unsigned set = 0; set <= masters_all(MASTERS); set++) {
        unsigned count = 0;
        for (unsigned i = 0; i < MASTERS; i++)
            count += set >> i & 1u;
        ck_assert_msg(masters_count((masters_t)set) == count, "%#x", set);
    }
    ck_assert_uint_eq(masters_without(0x1f, 0x15), 0x0a);
    ck_assert_uint_eq(masters_without(0x05, 0x1f), 0);
    ck_assert_uint_eq(masters_without(0, 0x7fff), 0);
}

/* ---- time ---- */

T(drift_is_rounded_up)
{
    static const struct {
        int64_t ttl_ms, drift_ms;
    } rows[] = {{0, 2},
                {1, 3},
                {99, 3},
                {100, 3},
                {101, 4},
                {199, 4},
                {200, 4},
                {201, 5},
                {10000, 102},
                {10001, 103},
                {60000, 602},
                {59999, 602},
                {59900, 601},
                {86400000, 864002},
                {DURATION_MAX_MS, DURATION_MAX_MS / 100 + 2}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_int_eq(quorum_drift_ms(rows[i].ttl_ms), rows[i].drift_ms);
    for (int64_t ttl_ms = 0; ttl_ms < 100000; ttl_ms += 177) {
        ck_assert_int_ge(100 * (quorum_drift_ms(ttl_ms) - 2), ttl_ms);
        ck_assert_int_lt(100 * (quorum_drift_ms(ttl_ms) - 3), ttl_ms);
    }
}

/* validity = ttl - (now - t0 + 1) - drift, and until is the time at which the validity is 0. */
T(validity_counts_the_tick_under_way)
{
    ck_assert_int_eq(quorum_until_ms(1000, 10000), 1000 + 10000 - 102 - 1);
    ck_assert_int_eq(quorum_until_ms(0, 100), 96);
    ck_assert_int_eq(quorum_until_ms(5, 0), 2); /* no time at all: over before it began */
    for (int64_t ttl_ms = 1; ttl_ms < 5000; ttl_ms += 113)
        for (int64_t now_ms = 700; now_ms < 6000; now_ms += 331) {
            int64_t elapsed_ms = now_ms - 700 + 1;
            ck_assert_int_eq(quorum_until_ms(700, ttl_ms) - now_ms,
                             ttl_ms - elapsed_ms - quorum_drift_ms(ttl_ms));
        }
}

/* ---- ranks ---- */

T(nth_largest_of_five)
{
    const uint64_t ttls[MASTERS] = {700, 900, 0, 900, 800};
    masters_t all = masters_all(5);
    ck_assert_uint_eq(quorum_nth_largest(ttls, all, 1), 900);
    ck_assert_uint_eq(quorum_nth_largest(ttls, all, 2), 900);
    ck_assert_uint_eq(quorum_nth_largest(ttls, all, 3), 800);
    ck_assert_uint_eq(quorum_nth_largest(ttls, all, 4), 700);
    ck_assert_uint_eq(quorum_nth_largest(ttls, all, 5), 0);
    ck_assert_uint_eq(quorum_nth_largest(ttls, 0x0d, 3), 0);   /* of 700, 0, 900 */
    ck_assert_uint_eq(quorum_nth_largest(ttls, 0x0d, 2), 700); /* members only */
    ck_assert_uint_eq(quorum_nth_largest(ttls, 0x10, 1), 800);
}

static uint64_t chance_state;

static uint64_t chance(void)
{
    chance_state = chance_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return chance_state >> 33;
}

/* The naive way: sort, then count. */
static uint64_t sorted_nth(const uint64_t *values, masters_t set, unsigned rank)
{
    uint64_t sorted[MASTERS];
    unsigned count = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        if (!(set >> i & 1))
            continue;
        unsigned at = count++;
        for (; at > 0 && sorted[at - 1] < values[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = values[i];
    }
    return sorted[rank - 1];
}

T(nth_largest_of_any)
{
    chance_state = 1;
    for (unsigned run = 0; run < 20000; run++) {
        uint64_t values[MASTERS];
        uint64_t spread = run % 3 == 0   ? 3
                          : run % 3 == 1 ? 20
                                         : UINT64_C(1) << 31; /* many equal values, some, hardly any */
        for (unsigned i = 0; i < MASTERS; i++)
            values[i] = chance() % spread;
        values[chance() % MASTERS] = UINT64_MAX;
        masters_t set = (masters_t)(chance() & masters_all(MASTERS));
        for (unsigned rank = 1; rank <= masters_count(set); rank++)
            if (quorum_nth_largest(values, set, rank) != sorted_nth(values, set, rank))
                ck_abort_msg("run %u: set %x, rank %u", run, set, rank);
    }
}

/* ---- buckets ---- */

static uint32_t bucket_of(const char *text, size_t len)
{
    struct name name = {.len = (uint8_t)len};
    memset(name.text, 0x5a, sizeof name.text); /* bytes behind a name are not part of it */
    memcpy(name.text, text, len);
    return quorum_bucket(&name);
}

/* Landon Curt Noll's published FNV-1a-32 values. */
T(buckets_are_fnv_1a)
{
    static const struct {
        const char *name;
        uint32_t fnv;
    } rows[] = {
        {"", 0x811c9dc5},     {"a", 0xe40c292c},     {"b", 0xe70c2de5},
        {"f", 0xe30c2799},    {"fo", 0x6222e842},    {"foo", 0xa9f37ed7},
        {"foob", 0x3f5076ef}, {"fooba", 0x39aaa18a}, {"foobar", 0xbf9cf968},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        ck_assert_uint_eq(bucket_of(rows[i].name, strlen(rows[i].name)), rows[i].fnv & 16383);
}

/* Bytes are taken as unsigned, and the longest name to its last one. */
T(buckets_of_high_bytes_and_long_names)
{
    char longest[NAME_BYTES];
    memset(longest, 'x', sizeof longest);
    uint32_t bucket = bucket_of(longest, sizeof longest);
    longest[NAME_BYTES - 1] = 'y';
    ck_assert_uint_ne(bucket_of(longest, sizeof longest), bucket);
    ck_assert_uint_eq(bucket_of("\xff", 1), ((0x811c9dc5u ^ 0xffu) * 0x01000193u) & (FENCE_BUCKETS - 1));
    for (char c = 'a'; c <= 'z'; c++)
        ck_assert_uint_lt(bucket_of(&c, 1), FENCE_BUCKETS);
}
