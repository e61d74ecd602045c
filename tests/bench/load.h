/* The load generator: many workers in one process, each taking and giving back locks in turn. */
#ifndef REDLOCKD_BENCH_LOAD_H
#define REDLOCKD_BENCH_LOAD_H

#include "tests/bench/counting.h"
#include "tests/bench/hist.h"
#include "tests/bench/masters.h"

enum { LOAD_WORKERS = 1024, LOAD_SERVERS = 3 };

struct load_plan {
    struct address server[LOAD_SERVERS]; /* connection i goes to server i % servers; the ceiling has none */
    unsigned servers;
    bool use_unix;
    unsigned workers;
    unsigned connections; /* as many as workers: one request each; fewer: shared, with tags */
    bool one_name;  /* all workers want the same lock and wait for it; otherwise each has names of its own */
    unsigned names; /* of each lock, if not one_name: a list; 0: one */
    unsigned slots; /* one_name: the name has so many slots; 0: none */
    unsigned
        shares;     /* one_name: there are so many names instead, for one share of the workers each; 0: one */
    bool reconnect; /* connect, lock, unlock, close */
    bool fence;     /* the ceiling sends the ZADDs too */
    uint64_t salt;  /* part of each name, so that a run does not find the keys of another */
    bool pinned;    /* the load runs on the first core only */
    int64_t warm_ms, run_ms;
    const struct masters *masters;
    pid_t server_pid[LOAD_SERVERS]; /* the processes whose CPU is measured */
    const struct counts *counts;    /* counts of a server with counting.so; or NULL */
};

struct load_result {
    uint64_t cycles;
    uint64_t refused;   /* other answers than the expected one */
    uint64_t lost;      /* !LOST */
    uint64_t handovers; /* grants to another worker than the grant before */
    uint64_t grants[LOAD_WORKERS];
    struct hist lock, unlock;
    int64_t run_ns, server_cpu_ns, masters_cpu_ns, load_cpu_ns; /* the measured time alone */
    struct counts counts;
    struct masters_counts masters; /* where a server has counting.so */
};

/* Runs in a process of its own. result is shared memory. */
void load_run(const struct load_plan *plan, struct load_result *result);
/* The same commands straight to the masters: a bound that a daemon can hardly reach. */
void ceiling_run(const struct load_plan *plan, struct load_result *result);

#endif
