/* Lines, their order, tags, and the requests that conn answers itself. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

static struct world w;
static int fd;

static void setup(void)
{
    world_make(&w);
    world_start(&w);
    fd = client_unix(&w);
}

static void teardown(void)
{
    close(fd);
    world_free(&w);
}

SETUP(setup, teardown);

T(ping_tells_readiness)
{
    w.unready = true;
    say(fd, "PING\n#a PING\n");
    expect(&w, fd, "+PONG ready=0\n#a +PONG ready=0\n");
    w.unready = false;
    say(fd, "PING\n");
    expect(&w, fd, "+PONG ready=1\n");
}

T(answers_are_counted_by_verb_and_code)
{
    const struct counts *counts = conns_counts(w.conns);
    say(fd, "PING\nLOCK now1\nFOO\nSHOW LOCKS\nHELLO 1\n");
    expect_last(&w, fd, " behind=0 features=lost,keep,resume-wait,data,watch\n");
    ck_assert_uint_eq(counts->answers[VERB_PING][REPLY_PONG], 1);
    ck_assert_uint_eq(counts->answers[VERB_LOCK][REPLY_LOCKED], 1);
    ck_assert_uint_eq(counts->answers[VERB_SHOW][REPLY_OK], 1);
    ck_assert_uint_eq(counts->answers[VERB_HELLO][REPLY_HELLO], 1);
    ck_assert_uint_eq(counts->refused[REPLY_BADVERB], 1);
    uint64_t timed = 0;
    for (unsigned i = 0; i <= HISTOGRAM_BOUNDS; i++)
        timed += counts->seconds[VERB_LOCK].counts[i];
    ck_assert_uint_eq(timed, 1);
    ck_assert_uint_eq(counts->waited.sum_us, counts->seconds[VERB_LOCK].sum_us);
}

T(durations_fall_into_their_bucket)
{
    struct histogram h = {.sum_us = 0};
    const int64_t us[] = {-5, 0, 128, 129, 256, 257, 1024, 1025, 1 << 30, 2147483648, 2147483649};
    const unsigned bucket[] = {0, 0, 0, 1, 1, 2, 3, 4, 23, 24, 25};
    for (unsigned i = 0; i < sizeof us / sizeof us[0]; i++) {
        uint64_t before = h.counts[bucket[i]];
        histogram_count(&h, us[i]);
        ck_assert_uint_eq(h.counts[bucket[i]], before + 1);
    }
    ck_assert_uint_eq(h.sum_us,
                      128 + 129 + 256 + 257 + 1024 + 1025 + (1 << 30) + 2 * UINT64_C(2147483648) + 1);
    ck_assert_uint_eq(histogram_bound_us(HISTOGRAM_BOUNDS - 1), 2147483648);
}

T(pipelined_requests_are_answered_in_order)
{
    say(fd, "PING\nLOCK now1\r\n  \n\r\nUNLOCK now1\nFOO\nPING\n");
    expectf(&w, fd, "+PONG ready=1\n" LOCKED("now1") UNLOCKED("now1") "%s+PONG ready=1\n", refused("FOO"));
    ck_assert_str_eq(w.heard, "LOCK now1\nUNLOCK now1\n");
    ck_assert(conns_idle(w.conns));
}

T(untagged_requests_wait_for_the_one_before)
{
    say(fd, "LOCK wait1\nPING\nBAD\nLOCK now\nUNLOCK wait2\nPING\n");
    settle(&w);
    ck_assert_str_eq(w.heard, "LOCK wait1\n");
    ck_assert(!conns_idle(w.conns));
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    ck_assert_str_eq(w.heard, "LOCK wait1\n"); /* nothing starts within conns_reply() */
    expectf(&w, fd, LOCKED("wait1") "+PONG ready=1\n%s" LOCKED("now"), refused("BAD"));
    ck_assert_str_eq(w.heard, "LOCK wait1\nLOCK now\nUNLOCK wait2\n");
    ck_assert(answer(&w, "wait2", REPLY_UNLOCKED));
    expect(&w, fd, UNLOCKED("wait2") "+PONG ready=1\n");
}

