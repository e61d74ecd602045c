/* Limits: the cost of a client, and the clients that are closed for it. */
#include <malloc.h>
#include <sys/resource.h>

#include "tests/unit/conn_world.h"
#include "tests/unit/mallocs.h"
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

/* ---- lines ---- */

T(half_a_line_has_its_time)
{
    w.conf.idle_line_timeout_ms = 60;
    world_start(&w);
    int fd = client_tcp(&w), other = client_tcp(&w), endless = client_tcp(&w);
    char line[2000];

    say(fd, "LOCK now\nhalf");
    say(other, "PING\n");
    memset(line, 'x', sizeof line);
    int64_t start_ms = clock_boot_ms();
    expect(&w, fd, LOCKED("now"));
    expect(&w, other, "+PONG ready=1\n");
    say(endless, "PING\n");
    say_bytes(endless, line, sizeof line);
    while (conns_count(w.conns) > 1 &&
           clock_boot_ms() < start_ms + PATIENCE_MS) { /* more bytes do not help */
        send(fd, "x", 1, MSG_NOSIGNAL);
        send(endless, "x", 1, MSG_NOSIGNAL);
        world_turn(&w);
        poll(NULL, 0, 1);
    }
    expect_heard(&w, "LOCK now\ndropped\n");
    ck_assert_int_ge(clock_boot_ms() - start_ms, 60);
    expect_count(&w, 1);
    expect_end(&w, fd);
    expect(&w, endless, "+PONG ready=1\n-TOOLONG : a line has at most 1024 bytes with its end\n");
    expect_end(&w, endless);
    say(other, "PI"); /* a whole line in time starts the clock anew */
    for (int i = 0; i < 20; i++) {
        world_turn(&w);
        poll(NULL, 0, 10);
        say(other, "NG\nPI");
        expect(&w, other, "+PONG ready=1\n");
    }
    close(fd);
    close(other);
    close(endless);
}

T_EACH(foreign_protocols_get_no_answer, 3)
{
    static const char *const first[] = {"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "\x16\x03\x01\x02",
                                        "POST /x HTTP/1.0\n"};
    world_start(&w);
    int fd = client_tcp(&w);

    for (const char *at = first[_i]; *at && _i != 1; at++) { /* in pieces */
        if (send(fd, at, 1, MSG_NOSIGNAL) < 0)
            break;
        world_turn(&w);
    }
    if (_i == 1)
        say(fd, first[1]);
    expect_end(&w, fd);
    expect_count(&w, 0);
    ck_assert_str_eq(w.heard, "");
    fd = client_tcp(&w); /* only the first line counts */
    say(fd, "PING\n");
    expect(&w, fd, "+PONG ready=1\n");
    close(fd);
}

/* A line that is longer than the protocol allows, and then lines of the sender's choice, cut
 * anywhere. */
T(a_long_first_line_ends_it)
{
    char line[3000 + 16];

    world_start(&w);
    memset(line, 'x', 3000);
    memcpy(line + 3000, "\nLOCK now\n", 11);
    for (size_t cut = 1; cut < 3010; cut += 7) {
        int fd = client_tcp(&w);
        send(fd, line, cut, MSG_NOSIGNAL);
        world_turn(&w);
        send(fd, line + cut, 3010 - cut, MSG_NOSIGNAL);
        expect_end(&w, fd);
        expect_count(&w, 0);
    }
    ck_assert_str_eq(w.heard, "");
}

/* A header ends the connection at any time, also behind requests that wait for their turn, and in a line
 * that is too long. */
