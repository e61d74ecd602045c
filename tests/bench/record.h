/* All measurements of a run. Each is printed as one line of key=value when it is made. */
#ifndef REDLOCKD_BENCH_RECORD_H
#define REDLOCKD_BENCH_RECORD_H

#include <stdbool.h>
#include <stdio.h>

enum metric {
    CYCLES_S,
    HANDOVERS_S,
    LOCK_P50_US,
    LOCK_P99_US,
    LOCK_P999_US,
    LOCK_MAX_US,
    MAX_OF_P50, /* the longest wait, divided by the median wait */
    UNLOCK_P50_US,
    UNLOCK_P99_US,
    UNLOCK_P999_US,
    SERVER_CPU_US, /* a cycle */
    MASTERS_CPU_US,
    LOAD_CPU_US,
    SERVER_CPU_PERCENT, /* of a core */
    SERVER_MEMORY_KB,
    GROWN_KB,   /* the growth of the server's memory */
    BYTES_EACH, /* the server's memory for each lock or client */
    JAIN,
    REFUSED,
    LOST,
    SECTION_MAX_US,   /* the longest time that a reader held the page */
    P99_OF_SECTION,   /* the writer's p99, divided by it */
    SYSCALLS,         /* a cycle */
    WAITS,            /* a cycle: turns of the loop */
    OUR_MALLOCS,      /* a cycle, made by the program's own code */
    LIB_MALLOCS,      /* a cycle, made by libraries */
    MASTERS_COMMANDS, /* a cycle, by all masters; those inside scripts too */
    MASTERS_SCRIPTS,
    MASTERS_READS,
    METRICS,
};

/* The measurement's subject: the same in each repetition. */
struct what {
    const char *work;      /* "W1" ... */
    const char *subject;   /* "daemon", "relay", ... */
    const char *transport; /* "tcp", "unix" */
    unsigned size;         /* workers, locks or clients */
};

struct measurement {
    struct what what;
    double value[METRICS]; /* NAN: not measured */
};

struct measurement measurement_of(struct what what);
void record_add(const struct measurement *measurement);
/* Reads "metric=value" words, as a peer prints them. */
void measurement_read(struct measurement *measurement, const char *words);

struct range {
    double median, least, most; /* NAN: not measured */
};
struct range record_range(struct what what, enum metric metric);
/* The pairs are compared repetition by repetition, since measurements made one after the other share
 * their noise. */
struct range record_ratio(struct what what, struct what to, enum metric metric);
struct range record_difference(struct what what, struct what to, enum metric metric);

/* All measurements of cycles, one row for each subject. */
void record_table(FILE *out);

#endif
