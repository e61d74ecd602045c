/* Locks of libredlock while the daemon is killed or drained, and started again. */
#include "tests/integ/library_daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

T(killed_and_started_again)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told), *far = open_tcp(&redlockd, &others);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0), *other = take(far, "far", LONG_MS, 0);
    uint64_t fence = redlock_fence(lock);
    char token[REDLOCK_TOKEN_HEX + 1];

    snprintf(token, sizeof token, "%s", redlock_token(lock));
    kill_daemon();
    run_until(redlock, told.count[REDLOCK_ON_DOWN] == 1);
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_DETACHED);
    ck_assert_int_gt(redlock_valid_ms(lock), 0);
    again();
    run_until(redlock, told.count[REDLOCK_ON_RESUMED] == 1);
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_HELD);
    ck_assert_uint_gt(redlock_fence(lock), fence);
    ck_assert_str_ne(redlock_token(lock), token);
    ck_assert_uint_ge(cluster_holds(&masters, "job", redlock_token(lock)), 2);
    run_until(far, others.count[REDLOCK_ON_RESUMED] == 1);
    client_open(&raw, &redlockd);
    eventually(masters_up(&raw, &masters));
    ask(&raw, "-BUSY job*", "LOCK job");
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    ck_assert_int_eq(redlock_unlock(other), REDLOCK_OK);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST] + others.count[REDLOCK_ON_LOST], 0);
    redlock_close(redlock);
    redlock_close(far);
}

T(killed_under_blocking_calls)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);

    for (int i = 0; i < 3; i++) {
        kill_daemon();
        again();
        ck_assert_int_eq(redlock_check(lock), REDLOCK_OK); /* this call resumes it */
        ck_assert_uint_ge(cluster_holds(&masters, "job", redlock_token(lock)), 2);
    }
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    eventually(cluster_is_free(&masters, "job"));
    redlock_close(redlock);
}

T(drained_and_started_again)
{
    begin("drain_timeout: 200ms\n" PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);

    daemon_signal(&redlockd, SIGTERM);
    run_until(redlock, told.count[REDLOCK_ON_DRAIN] == 1);
    run_until(redlock, told.count[REDLOCK_ON_DOWN] >= 1);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST], 0);
    again();
    run_until(redlock, told.count[REDLOCK_ON_RESUMED] == 1);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST], 0);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    redlock_close(redlock);
}

/* redlockd listens until it ends, so that a connection to the address leads to the same one: it must not be taken for
 * the next, which would leave the lock without renewals. */
T(kept_while_its_redlockd_drains)
{
    begin("drain_timeout: 30s\n");
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", SHORT_MS, 0);

    daemon_signal(&redlockd, SIGTERM);
    run_until(redlock, told.count[REDLOCK_ON_DRAIN] == 1);
    unsigned renewed = told.count[REDLOCK_ON_RENEWED];
    run_until(redlock, told.count[REDLOCK_ON_RENEWED] >= renewed + 2);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST] + told.count[REDLOCK_ON_DOWN], 0);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    redlock_close(redlock);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

T(not_resumed_in_time)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", OVER_MS, WAIT_MS);

    kill_daemon();
    run_until(redlock, told.count[REDLOCK_ON_LOST] == 1);
    ck_assert_str_eq(told.text[REDLOCK_ON_LOST], "expired");
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    again();
    run_until(redlock, told.count[REDLOCK_ON_UP] >= 2);
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_LOST);
    ck_assert_uint_eq(told.count[REDLOCK_ON_RESUMED], 0);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_LOST);
    redlock_close(redlock);
}

/* Another client gave the lock back while no connection was up: the program is told, and no name is held
 * twice. */
T(gone_meanwhile)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);

    eventually(cluster_holds(&masters, "job", redlock_token(lock)) == masters.count);
    kill_daemon();
    ck_assert_uint_eq(cluster_answers(&masters, "1", "DEL redlock:job"), masters.count);
    again();
    run_until(redlock, told.count[REDLOCK_ON_LOST] == 1);
    ck_assert_str_eq(told.text[REDLOCK_ON_LOST], "gone");
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_LOST);
    redlock_close(redlock);
}

/* A holder and a waiter, both through the daemon that dies: the holder keeps the lock, the waiter goes on
 * waiting with the rest of its wait, and has the lock next. */
T(a_wait_over_a_restart)
{
    begin(PATIENT);
    struct redlock *holder = open_unix(&redlockd, NULL), *waiter = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(holder, "job", LONG_MS, 0);
    struct redlock_lock *next = begin_lock(waiter, "job", LONG_MS, 50000);

    run_until(waiter, rows_with(show(&raw, "WAITERS"), "") == 1);
    kill_daemon();
    again();
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    client_open(&raw, &redlockd);
    run_until(waiter, rows_with(show(&raw, "WAITERS"), "") == 1);
    const char *row = keep(show(&raw, "WAITERS"));
    ck_assert_int_lt(number(row, "left"), 50000);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOCK], 0);
    uint64_t fence = redlock_fence(lock);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    run_until(waiter, told.count[REDLOCK_ON_LOCK] == 1);
    ck_assert_int_eq(told.error[REDLOCK_ON_LOCK], REDLOCK_OK);
    ck_assert_uint_gt(redlock_fence(next), fence);
    redlock_close(holder);
    redlock_close(waiter);
}

T(many_locks_over_a_restart)
{
    enum { MANY = 200 };
    struct redlock_lock *locks[MANY];
    char name[16];

    begin(PATIENT);
    struct redlock *redlock = open_tcp(&redlockd, &told);
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "job%d", i);
        locks[i] = begin_lock(redlock, name, LONG_MS, 0);
    }
    run_until(redlock, told.count[REDLOCK_ON_LOCK] == MANY);
    ck_assert_uint_eq(told.failed[REDLOCK_ON_LOCK], 0);
    kill_daemon();
    again();
    run_until(redlock, told.count[REDLOCK_ON_RESUMED] == MANY);
    client_open(&raw, &redlockd);
    ck_assert_uint_eq(rows_with(show(&raw, "LOCKS"), "name=job"), MANY);
    for (int i = 0; i < MANY; i++)
        ck_assert_uint_gt(redlock_unlock_begin(locks[i]), 0);
    run_until(redlock, told.count[REDLOCK_ON_UNLOCK] == MANY);
    ck_assert_uint_eq(told.failed[REDLOCK_ON_UNLOCK], 0);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST], 0);
    redlock_close(redlock);
}
