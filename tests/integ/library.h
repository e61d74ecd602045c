/* The client library in a test: handles that remember what they were told. */
#ifndef REDLOCKD_TESTS_LIBRARY_H
#define REDLOCKD_TESTS_LIBRARY_H

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "client/redlock.h"
#include "tests/integ/harness.h"

enum { KINDS = REDLOCK_ON_NOW + 1 };

struct told {
    unsigned count[KINDS];           /* events by kind */
    unsigned failed[KINDS];          /* events that came with an error */
    enum redlock_error error[KINDS]; /* the error of the last event */
    char text[KINDS][256];
};

/* A handle whose events are counted in *told; NULL: events are not counted. */
struct redlock *open_handle(const char *address, struct told *told);
struct redlock *open_unix(const struct daemon *daemon, struct told *told);
struct redlock *open_tcp(const struct daemon *daemon, struct told *told);
/* Takes one turn of a program that waits with poll(2). */
void loop_once(struct redlock *redlock);
struct redlock_lock *take(struct redlock *redlock, const char *name, int64_t ttl_ms, int64_t wait_ms);

#define run_until(redlock, condition)                                                     \
    do {                                                                                  \
        int64_t end_ms_ = now_ms() + WAIT_MS;                                             \
        while (loop_once(redlock), !(condition))                                          \
            if (now_ms() > end_ms_)                                                       \
                fail_at(__FILE__, __LINE__, "not within %d ms: %s", WAIT_MS, #condition); \
    } while (0)

#define ck_error(redlock, expected)                               \
    ck_assert_msg(redlock_error(redlock) == (expected), "%s: %s", \
                  redlock_error_name(redlock_error(redlock)), redlock_error_text(redlock))

#endif
