/* libredlock's blocking calls, with the real daemon and real masters. */
#include "tests/integ/library.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client raw;
static struct told told;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &raw);
}

/* ---- taking and giving back ---- */

T(lock_and_unlock)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock_options options = {.ttl_ms = 20000, .max_ms = 60000, .note = "backup"};

    struct redlock_lock *lock = redlock_lock(redlock, "job", &options);
    ck_error(redlock, REDLOCK_OK);
    ck_assert_uint_ge(cluster_holds(&masters, "job", redlock_token(lock)), 2);
    ck_assert_str_eq(redlock_name(lock), "job");
    ck_assert_ptr_eq(redlock_of(lock), redlock);
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_HELD);
    ck_assert_int_gt(redlock_valid_ms(lock), 5000);
    ck_assert_int_le(redlock_valid_ms(lock), 20000);
    const char *row = row_with(show(&raw, "LOCKS"), "name=job ");
    ck_assert_str_eq(kv(row, "client"), "test");
    ck_assert_str_eq(kv(row, "note"), "backup");
    ck_assert_uint_eq((uint64_t)number(row, "fence"), redlock_fence(lock));
    uint64_t fence = redlock_fence(lock);

    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    ck_assert_int_eq(redlock_extend(lock, 30000), REDLOCK_OK);
    ck_assert_int_gt(redlock_valid_ms(lock), 20000);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    eventually(cluster_is_free(&masters, "job"));
    lock = take(redlock, "job", 0, 0);
    ck_assert_uint_gt(redlock_fence(lock), fence);
    redlock_close(redlock); /* gives the lock back */
    eventually(cluster_is_free(&masters, "job"));
}

/* Over TCP the library's deadline is earlier; over a Unix socket both are mostly the same (not where
 * HELLO took long). */
T(never_later_than_the_daemon)
{
    begin(PATIENT);
    struct redlock *near = open_unix(&redlockd, NULL), *far = open_tcp(&redlockd, NULL);
    struct redlock_lock *a = take(near, "near", 20000, 0), *b = take(far, "far", 20000, 0);

    const char *line = ask(&raw, "+HELD near *", "CHECK near token=%s", redlock_token(a));
    ck_assert_int_le(redlock_until_ms(a), number(line, "until"));
    ck_assert_int_gt(redlock_until_ms(a), now_ms());
    line = ask(&raw, "+HELD far *", "CHECK far token=%s", redlock_token(b));
    ck_assert_int_lt(redlock_until_ms(b), number(line, "until"));
    ck_assert_int_gt(redlock_until_ms(b), now_ms());
    redlock_close(near);
    redlock_close(far);
}

static void expect_refusal(struct redlock *redlock, const char *name, struct redlock_lock_options options,
                           enum redlock_error error, const char *text)
{
    ck_assert_ptr_null(redlock_lock(redlock, name, &options));
    ck_error(redlock, error);
    ck_assert_msg(strncmp(redlock_error_text(redlock), text, strlen(text)) == 0,
                  "\"%s\" does not begin with \"%s\"", redlock_error_text(redlock), text);
}

T(refusals)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock_options none = {0};

    lock(&raw, "taken ttl=20s");
    lock(&raw, "lease hold=lease ttl=20s");
    expect_refusal(redlock, "taken", none, REDLOCK_BUSY, "-BUSY taken");
    ck_assert_int_eq(redlock_error_retry_ms(redlock), -1);
    expect_refusal(redlock, "lease", none, REDLOCK_BUSY, "-BUSY lease retry=");
    ck_assert_int_gt(redlock_error_retry_ms(redlock), 0);
    int64_t start_ms = now_ms();
    expect_refusal(redlock, "taken", (struct redlock_lock_options){.wait_ms = 300}, REDLOCK_TIMEOUT,
                   "-TIMEOUT taken waited=");
    ck_assert_int_ge(now_ms() - start_ms, 300);
    expect_refusal(redlock, "job", (struct redlock_lock_options){.ttl_ms = 1}, REDLOCK_BADREQUEST,
                   "-BADARG job : ttl is at least");
    server_kill(&masters.server[0]);
    server_kill(&masters.server[1]);
    expect_refusal(redlock, "job", none, REDLOCK_NOQUORUM, "-NOQUORUM job votes=");
    redlock_close(redlock);
}

