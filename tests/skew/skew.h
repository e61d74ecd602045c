/* The clocks of a process that skew.so is preloaded into, in the file SKEW_FILE, which the process maps.
 * The process that started it changes them while it runs. */
#ifndef REDLOCKD_TESTS_SKEW_H
#define REDLOCKD_TESTS_SKEW_H

#include <stdint.h>

struct skew {
    int64_t wall_us;  /* how far the wall clock is ahead */
    int64_t since_us; /* the CLOCK_BOOTTIME of the machine from which on wall_ppm counts */
    int64_t
        wall_ppm; /* how many millionths of the time since then the wall clock gains; set since_us first */
    int64_t
        lost_us; /* how far CLOCK_BOOTTIME and the monotonic clocks are behind, as if they had stood still */
};

#endif
