/* Counts that counting.so (for LD_PRELOAD) makes, in the file that BENCH_COUNTS names. */
#ifndef REDLOCKD_BENCH_COUNTING_H
#define REDLOCKD_BENCH_COUNTING_H

#include <stdint.h>

struct counts {
    uint64_t syscalls;    /* system calls, by the libc functions that a loop at work calls */
    uint64_t waits;       /* those of them that wait for events: the turns of the loop */
    uint64_t our_mallocs; /* malloc, calloc, realloc by the program itself */
    uint64_t lib_mallocs; /* the same by its libraries */
};

#endif
