/* Lists, whose rows are made as the client reads them. */
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

T_EACH(lists_are_made_as_the_client_reads, 4)
{
    w.conf.max_output_bytes = 4096;
    w.rows = 20000;
    world_start(&w);
    int fd = _i & 1 ? client_tcp(&w) : client_unix(&w);

    say(fd, "SHOW LOCKS\nPING\n#t PING\n");
    if (_i & 2)
        shutdown(fd, SHUT_WR); /* then only edges tell that it goes on */
    settle(&w);
    uint64_t made = w.rows_made;
    ck_assert_uint_lt(made, _i & 1 ? 20000 : 4000);
    settle(&w);
    if (!(_i & 1))
        ck_assert_uint_eq(w.rows_made, made);
    ck_assert_uint_eq(read_lines(&w, fd, "+PONG ready=1"), 20003); /* with +END, #t +PONG and the last */
    ck_assert_uint_eq(w.rows_made, 20000);
    if (_i & 2)
        expect_end(&w, fd);
    close(fd);
    expect_count(&w, 0);
}

/* WHO is answered when the handler knows, and what stands behind it waits for that. */
T(lines_of_the_handler)
{
    w.rows = 2;
    world_start(&w);
    int fd = client_unix(&w);
    say(fd, "#1 WHO job\nBREAK job slot=3\nWHO wait\nPING\n#2 PING\n#3 CANCEL\n");
    expect(&w, fd,
           "#1 * row=0\n#1 * row=1\n#1 +END 2\n* row=0\n* row=1\n+END 2\n#2 +PONG ready=1\n"
           "#3 -BADTAG : nothing waits there, or its grant was already written\n");
    ck_assert_str_eq(w.heard, "WHO job\nBREAK job\nWHO wait\nCANCEL \n");
    w.rows = 0;
    look_up_answer(&w);
    expect(&w, fd, "+END 0\n+PONG ready=1\n");
    look_up_answer(&w); /* it is answered already */
    say(fd, "WHO wait-again\nQUIT\n");
    settle(&w);
    look_up_answer(&w);
    expect(&w, fd, "+END 0\n+BYE\n");
    expect_end(&w, fd);
    look_up_answer(&w);
    close(fd);
    expect_count(&w, 0);
}

/* A client that has said nothing but WHO is no session of the handler's. */
T(a_client_that_only_looks)
{
    world_start(&w);
    int fd = client_tcp(&w);
    say(fd, "WHO wait\n");
    expect_heard(&w, "WHO wait\n");
    reset_close(fd);
    expect_count(&w, 0);
    look_up_answer(&w);
    ck_assert_str_eq(w.heard, "WHO wait\n");
}

T(lists_come_one_after_the_other)
{
    w.rows = 2;
    world_start(&w);
    int fd = client_unix(&w);
    say(fd, "#1 SHOW STATS\nSHOW LOCKS\n#2 SHOW NODES\n");
    const char *dots = "........................................................................";
    expectf(&w, fd,
            "#1 * show=4 row=0 padding=%s\n#1 * show=4 row=1 padding=%s\n#1 +END 2\n"
            "* show=0 row=0 padding=%s\n* show=0 row=1 padding=%s\n+END 2\n"
            "#2 * show=3 row=0 padding=%s\n#2 * show=3 row=1 padding=%s\n#2 +END 2\n",
            dots, dots, dots, dots, dots, dots);
    w.rows = 1000000;
    char lines[17 * 16] = "";
    for (int i = 0; i < 17; i++)
        snprintf(lines + strlen(lines), 16, "#%c SHOW LOCKS\n", 'a' + i);
    say(fd, lines);
    expect(&w, fd, "#q -LIMIT limit=max_waits_per_client\n#a * show=0 row=0 ");
    for (int i = 0; i < 100; i++)
        world_turn(&w);
    ck_assert_uint_lt(w.rows_made, 10000);
    close(fd); /* in the middle of the list */
    expect_count(&w, 0);
}

