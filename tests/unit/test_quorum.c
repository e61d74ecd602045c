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

/* ---- the step between two sets ---- */

/* Whether two disjoint sets of that size can be found, one in each of these. */
static bool can_miss(masters_t a, unsigned a_size, masters_t b, unsigned b_size)
{
    unsigned both = masters_count(a & b), a_alone = masters_count(a) - both,
             b_alone = masters_count(b) - both;
    unsigned a_shared = a_size > a_alone ? a_size - a_alone : 0,
             b_shared = b_size > b_alone ? b_size - b_alone : 0;
    return a_size <= masters_count(a) && b_size <= masters_count(b) && a_shared + b_shared <= both;
}

static bool is_safe(masters_t both, unsigned needed, const struct quorum *before, const struct quorum *after)
{
    return !can_miss(both, needed, both, needed) && !can_miss(both, needed, before->of, before->needed) &&
           !can_miss(both, needed, after->of, after->needed);
}

/* Every set of up to seven masters of seven beside every other one, and with one or two vacant places. */
T(a_joint_quorum_meets_every_quorum_of_both_sets)
{
    unsigned possible = 0, too_big = 0;
    for (unsigned a = 1; a < 128; a++)
        for (unsigned b = 1; b < 128; b++)
            for (unsigned vacant = 0; vacant < 9; vacant++) {
                struct quorum before = quorum_plain(masters_count((masters_t)a) + vacant % 3, (masters_t)a);
                struct quorum after = quorum_plain(masters_count((masters_t)b) + vacant / 3, (masters_t)b);
                if (!quorum_is_possible(&before) || !quorum_is_possible(&after))
                    continue;
                struct quorum joint = quorum_joint(&before, &after);
                unsigned keep = quorum_keep(&before, &after);
                ck_assert_uint_eq(joint.of, a & b);
                ck_assert_int_eq(quorum_is_possible(&joint),
                                 joint.of != 0 && masters_count(joint.of) >= keep);
                ck_assert(is_safe(joint.of, joint.needed, &before, &after));
                if (!quorum_is_possible(&joint)) {
                    too_big++;
                    continue;
                }
                possible++;
                ck_assert(
                    !is_safe(joint.of, joint.needed - 1u, &before, &after)); /* no more than is needed */
                ck_assert_uint_eq(joint.blocking, masters_count(joint.of) - joint.needed + 1);
            }
    ck_assert_uint_gt(possible, 30000);
    ck_assert_uint_gt(too_big, 10000);
}

/* The arithmetic of can_miss() itself, by looking at every quorum. */
T(quorums_that_miss_each_other_are_found)
{
    for (unsigned a = 1; a < 32; a++)
        for (unsigned b = 1; b < 32; b++)
            for (unsigned sizes = 0; sizes < 36; sizes++) {
                bool missed = false;
                for (unsigned x = 0; x < 32; x++)
                    for (unsigned y = 0; y < 32; y++)
                        missed |= (x & ~a) == 0 && (y & ~b) == 0 && (x & y) == 0 &&
                                  masters_count((masters_t)x) == sizes % 6 &&
                                  masters_count((masters_t)y) == sizes / 6;
                ck_assert_int_eq(can_miss((masters_t)a, sizes % 6, (masters_t)b, sizes / 6), missed);
            }
}

static void joint_is(masters_t a, unsigned a_n, masters_t b, unsigned b_n, unsigned voters, unsigned needed)
{
    struct quorum before = quorum_plain(a_n, a), after = quorum_plain(b_n, b),
                  joint = quorum_joint(&before, &after);
    ck_assert_uint_eq(masters_count(joint.of), voters);
    ck_assert_uint_eq(joint.needed, needed);
}

T(steps_between_usual_sets)
{
    joint_is(0x1f, 5, 0x2f, 5, 4, 3); /* one of five replaced */
    joint_is(0x1f, 5, 0x67, 5, 3, 3); /* two of five: none to spare */
    joint_is(0x07, 3, 0x1f, 5, 3, 3); /* from three to five */
    joint_is(0x07, 3, 0x0f, 4, 3, 2); /* ... by way of four */
    joint_is(0x0f, 4, 0x1f, 5, 4, 3);
    joint_is(0x07, 3, 0x0b, 3, 2, 2); /* one of three */
    joint_is(0x1f, 5, 0x1f, 5, 5, 3); /* only max_ttl changes */
    joint_is(0x1f, 5, 0x0f, 5, 4, 3); /* a place is left vacant */
    joint_is(0x1f, 5, 0xe3, 5, 2, 3); /* three of five: too big */
    joint_is(0x07, 3, 0x38, 3, 0, 2); /* no master in common */
    struct quorum five = quorum_plain(5, 0x1f), three = quorum_plain(3, 7);
    ck_assert_uint_eq(quorum_keep(&five, &three), 3);
    struct quorum none = quorum_plain(5, 0x03);
    ck_assert(!quorum_is_possible(&none));
}

T(one_master_more_or_less_spares_one)
{
    for (unsigned n = 3; n < MASTERS; n++) {
        struct quorum before = quorum_plain(n, masters_all(n)),
                      after = quorum_plain(n + 1, masters_all(n + 1));
        struct quorum up = quorum_joint(&before, &after), down = quorum_joint(&after, &before);
        ck_assert_uint_lt(up.needed, masters_count(up.of));
        ck_assert_uint_eq(down.needed, up.needed);
    }
}

T(only_votes_of_the_quorum_count)
{
    struct quorum quorum = quorum_plain(5, 0x1e); /* one place is vacant */
    ck_assert(!quorum_has(&quorum, 0x07) && quorum_has(&quorum, 0x0e) && quorum_has(&quorum, 0x1f));
    ck_assert(!quorum_blocks(&quorum, 0x03) && quorum_blocks(&quorum, 0x06));
    ck_assert_uint_eq(quorum_count(&quorum, 0x7fe3), 1);
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