static void count_row(const char *row, void *user)
{
    struct redlock_pair pair;
    const char *at = row;
    unsigned *rows = user;

    ck_assert(redlock_next_pair(&at, &pair));
    ck_assert(pair.key_len == 4 && memcmp(pair.key, "node", 4) == 0);
    ++*rows;
}

T(bad_arguments)
{
    struct redlock *redlock = open_handle("127.0.0.1:1", NULL);
    struct redlock_lock_options none = {0};
    char name[300], many[REDLOCK_NAMES_BYTES + 10];
    enum redlock_error a = REDLOCK_ARGUMENT;

    memset(name, 'n', sizeof name);
    name[201] = '\0';
    expect_refusal(redlock, NULL, none, a, "a name");
    expect_refusal(redlock, "", none, a, "a name");
    expect_refusal(redlock, name, none, a, "a name");
    expect_refusal(redlock, "a b", none, a, "a name");
    expect_refusal(redlock, "a\nLOCK b", none, a, "a name");
    expect_refusal(redlock, "#a", none, a, "a name");
    expect_refusal(redlock, "a,,b", none, a, "a name");
    expect_refusal(redlock, "a,b,", none, a, "a name");
    expect_refusal(redlock, "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", none, a, "a name");
    memset(many, 'n', sizeof many);
    for (unsigned i = 100; i < sizeof many; i += 101)
        many[i] = ',';
    many[REDLOCK_NAMES_BYTES + 1] = '\0';
    expect_refusal(redlock, many, none, a, "a name");
    expect_refusal(redlock, "a,b", (struct redlock_lock_options){.slots = 3}, a, "several names");
    expect_refusal(redlock, "a,b", (struct redlock_lock_options){.mode = REDLOCK_SHARED}, a, "several names");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.slots = 1025}, a, "slots");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.slots = 3, .mode = REDLOCK_SHARED}, a,
                   "mode");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.ttl_ms = -1}, a, "ttl_ms");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.max_ms = INT64_MAX}, a, "ttl_ms and max_ms");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.wait_ms = -2}, a, "wait_ms");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.hold = (enum redlock_hold)7}, a, "hold");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.note = "x y"}, a, "a note");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.note = ""}, a, "a note");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.reserved[3] = 1}, a, "reserved");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.data = "x y"}, a, "data");
    expect_refusal(redlock, "a", (struct redlock_lock_options){.data = "x", .hold = REDLOCK_LEASE}, a,
                   "data");
    expect_refusal(redlock, "a,b", (struct redlock_lock_options){.data = "x"}, a, "data");
    ck_assert_ptr_null(redlock_attach(redlock, "a", "123"));
    ck_error(redlock, a);
    ck_assert_ptr_null(redlock_resume(redlock, "a", NULL, NULL));
    ck_assert_int_eq(redlock_show(redlock, "everything", NULL, NULL), a);
    ck_assert_int_eq(redlock_who(redlock, "a", NULL, NULL), a);
    ck_assert_int_eq(redlock_who(redlock, "a,b", count_row, &(unsigned){0}), a);
    ck_assert_uint_eq(redlock_who_begin(redlock, NULL), 0);
    ck_assert_int_eq(redlock_break(redlock, "a", 1024), a);
    ck_assert_int_eq(redlock_break(redlock, "a", -2), a);
    redlock_close(redlock);
    ck_assert_ptr_null(redlock_open("host:port", NULL));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_null(redlock_open(NULL, &(struct redlock_options){.client = "a b"}));
    errno = 0;
    ck_assert_ptr_null(redlock_open(NULL, &(struct redlock_options){.reserved[3] = 1}));
    ck_assert_int_eq(errno, EINVAL);
}

