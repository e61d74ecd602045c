/* Blocking calls: each makes a request and gives the handle its turns until the result is there. The core
 * ends each request in time, so these calls need no deadline of their own. redlock_connect() and
 * redlock_safe_ms() make no request, so they have a deadline of their own. */
#include <errno.h>
#include <limits.h>
#include <poll.h>

#include "client/lib/handle.h"

enum { RESUME_MS = 100 }; /* the longest wait of redlock_safe_ms() */

void handle_sleep(struct redlock *redlock, int64_t most_ms)
{
    struct pollfd poll_fd = {.fd = redlock->link.epoll, .events = POLLIN};
    int64_t wait_ms = handle_wait_ms(redlock);

    if (wait_ms > most_ms)
        wait_ms = most_ms;
    if (wait_ms > 0)
        (void)poll(&poll_fd, 1, wait_ms < INT_MAX ? (int)wait_ms : INT_MAX);
}

enum redlock_error handle_await(struct redlock *redlock, struct awaited *awaited)
{
    struct awaited *outer = redlock->awaited;

    handle_enter(redlock);
    redlock->awaited = awaited;
    for (;;) {
        handle_turn(redlock);
        if (awaited->over || redlock->ending)
            break;
        handle_sleep(redlock, INT_MAX);
    }
    redlock->awaited = outer;
    enum redlock_error error = awaited->over ? awaited->error : REDLOCK_CANCELLED;
    if (redlock->ending)
        error = REDLOCK_CANCELLED;
    handle_leave(redlock);
    return error;
}

static struct redlock_lock *await_lock(struct redlock *redlock, struct redlock_lock *lock)
{
    struct awaited awaited = {.lock = lock};

    if (!lock)
        return NULL;
    return handle_await(redlock, &awaited) == REDLOCK_OK ? lock : NULL;
}

struct redlock_lock *redlock_lock(struct redlock *redlock, const char *name,
                                  const struct redlock_lock_options *options)
{
    if (handle_usable(redlock, true))
        return NULL;
    return await_lock(redlock, redlock_lock_begin(redlock, name, options));
}

struct redlock_lock *redlock_resume(struct redlock *redlock, const char *name, const char *token,
                                    const struct redlock_lock_options *options)
{
    if (handle_usable(redlock, true))
        return NULL;
    return await_lock(redlock, redlock_resume_begin(redlock, name, token, options));
}

static enum redlock_error await_request(struct redlock *redlock, uint64_t request)
{
    struct awaited awaited = {.request = request};

    return request ? handle_await(redlock, &awaited) : redlock->error;
}

enum redlock_error redlock_unlock(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, redlock_unlock_begin(lock));
}

enum redlock_error redlock_unlock_lost(struct redlock_lock *lock, enum redlock_loss loss)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    if (error)
        return error;
    const char *before = lock->loss; /* of an UNLOCK that is under way */
    lock->loss = loss == REDLOCK_LOSS_CLOCK ? "clock" : "expired";
    uint64_t request = redlock_unlock_begin(lock);
    if (!request)
        lock->loss = before;
    return await_request(redlock, request);
}

enum redlock_error redlock_unlock_keep(struct redlock_lock *lock, int64_t keep_ms)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, redlock_unlock_keep_begin(lock, keep_ms));
}

enum redlock_error redlock_extend(struct redlock_lock *lock, int64_t ttl_ms)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, redlock_extend_begin(lock, ttl_ms));
}

enum redlock_error redlock_check(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, redlock_check_begin(lock));
}

enum redlock_error redlock_downgrade(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, redlock_downgrade_begin(lock));
}

enum redlock_error redlock_tell(struct redlock_lock *lock, const char *data)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, redlock_tell_begin(lock, data));
}

enum redlock_error redlock_ping(struct redlock *redlock)
{
    enum redlock_error error = handle_usable(redlock, true);

    if (error)
        return error;
    uint64_t request = core_ping(redlock->core, handle_now_ms(), &error);
    return request ? await_request(redlock, request) : handle_says(redlock, error, "cannot ask");
}

enum redlock_error redlock_show(struct redlock *redlock, const char *what, redlock_row *row, void *user)
{
    enum redlock_error error = handle_usable(redlock, true);

