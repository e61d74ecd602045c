/* How connections end, and what that says of their locks. */
#include "tests/unit/conn_world.h"

static struct world w;

#define LOST_HELD "!LOST held token=0000000000000000000000000000000000000000 reason=closed\n"

static void setup(void)
{
    world_new(&w);
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

START_TEST(fin_lets_the_queue_have_its_first_attempt)
{
    int fd = client(_i);

    w.tell_lost = true;
    say(fd, "LOCK wait1\nLOCK now\nUNLOCK now\n#t LOCK wait2\nLOCK wait3\nPING\nUNLOCK ha");
    shutdown(fd, SHUT_WR);
    expect(&w, fd,
           "-CANCELLED wait1\n#t -CANCELLED wait2\n" LOCKED("now")
               UNLOCKED("now") "-CANCELLED wait3\n+PONG\n"
                               "-BADLINE : the last line has no LF; nothing was done\n" LOST_HELD);
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK wait1\nLOCK wait2\nfinish\nLOCK now\nUNLOCK now\nLOCK wait3\nreleased\n");
    expect_count(&w, 0);
    close(fd);
}
END_TEST

START_TEST(a_client_that_asked_nothing_leaves_nothing)
{
    int fd = client(_i);

    say(fd, "PING\nLOCK now"); /* half a line is no request */
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "+PONG\n-BADLINE : the last line has no LF; nothing was done\n");
    expect_end(&w, fd);
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, "");
    close(fd);
}
END_TEST

START_TEST(half_a_line_is_answered_in_its_turn)
{
    int fd = client(_i);

    say(fd, "LOCK wait1\nPING\n#7 UNLOCK now");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "-CANCELLED wait1\n+PONG\n-BADLINE : the last line has no LF; nothing was done\n");
    expect_end(&w, fd);
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, "LOCK wait1\nfinish\nreleased\n");
    close(fd);
}
END_TEST

START_TEST(an_empty_end_is_no_line)
{
    int fd = client(_i);

    say(fd, "PING\n  ");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "+PONG\n");
    expect_end(&w, fd);
    expect_count(&w, 0);
    close(fd);
}
END_TEST

/* Reads and throws away until these are the last bytes. */
static void expect_last(int fd, const char *text)
{
    static char bytes[1 << 16];
    size_t len = 0, want = strlen(text);
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    while (clock_boot_ms() < until_ms) {
        turn(&w);
        ssize_t n = recv(fd, bytes + len, sizeof bytes - len, MSG_DONTWAIT);
        if (n <= 0) {
            poll(NULL, 0, 1);
            continue;
        }
        len += (size_t)n;
        if (len >= want && memcmp(bytes + len - want, text, want) == 0)
            return;
        size_t keep = len < want ? len : want;
        memmove(bytes, bytes + len - keep, keep);
        len = keep;
    }
    ck_abort_msg("%s did not come", text);
}

START_TEST(the_first_request_may_come_out_of_the_queue_behind_a_fin)
{
    int fd = client(_i);

    w.rows = 50000; /* more than the kernel takes unread */
    say(fd, "SHOW STATS\nLOCK wait1\n");
    settle(&w);
    shutdown(fd, SHUT_WR);
    settle(&w);
    ck_assert_str_eq(w.heard, "");
    expect_last(fd, "+END 50000\n-CANCELLED wait1\n");
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK wait1\nfinish\nreleased\n");
    close(fd);
}
END_TEST

/* The reset is found by a write outside of conns_flush(): the read behind it sees only an end. */
START_TEST(a_reset_is_not_forgotten_before_the_flush)
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
END_TEST

START_TEST(close_is_a_release)
{
    int fd = client(_i);

    say(fd, "LOCK now\n#1 LOCK wait1\nLOCK wait2\nLOCK wait3\n");
    expect(&w, fd, LOCKED("now"));
    expect_heard(&w, "LOCK now\nLOCK wait1\nLOCK wait2\n");
    close(fd);
    expect_heard(&w, "LOCK now\nLOCK wait1\nLOCK wait2\nfinish\nLOCK wait3\nreleased\n");
    expect_count(&w, 0);
}
END_TEST

/* Where a FIN may be made of a reset on the way: what was asked is answered, and nothing is given back. */
START_TEST(fin_is_a_drop_where_it_breaks)
{
    w.listener.fin_breaks = true;
    int fd = client(_i);

    w.tell_lost = true; /* which a session that is dropped does not hear */
    say(fd, "LOCK wait1\nLOCK now\n#t LOCK wait2\nPING\nUNLOCK now\n");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, "-CANCELLED wait1\n#t -CANCELLED wait2\n" LOCKED("now") "+PONG\n" UNLOCKED("now"));
    expect_end(&w, fd);
    expect_heard(&w, "LOCK wait1\nLOCK wait2\nfinish\nLOCK now\nUNLOCK now\ndropped\n");
    expect_count(&w, 0);
    close(fd);
}
END_TEST