T(tagged_requests_start_at_once)
{
    say(fd, "LOCK wait1\n#a LOCK wait2\n#b LOCK now\n#c PING\n#d NOPE\nPING\n");
    expectf(&w, fd, "#b " LOCKED("now") "#c +PONG ready=1\n%s", refused("#d NOPE"));
    ck_assert(answer(&w, "wait2", REPLY_LOCKED));
    expect(&w, fd, "#a " LOCKED("wait2"));
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    expect(&w, fd, LOCKED("wait1") "+PONG ready=1\n");
}

T(a_live_tag_cannot_be_used_twice)
{
    say(fd, "#x LOCK wait1\n#x PING\n#x LOCK now\n");
    expect(&w, fd,
           "-BADTAG tag=x : a request with this tag is not answered yet\n"
           "-BADTAG tag=x : a request with this tag is not answered yet\n");
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    expect(&w, fd, "#x " LOCKED("wait1"));
    say(fd, "#x LOCK now\n");
    expect(&w, fd, "#x " LOCKED("now"));
    say(fd, "#no/tag PING\n");
    expect(&w, fd, refused("#no/tag PING"));
}

T(cancel_overtakes)
{
    say(fd, "LOCK wait1\nPING\nCANCEL\n");
    expect(&w, fd, "-CANCELLED wait1\n+OK\n+PONG ready=1\n");
    say(fd, "LOCK wait1\nLOCK now\nCANCEL\nPING\n"); /* PING is still behind LOCK now */
    expect(&w, fd, "-CANCELLED wait1\n+OK\n" LOCKED("now") "+PONG ready=1\n");
    say(fd,
        "#1 LOCK wait2\nLOCK wait3\nLOCK now\n#2 CANCEL 1\n#3 CANCEL 1\n#4 CANCEL 3\n#5 CANCEL\nCANCEL\n");
    expect(&w, fd,
           "#1 -CANCELLED wait2\n#2 +OK\n"
           "#3 -BADTAG : nothing waits there, or its grant was already written\n"
           "#4 -BADTAG : nothing waits there, or its grant was already written\n"
           "-CANCELLED wait3\n#5 +OK\n"
           "-BADTAG : nothing waits there, or its grant was already written\n" LOCKED("now"));
    say(fd, "UNLOCK wait4\nCANCEL\n"); /* not a LOCK */
    expect(&w, fd, "-BADTAG : nothing waits there, or its grant was already written\n");
    ck_assert(answer(&w, "wait4", REPLY_UNLOCKED));
    expect(&w, fd, UNLOCKED("wait4"));
}

T(quit_lets_the_queue_have_its_first_attempt)
{
    w.tell_lost = true;
    say(fd, "LOCK wait1\nLOCK now\nLOCK wait2\nPING\n#q QUIT\nPING\nLOCK now2\n");
    expect(&w, fd,
           "-CANCELLED wait1\n" LOCKED(
               "now") "-CANCELLED wait2\n+PONG ready=1\n"
                      "!LOST held token=0000000000000000000000000000000000000000 reason=closed\n#q +BYE\n");
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "LOCK wait1\nfinish\nLOCK now\nLOCK wait2\nreleased\n");
    expect_count(&w, 0);
}

T(quit_alone)
{
    say(fd, "quit\n");
    expect(&w, fd, "+BYE\n");
    expect_end(&w, fd);
    ck_assert_str_eq(w.heard, "");
}

T(bye_waits_for_the_last_word)
{
    w.late_end = true;
    say(fd, "LOCK now\nQUIT\n");
    expect(&w, fd, LOCKED("now"));
    expect_heard(&w, "LOCK now\nfinish\nreleased\n");
    struct notice lost = {.kind = NOTICE_LOST, .reason = LOST_CLOSED, .name = world_name("now")};
    conns_notice(w.conns, 1, &lost);
    expect(&w, fd, "!LOST now token=0000000000000000000000000000000000000000 reason=closed\n");
    ck_assert_uint_eq(conns_count(w.conns), 1);
    conns_ended(w.conns, 1);
    expect(&w, fd, "+BYE\n");
    expect_end(&w, fd);
}

