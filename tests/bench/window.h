/* The measured time: it begins after a warm-up, and CPU times are read at its beginning and end. */
#ifndef REDLOCKD_BENCH_WINDOW_H
#define REDLOCKD_BENCH_WINDOW_H

#include "tests/bench/load.h"

struct window {
    const struct load_plan *plan;
    struct load_result *result;
    int64_t begin_ns, end_ns;
    bool measuring;
    unsigned last_granted; /* worker + 1 */
};

void window_open(struct window *window, const struct load_plan *plan, struct load_result *result);
/* Returns false when the time is over. Each wake-up must call it, at least every 50 ms. */
bool window_goes_on(struct window *window);
enum { WINDOW_POLL_MS = 20 };

void window_locked(struct window *window, unsigned worker, int64_t ns);
void window_unlocked(struct window *window, int64_t ns);
void window_refused(struct window *window);
void window_lost(struct window *window);

#endif
