/* Writers of libredlock that become readers. */
#include "tests/integ/library_daemon.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const struct redlock_lock_options shared = {.mode = REDLOCK_SHARED, .ttl_ms = LONG_MS};

/* Whether on each master one reader has the name, and nobody else. */
static bool is_a_readers(void)
{
    return cluster_answers(&masters, "1", "ZCARD redlock:page") == masters.count;
}

/* The other handle reads, and does not write. */
static void others_read(struct redlock *other)
{
    struct redlock_lock *lock = redlock_lock(other, "page", &shared);
    ck_error(other, REDLOCK_OK);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    ck_assert_ptr_null(redlock_lock(other, "page", NULL));
    ck_error(other, REDLOCK_BUSY);
}

T(a_writer_becomes_a_reader)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL), *other = open_tcp(&redlockd, &others);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, 0);
    const struct redlock_lock_options waits = {.mode = REDLOCK_SHARED, .ttl_ms = LONG_MS, .wait_ms = 60000};
    struct redlock_lock *reader = redlock_lock_begin(other, "page", &waits);
    uint64_t fence = redlock_fence(lock);
    char token[REDLOCK_TOKEN_HEX + 1];

    snprintf(token, sizeof token, "%s", redlock_token(lock));
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_EXCLUSIVE);
    run_until(other, rows_with(show(&raw, "WAITERS"), "name=page ") == 1);
    ck_assert_int_eq(redlock_downgrade(lock), REDLOCK_OK);
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_SHARED);
    ck_assert_uint_eq(redlock_fence(lock), fence);
    ck_assert_str_ne(redlock_token(lock), token);
    ck_assert_int_gt(redlock_valid_ms(lock), 0);
    run_until(other, others.count[REDLOCK_ON_LOCK] == 1);
    ck_assert_int_eq(others.error[REDLOCK_ON_LOCK], REDLOCK_OK);
    ck_assert_int_eq(redlock_unlock(reader), REDLOCK_OK);
    others_read(other);
    ck_assert_int_eq(redlock_downgrade(lock), REDLOCK_OK); /* it is one */
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK); /* it was entered once */
    eventually(cluster_is_free(&masters, "page"));
    redlock_close(redlock);
    redlock_close(other);
}

T(what_cannot_become_a_readers)
{
    const struct redlock_lock_options lease = {.hold = REDLOCK_LEASE}, slots = {.slots = 2};

    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *none[] = {redlock_lock(redlock, "lease", &lease),
                                   redlock_lock(redlock, "place", &slots),
                                   redlock_lock(redlock, "one,two", NULL)};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
        ck_assert_ptr_nonnull(none[i]);
        ck_assert_int_eq(redlock_downgrade(none[i]), REDLOCK_ARGUMENT);
        ck_assert_str_ne(redlock_error_text(redlock), "");
        ck_assert_int_eq(redlock_mode(none[i]), REDLOCK_EXCLUSIVE);
        ck_assert_int_eq(redlock_check(none[i]), REDLOCK_OK);
    }
    ck_assert_int_eq(redlock_downgrade(NULL), REDLOCK_ARGUMENT);
    ck_assert_int_eq(redlock_mode(NULL), REDLOCK_SHARED);
    redlock_close(redlock);
}

/* The library enters no lock twice by itself, so the test speaks on its connection. */
T(entered_twice)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, 0);
    char line[100];
    int len = snprintf(line, sizeof line, "#x LOCK page token=%s\n", redlock_token(lock));

    ck_assert_int_eq(send(redlock_socket(redlock), line, (size_t)len, 0), len);
    ck_assert_int_eq(redlock_downgrade(lock), REDLOCK_MODE);
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_EXCLUSIVE);
    ck_assert_int_gt(redlock_valid_ms(lock), 0);
    ask(&raw, "-BUSY page", "LOCK page mode=shared");
    ck_assert_uint_eq(cluster_answers(&masters, "string", "TYPE redlock:page"), masters.count);
    len = snprintf(line, sizeof line, "#x UNLOCK page token=%s\n", redlock_token(lock));
    ck_assert_int_eq(send(redlock_socket(redlock), line, (size_t)len, 0), len);
    ck_assert_int_eq(redlock_downgrade(lock), REDLOCK_OK);
    ask(&raw, "+LOCKED page *", "LOCK page mode=shared");
    redlock_close(redlock);
}

T(without_a_quorum)
{
    begin("min_ttl: 10s\n"); /* node_timeout is short, so that -NOQUORUM comes soon */
    struct redlock *redlock = open_unix(&redlockd, NULL), *other = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, WAIT_MS);
    uint64_t fence = redlock_fence(lock);
    char token[REDLOCK_TOKEN_HEX + 1];

    snprintf(token, sizeof token, "%s", redlock_token(lock));
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    ck_assert_int_eq(redlock_downgrade(lock), REDLOCK_NOQUORUM);
    ck_assert_str_ne(redlock_error_text(redlock), "");
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_SHARED);
    ck_assert_int_gt(redlock_valid_ms(lock), 0);
    ck_assert_int_eq(redlock_downgrade(lock), REDLOCK_NOQUORUM);
    ck_assert_str_eq(redlock_token(lock), token);
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    eventually(redlock_downgrade(lock) == REDLOCK_OK);
    ck_assert_str_ne(redlock_token(lock), token);
    ck_assert_uint_eq(redlock_fence(lock), fence);
    eventually(masters_up(&raw, &masters));
    eventually(is_a_readers());
    ask_again(&raw, "+LOCKED page * mode=shared", "LOCK page mode=shared");
    ask_again(&raw, "-BUSY page*", "LOCK page");
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    redlock_close(redlock);
    redlock_close(other);
}

