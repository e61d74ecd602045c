/* Readers of one page through all daemons, each with sections of the same length, and maybe a writer. Each is a
 * process. */
#ifndef REDLOCKD_BENCH_PAGES_H
#define REDLOCKD_BENCH_PAGES_H

#include "tests/bench/hist.h"
#include "tests/bench/server.h"

enum { PAGES_READERS = 24 };

struct pages_plan {
    const struct server *servers;
    unsigned count;
    int64_t section_ms; /* how long a reader reads */
    int64_t every_ms;   /* how often the writer asks; 0: there is no writer */
    int64_t warm_ms, run_ms;
    uint64_t salt;
};

/* In shared memory. */
struct pages_result {
    _Atomic bool measuring, stop;
    _Atomic uint64_t reads[PAGES_READERS], refused;
    _Atomic int64_t longest_ns[PAGES_READERS]; /* from +LOCKED read to UNLOCK written */
    struct hist write;                         /* the writer's times to the lock */
    uint64_t all_reads;                        /* in the measured time */
    int64_t run_ns, longest_section_ns;
};

void pages_run(const struct pages_plan *plan, struct pages_result *result);

#endif
