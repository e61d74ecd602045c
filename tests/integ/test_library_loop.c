/* libredlock in an event loop, and its locks when things go wrong: lost, renewed, the daemon killed,
 * drained, paused and started again. */
#include "tests/integ/library.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LONG_MS = 30000, /* a TTL that outlives a daemon's restart on a slow machine */
    SHORT_MS = 4000, /* one that has to be renewed, and outlives two seconds in which nothing moves */
    OVER_MS = 1000,  /* one that is to be over soon */
    CALL_MS = 130,   /* redlock_safe_ms() waits for 100 at most */
};

static struct cluster masters;
static struct daemon redlockd;
static struct client raw;
static struct told told, others;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&raw, &redlockd);
    eventually(masters_up(&raw, &masters));
}

static void again(void)
{
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
}

static void kill_daemon(void)
{
    daemon_signal(&redlockd, SIGKILL);
    ck_assert_int_eq(daemon_exit(&redlockd), -SIGKILL);
}

static bool key_is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}

static struct redlock_lock *begin_lock(struct redlock *redlock, const char *name, int64_t ttl_ms,
                                       int64_t wait_ms)
{
    struct redlock_lock_options options = {.ttl_ms = ttl_ms, .wait_ms = wait_ms};
    struct redlock_lock *lock = redlock_lock_begin(redlock, name, &options);

    ck_assert_ptr_nonnull(lock);
    return lock;
}

/* ---- in a loop ---- */

START_TEST(many_requests_at_once)
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
    /* Some were overtaken by their UNLOCK; each has had its answer. */
    run_until(redlock, told.count[REDLOCK_ON_CHECK] == MANY && told.count[REDLOCK_ON_EXTEND] == MANY);
    ck_assert_uint_eq(rows_with(show(&raw, "LOCKS"), "name="), 0);
    redlock_close(redlock);
}
END_TEST

START_TEST(a_wait_is_served_or_cancelled)
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
END_TEST

/* What a callback may do: let go, ask, close; what it may not: block. */
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

START_TEST(inside_a_callback)
{
    struct careless care = {.blocked = REDLOCK_OK};
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);

    redlock_set_callback(redlock, careless, &care);
    ck_assert_ptr_nonnull(redlock_lock_begin(redlock, "job", NULL));
    while (!care.closed) { /* the handle is gone behind that */
        ck_assert_int_eq(redlock_process(redlock), REDLOCK_OK);
        nap();
    }
    ck_assert_int_eq(care.blocked, REDLOCK_MISUSE);
    eventually(key_is_free("job"));
}
END_TEST

static void closes(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    (void)user;
    if (event->kind == REDLOCK_ON_UP)
        redlock_close(redlock);
}

START_TEST(closed_under_a_blocking_call)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);

    redlock_set_callback(redlock, closes, NULL);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    ck_assert(key_is_free("job"));
}
END_TEST

/* ---- the lock's time ---- */

START_TEST(renewed_moves_the_deadline)
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
END_TEST

/* A program without a loop: what was renewed while it worked lies in the socket. */
START_TEST(safe_without_a_loop)
{
    begin("");
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", SHORT_MS, WAIT_MS);
    int64_t until_ms = redlock_until_ms(lock);

    eventually(redlock_safe_ms(lock) > 0 && redlock_until_ms(lock) > until_ms + SHORT_MS);
    redlock_close(redlock);
}
END_TEST

/* Three times in a TTL is what such a program promises, so a restart must not need a fourth. The pauses
 * are there for a machine that is slower than the library's patience; a call in the middle of which it
 * stood still does not count. */
START_TEST(resumed_without_a_loop)
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
END_TEST

/* Nobody is there to wait for: it answers at once, or nearly, however often it is asked. */
START_TEST(safe_while_nobody_is_there)
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
END_TEST

START_TEST(released_by_somebody_else)
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
END_TEST

START_TEST(lost_without_a_majority)
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
END_TEST

/* A daemon that stands still cannot tell it: the clock does, and when it goes on, the lock is given back. */
START_TEST(lost_with_a_silent_daemon)
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
    run_until(redlock, told.count[REDLOCK_ON_UP] >= 1 && key_is_free("job"));
    struct redlock_lock *anew = take(redlock, "job", LONG_MS, WAIT_MS);
    ck_assert_uint_gt(redlock_fence(anew), redlock_fence(lock));
    redlock_close(redlock);
}
END_TEST

/* ---- the daemon ends and comes back ---- */

START_TEST(killed_and_started_again)
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
END_TEST

START_TEST(killed_under_blocking_calls)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", LONG_MS, 0);

    for (int i = 0; i < 3; i++) {
        kill_daemon();
        again();
        ck_assert_int_eq(redlock_check(lock), REDLOCK_OK); /* resumes it on the way */
        ck_assert_uint_ge(cluster_holds(&masters, "job", redlock_token(lock)), 2);
    }
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    eventually(key_is_free("job"));
    redlock_close(redlock);
}
END_TEST

START_TEST(drained_and_started_again)
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
END_TEST

START_TEST(not_resumed_in_time)
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
END_TEST

/* Somebody gave it back while nobody was connected: the program is told, and nobody holds it twice. */
START_TEST(gone_meanwhile)
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
END_TEST

/* A holder and one who waits, both through the daemon that dies: the holder keeps it, the other goes on
 * waiting with what is left of its wait, and has it next. */
START_TEST(a_wait_over_a_restart)
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
END_TEST

START_TEST(many_locks_over_a_restart)
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
END_TEST

static Suite *suite(void)
{
    Suite *suite = suite_create("library_loop");

    ADD(suite, many_requests_at_once);
    ADD(suite, a_wait_is_served_or_cancelled);
    ADD(suite, inside_a_callback);
    ADD(suite, closed_under_a_blocking_call);
    ADD(suite, renewed_moves_the_deadline);
    ADD(suite, safe_without_a_loop);
    ADD(suite, resumed_without_a_loop);
    ADD(suite, safe_while_nobody_is_there);
    ADD(suite, released_by_somebody_else);
    ADD(suite, lost_without_a_majority);
    ADD(suite, lost_with_a_silent_daemon);
    ADD(suite, killed_and_started_again);
    ADD(suite, killed_under_blocking_calls);
    ADD(suite, drained_and_started_again);
    ADD(suite, not_resumed_in_time);
    ADD(suite, gone_meanwhile);
    ADD(suite, a_wait_over_a_restart);
    ADD(suite, many_locks_over_a_restart);
    return suite;
}

int main(void)
{
    return harness_main(suite());
}
