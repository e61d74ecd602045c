/* The clocks of a process that skew.so is preloaded into, in the file SKEW_FILE, which the process maps.
 * The process that started it changes them while it runs. */
#ifndef REDLOCKD_TESTS_SKEW_H
#define REDLOCKD_TESTS_SKEW_H

#include <stdint.h>

struct skew {
    int64_t wall_us;  /* the wall clock is ahead by this much ... */
    int64_t since_us; /* ... and since this CLOCK_BOOTTIME of the machine ... */
    int64_t wall_ppm; /* ... has gained this many millionths. Written after since_us. */
    int64_t lost_us;  /* the time for which the clocks that never jump have stood still, all in all */
};

#endif
