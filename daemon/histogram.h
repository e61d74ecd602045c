/* Counts durations by their size, as Prometheus' histograms do. Counting one costs about thirty
 * instructions. This header is all of it, so that the coordinator can use it too. */
#ifndef REDLOCKD_HISTOGRAM_H
#define REDLOCKD_HISTOGRAM_H

#include <stdint.h>

enum { HISTOGRAM_BOUNDS = 20 };

struct histogram {
    uint64_t
        counts[HISTOGRAM_BOUNDS + 1]; /* counts[i]: durations of at most bound i, and above bound i - 1 */
    uint64_t sum_us;
};

/* The upper bounds in µs: from 0.1 ms to an hour. */
static inline int64_t histogram_bound_us(unsigned i)
{
    static const int64_t bounds_us[HISTOGRAM_BOUNDS] = {
        100,    250,    500,     1000,    2500,    5000,     10000,    25000,    50000,     100000,
        250000, 500000, 1000000, 2500000, 5000000, 10000000, 30000000, 60000000, 300000000, 3600000000};
    return bounds_us[i];
}

static inline void histogram_count(struct histogram *h, int64_t us)
{
    unsigned low = 0, high = HISTOGRAM_BOUNDS;
    if (us < 0) /* the clock was read by two callers in another order */
        us = 0;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (us <= histogram_bound_us(middle))
            high = middle;
        else
            low = middle + 1;
    }
    h->counts[low]++;
    h->sum_us += (uint64_t)us;
}

#endif
