/* The client library with a daemon that can be killed and started again. */
#ifndef REDLOCKD_TESTS_LIBRARY_DAEMON_H
#define REDLOCKD_TESTS_LIBRARY_DAEMON_H

#include "tests/integ/library.h"
#include "tests/integ/only.h"

enum {
    LONG_MS = 30000, /* a TTL that outlives a daemon's restart on a slow machine */
    SHORT_MS = 4000, /* a TTL that has to be renewed, and outlives two seconds in which nothing moves */
    OVER_MS = 1000,  /* a TTL that is to be over soon */
    CALL_MS = 130,   /* redlock_safe_ms() waits for 100 at most */
};

extern struct client raw; /* speaks the protocol by hand */
extern struct told told, others;

void begin(const char *settings);
void again(void); /* starts the daemon once more, with the same file */
void kill_daemon(void);
struct redlock_lock *begin_lock(struct redlock *redlock, const char *name, int64_t ttl_ms, int64_t wait_ms);

#endif