/* A program that checks no result hands NULL on: each function takes NULL, and says no. */
T(nothing_at_all)
{
    ck_assert_ptr_null(redlock_lock(NULL, "job", NULL));
    ck_assert_int_eq(redlock_valid_ms(NULL), 0);
    ck_assert_int_eq(redlock_safe_ms(NULL), 0);
    ck_assert_int_eq(redlock_until_ms(NULL), 0);
    ck_assert_uint_eq(redlock_fence(NULL), 0);
    ck_assert_str_eq(redlock_token(NULL), "");
    ck_assert_str_eq(redlock_name(NULL), "");
    ck_assert_ptr_null(redlock_of(NULL));
    ck_assert_ptr_null(redlock_data(NULL));
    ck_assert_int_eq(redlock_state(NULL), REDLOCK_STATE_NONE);
    ck_assert_int_eq(redlock_unlock(NULL), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_extend(NULL, 1), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_check(NULL), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_connect(NULL), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_process(NULL), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_error(NULL), REDLOCK_ARGUMENT);
    ck_assert_str_ne(redlock_error_text(NULL), "");
    ck_assert_int_eq(redlock_fd(NULL), -1);
    ck_assert_int_eq(redlock_socket(NULL), -1);
    ck_assert_int_eq(redlock_timeout_ms(NULL), -1);
    ck_assert_ptr_null(redlock_server(NULL));
    redlock_set_callback(NULL, NULL, NULL);
    redlock_set_timeout(NULL, 1);
    redlock_set_data(NULL, NULL);
    redlock_cancel(NULL);
    redlock_forget(NULL);
    redlock_close(NULL);
}

/* ---- tokens ---- */

T(a_lease_through_another_program)
{
    begin(PATIENT);
    struct redlock *first = open_unix(&redlockd, NULL);
    struct redlock_lock_options options = {.ttl_ms = 20000, .hold = REDLOCK_LEASE};
    struct redlock_lock *lease = redlock_lock(first, "lease", &options);
    char token[REDLOCK_TOKEN_HEX + 1];

    snprintf(token, sizeof token, "%s", redlock_token(lease));
    redlock_forget(lease);
    redlock_close(first);
    ck_assert_uint_ge(cluster_holds(&masters, "lease", token), 2);

    struct redlock *second = open_tcp(&redlockd, NULL);
    lease = redlock_attach(second, "lease", token);
    ck_assert_int_eq(redlock_valid_ms(lease), 0);
    ck_assert_int_eq(redlock_check(lease), REDLOCK_OK);
    int64_t until_ms = redlock_until_ms(lease);
    ck_assert_int_gt(until_ms, now_ms());
    ck_assert_int_eq(redlock_extend(lease, 50000), REDLOCK_OK);
    ck_assert_int_gt(redlock_until_ms(lease), until_ms + 10000);
    ck_assert_int_eq(redlock_unlock(lease), REDLOCK_OK);
    lease = redlock_attach(second, "lease", token);
    ck_assert_int_eq(redlock_check(lease), REDLOCK_NOTHELD);
    ck_assert_int_eq(redlock_unlock(lease), REDLOCK_LOST);
    redlock_close(second);
}

T(resume_from_another_program)
{
    begin(PATIENT);
    struct redlock *first = open_unix(&redlockd, &told), *second = open_unix(&redlockd, NULL);
    struct redlock_lock *old = take(first, "job", 20000, 0);
    uint64_t fence = redlock_fence(old);

    struct redlock_lock *lock = redlock_resume(second, "job", redlock_token(old), NULL);
    ck_error(second, REDLOCK_OK);
    ck_assert_uint_gt(redlock_fence(lock), fence);
    ck_assert_str_ne(redlock_token(lock), redlock_token(old));
    run_until(first, told.count[REDLOCK_ON_LOST] == 1);
    ck_assert_str_eq(told.text[REDLOCK_ON_LOST], "moved");
    ck_assert_int_eq(redlock_unlock(old), REDLOCK_LOST);
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    redlock_close(first); /* the end of the former holder releases nothing */
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    ck_assert_ptr_null(redlock_resume(second, "job", "0123456789012345678901234567890123456789", NULL));
    ck_error(second, REDLOCK_NOTHELD);
    redlock_close(second);
}

/* ---- looking around ---- */

T(show_rows)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    unsigned rows = 0;

    ck_assert_int_eq(redlock_show(redlock, "nodes", count_row, &rows), REDLOCK_OK);
    ck_assert_uint_eq(rows, masters.count);
    ck_assert_ptr_nonnull(strstr(redlock_server(redlock), "redlockd/"));
    redlock_close(redlock);
}

/* ---- where nobody is ---- */

