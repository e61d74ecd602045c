/* Many cycles, many tasks and two threads on one handle of libredlock. */
#include "tests/integ/library_daemon.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>

/* Bytes that are allocated. A sanitizer has an allocator of its own, and finds what leaks by itself. */
static size_t allocated(void)
{
    return mallinfo2().uordblks;
}

static int descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 256; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

T(ten_thousand_cycles_leak_nothing)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    size_t before = 0;
    int open_before = 0;

    for (int i = 0; i < 10000; i++) {
        ck_assert_int_eq(redlock_unlock(take(redlock, "job", 0, 0)), REDLOCK_OK);
        if (i == 100) {
            before = allocated();
            open_before = descriptors();
        }
    }
    ck_assert_uint_le(allocated(), before + 4096);
    ck_assert_int_eq(descriptors(), open_before);
    eventually(cluster_is_free(&masters, "job"));
    redlock_close(redlock);
}

enum { TASKS = 200 };

/* A task reads the counter when it has the lock, and writes it in a later turn of the loop. */
struct task {
    struct redlock_lock *lock;
    int seen;
};

static int counter, failures;

static void task_happened(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    (void)redlock;
    (void)user;
    struct task *task = event->lock ? redlock_data(event->lock) : NULL;

    failures += task && event->error;
    if (task && event->kind == REDLOCK_ON_LOCK) {
        task->lock = event->lock;
        task->seen = counter;
    }
}

static void tasks_write(struct task tasks[])
{
    for (int i = 0; i < TASKS; i++) {
        if (!tasks[i].lock)
            continue;
        counter = tasks[i].seen + 1;
        ck_assert_uint_ne(redlock_unlock_begin(tasks[i].lock), 0);
        tasks[i].lock = NULL;
    }
}

T(two_hundred_tasks_lose_no_update)
{
    static struct task tasks[TASKS];
    const struct redlock_lock_options options = {.wait_ms = 4 * WAIT_MS};

    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    redlock_set_callback(redlock, task_happened, NULL);
    for (int i = 0; i < TASKS; i++)
        redlock_set_data(redlock_lock_begin(redlock, "counter", &options), &tasks[i]);
    run_until(redlock, (tasks_write(tasks), counter == TASKS || failures > 0));
    ck_assert_int_eq(failures, 0);
    redlock_close(redlock);
}

static void *waits(void *redlock)
{
    const struct redlock_lock_options options = {.wait_ms = WAIT_MS};

    return redlock_lock(redlock, "job", &options);
}

T(a_second_thread_is_refused)
{
    pthread_t thread;
    void *lock;

    begin(PATIENT);
    client_open(&raw, &redlockd);
    ask(&raw, "+LOCKED job*", "LOCK job");
    struct redlock *redlock = open_unix(&redlockd, NULL);
    ck_assert_int_eq(pthread_create(&thread, NULL, waits, redlock), 0);
    eventually(rows_with(show(&raw, "WAITERS"), "name=job ") == 1);
    ck_assert_int_eq(redlock_process(redlock), REDLOCK_MISUSE);
    ck_assert_int_eq(redlock_ping(redlock), REDLOCK_MISUSE);
    ck_assert_ptr_null(redlock_lock(redlock, "other", NULL));
    ck_assert_ptr_null(redlock_lock_begin(redlock, "other", NULL));
    ask(&raw, "+UNLOCKED job*", "UNLOCK job");
    ck_assert_int_eq(pthread_join(thread, &lock), 0);
    ck_assert_ptr_nonnull(lock);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    redlock_close(redlock);
}
