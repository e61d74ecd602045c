/* libredlock in an event loop, and its locks when the daemon, the masters or another client fail
 * them. */
#include "tests/integ/library_daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- in a loop ---- */

T(many_requests_at_once)
{
    enum { MANY = 100 };
    struct redlock_lock *locks[MANY];
    char name[16];

    begin("max_locks_per_client: 1000\n" PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "job%d", i);
        locks[i] = begin_lock(redlock, name, LONG_MS, 0);
        redlock_set_data(locks[i], &locks[i]);
    }
    struct redlock_lock *twice = begin_lock(redlock, "job0", LONG_MS, 0);
    ck_assert_int_eq(redlock_state(twice), REDLOCK_STATE_WAITING);
    run_until(redlock, told.count[REDLOCK_ON_LOCK] == MANY + 1);
    ck_assert_uint_eq(told.failed[REDLOCK_ON_LOCK], 1);
    ck_assert_uint_gt(redlock_show_begin(redlock, "locks"), 0);
    run_until(redlock, told.count[REDLOCK_ON_SHOW] == 1);
    ck_assert_uint_eq(told.count[REDLOCK_ON_ROW], MANY);
    for (int i = 0; i < MANY; i++) {
        ck_assert_int_gt(redlock_valid_ms(locks[i]), 0);
        ck_assert_ptr_eq(redlock_data(locks[i]), &locks[i]);
        ck_assert_uint_gt(redlock_check_begin(locks[i]), 0);
        ck_assert_uint_gt(redlock_extend_begin(locks[i], 0), 0);
        ck_assert_uint_gt(redlock_unlock_begin(locks[i]), 0);
    }
    run_until(redlock, told.count[REDLOCK_ON_UNLOCK] == MANY);
    ck_assert_uint_eq(told.failed[REDLOCK_ON_UNLOCK], 0);
    /* Some requests were overtaken by their UNLOCK; each was answered. */
    run_until(redlock, told.count[REDLOCK_ON_CHECK] == MANY && told.count[REDLOCK_ON_EXTEND] == MANY);
    ck_assert_uint_eq(rows_with(show(&raw, "LOCKS"), "name="), 0);
    redlock_close(redlock);
}

/* Nothing is done by what is refused, also about the request before it. */
T(a_second_unlock_is_refused)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);

    ck_assert_uint_gt(redlock_unlock_keep_begin(lock, 3600000), 0);
    ck_assert_uint_eq(redlock_unlock_keep_begin(lock, 1000), 0);
    ck_error(redlock, REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_unlock_lost(lock, REDLOCK_LOSS_CLOCK), REDLOCK_ARGUMENT);
    run_until(redlock, told.count[REDLOCK_ON_UNLOCK] == 1);
    ck_assert_uint_eq(told.failed[REDLOCK_ON_UNLOCK], 0);
    const char *row = row_with(show(&raw, "LOCKS"), "mode=kept");
    ck_assert_ptr_nonnull(row);
    ck_assert_int_gt(number(row, "left"), 3500000);
    redlock_close(redlock);
}

T(a_wait_is_served_or_cancelled)
{
    begin(PATIENT);
    struct redlock *holder = open_unix(&redlockd, NULL), *redlock = open_tcp(&redlockd, &told);
    struct redlock_lock *first = take(holder, "job", LONG_MS, 0);

    struct redlock_lock *cancelled = begin_lock(redlock, "job", 0, REDLOCK_WAIT_LONGEST);
    struct redlock_lock *served = begin_lock(redlock, "job", 0, 50000);
    run_until(redlock, rows_with(show(&raw, "WAITERS"), "") == 2);
    redlock_cancel(cancelled);
    run_until(redlock, told.count[REDLOCK_ON_LOCK] == 1);
    ck_assert_int_eq(told.error[REDLOCK_ON_LOCK], REDLOCK_CANCELLED);
    ck_assert_int_eq(redlock_unlock(first), REDLOCK_OK);
    run_until(redlock, told.count[REDLOCK_ON_LOCK] == 2);
    ck_assert_int_eq(told.error[REDLOCK_ON_LOCK], REDLOCK_OK);
    ck_assert_int_gt(redlock_valid_ms(served), 0);
    redlock_close(holder);
    redlock_close(redlock);
}

/* A callback may let go, ask and close; it may not block. */
struct careless {
    enum redlock_error blocked;
    bool closed;
};

static void careless(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    struct careless *care = user;

    if (event->kind != REDLOCK_ON_LOCK)
        return;
    if (redlock_lock(redlock, "more", NULL) == NULL)
        care->blocked = redlock_error(redlock);
    ck_assert_int_eq(redlock_process(redlock), REDLOCK_MISUSE);
    ck_assert_int_gt(redlock_safe_ms(event->lock), 0);
    redlock_forget(event->lock);
    ck_assert_ptr_nonnull(redlock_lock_begin(redlock, "next", NULL));
    redlock_close(redlock);
    redlock_close(redlock);
    ck_assert_ptr_null(redlock_lock_begin(redlock, "never", NULL));
    care->closed = true;
}

