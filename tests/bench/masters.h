/* Five real Redis masters without persistence, on TCP. */
#ifndef REDLOCKD_BENCH_MASTERS_H
#define REDLOCKD_BENCH_MASTERS_H

#include <stdint.h>
#include <sys/types.h>

#include "tests/bench/socket.h"

enum { BENCH_MASTERS = 5, BENCH_QUORUM = BENCH_MASTERS / 2 + 1 };

struct masters {
    struct address address[BENCH_MASTERS];
    pid_t pid[BENCH_MASTERS]; /* 0: the master does not run */
};

/* What all of them together have done since their start. */
struct masters_counts {
    uint64_t commands; /* those inside scripts too */
    uint64_t scripts;
    uint64_t reads; /* from sockets: a portion of commands each */
};

void masters_start(
    struct masters *masters); /* starts the masters that do not run; returns when each answers */
void masters_stop(struct masters *masters);
void masters_flush(const struct masters *masters);
void master_hang(const struct masters *masters, unsigned i);
void master_wake(const struct masters *masters, unsigned i);
void master_kill(struct masters *masters, unsigned i);
int64_t masters_cpu_ns(const struct masters *masters);
/* Waits for an answer of each. */
struct masters_counts masters_counted(const struct masters *masters);

#endif
