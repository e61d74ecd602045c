/* How connections end, and what that means for their locks. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

static struct world w;
static int send_error; /* errno of every send(); 0: none fails */

/* Stands in for the send() of libc, by which the daemon writes to clients. */
ssize_t send(int fd, const void *bytes, size_t len, int flags)
{
    errno = send_error;
    return send_error ? -1 : sendto(fd, bytes, len, flags, NULL, 0);
}

#define LOST_HELD "!LOST held token=0000000000000000000000000000000000000000 reason=closed\n"

static void setup(void)
{
    world_make(&w);
    world_start(&w);
}

static void teardown(void)
{
    world_free(&w);
}

/* Test 0: a Unix socket, 1: TCP. */
static int client(int kind)
{
    return kind ? client_tcp(&w) : client_unix(&w);
}

SETUP(setup, teardown);

T_EACH(fin_lets_the_queue_have_its_first_attempt, 2)
{
    int fd = client(_i);

    w.tell_lost = true;
    say(fd, "LOCK wait1\nLOCK now\nUNLOCK now\n#t LOCK wait2\nLOCK wait3\nPING\nUNLOCK ha");
    shutdown(fd, SHUT_WR);
    expect(&w, fd,
           "-CANCELLED wait1\n#t -CANCELLED wait2\n" LOCKED("now")
               UNLOCKED("now") "-CANCELLED wait3\n+PONG ready=1\n"
                               "-BADLINE : the last line has no LF; nothing was done\n" LOST_HELD);
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK wait1\nLOCK wait2\nfinish\nLOCK now\nUNLOCK now\nLOCK wait3\nreleased\n");
    expect_count(&w, 0);
    close(fd);
}

T_EACH(a_client_that_asked_nothing_leaves_nothing, 2)
{
    int fd = client(_i);

    say(fd, "PING\nLOCK now"); /* half a line is no request */
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "+PONG ready=1\n-BADLINE : the last line has no LF; nothing was done\n");
    expect_end(&w, fd);
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, "");
    close(fd);
}

T_EACH(half_a_line_is_answered_in_its_turn, 2)
{
    int fd = client(_i);

    say(fd, "LOCK wait1\nPING\n#7 UNLOCK now");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "-CANCELLED wait1\n+PONG ready=1\n-BADLINE : the last line has no LF; nothing was done\n");
    expect_end(&w, fd);
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, "LOCK wait1\nfinish\nreleased\n");
    close(fd);
}

T_EACH(an_empty_end_is_no_line, 2)
{
    int fd = client(_i);

    say(fd, "PING\n  ");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "+PONG ready=1\n");
    expect_end(&w, fd);
    expect_count(&w, 0);
    close(fd);
}

T_EACH(the_first_request_may_come_out_of_the_queue_behind_a_fin, 2)
{
    int fd = client(_i);

    w.rows = 50000; /* more than the kernel takes unread */
    say(fd, "SHOW STATS\nLOCK wait1\n");
    settle(&w);
    shutdown(fd, SHUT_WR);
    settle(&w);
    ck_assert_str_eq(w.heard, "");
    expect_last(&w, fd, "+END 50000\n-CANCELLED wait1\n");
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK wait1\nfinish\nreleased\n");
    close(fd);
}

/* A write outside of conns_flush() finds the reset: the read behind it sees only an end. */
T(a_reset_is_not_forgotten_before_the_flush)
{
    struct notice notice = {.kind = NOTICE_EXPIRING, .name = world_name("a")};
    int fd = client_tcp(&w);

    say(fd, "LOCK now\n");
    expect(&w, fd, LOCKED("now"));
    reset_close(fd);
    for (int64_t i = 0; i < w.conf.max_output_bytes / 20; i++)
        conns_notice(w.conns, 1, &notice);
    expect_heard(&w, "LOCK now\ndropped\n");
    expect_count(&w, 0);
}

T_EACH(close_is_a_release, 2)
{
    int fd = client(_i);

    say(fd, "LOCK now\n#1 LOCK wait1\nLOCK wait2\nLOCK wait3\n");
    expect(&w, fd, LOCKED("now"));
    expect_heard(&w, "LOCK now\nLOCK wait1\nLOCK wait2\n");
    close(fd);
    expect_heard(&w, "LOCK now\nLOCK wait1\nLOCK wait2\nfinish\nLOCK wait3\nreleased\n");
    expect_count(&w, 0);
}

/* Where a proxy may turn a reset into a FIN, requests are answered and no lock is given back. */
T_EACH(fin_is_a_drop_where_it_breaks, 2)
{
    w.listener.fin_breaks = true;
    int fd = client(_i);

    w.tell_lost = true; /* an event that a dropped session does not hear */
    say(fd, "LOCK wait1\nLOCK now\n#t LOCK wait2\nPING\nUNLOCK now\n");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "-CANCELLED wait1\n#t -CANCELLED wait2\n" LOCKED("now") "+PONG ready=1\n" UNLOCKED("now"));
    expect_end(&w, fd);
    expect_heard(&w, "LOCK wait1\nLOCK wait2\nfinish\nLOCK now\nUNLOCK now\ndropped\n");
    expect_count(&w, 0);
    close(fd);
}

T_EACH(errors_are_a_drop_where_a_fin_breaks, 2)
{
    w.listener.fin_breaks = true;
    int fd = client(_i);

    say(fd, "LOCK now\n");
    expect(&w, fd, LOCKED("now"));
    say(fd, "PING\n");
    settle(&w);
    close(fd); /* to close with an answer unread is an error, on a Unix socket as well */
    expect_heard(&w, "LOCK now\ndropped\n");
    expect_count(&w, 0);
}

