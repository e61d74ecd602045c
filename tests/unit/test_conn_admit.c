/* Requests that are held back: while w.places are taken, lines stay in their connections, and take turns. */
#include "tests/unit/conn_world.h"
#include "tests/unit/suite.h"

static struct world w;

static void setup(void)
{
    world_make(&w);
    w.places = 1;
    world_start(&w);
}

static void teardown(void)
{
    world_free(&w);
}

/* Answers the request that is under way, and lets the next one take its place. */
static void next(const char *name)
{
    ck_assert_msg(answer(&w, name, REPLY_BUSY), "%s is not under way; heard:\n%s", name, w.heard);
    world_turn(&w);
}

static void begun(const char *text)
{
    settle(&w);
    expect_heard(&w, text);
}

/* The client's lines are all read, or held back. */
static void says(int fd, const char *text)
{
    say(fd, text);
    settle(&w);
}

SETUP(setup, teardown);

T(a_line_without_a_place_stays_in_its_connection)
{
    int fd = client_tcp(&w);
    say(fd, "#1 LOCK wait1\n#2 LOCK wait2\n#3 PING\n");
    begun("LOCK wait1\n");
    ck_assert(!conns_idle(w.conns));
    next("wait1");
    begun("LOCK wait1\nLOCK wait2\n");
    next("wait2");
    expect(&w, fd, "#1 -BUSY wait1\n#3 +PONG ready=1\n#2 -BUSY wait2\n");
    ck_assert(conns_idle(w.conns));
    close(fd);
}

T(an_untagged_line_is_held_back_in_its_order)
{
    int fd = client_tcp(&w), other = client_unix(&w);
    say(fd, "LOCK wait1\nLOCK wait2\nLOCK wait3\n");
    begun("LOCK wait1\n");
    say(other, "LOCK wait4\n");
    begun("LOCK wait1\n");
    next("wait1"); /* wait4 has waited longer than wait2 could have */
    next("wait4");
    next("wait2");
    next("wait3");
    expect_heard(&w, "LOCK wait1\nLOCK wait4\nLOCK wait2\nLOCK wait3\n");
    close(fd);
    close(other);
}

T(peers_take_turns_and_so_do_their_connections)
{
    int a = client_tcp(&w), b = client_tcp(&w), other = client_unix(&w);
    says(a, "#0 LOCK wait0\n#1 LOCK waita1\n#2 LOCK waita2\n");
    says(b, "#1 LOCK waitb1\n#2 LOCK waitb2\n");
    says(other, "#1 LOCK waitc1\n#2 LOCK waitc2\n");
    const char *order[] = {"wait0", "waita1", "waitc1", "waitb1", "waitc2", "waita2", "waitb2"};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        next(order[i]);
    close(a);
    close(b);
    close(other);
}

T(who_keeps_a_lock_comes_first_but_for_one_turn_in_four)
{
    int a = client_tcp(&w), b = client_tcp(&w), c = client_tcp(&w);
    says(a, "LOCK wait0\n");
    says(b, "#1 LOCK waitb1\n#2 LOCK waitb2\n");
    char lines[1024];
    size_t len = 0;
    for (unsigned i = 1; i <= 6; i++)
        len += (size_t)snprintf(lines + len, sizeof lines - len, "#%u EXTEND waitc%u token=%040u\n", i, i, i);
    says(c, lines);
    const char *order[] = {"wait0",  "waitc1", "waitc2", "waitc3", "waitb1",
                           "waitc4", "waitc5", "waitc6", "waitb2"};
    for (unsigned i = 0; i < sizeof order / sizeof *order; i++)
        next(order[i]);
    close(a);
    close(b);
    close(c);
}

/* Its own requests hold it back, and nobody else. */
T(a_peer_over_its_share_does_not_stand_before_others)
{
    w.places = 2;
    w.share = true;
    int local = client_unix(&w), other = client_tcp(&w);
    say(local, "#1 LOCK wait1\n#2 LOCK wait2\n");
    begun("LOCK wait1\n");
    say(other, "LOCK wait3\n");
    begun("LOCK wait1\nLOCK wait3\n");
    next("wait3");
    begun("LOCK wait1\nLOCK wait3\n");
    next("wait1");
    begun("LOCK wait1\nLOCK wait3\nLOCK wait2\n");
    close(local);
    close(other);
}

T(the_end_of_a_client_that_is_held_back_is_noticed)
{
    int a = client_tcp(&w), reset = client_tcp(&w), closed = client_tcp(&w);
    says(a, "LOCK wait1\n");
    say(reset, "LOCK job\n");
    says(closed, "LOCK wait2\n");
    reset_close(reset);
    expect_count(&w, 2);
    close(closed);
    settle(&w);
    next("wait1");
    expect_heard(
        &w, "LOCK wait1\nLOCK wait2\nfinish\nreleased\n"); /* what was sent is done, what was reset is not */
    close(a);
}
