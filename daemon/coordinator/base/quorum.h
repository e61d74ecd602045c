/* The arithmetic of Redlock: quorum, drift and validity; sets of masters as bit masks; fence buckets.
 *
 * Source: the Redlock page (redis.io, "Distributed Locks with Redis"), with CLOCK_BOOTTIME as the clock,
 * and every rounding on the safe side. */
#ifndef REDLOCKD_QUORUM_H
#define REDLOCKD_QUORUM_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

/* A set of masters: bit i stands for master i. */
typedef uint16_t masters_t;

static inline unsigned quorum_of(unsigned masters)
{
    return masters / 2 + 1;
}

/* N-Q+1: when so many masters say that the key is not ours, no quorum can hold it. */
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

/* Population count without __builtin_popcount, which is a function call on processors that may lack the
 * instruction. Four copies side by side put each of the 15 bits into a nibble of its own, and a
 * multiplication adds the nibbles up (after HAKMEM 169). */
static inline unsigned masters_count(masters_t set)
{
    static_assert(MASTERS <= 15, "four copies of 15 bits, and sums that fit into a nibble");
    const uint64_t copies = UINT64_C(1) | UINT64_C(1) << 15 | UINT64_C(1) << 30 | UINT64_C(1) << 45;
    const uint64_t each = UINT64_C(0x1111111111111111);
    return (unsigned)(((set * copies & each) * each) >> 60);
}

/* This value says who votes, and how many votes are needed. All counts ask it: a vote of any other master counts
 * for nothing. */
struct quorum {
    masters_t of;     /* the masters that vote */
    uint8_t needed;   /* Q: so many of them are a quorum */
    uint8_t blocking; /* when so many of them say that the key is not ours, no quorum can hold it */
};

/* The quorum of a set that counts N masters, of which these vote (the others are vacant places). */
struct quorum quorum_plain(unsigned masters, masters_t of);
/* The quorum of the step between two sets: the masters of both vote, and so many of them are needed that every quorum
 * of theirs meets every quorum of either set, and every other one of their own. */
struct quorum quorum_joint(const struct quorum *before, const struct quorum *after);

/* Whether there are masters enough. If not, the step between two sets is too big: they must share at least as many
 * masters as the larger of both numbers `blocking`. */
static inline bool quorum_is_possible(const struct quorum *quorum)
{
    return quorum->needed <= masters_count(quorum->of);
}

/* How many masters a change from one set to the other must keep. */
static inline unsigned quorum_keep(const struct quorum *before, const struct quorum *after)
{
    return before->blocking > after->blocking ? before->blocking : after->blocking;
}

static inline unsigned quorum_count(const struct quorum *quorum, masters_t set)
{
    return masters_count(set & quorum->of);
}

static inline bool quorum_has(const struct quorum *quorum, masters_t set)
{
    return quorum_count(quorum, set) >= quorum->needed;
}

static inline bool quorum_blocks(const struct quorum *quorum, masters_t set)
{
    return quorum_count(quorum, set) >= quorum->blocking;
}

/* The masters of set that are not in out. */
static inline masters_t masters_without(masters_t set, masters_t out)
{
    return (masters_t)(set & ~out);
}

/* The allowance for a master's clock that runs faster than ours: 2 ms and 1 % of the TTL, rounded up. */
int64_t quorum_drift_ms(int64_t ttl_ms);

/* The end of the validity, when every master of a quorum was asked at t0_ms or later to keep the key for
 * ttl_ms: t0 + ttl - drift, less 1 ms because a clock of whole milliseconds may have been about to tick at
 * t0. */
int64_t quorum_until_ms(int64_t t0_ms, int64_t ttl_ms);

/* The rank-th largest (1: the largest) of values[i] over the masters i of the set, which must have at least
 * rank members. */
uint64_t quorum_nth_largest(const uint64_t *values, masters_t set, unsigned rank);

/* The bucket, below FENCE_BUCKETS, whose score is the highest fence of the names that share it: 32-bit
 * FNV-1a (draft-eastlake-fnv) of the name. */
uint32_t quorum_bucket(const struct name *name);
/* The buckets of a list's names, each once; returns how many. */
unsigned quorum_buckets(const struct name *list, uint32_t buckets[LIST_NAMES]);

#endif
