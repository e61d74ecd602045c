/* redlock run and clocks that stand still: a redlockd that the test plays tells an earlier deadline than
 * before, long before the old one would have come. */
#include "tests/integ/command.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { LINE = 4096 };

#define TOKEN "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct command c;
static int fd = -1;         /* of the connection */
static int ttl_ms = 120000; /* the test does not wait for that */
static int64_t until_ms;
static char address[PATH + 8], first[PATH], line[LINE];

/* ---- the server ---- */

static int listen_unix(void)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    char path[PATH];

    snprintf(path, sizeof path, "%s/sock", folder_new("clock"));
    snprintf(address, sizeof address, "unix:%s", path);
    memcpy(where.sun_path, path, sizeof path);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&where, sizeof where), 0);
    ck_assert_int_eq(listen(listener, 4), 0);
    return listener;
}

static int listen_tcp(void)
{
    struct sockaddr_in where = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof where;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&where, sizeof where), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&where, &len), 0);
    snprintf(address, sizeof address, "127.0.0.1:%u", (unsigned)ntohs(where.sin_port));
    ck_assert_int_eq(listen(listener, 4), 0);
    return listener;
}

static void say(const char *text)
{
    ck_assert_int_eq(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static bool is_line(const char *verb)
{
    const char *behind = strchr(line, ' ');
    return behind != NULL && strncmp(behind + 1, verb, strlen(verb)) == 0;
}

/* The client's next line. */
static void read_line(void)
{
    size_t len = 0;

    while (len < sizeof line - 1 && recv(fd, line + len, 1, 0) == 1 && line[len] != '\n')
        len++;
    ck_assert_msg(line[len] == '\n', "no further line comes");
    line[len] = '\0';
}

static void hear(const char *verb)
{
    read_line();
    ck_assert_msg(is_line(verb), "\"%s\" is no %s", line, verb);
}

static void answer_hello(int64_t ahead_ms, int behind_ms)
{
    char answer[LINE];

    snprintf(answer, sizeof answer, "#h +HELLO proto=1 server=redlockd/test now=%lld behind=%d\n",
             (long long)now_ms() + ahead_ms, behind_ms);
    say(answer);
}

/* Greets with a clock that is ahead of the client's by ahead_ms and has fallen behind by behind_ms in all. */
static void greet(int64_t ahead_ms, int behind_ms)
{
    hear("HELLO");
    answer_hello(ahead_ms, behind_ms);
}

/* A client that had to wait for the answer, on a busy machine, says HELLO again before. */
static void grant(void)
{
    char answer[LINE];

    for (read_line(); is_line("HELLO"); read_line())
        answer_hello(0, 0);
    ck_assert_msg(is_line("LOCK job"), "\"%s\" is no LOCK job", line);
    until_ms = now_ms() + ttl_ms;
    snprintf(answer, sizeof answer, "%.*s +LOCKED job token=" TOKEN " fence=7 valid=%d until=%lld\n",
             (int)strcspn(line, " "), line, ttl_ms, (long long)until_ms);
    say(answer);
}

/* ---- the command ---- */

/* Starts redlock run and waits until its command has told its pid, which is returned. */
static pid_t run(int listener, const char *script)
{
    struct timeval patience = {.tv_sec = WAIT_MS / 1000};
    char ttl[32], grace[32];

    snprintf(first, sizeof first, "%s/first", folder_new("words"));
    setenv("F", first, 1);
    snprintf(ttl, sizeof ttl, "%dms", ttl_ms);
    snprintf(grace, sizeof grace, "%dms", ttl_ms * 5 / 12);
    START(&c, redlock_binary(), "run", "-a", address, "-t", ttl, "--grace", grace, "job", "--", "sh", "-c",
          script);
    fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    close(listener);
    ck_assert_int_eq(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    greet(0, 0);
    grant();
    return (pid_t)number_in(first);
}

static void is_ended(void)
{
    ck_assert_int_eq(command_code(&c), 124);
    ck_assert_ptr_nonnull(strstr(errors(&c), "lost (expired)"));
    close(fd);
}

static const char obeys[] = "trap 'echo asked; exit 0' TERM; echo $$ >$F; while :; do sleep 0.02; done";
static const char stays[] = "trap '' TERM; echo $$ >$F; while :; do sleep 0.02; done";

/* ---- the tests ---- */

/* The grace begins 2 s from now, when no other event wakes redlock. */
T(the_timer_is_set_anew)
{
    (void)run(listen_unix(), obeys);
    say("!CLOCK behind=68000\n");
    is_ended();
    ck_assert_str_eq(output(&c), "asked\n");
    ck_assert_ptr_nonnull(strstr(errors(&c), "a clock stood still"));
}

T(in_its_grace_already)
{
    (void)run(listen_unix(), obeys);
    say("!CLOCK behind=80000\n");
    is_ended();
    ck_assert_str_eq(output(&c), "asked\n");
}

T(over_already)
{
    pid_t pid = run(listen_unix(), stays);
    say("!CLOCK behind=130000\n");
    is_ended();
    ck_assert(!is_alive(pid));
}

/* redlockd's clock is further on than this machine's shows: this machine's stood still. */
T(our_own_host_stood_still)
{
    (void)run(listen_tcp(), obeys);
    greet(0, 0);
    greet(80000, 0);
    is_ended();
    ck_assert_str_eq(output(&c), "asked\n");
}

/* A deadline that is told anew, a little earlier, is no clock's fault. */
T(told_a_little_earlier)
{
    char renewal[LINE];

    ttl_ms = 3000;
    (void)run(listen_unix(), obeys);
    snprintf(renewal, sizeof renewal, "!RENEWED job token=" TOKEN " valid=1 until=%lld\n",
             (long long)until_ms - 20);
    say(renewal);
    is_ended();
    ck_assert_ptr_null(strstr(errors(&c), "stood still"));
}

/* While redlock itself is stopped, its guard acts on the earlier deadline. */
T(the_guard_knows_it_too)
{
    pid_t pid = run(listen_tcp(), stays);
    greet(0, 0);
    say("!CLOCK behind=114000\n");
    greet(0, 114000);
    hear("HELLO"); /* a second later: the guard was told long ago */
    kill(c.pid, SIGSTOP);
    eventually(!is_alive(pid));
    kill(c.pid, SIGCONT);
    ck_assert_int_eq(command_code(&c), 124);
    close(fd);
}
