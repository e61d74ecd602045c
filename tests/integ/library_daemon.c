#include "tests/integ/library_daemon.h"

#include <signal.h>

struct client raw;
struct told told, others;

void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &raw);
}

void again(void)
{
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
}

void kill_daemon(void)
{
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
}

struct redlock_lock *begin_lock(struct redlock *redlock, const char *name, int64_t ttl_ms, int64_t wait_ms)
{
    struct redlock_lock_options options = {.ttl_ms = ttl_ms, .wait_ms = wait_ms};
    struct redlock_lock *lock = redlock_lock_begin(redlock, name, &options);

    ck_assert_ptr_nonnull(lock);
    return lock;
}
