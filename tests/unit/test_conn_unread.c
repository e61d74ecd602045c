/* How connections end while they are not read, or while a grant waits to be written. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

static struct world w;

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

/* Grants until the socket is full: only the last grant waits in the daemon's buffer. */
static int full_client(void)
{
    int fd = client_unix(&w);
    uint64_t asked = 0;

    do {
        say(fd, "LOCK now\n");
        while (w.requests == asked)
            world_turn(&w);
        asked = w.requests;
        conns_flush(w.conns);
    } while (conns_idle(w.conns));
    return fd;
}

SETUP(setup, teardown);

T(only_the_grant_that_waits_is_undelivered)
{
    int fd = full_client();

    w.heard_len = 0;
    close(fd);
    expect_heard(&w, "finish\nundelivered\nreleased\n");
    expect_count(&w, 0);
}

T(the_release_waits_for_the_grant)
{
    int fd = full_client();

    w.heard_len = 0;
    say(fd, "#last LOCK now\n");
    shutdown(fd, SHUT_WR);
    expect_heard(&w, "LOCK now\nfinish\n");
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK now\nfinish\n");
    expect_last(&w, fd, "#last " LOCKED("now"));
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK now\nfinish\nreleased\n");
    close(fd);
}

T_EACH(a_grant_is_written_before_the_release, 2)
{
    int fd = client(_i);

    say(fd, "LOCK now\n");
    shutdown(fd, SHUT_WR);
    expect(&w, fd, LOCKED("now"));
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK now\nfinish\nreleased\n");
    close(fd);
}

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
    say(fd, "#t LOCK now\n"); /* the client is not read: even tagged requests stay in the socket */
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK wait1\n");
    return fd;
}

T_EACH(fin_is_noticed_while_not_read, 2)
{
    int fd = blocked_client(_i);

    close(fd);
    expect_count(&w, 0);
    ck_assert_int_eq(strncmp(w.heard, "LOCK wait1\nfinish\nUNLOCK u\n", 27), 0);
    ck_assert_uint_eq(w.requests, 302);
    const char *last = strstr(w.heard, "LOCK now\n"); /* its grant reaches no client */
    ck_assert_ptr_nonnull(last);
    ck_assert_str_eq(last, "LOCK now\nundelivered\nreleased\n");
}

T_EACH(half_a_close_is_noticed_while_not_read, 2)
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

T(reset_is_noticed_while_not_read)
{
    int fd = blocked_client(1);

    reset_close(fd);
    expect_heard(&w, "LOCK wait1\ndropped\n");
    expect_count(&w, 0);
}

/* The loop stays at rest: no event spins while nothing happens. */
T_EACH(nothing_spins_while_a_client_is_not_read, 4)
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
