#include "tests/integ/library.h"

static void remember(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct told *told = user;

    ck_assert_ptr_nonnull(redlock);
    ck_assert(event->kind >= REDLOCK_ON_LOCK && (int)event->kind < (int)KINDS);
    told->count[event->kind]++;
    told->failed[event->kind] += event->error != REDLOCK_OK;
    told->error[event->kind] = event->error;
    snprintf(told->text[event->kind], sizeof told->text[0], "%s", event->text);
}

struct redlock *open_handle(const char *address, struct told *told)
{
    struct redlock_options options = {.client = "test"};
    struct redlock *redlock = redlock_open(address, &options);

    ck_assert_ptr_nonnull(redlock);
    if (told)
        redlock_set_callback(redlock, remember, told);
    return redlock;
}

struct redlock *open_unix(const struct daemon *daemon, struct told *told)
{
    return open_handle(daemon->path, told);
}

struct redlock *open_tcp(const struct daemon *daemon, struct told *told)
{
    char address[32];

    snprintf(address, sizeof address, "127.0.0.1:%u", daemon->port);
    return open_handle(address, told);
}

void loop_once(struct redlock *redlock)
{
    enum { MOST_MS = 20 }; /* the upper limit lets the loop see other conditions as well */
    int wait_ms = redlock_timeout_ms(redlock);
    struct pollfd poll_fd = {.fd = redlock_fd(redlock), .events = redlock_events(redlock)};

    if (wait_ms < 0 || wait_ms > MOST_MS)
        wait_ms = MOST_MS;
    (void)poll(&poll_fd, 1, wait_ms);
    ck_assert_int_eq(redlock_process(redlock), REDLOCK_OK);
}

struct redlock_lock *take(struct redlock *redlock, const char *name, int64_t ttl_ms, int64_t wait_ms)
{
    struct redlock_lock_options options = {.ttl_ms = ttl_ms, .wait_ms = wait_ms};
    struct redlock_lock *lock = redlock_lock(redlock, name, &options);

    ck_assert_msg(lock != NULL, "%s: %s", name, redlock_error_text(redlock));
    return lock;
}
