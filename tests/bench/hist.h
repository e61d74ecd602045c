/* Latencies in ns, counted in buckets that are 1 ns or at most 1.6 % wide. */
#ifndef REDLOCKD_BENCH_HIST_H
#define REDLOCKD_BENCH_HIST_H

#include <stdint.h>

enum { HIST_FINE = 64, HIST_OCTAVES = 40 };

struct hist {
    uint64_t count;
    int64_t max_ns;
    uint32_t buckets[HIST_OCTAVES * HIST_FINE];
};

void hist_add(struct hist *hist, int64_t ns);
/* The latency in µs that this share (0..1) of the values did not exceed; NAN: no values. */
double hist_us(const struct hist *hist, double share);
double hist_max_us(const struct hist *hist);

#endif
