#include "tests/chaos/client.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { FINISH_US = 500000 };

static int socket_connect(const struct shared *shared, unsigned daemon, bool tcp)
{
    struct sockaddr_un path = {.sun_family = AF_UNIX};
    struct sockaddr_in port = {.sin_family = AF_INET,
                               .sin_port = htons(shared->daemon_port[daemon]),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};
    snprintf(path.sun_path, sizeof path.sun_path, "%s", shared->daemon_path[daemon]);
    const struct sockaddr *address = tcp ? (struct sockaddr *)&port : (struct sockaddr *)&path;
    socklen_t size = tcp ? sizeof port : sizeof path;
    int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    /* The limit also bounds connect(), which waits while the backlog of a stopped daemon is full. */
    struct timeval bound = {.tv_sec = 1};
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &bound, sizeof bound);
    if (fd >= 0 && connect(fd, address, size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

bool link_open(struct client *c, struct link *link, unsigned daemon, bool tcp)
{
    *link = (struct link){.fd = socket_connect(c->shared, daemon, tcp), .daemon = daemon, .tcp = tcp};
    return link->fd >= 0;
}

static void link_broken(struct link *link)
{
    if (link->fd >= 0)
        close(link->fd);
    link->fd = -1;
    for (unsigned i = 0; i < LINK_REQUESTS; i++)
        if (link->request[i].state == REQUEST_ASKED)
            link->request[i].state = REQUEST_BROKEN;
}

void link_reset(struct link *link)
{
    struct linger linger = {.l_onoff = 1};
    if (link->fd >= 0 && link->tcp)
        setsockopt(link->fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    link_broken(link);
}

struct request *link_ask(struct client *c, struct link *link, const char *format, ...)
{
    struct request *request = NULL;
    for (unsigned i = 0; i < LINK_REQUESTS && request == NULL; i++)
        if (link->request[i].state == REQUEST_FREE)
            request = &link->request[i];
    if (request == NULL || link->fd < 0)
        return NULL;
    char line[1024];
    request->tag = ++c->tags;
    int len = snprintf(line, sizeof line, "#%" PRIu32 " ", request->tag);
    va_list arguments;
    va_start(arguments, format);
    len += vsnprintf(line + len, sizeof line - (size_t)len, format, arguments);
    va_end(arguments);
    request->locks = strncmp(format, "LOCK ", 5) == 0;
    request->state = REQUEST_ASKED;
    line[len++] = '\n';
    if (send(link->fd, line, (size_t)len, MSG_NOSIGNAL) == len)
        return request;
    link_broken(link);
    request->state = REQUEST_FREE;
    return NULL;
}

int64_t line_number(const char *line, const char *key)
{
    size_t len = strlen(key);
    for (const char *at = line; (at = strstr(at, key)) != NULL; at += len)
        if (at > line && at[-1] == ' ')
            return strtoll(at + len, NULL, 10);
    return -1;
}

/* Every reply must be the only reply to a request of this client. */
static void link_reply(struct client *c, struct link *link, const char *line)
{
    char *text = NULL;
    unsigned long tag = line[0] == '#' ? strtoul(line + 1, &text, 10) : 0;
    for (unsigned i = 0; tag > 0 && *text == ' ' && i < LINK_REQUESTS; i++) {
        struct request *request = &link->request[i];
        if (request->state != REQUEST_ASKED || request->tag != tag)
            continue;
        snprintf(request->line, sizeof request->line, "%s", text + 1);
        request->state = REQUEST_ANSWERED;
        client_answer(c, link, request);
        return;
    }
    fprintf(stderr, "client %" PRIu32 ": reply to nothing: %s\n", c->who, line);
    client_wrong(c, "reply to nothing, or twice");
}

static void link_read(struct client *c, struct link *link)
{
    ssize_t got = recv(link->fd, link->buffer + link->len, sizeof link->buffer - link->len, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0) {
        link_broken(link);
        return;
    }
    link->len += (size_t)got;
    char *from = link->buffer, *end = link->buffer + link->len;
    for (char *lf; (lf = memchr(from, '\n', (size_t)(end - from))) != NULL; from = lf + 1) {
        *lf = '\0';
        if (from[0] == '!')
            client_notice(c, link, from);
        else
            link_reply(c, link, from);
    }
    link->len = (size_t)(end - from);
    memmove(link->buffer, from, link->len);
    if (link->len == sizeof link->buffer) {
        client_wrong(c, "a line without end");
        link_broken(link);
    }
}

/* close() alone would send a reset where unread bytes were left. */
void link_finish(struct client *c, struct link *link)
{
    if (link->fd < 0)
        return;
    shutdown(link->fd, SHUT_WR);
    for (int64_t end_us = now_us() + FINISH_US; link->fd >= 0 && now_us() < end_us;) {
        struct pollfd fd = {.fd = link->fd, .events = POLLIN};
        if (poll(&fd, 1, FINISH_US / 1000) > 0)
            link_read(c, link);
    }
    link_broken(link);
}

void links_listen(struct client *c, int64_t until_us, const struct request *request)
{
    struct link *links[] = {&c->own, &c->other};
    while (request == NULL || request->state == REQUEST_ASKED) {
        struct pollfd fds[2] = {{.fd = c->own.fd, .events = POLLIN}, {.fd = c->other.fd, .events = POLLIN}};
        int64_t left_us = until_us - now_us();
        int ready = poll(fds, 2, left_us > 0 ? (int)((left_us + 999) / 1000) : 0);
        for (unsigned i = 0; ready > 0 && i < 2; i++)
            if (fds[i].revents != 0)
                link_read(c, links[i]);
        if (now_us() >= until_us)
            return;
    }
}
