/* The arithmetic of Redlock: quorum, drift, validity; sets of masters; fence buckets.
 *
 * Source: the Redlock page (redis.io, "Distributed Locks with Redis"), with BOOTTIME
 * for time that passes and every rounding on the safe side. */
#ifndef REDLOCKD_QUORUM_H
#define REDLOCKD_QUORUM_H

#include <assert.h>
#include <stdint.h>

#include "proto/message.h"

/* Bit i is master i. */
typedef uint16_t masters_t;

static inline unsigned quorum_of(unsigned masters)
{
    return masters / 2 + 1;
}

/* So many masters that say "not ours" leave fewer than a quorum that could say "ours". */
static inline unsigned quorum_blocking(unsigned masters)
{
    return masters - quorum_of(masters) + 1;
}

static inline masters_t masters_bit(unsigned master)
{
    return (masters_t)(1u << master);
}

static inline masters_t masters_all(unsigned masters)
{
    return (masters_t)((1u << masters) - 1);
}

/* Four copies side by side put each of the 15 bits into a nibble of its own, and a product adds the nibbles up
 * (HAKMEM 169 is the idea): the compiler's own is a call where the processor may lack the instruction. */
static inline unsigned masters_count(masters_t set)
{
    static_assert(MASTERS <= 15, "four copies of 15 bits, and sums that fit into a nibble");
    const uint64_t copies = UINT64_C(1) | UINT64_C(1) << 15 | UINT64_C(1) << 30 | UINT64_C(1) << 45;
    const uint64_t each = UINT64_C(0x1111111111111111);
    return (unsigned)(((set * copies & each) * each) >> 60);
}

static inline masters_t masters_without(masters_t set, masters_t out)
{
    return (masters_t)(set & ~out);
}

/* How much faster than ours a master's clock may run down a TTL: 1 % and 2 ms. */
int64_t quorum_drift_ms(int64_t ttl_ms);

/* The instant up to which a holder may believe, when every master of a quorum was
 * asked at t0_ms or later to keep the key for ttl_ms: t0 + ttl - drift, less 1 ms because
 * a millisecond clock may have been just short of the next tick at t0. */
int64_t quorum_until_ms(int64_t t0_ms, int64_t ttl_ms);

/* The rank-th largest (1: the largest) of values[i] for the masters i of the set, which
 * has at least rank members. */
uint64_t quorum_nth_largest(const uint64_t *values, masters_t set, unsigned rank);

/* The bucket whose counter gives a name its fences: FNV-1a-32 (RFC draft eastlake-fnv). */
uint32_t quorum_bucket(const struct name *name);

#endif
