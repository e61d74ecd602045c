/* One HTTP connection: its head in, its answer out, and the end. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/http/http_private.h"

static void http_conn_watch(struct http_conn *c, short what);

void http_conn_close(struct http_conn *c)
{
    TAILQ_REMOVE(&c->http->conns, c, all);
    c->http->count--;
    event_del(&c->io);
    event_del(&c->timer);
    close(c->fd);
    body_free(&c->answer);
    free(c);
}

/* The bytes that the client may still send are read and thrown away until it closes: to close with unread
 * bytes would be a reset, which discards the answer on its way. */
static void http_conn_end(struct http_conn *c)
{
    c->state = HTTP_ENDING;
    shutdown(c->fd, SHUT_WR);
    http_conn_watch(c, EV_READ);
}

static void http_conn_write(struct http_conn *c)
{
    if (buffer_write(&c->answer.buffer, c->fd) < 0)
        http_conn_close(c);
    else if (buffer_len(&c->answer.buffer) > 0)
        http_conn_watch(c, EV_WRITE);
    else
        http_conn_end(c);
}

static void http_conn_answer(struct http_conn *c, size_t head_len)
{
    c->state = HTTP_WRITING;
    answer_write(&c->answer, c, head_len);
    if (c->answer.failed)
        http_conn_close(c);
    else
        http_conn_write(c);
}

/* 0: the client closed, or there was an error; -1: nothing to read now. */
static ssize_t http_conn_recv(const struct http_conn *c, char *bytes, size_t size)
{
    ssize_t n = recv(c->fd, bytes, size, 0);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : 0;
}

static void http_conn_read(struct http_conn *c)
{
    ssize_t n = http_conn_recv(c, c->head + c->len, sizeof c->head - c->len);
    if (n < 0)
        return;
    if (n == 0) { /* half a request is no request */
        http_conn_close(c);
        return;
    }
    c->len += (size_t)n;
    size_t head_len = head_end(c->head, c->len);
    if (head_len > 0 || c->len == sizeof c->head)
        http_conn_answer(c, head_len);
}

static void http_conn_drain(struct http_conn *c)
{
    ssize_t n = http_conn_recv(c, c->head, sizeof c->head);
    if (n < 0)
        return;
    c->drained += (size_t)n;
    if (n == 0 || c->drained > HTTP_DRAIN_BYTES)
        http_conn_close(c);
}

static void http_conn_on_event(evutil_socket_t fd, short what, void *arg)
{
    struct http_conn *c = arg;
    (void)fd, (void)what;
    switch (c->state) {
    case HTTP_READING: http_conn_read(c); break;
    case HTTP_WRITING: http_conn_write(c); break;
    case HTTP_ENDING: http_conn_drain(c); break;
    }
}

static void http_conn_on_timer(evutil_socket_t fd, short what, void *arg)
{
    (void)fd, (void)what;
    http_conn_close(arg);
}

static void http_conn_watch(struct http_conn *c, short what)
{
    event_del(&c->io);
    event_assign(&c->io, c->http->base, c->fd, (short)(what | EV_PERSIST), http_conn_on_event, c);
    if (event_add(&c->io, NULL) < 0)
        event_active(&c->timer, EV_TIMEOUT, 0); /* no memory: close it soon */
}

bool http_conn_open(struct http *http, int fd, const struct conf_listener *listener)
{
    static const struct timeval life = {.tv_sec = HTTP_LIFE_MS / 1000};
    struct http_conn *c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return false;
    }
    c->http = http;
    c->fd = fd;
    c->listener = listener;
    TAILQ_INSERT_TAIL(&http->conns, c, all);
    http->count++;
    event_assign(&c->io, http->base, fd, EV_READ | EV_PERSIST, http_conn_on_event, c);
    event_assign(&c->timer, http->base, -1, 0, http_conn_on_timer, c);
    if (event_add(&c->io, NULL) < 0 || event_add(&c->timer, &life) < 0) {
        http_conn_close(c);
        return false;
    }
    return true;
}