/* The program asks once, and its handle goes on by itself. */
T(without_a_quorum_and_not_asked_again)
{
    begin("min_ttl: 10s\n");
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, WAIT_MS);
    char token[REDLOCK_TOKEN_HEX + 1];

    snprintf(token, sizeof token, "%s", redlock_token(lock));
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    ck_assert_uint_ne(redlock_downgrade_begin(lock), 0);
    run_until(redlock, told.count[REDLOCK_ON_DOWNGRADE] == 1);
    ck_assert_int_eq(told.error[REDLOCK_ON_DOWNGRADE], REDLOCK_NOQUORUM);
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_SHARED);
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    run_until(redlock, strcmp(redlock_token(lock), token) != 0);
    run_until(redlock, is_a_readers());
    ck_assert_uint_eq(told.count[REDLOCK_ON_DOWNGRADE], 1);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST], 0);
    redlock_close(redlock);
}

/* ---- the connection breaks before the library has read the answer ---- */

/* Asks, and takes the answer out of the socket, behind the library's back. */
static void answer_is_lost(struct redlock *redlock, struct redlock_lock *lock)
{
    static char bytes[1 << 16];
    size_t len = 0;

    ck_assert_uint_ne(redlock_downgrade_begin(lock), 0);
    while (redlock_timeout_ms(redlock) == 0) { /* until it is written */
        daemon_signal(&redlockd, SIGSTOP);
        ck_assert_int_eq(redlock_process(redlock), REDLOCK_OK);
        daemon_signal(&redlockd, SIGCONT);
    }
    bytes[0] = '\0';
    while (strstr(bytes, "+LOCKED page ") == NULL) {
        ssize_t got = recv(redlock_socket(redlock), bytes + len, sizeof bytes - 1 - len, 0);
        if (got > 0)
            len += (size_t)got;
        bytes[len] = '\0';
        ck_assert_ptr_null(strstr(bytes, "-NOQUORUM"));
    }
    eventually(is_a_readers());
}

/* Resets the TCP connection: the daemon then does not give back what it holds. */
static void connection_breaks(struct redlock *redlock)
{
    const struct sockaddr nowhere = {.sa_family = AF_UNSPEC};
    unsigned downs = told.count[REDLOCK_ON_DOWN];

    ck_assert_int_eq(connect(redlock_socket(redlock), &nowhere, sizeof nowhere), 0);
    run_until(redlock, told.count[REDLOCK_ON_DOWN] == downs + 1);
}

T(resumed_as_a_reader)
{
    begin(PATIENT);
    struct redlock *redlock = open_tcp(&redlockd, &told), *other = open_unix(&redlockd, NULL);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, 0);
    uint64_t fence = redlock_fence(lock);

    answer_is_lost(redlock, lock);
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_SHARED);
    connection_breaks(redlock);
    run_until(redlock, told.count[REDLOCK_ON_RESUMED] == 1);
    ck_assert_uint_eq(told.count[REDLOCK_ON_DOWNGRADE], 1);
    ck_assert_int_eq(told.error[REDLOCK_ON_DOWNGRADE], REDLOCK_OK);
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_SHARED);
    ck_assert_uint_gt(redlock_fence(lock), fence);
    ck_assert_ptr_nonnull(row_with(show(&raw, "LOCKS"), "name=page mode=shared "));
    eventually(is_a_readers());
    others_read(other);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK); /* it was entered once */
    eventually(cluster_is_free(&masters, "page"));
    redlock_close(redlock);
    redlock_close(other);
}

/* The daemon dies before it has read the request. */
T(resumed_as_a_writer_and_asked_again)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, 0);

    eventually(cluster_holds(&masters, "page", redlock_token(lock)) == masters.count);
    daemon_signal(&redlockd, SIGSTOP);
    ck_assert_uint_ne(redlock_downgrade_begin(lock), 0);
    loop_once(redlock);
    kill_daemon();
    run_until(redlock, told.count[REDLOCK_ON_DOWN] == 1);
    ck_assert_uint_eq(cluster_holds(&masters, "page", redlock_token(lock)), masters.count);
    ck_assert_int_eq(redlock_mode(lock), REDLOCK_SHARED);
    again();
    run_until(redlock, told.count[REDLOCK_ON_DOWNGRADE] == 1);
    ck_assert_int_eq(told.error[REDLOCK_ON_DOWNGRADE], REDLOCK_OK);
    ck_assert_uint_eq(told.count[REDLOCK_ON_RESUMED], 1);
    ck_assert_uint_eq(told.count[REDLOCK_ON_LOST], 0);
    run_until(redlock, is_a_readers());
    client_open(&raw, &redlockd);
    eventually(masters_up(&raw, &masters));
    ask(&raw, "+LOCKED page * mode=shared", "LOCK page mode=shared");
    ask(&raw, "-BUSY page*", "LOCK page");
    redlock_close(redlock);
}

/* The daemon that has told the masters the new token dies with it: no other one takes the old token. */
T(nobody_knows_the_new_token)
{
    begin(PATIENT);
    struct redlock *redlock = open_unix(&redlockd, &told);
    struct redlock_lock *lock = take(redlock, "page", LONG_MS, 0);

    answer_is_lost(redlock, lock);
    kill_daemon();
    again();
    run_until(redlock, told.count[REDLOCK_ON_LOST] == 1 && told.count[REDLOCK_ON_DOWNGRADE] == 1);
    ck_assert_str_eq(told.text[REDLOCK_ON_LOST], "gone");
    ck_assert_int_eq(told.error[REDLOCK_ON_DOWNGRADE], REDLOCK_LOST);
    ck_assert_int_eq(redlock_valid_ms(lock), 0);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_LOST);
    redlock_close(redlock);
}
