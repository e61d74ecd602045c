/* This file leads an HTTP connection through its TLS handshake, the head that it reads, the answer that it
 * writes, and its end. */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/http/http_private.h"

enum { DRAIN_PAUSE_MS = 10 /* so that a client that sends without end costs the locks little */ };

static void http_conn_watch(struct http_conn *c, short what);
static void http_conn_on_event(evutil_socket_t fd, short what, void *arg);

static void http_conn_pause(struct http_conn *c, int64_t ms)
{
    struct timeval pause = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    event_del(&c->io);
    event_assign(&c->io, c->http->base, -1, 0, http_conn_on_event, c);
    if (event_add(&c->io, &pause) < 0)
        event_active(&c->timer, EV_TIMEOUT, 0); /* no memory: close it soon */
}

void http_conn_close(struct http_conn *c)
{
    TAILQ_REMOVE(&c->http->conns, c, all);
    c->http->count--;
    if (c->handshake)
        handshake_cancel(c->handshake);
    event_del(&c->io);
    event_del(&c->timer);
    wire_close(&c->wire);
    free(c->certificate);
    body_free(&c->answer);
    free(c);
}

void http_conn_drop(struct http_conn *c, enum http_drop why, const char *text)
{
    http_tell(c, "http_dropped", text);
    c->http->dropped[why]++;
    http_conn_close(c);
}

/* The bytes that the client may still send are read and thrown away until it closes: to close with unread
 * bytes would be a reset, which discards the answer on its way. They are not even decrypted. */
static void http_conn_end(struct http_conn *c)
{
    c->state = HTTP_ENDING;
    wire_finish(&c->wire);
    shutdown(c->wire.fd, SHUT_WR);
    http_conn_watch(c, EV_READ);
}

static void http_conn_write(struct http_conn *c)
{
    c->state = HTTP_WRITING;
    if (c->answer.failed || wire_write(&c->wire, &c->answer.buffer) < 0)
        http_conn_close(c);
    else if (buffer_len(&c->answer.buffer) > 0)
        http_conn_watch(c, EV_WRITE);
    else
        http_conn_end(c);
}

/* Who guesses secrets has one guess a second on each of few connections. */
static void http_conn_hold(struct http_conn *c)
{
    c->state = HTTP_HELD;
    http_conn_pause(c, HTTP_GUESS_MS);
}

/* ---- reading ---- */

/* 0: the client closed, or there was an error; -1: nothing to read now. */
static ssize_t http_conn_recv(struct http_conn *c, char *bytes, size_t size)
{
    ssize_t n = wire_read(&c->wire, bytes, size);
    if (n >= 0)
        return n;
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? -1 : 0;
}

/* What only TLS has is read in the next turn, as if the kernel had reported it. */
static void http_conn_read_on(struct http_conn *c)
{
    static const struct timeval at_once;
    if (wire_pending(&c->wire) && event_add(&c->io, &at_once) < 0)
        event_active(&c->timer, EV_TIMEOUT, 0); /* no memory: close it soon */
}

static void http_conn_read(struct http_conn *c)
{
    ssize_t n = http_conn_recv(c, c->head + c->len, sizeof c->head - c->len);
    if (n < 0) {
        http_conn_watch(c, wire_read_wants_write(&c->wire) ? EV_WRITE : EV_READ);
        return;
    }
    if (n == 0) { /* half a request is no request */
        http_conn_close(c);
        return;
    }
    c->len += (size_t)n;
    if (!c->wire.tls && wire_looks_like_tls(c->head, c->len)) {
        http_tell(c, "http_refused", "it speaks TLS to an address that has no tls in http");
        answer_refuse(&c->answer, c, "TLS is not spoken at this address: ask with http://.\n");
        http_conn_write(c);
        return;
    }
    size_t head_len = head_end(c->head, c->len);
    if (head_len == 0 && c->len < sizeof c->head) {
        http_conn_read_on(c);
        return;
    }
    answer_write(&c->answer, c, head_len);
    if (c->guessed)
        http_conn_hold(c);
    else
        http_conn_write(c);
}

