/* What stands behind struct redlock: the core, its socket, and who is to be told. Private to client/lib. */
#ifndef REDLOCK_LIB_HANDLE_H
#define REDLOCK_LIB_HANDLE_H

#include <sys/types.h>

#include "client/lib/core.h"
#include "client/lib/link.h"

/* The result that a blocking call waits for. */
struct awaited {
    struct redlock_lock *lock; /* of ON_LOCK */
    uint64_t request;          /* of all others */
    bool over;
    enum redlock_error error;
    redlock_row *row;
    void *row_user;
};

struct redlock {
    struct core *core;
    struct link link;
    pid_t pid; /* who opened it */
    redlock_callback *callback;
    void *user;
    struct awaited *awaited; /* (ref in the blocking call's stack) */
    unsigned depth;          /* functions of the library that are under way */
    bool telling;            /* inside the callback */
    bool closing;            /* when the last of them returns */
    enum redlock_error error;
    int64_t retry_ms;
    char text[SERVER_LINE_BYTES + 1];
};

int64_t handle_now_ms(void); /* CLOCK_BOOTTIME */

/* Before and behind what may call back: a close inside comes into force at the end. */
void handle_enter(struct redlock *redlock);
void handle_leave(struct redlock *redlock);
/* Reads, looks at the clock, tells, connects, writes: all that can be done without waiting. */
void handle_turn(struct redlock *redlock);
int64_t handle_wait_ms(
    const struct redlock *redlock); /* until the next turn is due; INT64_MAX: without end */

/* For redlock_error(); returns the error. text is copied. */
enum redlock_error handle_says(struct redlock *redlock, enum redlock_error error, const char *text);
/* Whether it may be used here at all, and (blocking) whether waiting is allowed. */
enum redlock_error handle_usable(struct redlock *redlock, bool blocking);

#endif
