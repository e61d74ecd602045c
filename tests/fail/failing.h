/* The state that failing.so shares with the process that preloads it: a file that both map, named by
 * FAIL_STATE. */
#ifndef REDLOCKD_TESTS_FAILING_H
#define REDLOCKD_TESTS_FAILING_H

#include <stdint.h>

struct failing {
    uint64_t at;    /* which fallible call fails, from 1; 0: none */
    uint64_t calls; /* fallible calls so far */
    char what[32];  /* the call that failed; "": none */
};

#endif