T(inside_a_callback)
{
    struct careless care = {.blocked = REDLOCK_OK};
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);

    redlock_set_callback(redlock, careless, &care);
    ck_assert_ptr_nonnull(redlock_lock_begin(redlock, "job", NULL));
    while (!care.closed) { /* the handle is gone after this call */
        ck_assert_int_eq(redlock_process(redlock), REDLOCK_OK);
        nap();
    }
    ck_assert_int_eq(care.blocked, REDLOCK_MISUSE);
    eventually(cluster_is_free(&masters, "job"));
}

static void closes(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    (void)user;
    if (event->kind == REDLOCK_ON_UP)
        redlock_close(redlock);
}

T(closed_under_a_blocking_call)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);

    redlock_set_callback(redlock, closes, NULL);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    ck_assert(cluster_is_free(&masters, "job"));
}

/* ---- the lock's time ---- */

T(renewed_moves_the_deadline)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, &told), *far = open_tcp(&redlockd, &others);
    struct redlock_lock *lock = take(redlock, "near", SHORT_MS, WAIT_MS);
    struct redlock_lock *other = take(far, "far", SHORT_MS, WAIT_MS);
    int64_t until_ms = redlock_until_ms(lock), other_ms = redlock_until_ms(other);

    run_until(redlock, told.count[REDLOCK_ON_RENEWED] >= 2);
    ck_assert_int_gt(redlock_until_ms(lock), until_ms);
    run_until(far, others.count[REDLOCK_ON_RENEWED] >= 2);
    ck_assert_int_gt(redlock_until_ms(other), other_ms);
    const char *line = ask(&raw, "+HELD far *", "CHECK far token=%s", redlock_token(other));
    ck_assert_int_lt(redlock_until_ms(other), number(line, "until"));
    redlock_close(redlock);
    redlock_close(far);
}

/* A program without a loop: renewals that came while it worked lie in the socket. */
T(safe_without_a_loop)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", SHORT_MS, WAIT_MS);
    int64_t until_ms = redlock_until_ms(lock);

    eventually(redlock_safe_ms(lock) > 0 && redlock_until_ms(lock) > until_ms + SHORT_MS);
    redlock_close(redlock);
}

/* Such a program promises three calls in a TTL, so a restart must not need a fourth. The pauses are for
 * a machine that is slower than the library's patience; a call during which the machine stood still does
 * not count. */
T(resumed_without_a_loop)
{
    unsigned calls = 0;

    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);
    uint64_t fence = redlock_fence(lock);
    int64_t at_ms = 0;

    kill_daemon();
    again();
    while (redlock_fence(lock) == fence) {
        if (now_ms() < at_ms) {
            usleep(10000);
            continue;
        }
        int64_t called_ms = now_ms();
        ck_assert_int_gt(redlock_safe_ms(lock), 0);
        calls += now_ms() - called_ms < CALL_MS;
        ck_assert(redlock_fence(lock) != fence || calls < 3);
        at_ms = now_ms() + 2000;
    }
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_HELD);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    redlock_close(redlock);
}

/* Without a daemon there is nothing to wait for: the call returns almost at once, however often it is
 * made. */
T(safe_while_nobody_is_there)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", OVER_MS, WAIT_MS);

    kill_daemon();
    int64_t most_ms = redlock_valid_ms(lock) + 5000, since_ms = now_ms();
    while (redlock_safe_ms(lock) > 0)
        ck_assert_int_lt(now_ms() - since_ms, most_ms);
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    redlock_close(redlock);
}

T(released_by_somebody_else)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);

    ask(&raw, "+UNLOCKED job *", "UNLOCK job token=%s", redlock_token(lock));
    run_until(redlock, told.count[REDLOCK_ON_LOST] == 1);
    ck_assert_str_eq(told.text[REDLOCK_ON_LOST], "released");
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_LOST);
    ck_assert_int_eq(redlock_extend(lock, 0), REDLOCK_LOST);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_LOST);
    ck_assert_ptr_nonnull(take(redlock, "job", 0, 0));
    redlock_close(redlock);
}

T(lost_without_a_majority)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", SHORT_MS, WAIT_MS);

    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    run_until(redlock, told.count[REDLOCK_ON_EXPIRING] >= 1);
    int64_t until_ms = redlock_until_ms(lock);
    run_until(redlock, told.count[REDLOCK_ON_LOST] == 1);
    ck_assert_int_ge(now_ms(), until_ms);
    ck_assert_str_eq(told.text[REDLOCK_ON_LOST], "expired");
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    redlock_close(redlock);
}

/* A daemon that stands still cannot tell the loss: the clock does, and when the daemon goes on, the lock
 * is given back. */
T(lost_with_a_silent_daemon)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", OVER_MS, WAIT_MS);

    daemon_signal(&redlockd, SIGSTOP);
    int64_t until_ms = redlock_until_ms(lock);
    run_until(redlock, told.count[REDLOCK_ON_LOST] == 1);
    ck_assert_int_ge(now_ms(), until_ms);
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    daemon_signal(&redlockd, SIGCONT);
    run_until(redlock, told.count[REDLOCK_ON_UP] >= 1 && cluster_is_free(&masters, "job"));
    struct redlock_lock *anew = take(redlock, "job", LONG_MS, WAIT_MS);
    ck_assert_uint_gt(redlock_fence(anew), redlock_fence(lock));
    redlock_close(redlock);
}
