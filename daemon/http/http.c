/* All HTTP connections, and what they show. */
#include "daemon/http/http.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/http/http_private.h"

static void http_on_tick(evutil_socket_t fd, short what, void *arg)
{
    struct http *http = arg;
    struct snapshot_sample sample = {0};
    (void)fd, (void)what;
    http->handler->sample(http->handler->arg, &sample);
    rates_add(&http->rates, &sample);
}

static bool serves_page(const struct conf *conf)
{
    for (unsigned i = 0; i < conf->http_listeners; i++)
        if (conf->http[i].serves & CONF_PAGE)
            return true;
    return false;
}

struct http *http_new(struct event_base *base, const struct conf *conf, const struct http_handler *handler,
                      struct handshakes *handshaker)
{
    static const struct timeval second = {.tv_sec = 1};
    struct http *http = calloc(1, sizeof *http);
    if (!http)
        return NULL;
    http->base = base;
    http->conf = conf;
    http->handler = handler;
    http->handshaker = handshaker;
    TAILQ_INIT(&http->conns);
    if (gethostname(http->host, sizeof http->host - 1) < 0)
        http->host[0] = '\0';
    event_assign(&http->tick, base, -1, EV_PERSIST, http_on_tick, http);
    if (serves_page(conf) && event_add(&http->tick, &second) < 0) {
        free(http);
        return NULL;
    }
    return http;
}

void http_free(struct http *http)
{
    if (!http)
        return;
    while (!TAILQ_EMPTY(&http->conns))
        http_conn_close(TAILQ_FIRST(&http->conns));
    event_del(&http->tick);
    free(http);
}

/* Makes room for one connection: of all that still owe their request, the oldest is closed, else the
 * oldest that guessed a secret, else the oldest that was answered. false: all are being answered. */
static bool http_make_room(struct http *http)
{
    static const enum http_state order[] = {HTTP_READING, HTTP_HELD, HTTP_ENDING};
    for (unsigned i = 0; i < sizeof order / sizeof order[0]; i++) {
        struct http_conn *c;
        TAILQ_FOREACH(c, &http->conns, all)
        if (c->state == order[i]) {
            if (order[i] != HTTP_ENDING)
                http_conn_drop(c, HTTP_DROP_ROOM, "another connection needs its place");
            else
                http_conn_close(c);
            return true;
        }
    }
    return false;
}

void http_accept(struct http *http, int fd, const struct conf_listener *listener, struct wire_context *tls,
                 uint16_t peer)
{
    if (http->count >= HTTP_CONNECTIONS && !http_make_room(http)) {
        http->dropped[HTTP_DROP_ROOM]++;
        close(fd);
        return;
    }
    http_conn_open(http, fd, listener, tls, peer);
}

const struct snapshot *http_snapshot(struct http *http)
{
    int64_t now_ms = clock_boot_ms();
    if (!http->has_snapshot || now_ms - http->snapshot.boot_ms >= HTTP_SNAPSHOT_MS) {
        http->handler->snapshot(http->handler->arg, &http->snapshot);
        http->snapshot.host = http->host;
        http->snapshot.figures.http = http->stats;
        memcpy(http->snapshot.http_dropped, http->dropped, sizeof http->dropped);
        answer_counts(http, &http->snapshot);
        http->has_snapshot = true;
    }
    return &http->snapshot;
}
