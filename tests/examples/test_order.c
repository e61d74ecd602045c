/* The supplier, played by this test, delivers each order that it hears and does not refuse. So it must not
 * hear such an order again. */
#include "tests/examples/job.h"
#include "tests/integ/command.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLICKS = 10, PLACED = 0, NOT_PLACED = 1, REPEATED = 3, NO_LOCK = 75 };

static struct stage stage;
static int supplier;
static char address[32];

/* The TTL is far longer than the test, so that no repeat comes too late. */
static void start(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof any;

    stage_begin(&stage, "max_ttl: 10m\n" PATIENT);
    supplier = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(supplier, (struct sockaddr *)&any, len), 0);
    ck_assert_int_eq(listen(supplier, 64), 0);
    ck_assert_int_eq(getsockname(supplier, (struct sockaddr *)&any, &len), 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", ntohs(any.sin_port));
}

static void click(struct program *program, const char *number)
{
    program_begin(program, "order", (const char *const[]){"-t", "600", address, number, "two lamps", NULL});
}

/* Accepts the next connection, reads the order from it, and returns it. */
static int supplier_hears(const char *number)
{
    struct pollfd poll_fd = {.fd = supplier, .events = POLLIN};
    char said[256] = "", expected[64];

    ck_assert_int_eq(poll(&poll_fd, 1, WAIT_MS), 1);
    int caller = accept4(supplier, NULL, NULL, SOCK_CLOEXEC);
    ck_assert_int_ge(caller, 0);
    for (size_t len = 0; !strchr(said, '\n');) {
        struct pollfd call = {.fd = caller, .events = POLLIN};
        ck_assert_int_eq(poll(&call, 1, WAIT_MS), 1);
        ssize_t got = read(caller, said + len, sizeof said - 1 - len);
        ck_assert_int_gt(got, 0);
        len += (size_t)got;
    }
    snprintf(expected, sizeof expected, "ORDER %s fence=", number);
    ck_assert_msg(strncmp(said, expected, strlen(expected)) == 0, "%s", said);
    return caller;
}

static void supplier_says(int caller, const char *text)
{
    ck_assert_int_eq(write(caller, text, strlen(text)), (ssize_t)strlen(text));
    close(caller);
}

/* No connection comes any more: every program has ended. */
static void supplier_heard_no_more(void)
{
    ck_assert_int_eq(accept(supplier, NULL, NULL), -1);
    ck_assert_int_eq(errno, EAGAIN);
}

/* Orders once more, again and again while redlockd has too few masters to grant or refuse the lock. */
static void repeat_is_refused(const char *number)
{
    struct program again;
    int status = NO_LOCK;

    for (int64_t end_ms = now_ms() + WAIT_MS; status == NO_LOCK && now_ms() < end_ms;) {
        click(&again, number);
        status = program_end(&again);
    }
    ck_assert_msg(status == REPEATED, "%d: %s", status, keep(file_read(again.out)));
}

static bool is_turned_away(const struct program *click)
{
    return program_said(click, "being placed") || program_said(click, "try later");
}

static unsigned turned_away(const struct program clicks[])
{
    unsigned count = 0;

    for (unsigned i = 0; i < CLICKS; i++)
        count += is_turned_away(&clicks[i]);
    return count;
}

/* Ten clicks: the program that reached the supplier dies before it reads the answer, and a master and the
 * daemon die too. */
T(one_of_many_is_placed)
{
    struct program clicks[CLICKS];

    start();
    for (unsigned i = 0; i < CLICKS; i++)
        click(&clicks[i], "4711");
    int caller = supplier_hears("4711");
    server_kill(&stage.masters.server[0]);
    eventually(turned_away(clicks) == CLICKS - 1);
    for (unsigned i = 0; i < CLICKS; i++) {
        if (!is_turned_away(&clicks[i]))
            ck_assert_int_eq(kill(clicks[i].pid, SIGKILL), 0);
        (void)program_end(&clicks[i]);
    }
    close(caller);
    repeat_is_refused("4711");
    daemon_restart(&stage.daemon);
    repeat_is_refused("4711");
    supplier_heard_no_more();
}

T(what_was_surely_not_placed_may_be_tried_again)
{
    struct program first, second;

    start();
    click(&first, "4712");
    supplier_says(supplier_hears("4712"), "NO, none left\n");
    ck_assert_int_eq(program_end(&first), NOT_PLACED);
    click(&second, "4712");
    supplier_says(supplier_hears("4712"), "OK\n");
    ck_assert_int_eq(program_end(&second), PLACED);
    repeat_is_refused("4712");
    supplier_heard_no_more();
}

/* A program that waits for the supplier is stopped and continued, as by ^Z and fg, and goes on
 * waiting. */
T(a_pause_is_no_answer)
{
    struct program order;

    start();
    click(&order, "4713");
    int caller = supplier_hears("4713");
    eventually(process_state(order.pid) == 'S');
    process_stop(order.pid);
    ck_assert_int_eq(kill(order.pid, SIGCONT), 0);
    eventually(process_state(order.pid) == 'S' || !program_runs(&order));
    supplier_says(caller, "OK\n");
    ck_assert_int_eq(program_end(&order), PLACED);
    supplier_heard_no_more();
}
