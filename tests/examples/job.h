/* A job's programs under test, beside the harness' masters and daemon: a test starts them as a person
 * would, and judges them by their output, their exit status and, above all, the data in their Redis. */
#ifndef REDLOCKD_TESTS_JOB_H
#define REDLOCKD_TESTS_JOB_H

#include "tests/integ/harness.h"

enum { JOB_MS = 50000, JOB_WORDS = 16 }; /* only a bound, just inside the limit of a test */

/* Five masters, a daemon at REDLOCK_ADDRESS, and a Redis of the application's own. */
struct stage {
    struct cluster masters;
    struct cluster own; /* the application's Redis */
    struct daemon daemon;
    const char *redis; /* the address of the application's Redis */
};

void stage_begin(struct stage *stage, const char *settings);
/* Starts more daemons over the same masters, for more hosts. The examples find redlock, beside redlockd, by PATH. */
void stage_hosts(const struct stage *stage, struct daemon more[], unsigned count, const char *settings);
/* Waits until so many masters may vote, since redlockd listens before that if a master's first answers are
 * late. */
void masters_vote(const struct daemon *daemon, unsigned count);
/* Kills the daemon by SIGKILL and starts it again. */
void daemon_restart(struct daemon *daemon);
/* The number that the application's Redis answers; -1: none. */
int64_t stage_count(const struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The number of lines of the text that hold the part. */
unsigned text_lines(const char *text, const char *part);

struct program {
    pid_t pid;
    int in;         /* the program's input: a FIFO, so that it never ends */
    char out[PATH]; /* the program's output */
};

/* The words behind the program's name; NULL ends them. */
void program_begin(struct program *program, const char *example, const char *const words[]);
void program_type(const struct program *program, const char *text);
bool program_runs(const struct program *program);
/* Waits for the program's end. Returns its exit status, or -signal. */
int program_end(struct program *program);
bool program_said(const struct program *program, const char *text);
/* The number of lines of its output that hold the text. */
unsigned program_lines(const struct program *program, const char *text);

#endif
