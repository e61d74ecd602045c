/* HTTP for those who watch the daemon: /livez and /readyz, /metrics, and the status page with its
 * /status.json. GET and HEAD only, one request a connection.
 *
 *     accept (--> TLS) --> head (4 KiB) --> who may see it --> answer --> snapshot --> text
 *
 * Every step is bounded: 32 connections, 5 seconds for all of a request and its answer, one snapshot a
 * second. Everything that clients and masters sent is escaped where it is written (body.h). */
#ifndef REDLOCKD_HTTP_H
#define REDLOCKD_HTTP_H

#include <event2/event.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"
#include "daemon/http/snapshot.h"
#include "daemon/wire/handshakes.h"

enum { HTTP_CONNECTIONS = 32 };

struct http;

struct http_handler {
    void (*snapshot)(void *arg, struct snapshot *snapshot);
    void (*sample)(void *arg, struct snapshot_sample *sample);
    /* Why no lock can be granted now, as one word; NULL: locks are granted. */
    const char *(*unready)(void *arg);
    void *arg;
};

/* conf, handler and handshaker are borrowed and must outlive it. NULL: no memory. */
struct http *http_new(struct event_base *base, const struct conf *conf, const struct http_handler *handler,
                      struct handshakes *handshaker);
void http_free(struct http *http);
/* Takes over fd (non-blocking, close-on-exec), which came through that entry of conf->http. tls is the context
 * of an entry with TLS (borrowed), and NULL without; peer counts for the places of handshakes. */
void http_accept(struct http *http, int fd, const struct conf_listener *listener, struct wire_context *tls,
                 uint16_t peer);

#endif