/* Each of these requests is little work, but thousands fit into one read. */
T_EACH(many_short_lists_leave_turns_to_others, 4)
{
    enum { LISTS = 300 };
    char lines[LISTS * sizeof "#t SHOW LOCKS\n" + sizeof "PING\n"] = "";

    w.rows = 1;
    world_start(&w);
    int fd = _i & 1 ? client_tcp(&w) : client_unix(&w);
    for (int i = 0; i < LISTS; i++)
        strcat(lines, i % 30 ? "SHOW LOCKS\n" : "#t SHOW LOCKS\n");
    strcat(lines, "PING\n");
    say(fd, lines);
    if (_i & 2)
        shutdown(fd, SHUT_WR); /* then only edges tell that it goes on */
    for (int i = 0; i < 20; i++) {
        uint64_t made = w.rows_made;
        world_turn(&w);
        ck_assert_uint_le(w.rows_made, made + 1);
    }
    ck_assert_uint_lt(w.rows_made, LISTS);
    ck_assert_uint_gt(read_lines(&w, fd, "+PONG ready=1"), 2 * (LISTS - LISTS / 30));
    ck_assert_uint_le(w.rows_made, LISTS);
    close(fd);
    expect_count(&w, 0);
}

T(help_and_clients)
{
    char text[1024] = "", want[512];

    world_start(&w);
    int fd = client_unix(&w), other = client_tcp(&w);
    struct sockaddr_in address;
    socklen_t len = sizeof address;
    ck_assert_int_eq(getsockname(other, (struct sockaddr *)&address, &len), 0);
    unsigned rows = 0;
    while (line_help(rows))
        rows++;
    say(fd, "HELP\nPING\n");
    ck_assert_uint_eq(read_lines(&w, fd, "+PONG ready=1"), rows + 2);

    say(other, "HELLO 1 client=me\nLOCK now\n");
    expect_heard(&w, "LOCK now\n");
    say(fd, "#s SHOW CLIENTS\n");
    while (!strstr(text, "+END 2\n")) {
        size_t have = strlen(text);
        world_turn(&w);
        recv(fd, text + have, sizeof text - 1 - have, MSG_DONTWAIT);
    }
    snprintf(want, sizeof want,
             "#s * session=1 address=unix:pid=%ld client= locks=0 waits=0 idle=", (long)getpid());
    ck_assert_int_eq(strncmp(text, want, strlen(want)), 0);
    ck_assert_ptr_nonnull(strstr(text, " out=0\n"));
    snprintf(want, sizeof want, "\n#s * session=2 address=127.0.0.1:%u client=me locks=3 waits=4 idle=",
             ntohs(address.sin_port));
    ck_assert_ptr_nonnull(strstr(text, want));
    close(fd);
    close(other);
}

/* A client that asks for much, closes its side and reads nothing. */
T_EACH(a_closing_client_that_does_not_read_has_its_time, 4)
{
    w.conf.idle_line_timeout_ms = 60;
    w.rows = 1000000;
    world_start(&w);
    int fd = _i & 1 ? client_tcp(&w) : client_unix(&w);

    say(fd, _i & 2 ? "LOCK now\n#1 SHOW LOCKS\nQUIT\n" : "LOCK now\n#1 SHOW LOCKS\n");
    if (!(_i & 2))
        shutdown(fd, SHUT_WR);
    expect_heard(&w, "LOCK now\nfinish\nreleased\n");
    expect_count(&w, 0);
    close(fd);
}

/* Nothing asks for them again and again meanwhile, and a client that leaves is not waited for. */
T_EACH(rows_that_come_later, 4)
{
    w.rows = 2;
    w.rows_later = true;
    world_start(&w);
    int fd = _i & 1 ? client_tcp(&w) : client_unix(&w), gone = client_unix(&w);

    say(fd, "SHOW DAEMONS\n#t PING\n");
    say(gone, "SHOW DAEMONS\n");
    if (_i & 2)
        shutdown(fd, SHUT_WR);
    expect(&w, fd, "#t +PONG ready=1\n");
    settle(&w);
    ck_assert_uint_eq(w.rows_asked, 2);
    reset_close(gone);
    settle(&w);
    conns_rows_known(w.conns); /* but not yet */
    settle(&w);
    w.rows_later = false;
    conns_rows_known(w.conns);
    ck_assert_uint_eq(read_lines(&w, fd, "+END 2"), 3);
    if (_i & 2)
        expect_end(&w, fd);
    close(fd);
    expect_count(&w, 0);
}
