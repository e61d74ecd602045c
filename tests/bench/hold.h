/* Clients that only hold: connections that say nothing, or locks that are kept. */
#ifndef REDLOCKD_BENCH_HOLD_H
#define REDLOCKD_BENCH_HOLD_H

#include "tests/bench/server.h"

struct hold_plan {
    const struct server *server;
    unsigned connections;
    unsigned locks;      /* in all; 0: each connection says PING and then stays silent */
    const char *options; /* of LOCK */
    uint64_t salt;
    bool one_name; /* all are of the same name */
};

/* Progress that the holder reports, in shared memory. */
struct hold_state {
    _Atomic unsigned held;    /* connections that were answered, or locks */
    _Atomic unsigned refused; /* attempts that were refused; the holder repeats each */
    _Atomic unsigned lost;
};

struct holder {
    pid_t pid;
    struct hold_state *state;
};

/* Returns when all is held; fails after two minutes. */
void holder_start(struct holder *holder, const struct hold_plan *plan);
void holder_stop(struct holder *holder); /* closes the connections */

#endif
