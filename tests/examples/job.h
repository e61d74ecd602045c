/* A job's programs under test, beside the harness' masters and daemon: they are started as a person
 * would, and judged by what they say, how they end, and above all by what is in their Redis. */
#ifndef REDLOCKD_TESTS_JOB_H
#define REDLOCKD_TESTS_JOB_H

#include "tests/integ/harness.h"

enum { JOB_MS = 50000, JOB_WORDS = 16 }; /* only a bound, just inside that of a test */

/* Five masters, a daemon of which REDLOCK_ADDRESS tells, and a Redis of the application's own. */
struct stage {
    struct cluster masters;
    struct cluster own; /* one */
    struct daemon daemon;
    const char *redis; /* the address of its own */
};

void stage_begin(struct stage *stage, const char *settings);
/* Until so many may: redlockd listens before, where a master's first answers came late. */
void masters_vote(const struct daemon *daemon, unsigned count);
/* It dies by SIGKILL, and is started again. */
void daemon_restart(struct daemon *daemon);
/* What its own Redis answers, as a number; -1: none. */
int64_t stage_count(const struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In how many lines of it the part stands. */
unsigned text_lines(const char *text, const char *part);

struct program {
    pid_t pid;
    int in;         /* what it reads: a FIFO, so that it never sees an end */
    char out[PATH]; /* what it says */
};

/* The words are those behind the program's name; NULL ends them. */
void program_begin(struct program *program, const char *example, const char *const words[]);
void program_type(const struct program *program, const char *text);
bool program_runs(const struct program *program);
/* Its exit status, or -signal. */
int program_end(struct program *program);
bool program_said(const struct program *program, const char *text);
/* In how many lines it says so. */
unsigned program_lines(const struct program *program, const char *text);

#endif
