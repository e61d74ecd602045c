/* Clients that read slowly, or not at all. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

static struct world w;

static void setup(void)
{
    world_make(&w);
}

static void teardown(void)
{
    world_free(&w);
}

SETUP(setup, teardown);

T_EACH(a_slow_reader_is_closed, 2)
{
    w.conf.max_output_bytes = 4096;
    world_start(&w);
    int fd = _i ? client_tcp(&w) : client_unix(&w);
    struct notice notice = {.kind = NOTICE_EXPIRING, .name = world_name("a")};
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    say(fd, "LOCK now\n");
    while (conns_count(w.conns) && clock_boot_ms() < until_ms) {
        for (int i = 0; i < 20; i++)
            conns_notice(w.conns, 1, &notice);
        world_turn(&w);
    }
    ck_assert_str_eq(w.heard, "LOCK now\ndropped\n");
    close(fd);
}

enum { PIPELINED = 8000 };

/* Answers are 23 times as long as their requests, and the client reads a little of them in each turn. With _i
 * the client sends a FIN at once. */
T_EACH(a_deep_pipeline_is_slowed_down, 2)
{
    static const char answer[] = "-BADVERB : \"x\" is not a verb; HELP lists them\n";
    static char asked[2 * PIPELINED], bytes[sizeof answer - 1];
    unsigned answers = 0;
    size_t sent = 0, got = 0;
    int64_t until_ms = clock_boot_ms() + PATIENCE_MS;

    w.conf.max_output_bytes = 4096;
    world_start(&w);
    int fd = client_unix(&w);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (size_t i = 0; i < sizeof asked; i += 2)
        memcpy(asked + i, "x\n", 2);
    while (answers < PIPELINED && clock_boot_ms() < until_ms) {
        ssize_t n = sent < sizeof asked ? send(fd, asked + sent, sizeof asked - sent, MSG_NOSIGNAL) : 0;
        sent += n > 0 ? (size_t)n : 0;
        if (n > 0 && sent == sizeof asked && _i)
            shutdown(fd, SHUT_WR);
        world_turn(&w);
        for (int i = 0; i < 50; i++) {
            n = recv(fd, bytes + got, sizeof bytes - got, 0);
            ck_assert_int_ne(n, 0); /* closed */
            got += n > 0 ? (size_t)n : 0;
            if (got < sizeof bytes)
                break;
            ck_assert_int_eq(memcmp(bytes, answer, sizeof bytes), 0);
            answers++;
            got = 0;
        }
    }
    ck_assert_uint_eq(answers, PIPELINED);
    if (_i)
        expect_end(&w, fd);
    close(fd);
    expect_count(&w, 0);
}

/* A client that pipelines and reads nothing has idle_line_timeout to begin reading. Its requests are done
 * only as far as it could read the answers. */
T(who_reads_nothing_is_closed)
{
    static char asked[2 * PIPELINED];
    int64_t start_ms = clock_boot_ms();
    ssize_t n;

    w.conf.max_output_bytes = 4096;
    w.conf.idle_line_timeout_ms = 200;
    world_start(&w);
    int fd = client_unix(&w);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (size_t i = 0; i < sizeof asked; i += 2)
        memcpy(asked + i, "x\n", 2);
    do {
        n = send(fd, asked, sizeof asked, MSG_NOSIGNAL);
        world_turn(&w);
    } while ((n > 0 || errno == EAGAIN) && clock_boot_ms() - start_ms < PATIENCE_MS);
    expect_count(&w, 0);
    ck_assert_int_ge(clock_boot_ms() - start_ms, 200);
    close(fd);
}

T(a_burst_is_no_slow_reader)
{
    w.conf.max_output_bytes = 4096;
    world_start(&w);
    int fd = client_tcp(&w);
    struct notice notice = {.kind = NOTICE_EXPIRING, .name = world_name("a")};

    say(fd, "LOCK now\n");
    expect(&w, fd, LOCKED("now"));
    for (int i = 0; i < 1000; i++)
        conns_notice(w.conns, 1, &notice);
    conns_drain(w.conns);
    ck_assert_uint_eq(read_lines(&w, fd, "!DRAIN"), 1001);
    close(fd);
}

T(a_grant_behind_a_full_socket_is_undelivered)
{
    w.conf.max_output_bytes = 4096;
    world_start(&w);
    int fd = client_unix(&w);
    struct notice notice = {.kind = NOTICE_EXPIRING, .name = world_name("a")};

    say(fd, "LOCK now1\n");
    expect_heard(&w, "LOCK now1\n");
    do {
        conns_notice(w.conns, 1, &notice);
        world_turn(&w);
    } while (conns_idle(w.conns)); /* until the kernel takes no more */
    say(fd, "LOCK now2\n");
    expect_heard(&w, "LOCK now1\nLOCK now2\n");
    for (int i = 0; i < 4096 / 50; i++)
        conns_notice(w.conns, 1, &notice);
    expect_heard(&w, "LOCK now1\nLOCK now2\nundelivered\ndropped\n");
    expect_count(&w, 0);
    close(fd);
}
