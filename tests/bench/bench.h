/* A run: the servers, the time that each measurement takes, and the workloads. */
#ifndef REDLOCKD_BENCH_BENCH_H
#define REDLOCKD_BENCH_BENCH_H

#include "tests/bench/load.h"
#include "tests/bench/record.h"
#include "tests/bench/server.h"

/* The size of everything: `make bench` or `make bench-quick`. */
struct scale {
    unsigned reps;
    int64_t warm_ms, run_ms;
    unsigned worker_counts[5]; /* steps of W1; 0 at the end */
    int64_t contended_ms;      /* how long each step of W3 is measured */
    int64_t page_ms;           /* ... each of a page */
    int64_t hang_ms;           /* how long a master hangs in the long step of W4 */
    unsigned renewed_locks;    /* W6 */
    int64_t renewed_ttl_ms;
    int64_t renewed_ms;
    unsigned idle_clients;  /* W7 */
    unsigned held_locks[3]; /* W9 */
};

struct bench {
    struct places places;
    struct scale scale;
    struct masters masters;
    struct server daemon, relay, echo;
    uint64_t salt;
};

/* ---- measure.c ---- */

/* A plan of the usual lengths against one server; NULL: against the masters. */
struct load_plan plan_for(struct bench *bench, const struct server *server, bool use_unix, unsigned workers);
/* Runs the workload in a process of its own and records its result. */
void measure(struct bench *bench, struct what what, const struct load_plan *plan);
/* Runs the workload as measure() does, but records nothing. */
void measure_into(struct bench *bench, struct measurement *m, const struct load_plan *plan);

/* ---- work_*.c ---- */

void work_uncontended(struct bench *bench);  /* W1, W2 */
void work_counted(struct bench *bench);      /* system calls and allocations of W1 */
void work_contended(struct bench *bench);    /* W3 */
void work_masters_away(struct bench *bench); /* W4, W5 */
void work_held(struct bench *bench);         /* W6, W7, W9 */
void work_short(struct bench *bench);        /* W8 */
void work_fanout(struct bench *bench);       /* W1 with both settings of fanout */
void work_native(struct bench *bench);       /* W1 by native commands, and by scripts alone */
void work_modes(struct bench *bench);        /* lists of names, and readers */
void work_before(struct bench *bench);       /* W1 and W3 beside another build of the daemon */

/* ---- peers.c ---- */

void peers_uncontended(struct bench *bench, unsigned workers);
void peers_contended(struct bench *bench, unsigned workers);

/* ---- targets.c ---- */

/* The daemon's targets beside the other servers, and whether it met them. */
void targets_print(const struct scale *scale, FILE *out);

#endif
