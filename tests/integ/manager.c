#include "tests/integ/manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_FD = 3, ASIDE_FD = 512 };

/* ---- what the daemon says of itself ---- */

void manager_hears(struct manager *manager)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(manager->notify, sizeof manager->notify, "%s/notify", folder_new("manager"));
    snprintf(address.sun_path, sizeof address.sun_path, "%s", manager->notify);
    manager->heard = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(bind(manager->heard, (struct sockaddr *)&address, sizeof address), 0);
    setenv("NOTIFY_SOCKET", manager->notify, 1);
}

const char *manager_await_at(struct manager *manager, const char *text, const char *file, int line)
{
    for (int64_t end_ms = now_ms() + WAIT_MS; now_ms() < end_ms;) {
        struct pollfd in = {.fd = manager->heard, .events = POLLIN};
        poll(&in, 1, 100);
        ssize_t n = recv(manager->heard, manager->text, sizeof manager->text - 1, 0);
        if (n < 0)
            continue;
        manager->text[n] = 0;
        manager->messages++;
        if (strstr(manager->text, text))
            return manager->text;
    }
    fail_at(file, line, "the daemon does not say \"%s\"; its last message: %s", text, manager->text);
}

/* ---- sockets that are passed ---- */

static int listen_on(int fd, const void *address, socklen_t len)
{
    ck_assert_int_ge(fd, 0);
    ck_assert_msg(bind(fd, address, len) == 0 && listen(fd, 64) == 0, "listen: %s", strerror(errno));
    return fd;
}

int listen_tcp(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    return listen_on(fd, &address, sizeof address);
}

int listen_tcp6(const char *text, uint16_t port, bool v6only)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int one = 1, only = v6only, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(inet_pton(AF_INET6, text, &address.sin6_addr), 1);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof only);
    return listen_on(fd, &address, sizeof address);
}

int listen_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    return listen_on(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), &address, sizeof address);
}

void manager_pass(struct manager *manager, int fd)
{
    ck_assert_uint_lt(manager->count, MANAGER_SOCKETS);
    manager->sockets[manager->count++] = fd;
}

static _Noreturn void manager_exec(const struct manager *manager, const struct daemon *daemon)
{
    char number[16];
    int aside[MANAGER_SOCKETS], out = open(daemon->log, O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(out, 1);
    dup2(out, 2);
    for (unsigned i = 0; i < manager->count; i++)
        aside[i] = fcntl(manager->sockets[i], F_DUPFD_CLOEXEC, ASIDE_FD);
    close_range(FIRST_FD, ASIDE_FD - 1, 0);
    for (unsigned i = 0; i < manager->count; i++)
        dup2(aside[i], FIRST_FD + (int)i);
    if (manager->count > 0) {
        snprintf(number, sizeof number, "%u", manager->count);
        setenv("LISTEN_FDS", number, 0);
        snprintf(number, sizeof number, "%d", (int)getpid());
        setenv("LISTEN_PID", number, 0);
    }
    if (getenv("WATCHDOG_USEC")) {
        snprintf(number, sizeof number, "%d", (int)getpid());
        setenv("WATCHDOG_PID", number, 0);
    }
    signal(SIGPIPE, SIG_DFL);
    execl(daemon_binary(), daemon_binary(), "-c", daemon->config, (char *)NULL);
    dprintf(2, "%s: %s\n", daemon_binary(), strerror(errno));
    _exit(127);
}

void manager_run(const struct manager *manager, struct daemon *daemon)
{
    pid_t test = getpid();
    daemon->pid = fork();
    ck_assert_int_ge(daemon->pid, 0);
    if (daemon->pid > 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test)
        _exit(126);
    manager_exec(manager, daemon);
}