START_TEST(errors_are_a_drop_where_a_fin_breaks)
{
    w.listener.fin_breaks = true;
    int fd = client(_i);

    say(fd, "LOCK now\n");
    expect(&w, fd, LOCKED("now"));
    say(fd, "PING\n");
    settle(&w);
    close(fd); /* with an answer unread: an error, of a Unix socket as well */
    expect_heard(&w, "LOCK now\ndropped\n");
    expect_count(&w, 0);
}
END_TEST

START_TEST(quit_is_a_release_also_where_a_fin_breaks)
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
END_TEST

START_TEST(reset_is_a_drop)
{
    int fd = client_tcp(&w);

    say(fd, "LOCK now\nLOCK wait1\nLOCK now2\n");
    expect(&w, fd, LOCKED("now"));
    reset_close(fd);
    expect_heard(&w, "LOCK now\nLOCK wait1\ndropped\n");
    expect_count(&w, 0);
    ck_assert(answer(&w, "wait1", REPLY_LOCKED)); /* too late: ignored */
    conns_ended(w.conns, 1);
    turn(&w);
}
END_TEST

START_TEST(requests_before_a_reset_are_still_taken)
{
    int fd = client_tcp(&w);

    say(fd, "UNLOCK a\nUNLOCK b\n");
    reset_close(fd);
    expect_heard(&w, "UNLOCK a\nUNLOCK b\ndropped\n");
}
END_TEST

START_TEST(a_reset_behind_a_fin_is_a_release)
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
END_TEST

/* The write learns of it first: errno says which it was. */
START_TEST(a_failed_write_tells_a_reset_from_a_fin)
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
END_TEST

/* A Unix peer that leaves replies unread: the kernel says ECONNRESET. */
START_TEST(unix_errors_are_a_release)
{
    int fd = client_unix(&w);

    say(fd, "LOCK now\nLOCK wait1\nUNLOCK b\n");
    expect_heard(&w, "LOCK now\nLOCK wait1\n");
    turn(&w);
    close(fd);
    if (_i) {
        ck_assert(answer(&w, "wait1", REPLY_BUSY));
        conns_flush(w.conns);
    }
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, _i ? "LOCK now\nLOCK wait1\nUNLOCK b\nfinish\nreleased\n"
                                 : "LOCK now\nLOCK wait1\nfinish\nUNLOCK b\nreleased\n");
}
END_TEST

/* 0: the read finds the reset, 1: the write does. */
START_TEST(a_grant_that_was_not_written_is_told)
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
END_TEST

/* Of a RESUME as of a LOCK. */
START_TEST(a_grant_behind_a_fin_that_was_not_written_is_told)
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
END_TEST

/* Grants until the socket is full: only the last one waits in our buffer. */
static int full_client(void)
{
    int fd = client_unix(&w);
    uint64_t asked = 0;

    do {
        say(fd, "LOCK now\n");
        while (w.requests == asked)
            turn(&w);
        asked = w.requests;
        conns_flush(w.conns);
    } while (conns_idle(w.conns));
    return fd;
}

START_TEST(only_the_grant_that_waits_is_undelivered)
{
    int fd = full_client();

    w.heard_len = 0;
    close(fd);
    expect_heard(&w, "finish\nundelivered\nreleased\n");
    expect_count(&w, 0);
}
END_TEST

START_TEST(the_release_waits_for_the_grant)
{
    int fd = full_client();

    w.heard_len = 0;
    say(fd, "#last LOCK now\n");
    shutdown(fd, SHUT_WR);
    expect_heard(&w, "LOCK now\nfinish\n");
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK now\nfinish\n");
    expect_last(fd, "#last " LOCKED("now"));
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK now\nfinish\nreleased\n");
    close(fd);
}
END_TEST

START_TEST(a_grant_is_written_before_the_release)
{
    int fd = client(_i);

    say(fd, "LOCK now\n");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, LOCKED("now"));
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK now\nfinish\nreleased\n");
    close(fd);
}
END_TEST

/* A client whose queue is full is not read, but its end is noticed. */
static int blocked_client(int kind)
{
    int fd = client(kind);
    char lines[300 * 9 + 1];

    say(fd, "LOCK wait1\n");
    for (int i = 0; i < 300; i++)
        memcpy(lines + 9 * i, "UNLOCK u\n", 10);
    say(fd, lines);
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK wait1\n");
    say(fd, "#t LOCK now\n"); /* not read: even tagged requests stay where they are */
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK wait1\n");
    return fd;
}

