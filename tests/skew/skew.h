/* The clocks of a process that skew.so is preloaded into: the file SKEW_FILE, mapped. Whoever started the process
 * changes it while the process runs. */
#ifndef REDLOCKD_TESTS_SKEW_H
#define REDLOCKD_TESTS_SKEW_H

#include <stdint.h>

struct skew {
    int64_t wall_us;  /* the wall clock is ahead by this ... */
    int64_t since_us; /* ... and since this CLOCK_BOOTTIME of the machine ... */
    int64_t wall_ppm; /* ... it has been gaining this. Written behind since_us. */
    int64_t lost_us;  /* for so long the clocks that never jump have stood still, all in all */
};

#endif