T(nobody_there)
{
    char address[64];
    int64_t start_ms = now_ms();

    snprintf(address, sizeof address, "127.0.0.1:%u", port_free());
    struct redlock *redlock = open_handle(address, &told);
    redlock_set_timeout(redlock, 2 * WAIT_MS);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    ck_error(redlock, REDLOCK_CONNECT);
    ck_assert_ptr_nonnull(strstr(redlock_error_text(redlock), address));
    ck_assert_ptr_nonnull(strstr(redlock_error_text(redlock), "refused"));
    ck_assert_int_eq(redlock_connect(redlock), REDLOCK_CONNECT);
    ck_assert_int_lt(now_ms() - start_ms, WAIT_MS); /* not only after the whole timeout */
    ck_assert_uint_eq(told.count[REDLOCK_ON_DOWN], 1);
    redlock_close(redlock);
    redlock = open_handle("unix:/nowhere/redlockd.sock", NULL);
    ck_assert_int_eq(redlock_connect(redlock), REDLOCK_CONNECT);
    ck_assert_str_eq(redlock_error_text(redlock),
                     "cannot connect to unix:/nowhere/redlockd.sock: No such file or directory");
    redlock_close(redlock);
    redlock = open_handle("no.such.host.invalid:7", NULL);
    ck_assert_int_eq(redlock_connect(redlock), REDLOCK_CONNECT);
    redlock_close(redlock);
}

T(address_of_the_environment)
{
    begin(PATIENT);
    setenv("REDLOCK_ADDRESS", redlockd.path, 1);
    struct redlock *redlock = open_handle(NULL, NULL);
    ck_assert_int_eq(redlock_connect(redlock), REDLOCK_OK);
    ck_assert_ptr_nonnull(strstr(redlock_address(redlock), redlockd.path));
    redlock_close(redlock);
    setenv("REDLOCK_ADDRESS", "not an address", 1);
    ck_assert_ptr_null(redlock_open(NULL, NULL));
    ck_assert_int_eq(errno, EINVAL);
    unsetenv("REDLOCK_ADDRESS");
}

/* ---- its end ---- */

T(used_after_quit)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "job", 2 * WAIT_MS, 0);

    ck_assert_int_eq(redlock_quit(redlock), REDLOCK_OK);
    client_open(&raw, &redlockd);
    ask(&raw, "+LOCKED job*", "LOCK job"); /* at once: +BYE comes after the release */
    ck_assert_int_eq(redlock_state(lock), REDLOCK_STATE_LOST);
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    ck_assert_int_eq(redlock_safe_ms(lock), 0);
    ck_assert_int_eq(redlock_check(lock), REDLOCK_CLOSED);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_CLOSED);
    redlock_cancel(lock);
    redlock_forget(lock);
    ck_assert_ptr_null(redlock_lock(redlock, "other", NULL));
    ck_error(redlock, REDLOCK_CLOSED);
    ck_assert_int_eq(redlock_process(redlock), REDLOCK_CLOSED);
    ck_assert_int_eq(redlock_connect(redlock), REDLOCK_CLOSED);
    ck_assert_int_eq(redlock_quit(redlock), REDLOCK_CLOSED);
    ck_assert_int_eq(redlock_timeout_ms(redlock), -1);
    ck_assert_int_eq(redlock_fd(redlock), -1);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST], 0);
    redlock_close(redlock);
    ck_assert_int_eq(redlock_quit(NULL), REDLOCK_ARGUMENT);
}

/* ---- processes ---- */

/* A child that shares the connection must neither use nor end it. */
T(a_fork_lets_go_of_nothing)
{
    begin(PATIENT);
    struct redlock *redlock = open_tcp(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "job", 20000, 0);

    pid_t child = fork();
    if (child == 0) {
        bool right = redlock_lock(redlock, "other", NULL) == NULL &&
                     redlock_error(redlock) == REDLOCK_MISUSE && redlock_unlock(lock) == REDLOCK_MISUSE &&
                     redlock_process(redlock) == REDLOCK_MISUSE && redlock_valid_ms(lock) > 0 &&
                     redlock_timeout_ms(redlock) == -1;
        redlock_forget(lock);
        redlock_close(redlock);
        _exit(right ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    redlock_close(redlock);
}
