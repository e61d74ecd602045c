/* The kernel's figures of this process. */
#ifndef REDLOCKD_HTTP_PROCESS_H
#define REDLOCKD_HTTP_PROCESS_H

#include <stdint.h>

struct process {
    int64_t cpu_us;
    uint64_t resident_bytes, virtual_bytes; /* 0: not known */
    uint64_t descriptors;                   /* 0: not known (before Linux 6.2) */
    uint64_t descriptors_max;
};

void process_read(struct process *process);

#endif
