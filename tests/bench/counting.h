/* What counting.so (for LD_PRELOAD) counts, in the file that BENCH_COUNTS names. */
#ifndef REDLOCKD_BENCH_COUNTING_H
#define REDLOCKD_BENCH_COUNTING_H

#include <stdint.h>

struct counts {
    uint64_t syscalls;    /* by libc's functions: what a loop at work calls */
    uint64_t our_mallocs; /* malloc, calloc, realloc called by the program itself */
    uint64_t lib_mallocs; /* called by its libraries */
};

#endif