T(hello_and_events)
{
    struct notice renewed = {.kind = NOTICE_RENEWED, .name = world_name("a"), .valid_ms = 1, .until_ms = 2};
    char line[256] = "";

    ck_assert_uint_eq(conns_client_word(w.conns, 1)->len, 0);
    conns_notice(w.conns, 1, &renewed); /* the client did not ask for this event, and is not told */
    say(fd, "#h HELLO 1 client=worker-3 events=renewed\nHELLO 2\n");
    while (!strchr(line, '\n')) {
        world_turn(&w);
        recv(fd, line, sizeof line - 1, MSG_DONTWAIT);
    }
    ck_assert_int_eq(strncmp(line, "#h +HELLO proto=1 server=redlockd/0.1.0 session=1 now=", 54), 0);
    const char *second = strchr(line, '\n') + 1;
    ck_assert_int_eq(strncmp(second, "-UNSUPPORTED proto=1", 20), 0);
    ck_assert_uint_eq(conns_client_word(w.conns, 1)->len, 8);
    ck_assert_int_eq(memcmp(conns_client_word(w.conns, 1)->text, "worker-3", 8), 0);
    conns_notice(w.conns, 1, &renewed);
    conns_notice(w.conns, 99, &renewed);
    conns_drain(w.conns);
    expect(&w, fd, "!RENEWED a token=0000000000000000000000000000000000000000 valid=1 until=2\n!DRAIN\n");
}

T(lines_come_in_any_pieces)
{
    const char *text = "#7 LOCK now1\r\nPING\nUNLOCK now1\n";

    for (const char *at = text; *at; at++) {
        say_bytes(fd, at, 1);
        world_turn(&w);
    }
    expect(&w, fd, "#7 " LOCKED("now1") "+PONG ready=1\n" UNLOCKED("now1"));
}

T(a_line_has_1024_bytes_at_most)
{
    char line[3001];

    memset(line, ' ', sizeof line);
    memcpy(line, "PING", 4);
    line[1023] = '\n';
    say_bytes(fd, line, 1024);
    expect(&w, fd, "+PONG ready=1\n");
    line[1023] = ' ';
    line[1024] = '\n';
    say_bytes(fd, line, 1025);
    expect(&w, fd, "-TOOLONG : a line has at most 1024 bytes with its end\n");
    line[1023] = '\r';
    say_bytes(fd, line, 1025);
    expect(&w, fd, "-TOOLONG : a line has at most 1024 bytes with its end\n");
    line[1023] = line[1024] = ' ';
    line[3000] = '\n';
    for (size_t at = 0; at < sizeof line;) { /* answered once, whatever its pieces */
        size_t n = sizeof line - at < 700 ? sizeof line - at : 700;
        say_bytes(fd, line + at, n);
        world_turn(&w);
        at += n;
    }
    say(fd, "PING\n");
    expect(&w, fd, "-TOOLONG : a line has at most 1024 bytes with its end\n+PONG ready=1\n");
}

T(a_long_line_is_answered_in_its_turn)
{
    char line[1200];

    memset(line, 'x', sizeof line);
    line[sizeof line - 1] = '\n';
    say(fd, "LOCK wait1\n");
    say_bytes(fd, line, sizeof line);
    say(fd, "PING\n");
    settle(&w);
    ck_assert(answer(&w, "wait1", REPLY_LOCKED));
    expect(&w, fd, LOCKED("wait1") "-TOOLONG : a line has at most 1024 bytes with its end\n+PONG ready=1\n");
}

T(bad_bytes_are_refused_and_the_connection_goes_on)
{
    char line[256] = "";

    say_bytes(fd, "PI\0NG\nPING\n", 11);
    while (!strstr(line, "+PONG ready=1\n")) {
        world_turn(&w);
        size_t len = strlen(line);
        recv(fd, line + len, sizeof line - 1 - len, MSG_DONTWAIT);
    }
    ck_assert_int_eq(strncmp(line, "-BADLINE", 8), 0);
}

T(sessions_are_numbered_from_1_and_never_again)
{
    int second = client_unix(&w);
    char line[512] = "";

    close(second);
    expect_count(&w, 1);
    second = client_unix(&w);
    say(second, "HELLO 1\n");
    while (!strchr(line, '\n')) {
        world_turn(&w);
        recv(second, line, sizeof line - 1, MSG_DONTWAIT);
    }
    ck_assert_ptr_null(strstr(line, "session=2 "));
    ck_assert_ptr_nonnull(strstr(line, "session=10002 "));
    close(second);
}
