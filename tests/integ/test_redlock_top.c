/* redlock top in a pseudo-terminal. */
#include "tests/integ/command.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a;
static struct pty pty;

static void begin(void)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, PATIENT, &a);
    command_use(&redlockd);
}

static struct termios before;

/* The settings of any new terminal: this one's may have been changed already. */
static void look_at_a_new_one(void)
{
    char name[64];
    int fd = pty_open(name, sizeof name);
    ck_assert_int_eq(tcgetattr(fd, &before), 0);
    close(fd);
}

static void start_top(void)
{
    lock(&a, "watched ttl=20s");
    look_at_a_new_one();
    pty_start(&pty, (const char *const[]){redlock_binary(), "top", "-d", "200ms", NULL}, 150, 40);
    pty_await(&pty, "\033[?1049h");
    pty_await(&pty, "3 of 3 masters vote");
    pty_await(&pty, "watched");
}

static void ends_clean(void)
{
    struct termios now;
    const char *last = strstr(pty.text + pty.seen, "\033[?25h\033[?1049l");
    ck_assert_msg(last != NULL, "%s", pty.text + pty.seen);
    ck_assert_str_eq(last, "\033[?25h\033[?1049l");
    ck_assert_int_eq(tcgetattr(pty.fd, &now), 0);
    ck_assert_uint_eq(now.c_lflag, before.c_lflag);
    ck_assert_uint_eq(now.c_iflag, before.c_iflag);
}

T(top_shows_what_is)
{
    begin();
    start_top();
    lock(&a, "another ttl=20s");
    pty_await(&pty, "another");
    client_send(&a, "LOCK watched wait=30s"); /* the client waits for its own lock */
    pty_await(&pty, "waiters");
    server_kill(&masters.server[0]);
    pty_await(&pty, "2 of 3 masters vote");
    pty_await(&pty, "down");
    pty_type(&pty, "q");
    ck_assert_int_eq(pty_code(&pty), 0);
    ends_clean();
}

T(top_leaves_the_terminal_clean)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    begin();
    for (unsigned i = 0; i < 4; i++) {
        start_top();
        if (signals[i] == SIGINT)
            pty_type(&pty, "\003");
        else
            kill(pty.pid, signals[i]);
        ck_assert_int_eq(pty_code(&pty), -signals[i]);
        ends_clean();
        ask(&a, "+UNLOCKED *", "UNLOCK watched");
    }
}

/* Whether the last whole picture has no more lines than that, and no longer ones. */
static bool fits(size_t columns, size_t lines)
{
    const char *begin = NULL, *end = NULL;
    (void)pty_has(&pty, "");
    for (const char *at = pty.text; (at = strstr(at, "\033[H")) && strstr(at, "\033[J"); at = end) {
        begin = at;
        end = strstr(at, "\033[J");
    }
    if (!begin)
        return false;
    size_t width = 0, count = 1;
    for (const char *at = begin; at < end; at++) {
        if (*at == '\033')
            at += strcspn(at, "HJKmhl");
        else if (*at == '\n')
            width = 0, count++;
        else if (*at != '\r' && ++width > columns)
            return false;
    }
    return count <= lines;
}

T(top_follows_the_size)
{
    begin();
    start_top();
    ck_assert(!fits(60, 40));
    pty_resize(&pty, 40, 6);
    eventually(fits(40, 6));
    pty_resize(&pty, 150, 40);
    eventually(!fits(60, 40));
    pty_type(&pty, "q");
    ck_assert_int_eq(pty_code(&pty), 0);
    ends_clean();
}

/* timeout(1) runs its command in the background of the terminal. */
T(top_ends_by_a_signal_in_the_background)
{
    begin();
    pty_start(&pty, (const char *const[]){"timeout", "1", redlock_binary(), "top", NULL}, 80, 24);
    ck_assert_int_eq(pty_code(&pty), 124);
}

T(top_outlives_the_daemon)
{
    begin();
    start_top();
    client_close(&a);
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    pty_await(&pty, "trying again");
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(&a, &redlockd);
    lock(&a, "anew ttl=20s wait=10s");
    pty_await(&pty, "anew");
    pty_type(&pty, "q");
    ck_assert_int_eq(pty_code(&pty), 0);
    ends_clean();
    client_close(&a);
    daemon_signal(&redlockd, SIGKILL);
    (void)daemon_exit(&redlockd);
    pty_start(&pty, (const char *const[]){redlock_binary(), "top", NULL}, 80, 24);
    ck_assert_int_eq(pty_code(&pty), 123);
    ck_assert_ptr_null(strstr(pty.text, "\033"));
}