/* MSG_TRUNC: the kernel throws the bytes away without copying them (tcp(7)). */
static void http_conn_drain(struct http_conn *c)
{
    ssize_t n = recv(c->wire.fd, NULL, HTTP_DRAIN_BYTES, MSG_TRUNC);
    bool later = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
    if (later) {
        http_conn_watch(c, EV_READ);
        return;
    }
    c->drained += n > 0 ? (size_t)n : 0;
    if (n <= 0 || c->drained > HTTP_DRAIN_BYTES)
        http_conn_close(c);
    else
        http_conn_pause(c, DRAIN_PAUSE_MS);
}

/* ---- events ---- */

static void http_conn_on_event(evutil_socket_t fd, short what, void *arg)
{
    struct http_conn *c = arg;
    (void)fd;
    if (what & EV_TIMEOUT && c->state == HTTP_READING)
        http_conn_watch(c, EV_READ); /* its time-out has deleted the event */
    switch (c->state) {
    case HTTP_READING: http_conn_read(c); break;
    case HTTP_HELD:
    case HTTP_WRITING: http_conn_write(c); break;
    case HTTP_ENDING: http_conn_drain(c); break;
    }
}

static void http_conn_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct http_conn *c = arg;
    (void)fd, (void)what;
    if (c->state == HTTP_ENDING)
        http_conn_close(c);
    else
        http_conn_drop(c, HTTP_DROP_TIME,
                       c->state == HTTP_READING ? "no whole request within 5 s"
                                                : "it does not read its answer");
}

static void http_conn_watch(struct http_conn *c, short what)
{
    event_del(&c->io);
    event_assign(&c->io, c->http->base, c->wire.fd, (short)(what | EV_PERSIST), http_conn_on_event, c);
    if (event_add(&c->io, NULL) < 0)
        event_active(&c->timer, EV_TIMEOUT, 0); /* no memory: close it soon */
}

/* A browser or a probe with http:// in place of https:// gets an answer that it can read. */
static void http_conn_failed(struct http_conn *c, const char *why, const char *hint)
{
    char text[WIRE_WHAT_BYTES + 256];
    bool plain = why == wire_fault()->what && wire_fault()->http;
    snprintf(text, sizeof text, *hint ? "%s: %s" : "%s", why, hint);
    if (!plain) {
        http_conn_drop(c, HTTP_DROP_TLS, text);
        return;
    }
    http_tell(c, "http_refused", text);
    wire_end(&c->wire);
    answer_refuse(&c->answer, c, "This address takes only TLS: ask with https://.\n");
    http_conn_write(c);
}

static void http_conn_on_handshake(void *arg, const char *why, const char *hint)
{
    struct http_conn *c = arg;
    c->handshake = NULL;
    c->http->stats.handshakes += !why;
    c->http->stats.handshakes_failed += why != NULL;
    if (why) {
        http_conn_failed(c, why, hint);
        return;
    }
    if (!wire_is_welcome(&c->wire)) { /* client_ca has changed meanwhile */
        http_conn_drop(c, HTTP_DROP_TLS, wire_fault()->what);
        return;
    }
    c->certificate = wire_peer_names(&c->wire);
    http_conn_watch(c, EV_READ);
    http_conn_read_on(c);
}

static bool http_conn_begin(struct http_conn *c, struct wire_context *tls, uint16_t peer)
{
    static const struct timeval life = {.tv_sec = HTTP_LIFE_MS / 1000};
    if (event_add(&c->timer, &life) < 0)
        return false;
    if (!tls)
        return event_add(&c->io, NULL) == 0;
    if (wire_begin(&c->wire, tls, NULL) == 0)
        c->handshake = handshake_new(c->http->handshaker, &c->wire, peer, http_conn_on_handshake, c);
    return c->handshake != NULL;
}

bool http_conn_open(struct http *http, int fd, const struct conf_listener *listener, struct wire_context *tls,
                    uint16_t peer)
{
    struct http_conn *c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return false;
    }
    c->http = http;
    c->wire.fd = fd;
    c->listener = listener;
    TAILQ_INSERT_TAIL(&http->conns, c, all);
    http->count++;
    event_assign(&c->io, http->base, fd, EV_READ | EV_PERSIST, http_conn_on_event, c);
    event_assign(&c->timer, http->base, -1, 0, http_conn_on_timer, c);
    if (!http_conn_begin(c, tls, peer)) {
        http_conn_close(c);
        return false;
    }
    return true;
}
