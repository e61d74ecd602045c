/* libredlock and servers that are not redlockd, or a faulty one: each is a child of the test that
 * listens on a Unix socket and does one thing. The library must end its calls in time, say why, and
 * raise no signal. */
#include "tests/integ/library.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE = 4096, SHORT_MS = 1500 };

#define HELLO   "#h +HELLO proto=1 server=redlockd/evil session=1 now=%lld\n"
#define TOKEN_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define TOKEN_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

static struct told told;
static char path[PATH];

/* ---- the servers ---- */

static void say(int fd, const char *text)
{
    if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
        _exit(0);
}

/* The client's next line, without its LF; the child ends with the connection. */
static const char *hear(int fd)
{
    static char line[LINE];
    size_t len = 0;

    while (len < sizeof line - 1 && recv(fd, line + len, 1, 0) == 1 && line[len] != '\n')
        len++;
    if (line[len] != '\n')
        _exit(0);
    line[len] = '\0';
    return line;
}

static void say_hello(int fd)
{
    char line[LINE];

    snprintf(line, sizeof line, HELLO, (long long)now_ms());
    say(fd, line);
}

static void greet(int fd)
{
    (void)hear(fd);
    say_hello(fd);
}

/* A library whose HELLO was answered slowly asks again, between its requests. */
static const char *hear_request(int fd)
{
    for (;;) {
        const char *asked = hear(fd);
        if (strncmp(asked, "#h ", 3) == 0)
            say_hello(fd);
        else if (!strstr(asked, "PING"))
            return asked;
    }
}

/* Whether the client has ended the connection; a PING or HELLO that it sent before does not matter. */
static bool has_ended(int fd, int flags)
{
    char bytes[LINE];
    ssize_t len;

    do
        len = recv(fd, bytes, sizeof bytes, flags);
    while (len > 0);
    return len == 0;
}

static void grant(int fd, const char *token, int fence)
{
    char line[LINE];
    const char *asked = hear_request(fd);
    char name[64];

    (void)sscanf(asked, "%*s %*s %60s", name);
    snprintf(line, sizeof line, "%.*s +LOCKED %s token=%s fence=%d valid=1 until=%lld\n",
             (int)strcspn(asked, " "), asked, name, token, fence, (long long)now_ms() + 20000);
    say(fd, line);
}

static void says_garbage(int fd)
{
    (void)hear(fd);
    say(fd, "HTTP/1.1 400 Bad Request\r\n\r\n");
    pause();
}

static void says_nothing(int fd)
{
    (void)fd;
    pause();
}

static void closes_at_once(int fd)
{
    close(fd);
}

static void resets(int fd)
{
    greet(fd);
    struct linger now = {.l_onoff = 1};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

static void is_full(int fd)
{
    say(fd, "-LIMIT limit=max_clients\n");
    close(fd);
}

static void greets_only(int fd)
{
    greet(fd);
    for (;;)
        (void)hear(fd);
}

static void floods(int fd)
{
    static char bytes[1 << 16];

    greet(fd);
    memset(bytes, 'x', sizeof bytes);
    for (;;)
        if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) < 0)
            return;
}

/* Sends valid lines that answer no request, without end. */
static void chatters(int fd)
{
    static const char line[] = "!RENEWED other token=" TOKEN_A " valid=1 until=9\n";
    static char bytes[100 * (sizeof line - 1)];

    greet(fd);
    for (size_t i = 0; i < sizeof bytes; i += sizeof line - 1)
        memcpy(bytes + i, line, sizeof line - 1);
    for (;;)
        if (send(fd, bytes, sizeof bytes, MSG_NOSIGNAL) < 0)
            return;
}

static void answers_wrongly(int fd)
{
    char line[LINE];

    greet(fd);
    snprintf(line, sizeof line, "%.*s +HELD job valid=1 until=99999999999\n", 4, hear(fd));
    say(fd, line);
    pause();
}

/* Serves one connection after the other with this function. */
static pid_t serve(void (*behave)(int fd))
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    signal(SIGPIPE, SIG_DFL);
    snprintf(path, sizeof path, "%s/sock", folder_new("evil"));
    memcpy(address.sun_path, path, sizeof path);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    pid_t child = fork();
    if (child != 0) {
        close(listener);
        return child;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) {
        int fd = accept(listener, NULL, NULL);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            behave(fd);
            _exit(0);
        }
        close(fd);
    }
}

/* A blocking call ends at once, and says why. */
static void expect_error(void (*behave)(int fd), enum redlock_error error, const char *text)
{
    int64_t start_ms = now_ms();

    serve(behave);
    struct redlock *redlock = open_handle(path, &told);
    redlock_set_timeout(redlock, 2 * WAIT_MS);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    ck_error(redlock, error);
    ck_assert_msg(strstr(redlock_error_text(redlock), text) != NULL, "\"%s\" is not in \"%s\"", text,
                  redlock_error_text(redlock));
    ck_assert_int_lt(now_ms() - start_ms, WAIT_MS);
    redlock_close(redlock);
}

/* False: the call took longer than it may, since the machine stood still; its error is then another. */
static bool is_told_in_time(const char *address, enum redlock_error error, const char *text)
{
    int64_t start_ms = now_ms();
    struct redlock *redlock = open_handle(address, &told);

    told = (struct told){0};
    redlock_set_timeout(redlock, SHORT_MS);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    int64_t took_ms = now_ms() - start_ms;
    ck_assert_int_lt(took_ms, SHORT_MS + WAIT_MS / 2);
    bool told_so = redlock_error(redlock) == error && strstr(redlock_error_text(redlock), text);
    ck_assert_msg(told_so || took_ms > SHORT_MS + 50, "\"%s\" is not in %s \"%s\"", text,
                  redlock_error_name(redlock_error(redlock)), redlock_error_text(redlock));
    redlock_close(redlock);
    return told_so;
}