T(a_header_ends_it)
{
    char text[2000] = "\nCookie: ";

    memset(text + strlen(text), 'x', sizeof text - 20);
    memcpy(text + sizeof text - 11, "\nLOCK now\n", 11);
    world_start(&w);
    int fd = client_tcp(&w);
    say(fd, "PING\nFOO\nHost: a\nLOCK now\n");
    expect_end(&w, fd);
    fd = client_tcp(&w);
    say(fd, "LOCK wait1\nPING\nHost: a\nLOCK now\n");
    expect_end(&w, fd);
    expect_heard(&w, "LOCK wait1\ndropped\n");
    fd = client_tcp(&w);
    say(fd, "PING\n");
    say_bytes(fd, text, sizeof text);
    expect_end(&w, fd);
    fd = client_unix(&w); /* read behind the client's end: requests before the header are still done */
    say(fd, "LOCK wait2\nUNLOCK a\nHost: a\nLOCK now\n");
    shutdown(fd, SHUT_WR);
    expect_count(&w, 0);
    close(fd);
    ck_assert_ptr_null(strstr(w.heard, "now"));
}

/* ---- the log ---- */

/* The log lines about dropped clients; *dropped: the number of clients in them. */
static unsigned lines_of_drops(FILE *log, unsigned *dropped)
{
    char line[512];
    unsigned lines = 0;

    *dropped = 0;
    rewind(log);
    while (fgets(line, sizeof line, log)) {
        const char *more = strstr(line, "event=clients_dropped more=");
        bool one = strstr(line, "event=client_dropped session=") != NULL;
        ck_assert_msg(one || more, "%s", line);
        *dropped += one ? 1 : (unsigned)atoi(more + strlen("event=clients_dropped more="));
        lines++;
    }
    return lines;
}

T(many_resets_are_one_line_a_second)
{
    enum { RESETS = 200 };
    FILE *log = tmpfile();
    int old_stderr = dup(STDERR_FILENO);
    unsigned dropped = 0, lines;

    world_start(&w);
    log_set_level(LOG_LEVEL_INFO);
    dup2(fileno(log), STDERR_FILENO);
    int64_t start_ms = clock_boot_ms();
    for (int i = 0; i < RESETS; i++) {
        int fd = client_tcp(&w);
        reset_close(fd);
        world_turn(&w);
    }
    expect_count(&w, 0);
    do { /* also the last lines, though no other client comes */
        world_turn(&w);
        poll(NULL, 0, 10);
        lines = lines_of_drops(log, &dropped);
    } while (dropped < RESETS && clock_boot_ms() - start_ms < PATIENCE_MS);
    int64_t took_ms = clock_boot_ms() - start_ms;
    dup2(old_stderr, STDERR_FILENO);
    close(old_stderr);
    fclose(log);
    ck_assert_uint_eq(dropped, RESETS);
    ck_assert_int_le(lines, took_ms / 1000 + 1);
}

/* ---- many requests ---- */

T(a_flood_is_read_as_fast_as_it_is_answered)
{
    world_start(&w);
    int fd = client_unix(&w);
    static char flood[5 * 20000];

    fcntl(fd, F_SETFL, O_NONBLOCK);
    for (size_t i = 0; i < sizeof flood; i += 5)
        memcpy(flood + i, "PING\n", 5);
    say(fd, "LOCK wait1\n");
    size_t sent = 0;
    for (int i = 0; i < 1000; i++) { /* more than our kernel buffers take */
        ssize_t n = send(fd, flood + sent % 5, sizeof flood - 5, MSG_NOSIGNAL);
        sent += n > 0 ? (size_t)n : 0;
        world_turn(&w);
    }
    ck_assert_uint_lt(sent, 1 << 20);
    ck_assert_str_eq(w.heard, "LOCK wait1\n");
    ck_assert_uint_lt(mallinfo2().uordblks, 1 << 20);
    answer(&w, "wait1", REPLY_BUSY);
    expect(&w, fd, "-BUSY wait1\n");
    for (int i = 0; i < 100; i++)
        expect(&w, fd, "+PONG ready=1\n");
    close(fd);
    expect_count(&w, 0);
}

