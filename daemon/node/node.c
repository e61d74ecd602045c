/* A node from its first dial to its end: names, addresses, the socket under connect, the timer. */
#include "daemon/node/node.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/log.h"
#include "daemon/node/node_private.h"

static void node_open(struct node *n, const char *error);

/* ---- dialling ---- */

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct node *n = arg;
    (void)fd, (void)what;
    if (n->state == NODE_CONNECTING) {
        int error = dial_connected(n->wire.fd);
        if (error)
            node_open(n, strerror(error));
        else if (n->address->tls.on)
            node_tls(n);
        else
            node_login(n);
        return;
    }
    if (n->state == NODE_TLS) {
        node_tls_step(n);
        return;
    }
    n->blocked = false;
    if (n->state == NODE_READY)
        node_flush(n);
    else
        node_write(n);
}

/* Tries the next address; error says why the previous one failed. */
static void node_open(struct node *n, const char *error)
{
    node_socket_close(n);
    while (n->next_target < n->targets.count) {
        n->wire.fd = dial_open(&n->targets.list[n->next_target++]);
        if (n->wire.fd < 0) {
            error = strerror(errno);
            continue;
        }
        n->readable = event_new(n->base, n->wire.fd, EV_READ | EV_PERSIST, node_on_readable, n);
        n->writable = event_new(n->base, n->wire.fd, EV_WRITE, on_writable, n);
        if (!n->readable || !n->writable || event_add(n->writable, NULL) < 0) {
            node_down(n, FAILURE_MEMORY, "");
            return;
        }
        node_timer(n, STEP_TIMEOUT_MS);
        return;
    }
    char text[NODE_SHOWN_BYTES];
    log_escape(text, sizeof text, error, strlen(error));
    node_down(n, FAILURE_CONNECT, text);
}

static void on_addresses(void *arg, const struct dial_targets *targets, const char *error)
{
    struct node *n = arg;
    n->lookup = NULL;
    event_del(n->timer);
    if (!targets->count) {
        char text[NODE_SHOWN_BYTES];
        node_down(n, FAILURE_RESOLVE, log_escape(text, sizeof text, error, strlen(error)));
        return;
    }
    n->targets = *targets;
    n->next_target = 0;
    node_move(n, NODE_CONNECTING);
    node_open(n, "");
}

static void node_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct node *n = arg;
    (void)fd, (void)what;
    assert(n->state != NODE_IDLE);
    switch (n->state) {
    case NODE_WAITING:
        node_move(n, NODE_RESOLVING);
        node_timer(n, STEP_TIMEOUT_MS);
        struct dial_lookup *lookup = dial_lookup(n->dns, &n->address->address, on_addresses, n);
        if (lookup)
            n->lookup = lookup;
        break;
    case NODE_RESOLVING: node_down(n, FAILURE_RESOLVE, "\"no answer\""); break;
    case NODE_CONNECTING:
        if (n->next_target < n->targets.count)
            node_open(n, "");
        else
            node_down(n, FAILURE_CONNECT_TIMEOUT, "");
        break;
    case NODE_TLS:
        node_down(
            n, FAILURE_TLS_TIMEOUT,
            "\"no answer to the TLS handshake\" hint=\"if no TLS is spoken there, write redis:// in nodes\"");
        break;
    case NODE_LOGIN: node_down(n, FAILURE_LOGIN_TIMEOUT, ""); break;
    case NODE_READY: subscribe_ping(n); break; /* no other node has a timer then */
    case NODE_IDLE: break;
    }
}

/* ---- the node ---- */

struct node *node_new(struct event_base *base, struct evdns_base *dns, const struct conf *conf,
                      const struct conf_node *address, unsigned index, const struct node_handler *handler)
{
    assert(index < MASTERS);
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->base = base;
    n->dns = dns;
    n->conf = conf;
    n->address = address;
    n->index = index;
    n->handler = handler;
    n->wire.fd = -1;
    n->rtt_sent_us = n->rtt_us = -1;
    n->why = "";
    n->timer = evtimer_new(base, node_on_timer, n);
    if (!n->timer) {
        free(n);
        return NULL;
    }
    return n;
}

struct node *node_new_subscriber(struct event_base *base, struct evdns_base *dns, const struct conf *conf,
                                 const struct conf_node *address, unsigned index,
                                 const struct node_handler *handler, const char *channel)
{
    struct node *n = node_new(base, dns, conf, address, index, handler);
    if (n)
        n->channel = channel;
    return n;
}

void node_secure(struct node *n, struct wire_context *context)
{
    n->context = context;
}

void node_start(struct node *n)
{
    node_move(n, NODE_WAITING);
    node_timer(n, 0);
}

void node_free(struct node *n)
{
    if (!n)
        return;
    node_hangup(n);
    event_free(n->timer);
    buffer_free(&n->out);
    expected_free(&n->expected);
    node_forget_password(n);
    free(n);
}

void node_row(const struct node *n, struct node_row *row)
{
    row->ready = n->state == NODE_READY;
    row->rtt_us = n->rtt_us;
    row->pending = expected_count(&n->expected);
    row->errors = n->errors;
    row->why = n->why;
}

bool node_error_count(const struct node *n, unsigned i, const char **word, uint64_t *count)
{
    if (i < FAILURES) {
        *word = node_failure_word((enum node_failure)i);
        *count = n->failures_count[i];
        return true;
    }
    i -= FAILURES;
    if (i >= VOTE_ERRORS)
        return false;
    *word = resp_error_name((enum vote_error)i);
    *count = n->errors_count[i];
    return true;
}

int64_t node_rtt_us(const struct node *n)
{
    return n->rtt_us;
}

const struct histogram *node_rtts(const struct node *n)
{
    return &n->rtts;
}

void node_handshakes(const struct node *n, uint64_t *done, uint64_t *failed)
{
    *done = n->handshakes;
    *failed = n->handshakes_failed;
}

uint32_t node_connection(const struct node *n)
{
    return n->connection;
}

uint64_t node_reconnects(const struct node *n)
{
    return n->connection > 1 ? n->connection - 1 : 0;
}