/* A blocking call ends when its time is over, and says why. */
static void expect_error_in_time(void (*behave)(int fd), enum redlock_error error, const char *text)
{
    serve(behave);
    for (unsigned tries = 0; !is_told_in_time(path, error, text); tries++)
        ck_assert_uint_lt(tries, 8);
}

T(no_redlockd)
{
    expect_error(says_garbage, REDLOCK_PROTOCOL, "no redlockd");
}

T(silence)
{
    expect_error_in_time(says_nothing, REDLOCK_CONNECT, "no connection in time");
}

T(the_end_at_once)
{
    expect_error(closes_at_once, REDLOCK_CONNECT, "the connection to unix:");
}

T(an_end_again_and_again)
{
    expect_error_in_time(resets, REDLOCK_CONNECT, "the connection to unix:");
    ck_assert_uint_ge(told.count[REDLOCK_ON_DOWN], 1);
    ck_assert_uint_lt(told.count[REDLOCK_ON_DOWN], 60); /* the library does not retry as fast as it can */
}

T(too_many_clients)
{
    expect_error(is_full, REDLOCK_CONNECT, "-LIMIT limit=max_clients");
}

T(no_answer)
{
    expect_error_in_time(greets_only, REDLOCK_NOANSWER, "no answer in time");
}

T(a_line_without_end)
{
    expect_error_in_time(floods, REDLOCK_PROTOCOL, "longer than 2,048");
}

T(lines_without_end)
{
    expect_error_in_time(chatters, REDLOCK_NOANSWER, "no answer in time");
}

T(another_answer)
{
    serve(answers_wrongly);
    struct redlock *redlock = open_handle(path, &told);
    redlock_set_timeout(redlock, SHORT_MS);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    run_until(redlock, told.count[REDLOCK_ON_DOWN] >= 1); /* its request is still on its way */
    ck_assert_ptr_nonnull(strstr(told.text[REDLOCK_ON_DOWN], "does not fit"));
    redlock_close(redlock);
}

/* ---- a connection that cannot go on, and holds a lock ---- */

static int listener_new(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(path, sizeof path, "%s/sock", folder_new("evil"));
    memcpy(address.sun_path, path, sizeof path);
    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(listener, 16), 0);
    return listener;
}

/* The end of this connection would be a FIN that releases the lock: the library keeps it until the lock
 * is resumed on another connection, and closes it then. The server checks that, and reports it by its exit
 * status. */
T(parked_until_resumed)
{
    int listener = listener_new();
    pid_t server = fork();

    if (server == 0) {
        int old = accept(listener, NULL, NULL);
        greet(old);
        grant(old, TOKEN_A, 7);
        say(old, "this is no line of ours\n");
        int fresh = accept(listener, NULL, NULL);
        greet(fresh);
        bool open = !has_ended(old, MSG_DONTWAIT);
        grant(fresh, TOKEN_B, 8);
        bool closed = has_ended(old, 0);
        say(fresh, "!RENEWED job token=" TOKEN_B " valid=1 until=99\n");
        _exit(open && closed ? 0 : 1);
    }
    close(listener);
    struct redlock *redlock = open_handle(path, &told);
    struct redlock_lock *lock = take(redlock, "job", 20000, 0);
    run_until(redlock, told.count[REDLOCK_ON_RESUMED] == 1);
    ck_assert_str_eq(redlock_token(lock), TOKEN_B);
    ck_assert_uint_eq(redlock_fence(lock), 8);
    int status = -1;
    run_until(redlock, waitpid(server, &status, WNOHANG) == server);
    ck_assert_int_eq(status, 0);
    redlock_close(redlock);
}

/* Many connections break, each with a lock that could not be resumed yet: one lock is resumed on each of
 * them and so is bound to it, and the last connection resumes all. */
enum { BROKEN = 8 };

static void break_all_but_the_last(int listener)
{
    int fds[BROKEN + 1];
    char token[REDLOCK_TOKEN_HEX + 1];

    for (int i = 0; i <= BROKEN; i++) {
        fds[i] = accept(listener, NULL, NULL);
        greet(fds[i]);
        for (int k = 0; i < BROKEN && k <= BROKEN; k++) {
            snprintf(token, sizeof token, "%040x", 100 * i + k + 1);
            if (i == 0 || k == i)
                grant(fds[i], token, 100 * i + k + 1);
            else
                (void)hear_request(fds[i]);
        }
        if (i < BROKEN)
            say(fds[i], "this is no line of ours\n");
    }
    for (int i = 0; i < BROKEN; i++)
        if (has_ended(fds[i], MSG_DONTWAIT))
            _exit(1 + i);
    for (int k = 0; k <= BROKEN; k++) {
        snprintf(token, sizeof token, "%040x", 5000 + k);
        grant(fds[BROKEN], token, 5000 + k);
    }
    for (int i = 0; i < BROKEN; i++)
        if (!has_ended(fds[i], 0))
            _exit(100 + i);
    _exit(0);
}

T(any_number_is_parked)
{
    int listener = listener_new();
    pid_t server = fork();
    char name[16];

    if (server == 0)
        break_all_but_the_last(listener);
    close(listener);
    struct redlock *redlock = open_handle(path, &told);
    for (int k = 0; k <= BROKEN; k++) {
        snprintf(name, sizeof name, "job%d", k);
        (void)take(redlock, name, 20000, 0);
    }
    int status = -1;
    run_until(redlock, waitpid(server, &status, WNOHANG) == server);
    ck_assert_int_eq(status, 0);
    redlock_close(redlock);
}
