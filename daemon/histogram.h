/* Counts durations by their size, as Prometheus' histograms do. Each bound is twice the one before, so
 * that counting costs a few instructions. This header is all of it, since the coordinator uses it too. */
#ifndef REDLOCKD_HISTOGRAM_H
#define REDLOCKD_HISTOGRAM_H

#include <stdint.h>

/* Bound i is 2^(i + HISTOGRAM_FIRST) µs: from 0.128 ms to 36 minutes. */
enum { HISTOGRAM_FIRST = 7, HISTOGRAM_BOUNDS = 25 };

struct histogram {
    uint64_t counts[HISTOGRAM_BOUNDS + 1]; /* counts[i]: of at most bound i, and above bound i - 1 */
    uint64_t sum_us;
};

static inline uint64_t histogram_bound_us(unsigned i)
{
    return UINT64_C(1) << (i + HISTOGRAM_FIRST);
}

static inline void histogram_count(struct histogram *h, int64_t us)
{
    uint64_t value = us > 0 ? (uint64_t)us : 0; /* two readings of the clock may come in another order */
    uint64_t parts = value > 0 ? (value - 1) >> HISTOGRAM_FIRST : 0;
    unsigned i = parts > 0 ? 64 - (unsigned)__builtin_clzll(parts) : 0;
    h->counts[i < HISTOGRAM_BOUNDS ? i : HISTOGRAM_BOUNDS]++;
    h->sum_us += value;
}

#endif