    if (error)
        return error;
    if (!row)
        return handle_says(redlock, REDLOCK_ARGUMENT, "redlock_show() needs a function for its rows");
    struct awaited awaited = {.row = row, .row_user = user};
    awaited.request = redlock_show_begin(redlock, what);
    return awaited.request ? handle_await(redlock, &awaited) : redlock->error;
}

enum redlock_error redlock_who(struct redlock *redlock, const char *name, redlock_row *row, void *user)
{
    enum redlock_error error = handle_usable(redlock, true);

    if (error)
        return error;
    if (!row)
        return handle_says(redlock, REDLOCK_ARGUMENT, "redlock_who() needs a function for its rows");
    struct awaited awaited = {.row = row, .row_user = user};
    awaited.request = redlock_who_begin(redlock, name);
    return awaited.request ? handle_await(redlock, &awaited) : redlock->error;
}

enum redlock_error redlock_break(struct redlock *redlock, const char *name, int slot)
{
    enum redlock_error error = handle_usable(redlock, true);

    return error ? error : await_request(redlock, handle_ask_who(redlock, ASK_BREAK, name, slot));
}

/* If redlockd has never answered, the first attempt that fails is the last, as it is for requests. */
static bool call_is_hopeless(const struct core *core, uint64_t first)
{
    return core->state == CORE_DOWN && core->connection > first && !core->ever_up;
}

enum redlock_error redlock_connect(struct redlock *redlock)
{
    enum redlock_error error = handle_usable(redlock, true);

    if (error)
        return error;
    struct core *core = redlock->core;
    uint64_t first = core->state == CORE_DOWN ? core->connection : core->connection - 1;
    int64_t end_ms = handle_now_ms() + core->timeout_ms;
    handle_enter(redlock);
    for (;;) {
        handle_turn(redlock);
        int64_t left_ms = end_ms - handle_now_ms();
        if (redlock->ending || core->state == CORE_UP || call_is_hopeless(core, first) || left_ms <= 0)
            break;
        handle_sleep(redlock, left_ms);
    }
    if (redlock->ending)
        error = REDLOCK_CANCELLED;
    else if (core->state == CORE_UP)
        error = handle_says(redlock, REDLOCK_OK, "");
    else
        error = handle_says(redlock, core->why_error ? core->why_error : REDLOCK_CONNECT,
                            core->why_error ? core->why : "no connection in time");
    handle_leave(redlock);
    return error;
}

static bool is_there(const struct core *core, const struct redlock_lock *lock)
{
    const struct redlock_lock *known;

    TAILQ_FOREACH(known, &core->locks, link)
    if (known == lock)
        return true;
    return false;
}

/* Whether the lock is gone: a callback may have let go of it. */
static bool is_gone(const struct redlock *redlock, const struct redlock_lock *lock)
{
    return redlock->ending || (redlock->callback && !is_there(redlock->core, lock));
}

/* A program without a loop comes here only a few times in each TTL. If each step of resuming (to see the
 * connection's end, to connect, to ask, to read the answer) waited for the next time, the lock would be
 * over before the last step. */
static void resume_now(struct redlock *redlock, const struct redlock_lock *lock)
{
    int64_t end_ms = handle_now_ms() + RESUME_MS, left_ms = RESUME_MS;

    while (left_ms > 0 && !is_gone(redlock, lock) && redlock_state(lock) == REDLOCK_STATE_DETACHED &&
           redlock_valid_ms(lock) > 0) {
        if (redlock->core->state == CORE_DOWN && handle_wait_ms(redlock) > left_ms)
            return; /* the next attempt to connect comes after end_ms */
        handle_sleep(redlock, left_ms);
        handle_turn(redlock);
        left_ms = end_ms - handle_now_ms();
    }
}

int64_t redlock_safe_ms(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);

    if (!lock || redlock->telling || handle_usable(redlock, true))
        return redlock_valid_ms(lock);
    handle_enter(redlock);
    handle_turn(redlock);
    resume_now(redlock, lock);
    int64_t valid_ms = is_gone(redlock, lock) ? 0 : redlock_valid_ms(lock);
    handle_leave(redlock);
    return valid_ms;
}