START_TEST(fin_is_noticed_while_not_read)
{
    int fd = blocked_client(_i);

    close(fd);
    expect_count(&w, 0);
    ck_assert_int_eq(strncmp(w.heard, "LOCK wait1\nfinish\nUNLOCK u\n", 27), 0);
    ck_assert_uint_eq(w.requests, 302);
    const char *last = strstr(w.heard, "LOCK now\n"); /* whose grant reaches nobody */
    ck_assert_ptr_nonnull(last);
    ck_assert_str_eq(last, "LOCK now\nundelivered\nreleased\n");
}
END_TEST

START_TEST(half_a_close_is_noticed_while_not_read)
{
    int fd = blocked_client(_i);

    shutdown(fd, SHUT_WR);
    expect(&w, fd, "-CANCELLED wait1\n");
    for (int i = 0; i < 300; i++)
        expect(&w, fd, UNLOCKED("u"));
    expect(&w, fd, "#t " LOCKED("now"));
    expect_end(&w, fd);
    ck_assert_uint_eq(w.requests, 302);
    close(fd);
}
END_TEST

START_TEST(reset_is_noticed_while_not_read)
{
    int fd = blocked_client(1);

    reset_close(fd);
    expect_heard(&w, "LOCK wait1\ndropped\n");
    expect_count(&w, 0);
}
END_TEST

/* It stays so: no event spins while nothing happens. */
START_TEST(nothing_spins_while_a_client_is_not_read)
{
    int fd = blocked_client(_i & 1);

    w.late_end = true;
    if (_i & 2) {
        shutdown(fd, SHUT_WR);
        expect(&w, fd, "-CANCELLED wait1\n");
    }
    settle(&w);
    struct timeval tv = {.tv_usec = 50000};
    int64_t start_ms = clock_boot_ms();
    event_base_loopexit(w.base, &tv);
    unsigned wakeups = 0;
    while (!event_base_got_exit(w.base) && wakeups < 50) {
        event_base_loop(w.base, EVLOOP_ONCE);
        conns_flush(w.conns);
        wakeups++;
    }
    ck_assert_uint_lt(wakeups, 10);
    ck_assert_int_ge(clock_boot_ms() - start_ms, 45);
    close(fd);
}
END_TEST

START_TEST(conns_free_closes_all)
{
    int fds[4];

    for (int i = 0; i < 4; i++) {
        fds[i] = client(i & 1);
        say(fds[i], "SHOW LOCKS\nLOCK wait1\n#1 LOCK wait2\n#2 SHOW LOCKS\nhalf");
    }
    w.rows = 1000000;
    turn(&w);
    world_free(&w);
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    setup();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conn_end");
    TCase *t = tcase_create("ends");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_loop_test(t, fin_lets_the_queue_have_its_first_attempt, 0, 2);
    tcase_add_loop_test(t, a_client_that_asked_nothing_leaves_nothing, 0, 2);
    tcase_add_loop_test(t, half_a_line_is_answered_in_its_turn, 0, 2);
    tcase_add_loop_test(t, an_empty_end_is_no_line, 0, 2);
    tcase_add_loop_test(t, the_first_request_may_come_out_of_the_queue_behind_a_fin, 0, 2);
    tcase_add_test(t, a_reset_is_not_forgotten_before_the_flush);
    tcase_add_loop_test(t, close_is_a_release, 0, 2);
    tcase_add_test(t, reset_is_a_drop);
    tcase_add_test(t, requests_before_a_reset_are_still_taken);
    tcase_add_loop_test(t, a_reset_behind_a_fin_is_a_release, 0, 2);
    tcase_add_loop_test(t, a_failed_write_tells_a_reset_from_a_fin, 0, 2);
    tcase_add_loop_test(t, unix_errors_are_a_release, 0, 2);
    tcase_add_loop_test(t, a_grant_that_was_not_written_is_told, 0, 2);
    tcase_add_loop_test(t, a_grant_behind_a_fin_that_was_not_written_is_told, 0, 2);
    tcase_add_test(t, only_the_grant_that_waits_is_undelivered);
    tcase_add_test(t, the_release_waits_for_the_grant);
    tcase_add_loop_test(t, a_grant_is_written_before_the_release, 0, 2);
    tcase_add_loop_test(t, fin_is_noticed_while_not_read, 0, 2);
    tcase_add_loop_test(t, half_a_close_is_noticed_while_not_read, 0, 2);
    tcase_add_test(t, reset_is_noticed_while_not_read);
    tcase_add_loop_test(t, nothing_spins_while_a_client_is_not_read, 0, 4);
    tcase_add_test(t, conns_free_closes_all);
    tcase_add_loop_test(t, fin_is_a_drop_where_it_breaks, 0, 2);
    tcase_add_loop_test(t, errors_are_a_drop_where_a_fin_breaks, 0, 2);
    tcase_add_loop_test(t, quit_is_a_release_also_where_a_fin_breaks, 0, 2);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
