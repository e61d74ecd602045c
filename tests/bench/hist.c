#include "tests/bench/hist.h"

#include <math.h>

/* Values below HIST_FINE have a bucket each; above, each octave has HIST_FINE buckets. */
static unsigned bucket_of(int64_t ns)
{
    uint64_t value = ns > 0 ? (uint64_t)ns : 0;
    if (value < HIST_FINE)
        return (unsigned)value;
    unsigned octave = 63 - (unsigned)__builtin_clzll(value) - 5;
    if (octave >= HIST_OCTAVES)
        return HIST_OCTAVES * HIST_FINE - 1;
    return octave * HIST_FINE + (unsigned)((value >> (octave - 1)) - HIST_FINE);
}

static double bucket_ns(unsigned bucket)
{
    unsigned octave = bucket / HIST_FINE, fine = bucket % HIST_FINE;
    if (octave == 0)
        return fine;
    return ldexp(HIST_FINE + fine + 0.5, (int)octave - 1);
}

void hist_add(struct hist *hist, int64_t ns)
{
    hist->count++;
    hist->buckets[bucket_of(ns)]++;
    if (ns > hist->max_ns)
        hist->max_ns = ns;
}

double hist_us(const struct hist *hist, double share)
{
    uint64_t seen = 0;
    double wanted = share * (double)hist->count;
    for (unsigned i = 0; hist->count && i < HIST_OCTAVES * HIST_FINE; i++) {
        seen += hist->buckets[i];
        if (seen && (double)seen >= wanted)
            return bucket_ns(i) / 1000;
    }
    return NAN;
}

double hist_max_us(const struct hist *hist)
{
    return hist->count ? (double)hist->max_ns / 1000 : NAN;
}
