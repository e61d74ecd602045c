/* A line in, a line out, by plain epoll: what a client's two requests cost any server. */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/bench/process.h"
#include "tests/bench/server.h"

enum { READ_BYTES = 64 * 1024, EVENTS = 512, ANSWER_BYTES = 160, LISTENERS = 2 };

/* These answers are about as long as the daemon's. */
static const char locked[] =
    "+LOCKED job.1000.10.100 token=f0d2235be99b9f248fe463ad8cd8dfae46644a48 fence=1795275195231975 "
    "valid=9897 until=2564327\n";
static const char unlocked[] = "+UNLOCKED job.1000.10.100 confirmed=3/5\n";

static size_t answer(char *out, const char *line, size_t len)
{
    const char *space = line[0] == '#' ? memchr(line, ' ', len) : NULL;
    size_t tag_len = space ? (size_t)(space + 1 - line) : 0;
    bool unlock = len > tag_len && line[tag_len] == 'U';
    const char *text = unlock ? unlocked : locked;
    size_t text_len = unlock ? sizeof unlocked - 1 : sizeof locked - 1;
    if (tag_len > ANSWER_BYTES - sizeof locked)
        tag_len = 0;
    memcpy(out, line, tag_len);
    memcpy(out + tag_len, text, text_len);
    return tag_len + text_len;
}

/* The load generator writes whole lines, so none is cut in two. */
static void client_read(int fd)
{
    static char in[READ_BYTES], out[READ_BYTES / 2 * ANSWER_BYTES];
    size_t out_len = 0;
    ssize_t n = recv(fd, in, sizeof in, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close(fd);
        return;
    }
    const char *at = in, *end = in + n;
    for (const char *lf; (lf = memchr(at, '\n', (size_t)(end - at))); at = lf + 1)
        out_len += answer(out + out_len, at, (size_t)(lf - at));
    if (send(fd, out, out_len, MSG_NOSIGNAL) < 0)
        close(fd);
}

static void watch(int epoll, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0)
        fail("echo: %s", strerror(errno));
}

static void clients_accept(int epoll, int listener)
{
    int on = 1, fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(epoll, fd);
    }
}

static void echo_run(void *arg)
{
    const struct address *address = arg;
    struct epoll_event events[EVENTS];
    int epoll = epoll_create1(EPOLL_CLOEXEC), listener[LISTENERS];
    for (int i = 0; i < LISTENERS; i++) {
        listener[i] = socket_listen(address, i);
        watch(epoll, listener[i]);
    }
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == listener[0] || fd == listener[1])
                clients_accept(epoll, fd);
            else
                client_read(fd);
        }
    }
}

void echo_start(struct server *server, const struct places *places)
{
    server_address(&server->address, places, "e");
    server->pid = process_fork("bench-echo", echo_run, &server->address);
    server_wait(server, "the echo");
}