T(tagged_requests_are_bounded)
{
    char line[64];

    w.conf.max_waits_per_client = 2;
    world_start(&w);
    int fd = client_unix(&w);
    for (int i = 0; i < 66; i++) {
        snprintf(line, sizeof line, "#%d LOCK wait%d\n", i, i);
        say(fd, line);
        world_turn(&w);
    }
    say(fd, "#more LOCK now\n");
    expect(&w, fd, "#more -LIMIT limit=max_waits_per_client\n");
    ck_assert(answer(&w, "wait0", REPLY_LOCKED));
    say(fd, "#0 LOCK now\n");
    expect(&w, fd, "#0 " LOCKED("wait0") "#0 " LOCKED("now"));
    close(fd);
}

T(max_clients_is_told)
{
    w.conf.max_clients = 2;
    world_start(&w);
    int a = client_tcp(&w), b = client_tcp(&w), c = client_tcp(&w);
    struct conns_stats stats;

    expect(&w, c, "-LIMIT limit=max_clients\n");
    expect_end(&w, c);
    close(a);
    expect_count(&w, 1);
    a = client_tcp(&w);
    say(a, "PING\n");
    expect(&w, a, "+PONG ready=1\n");
    conns_stats(w.conns, &stats);
    ck_assert_uint_eq(stats.clients_accepted, 3);
    ck_assert_uint_eq(stats.clients_refused, 1);
    ck_assert_uint_eq(stats.clients, 2);
    ck_assert_uint_eq(stats.lines, 1);
    close(a);
    close(b);
    close(c);
}

/* ---- memory ---- */

T(idle_clients_are_cheap)
{
    enum { CLIENTS = 1000 };
    static int fds[CLIENTS];
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    world_start(&w);
    w.late_end = true;
    close(client_unix(&w));
    expect_count(&w, 0);
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < CLIENTS; i++) {
        fds[i] = client_unix(&w);
        say(fds[i], "HELLO 1 client=idle\r\nLOCK now\nUNLOCK now\n");
        world_turn(&w);
    }
    for (int i = 0; i < CLIENTS; i++)
        say(fds[i], "PI");
    world_turn(&w);
    for (int i = 0; i < CLIENTS; i++)
        say(fds[i], "NG\n");
    settle(&w);
    ck_assert_uint_eq(conns_count(w.conns), CLIENTS);
    ck_assert_uint_eq(w.requests, 2 * CLIENTS);
    struct mallinfo2 after = mallinfo2();
    double each = (double)(after.uordblks + after.hblkhd - before.uordblks - before.hblkhd) / CLIENTS;
#ifdef COUNTS_MALLOC
    printf("an idle client costs %.0f bytes\n", each);
    ck_assert_double_gt(each, 100); /* otherwise nothing was measured */
    ck_assert_double_le(each, 2048);
#else
    (void)each;
#endif
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
}

static unsigned long mallocs_of_turn(void)
{
#ifdef COUNTS_MALLOC
    unsigned long before = mallocs;
    world_turn(&w);
    return mallocs - before;
#else
    world_turn(&w);
    return 0;
#endif
}

T(requests_ask_malloc_for_nothing)
{
    world_start(&w);
    int fd = client_unix(&w);
    char bytes[4096];
    unsigned long asked = 0;

    for (int round = 0; round < 1100; round++) {
        say(fd, "LOCK now\nUNLOCK now\n#1 LOCK wait1\nLOCK wait2\nPING\nLOCK now2\nSHOW STATS\nCAN");
        unsigned long n = mallocs_of_turn();
        say(fd, "CEL 1\n");
        n += mallocs_of_turn();
        answer(&w, "wait2", REPLY_LOCKED);
        n += mallocs_of_turn();
        ck_assert_int_gt(recv(fd, bytes, sizeof bytes, MSG_DONTWAIT), 250);
        w.heard_len = 0;
        if (round >= 100)
            asked += n;
    }
    ck_assert_uint_eq(asked, 0);
    ck_assert_uint_eq(w.requests, 6 * 1100);
    close(fd);
}