T_EACH(quit_is_a_release_also_where_a_fin_breaks, 2)
{
    w.listener.fin_breaks = true;
    int fd = client(_i);

    w.tell_lost = true;
    say(fd, "LOCK now\nQUIT\n");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, LOCKED("now") LOST_HELD "+BYE\n");
    expect_end(&w, fd);
    ck_assert_ptr_nonnull(strstr(w.heard, "released\n"));
    expect_count(&w, 0);
    close(fd);
}

T(reset_is_a_drop)
{
    int fd = client_tcp(&w);

    say(fd, "LOCK now\nLOCK wait1\nLOCK now2\n");
    expect(&w, fd, LOCKED("now"));
    reset_close(fd);
    expect_heard(&w, "LOCK now\nLOCK wait1\ndropped\n");
    expect_count(&w, 0);
    ck_assert(answer(&w, "wait1", REPLY_LOCKED)); /* too late: ignored */
    conns_ended(w.conns, 1);
    world_turn(&w);
}

T(requests_before_a_reset_are_still_taken)
{
    int fd = client_tcp(&w);

    say(fd, "UNLOCK a\nUNLOCK b\n");
    reset_close(fd);
    expect_heard(&w, "UNLOCK a\nUNLOCK b\ndropped\n");
}

T_EACH(a_reset_behind_a_fin_is_a_release, 2)
{
    int fd = client_tcp(&w);

    say(fd, "LOCK now\nLOCK wait1\nUNLOCK b\n");
    expect(&w, fd, LOCKED("now"));
    shutdown(fd, SHUT_WR);
    if (_i) /* the FIN was seen before the reset */
        expect(&w, fd, "-CANCELLED wait1\n" UNLOCKED("b"));
    reset_close(fd);
    expect_heard(&w, "LOCK now\nLOCK wait1\nfinish\nUNLOCK b\nreleased\n");
    expect_count(&w, 0);
}

/* The write learns of the end first: errno tells its kind. */
T_EACH(a_failed_write_tells_a_reset_from_a_fin, 2)
{
    int fd = client_tcp(&w);

    say(fd, "LOCK wait1\nUNLOCK b\n");
    expect_heard(&w, "LOCK wait1\n");
    if (_i)
        shutdown(fd, SHUT_WR);
    reset_close(fd);
    ck_assert(answer(&w, "wait1", REPLY_BUSY));
    conns_flush(w.conns);
    expect_heard(&w, _i ? "LOCK wait1\nUNLOCK b\nfinish\nreleased\n" : "LOCK wait1\nUNLOCK b\ndropped\n");
    expect_count(&w, 0);
}

/* A Unix peer leaves replies unread: the kernel says ECONNRESET. */
T_EACH(unix_errors_are_a_release, 2)
{
    int fd = client_unix(&w);

    say(fd, "LOCK now\nLOCK wait1\nUNLOCK b\n");
    expect_heard(&w, "LOCK now\nLOCK wait1\n");
    world_turn(&w);
    close(fd);
    if (_i) {
        ck_assert(answer(&w, "wait1", REPLY_BUSY));
        conns_flush(w.conns);
    }
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, _i ? "LOCK now\nLOCK wait1\nUNLOCK b\nfinish\nreleased\n"
                                 : "LOCK now\nLOCK wait1\nfinish\nUNLOCK b\nreleased\n");
}

/* The client is alive and was told how long it has its locks. */
T_EACH(a_write_that_fails_here_is_a_drop, 2)
{
    int fd = client(_i);

    say(fd, "LOCK wait1\n");
    expect_heard(&w, "LOCK wait1\n");
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    send_error = ENOBUFS;
    conns_flush(w.conns);
    send_error = 0;
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK wait1\nundelivered\ndropped\n");
    expect_count(&w, 0);
    close(fd);
}

/* 0: the read finds the reset, 1: the write does. */
T_EACH(a_grant_that_was_not_written_is_told, 2)
{
    int fd = client_tcp(&w);

    say(fd, "#1 LOCK wait1\n#2 LOCK now\n#3 UNLOCK wait3\n");
    expect(&w, fd, "#2 " LOCKED("now"));
    reset_close(fd);
    ck_assert(answer(&w, "wait3", REPLY_UNLOCKED));
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    if (_i)
        conns_flush(w.conns);
    expect_heard(&w, "LOCK wait1\nLOCK now\nUNLOCK wait3\nundelivered\ndropped\n");
}

/* A RESUME is tested as well as a LOCK. */
T_EACH(a_grant_behind_a_fin_that_was_not_written_is_told, 2)
{
    static const char *const lines[] = {"LOCK wait1\n",
                                        "RESUME wait1 token=0123456789012345678901234567890123456789\n"};
    static const char *const hears[] = {"LOCK wait1\n", "RESUME wait1\n"};
    char all[128];
    int fd = client_unix(&w);

    say(fd, lines[_i]);
    expect_heard(&w, hears[_i]);
    close(fd);
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    conns_flush(w.conns);
    snprintf(all, sizeof all, "%sfinish\nundelivered\nreleased\n", hears[_i]);
    expect_heard(&w, all);
    expect_count(&w, 0);
}

T(conns_free_closes_all)
{
    int fds[4];

    for (int i = 0; i < 4; i++) {
        fds[i] = client(i & 1);
        say(fds[i], "SHOW LOCKS\nLOCK wait1\n#1 LOCK wait2\n#2 SHOW LOCKS\nhalf");
    }
    w.rows = 1000000;
    world_turn(&w);
    world_free(&w);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    setup();
}
