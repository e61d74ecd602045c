#include "daemon/node/node.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/node/node_private.h"

enum {
    STEP_TIMEOUT_MS = 1000, /* for each of resolve, connect, login */
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 1000,
    LOG_PAUSE_MS = 1000, /* between two lines on one kind of failure of one master */
};

static const char *const failure_words[FAILURES] = {
    [FAILURE_RESOLVE] = "resolve",
    [FAILURE_CONNECT] = "connect",
    [FAILURE_CONNECT_TIMEOUT] = "connect_timeout",
    [FAILURE_LOGIN_TIMEOUT] = "login_timeout",
    [FAILURE_LOGIN_REFUSED] = "login_refused",
    [FAILURE_LOADING] = "loading",
    [FAILURE_CLOSED] = "closed_by_master",
    [FAILURE_SOCKET] = "socket_error",
    [FAILURE_PROTOCOL] = "protocol",
    [FAILURE_UNSOLICITED] = "unsolicited_reply",
    [FAILURE_BACKLOG] = "backlog",
    [FAILURE_MEMORY] = "no_memory",
};

static void node_open(struct node *n, const char *error);

static void node_move(struct node *n, enum node_state to)
{
    static const unsigned from[] = {
        [NODE_WAITING] = 1u << NODE_IDLE | 1u << NODE_RESOLVING | 1u << NODE_CONNECTING | 1u << NODE_LOGIN |
                         1u << NODE_READY,
        [NODE_RESOLVING] = 1u << NODE_WAITING,
        [NODE_CONNECTING] = 1u << NODE_RESOLVING,
        [NODE_LOGIN] = 1u << NODE_CONNECTING,
        [NODE_READY] = 1u << NODE_LOGIN,
    };
    assert(from[to] & 1u << n->state);
    n->state = to;
}

static void node_timer(struct node *n, int64_t ms)
{
    struct timeval after = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    /* No memory: at once rather than never, which would leave this master away for good. */
    if (event_add(n->timer, &after) < 0)
        event_active(n->timer, EV_TIMEOUT, 0);
}

/* ---- the end of a connection, and the next one ---- */

static void socket_close(struct node *n)
{
    if (n->readable)
        event_free(n->readable);
    if (n->writable)
        event_free(n->writable);
    n->readable = n->writable = NULL;
    if (n->fd >= 0)
        dial_hangup(n->fd);
    n->fd = -1;
}

static void node_hangup(struct node *n)
{
    socket_close(n);
    event_del(n->timer);
    if (n->lookup)
        dial_cancel(n->lookup);
    n->lookup = NULL;
    resp_reader_free(n->reader);
    n->reader = NULL;
    n->out.start = n->out.end = 0;
    buffer_trim(&n->out, NODE_KEPT_BYTES);
    expected_clear(&n->expected);
    n->asked = 0;
    n->scripts_loading = 0;
    n->blocked = n->broken = n->backlog_told = false;
    n->errors_logged = 0;
    n->rtt_sent_us = n->rtt_us = -1;
}

static void node_wait(struct node *n)
{
    /* One that did not last was a failure: else a server that accepts and then closes is dialled 20 times a
     * second. */
    if (n->state == NODE_READY && clock_boot_ms() - n->ready_ms >= BACKOFF_MAX_MS)
        n->failures_in_a_row = 0;
    int64_t ms = (int64_t)BACKOFF_MIN_MS << n->failures_in_a_row;
    if (ms >= BACKOFF_MAX_MS)
        ms = BACKOFF_MAX_MS;
    else
        n->failures_in_a_row++;
    node_move(n, NODE_WAITING);
    node_timer(n, ms / 2 + clock_random_below((uint32_t)ms + 1));
}

/* A master that is away is told of once, not at every dial; one that flaps, not above once a second. */
static bool node_logs(struct node *n, enum node_failure failure)
{
    bool ready = n->state == NODE_READY;
    int64_t now_ms = clock_boot_ms();
    if (!ready && n->failures_logged & 1u << failure)
        return false;
    if (n->logged_ms[failure] && now_ms - n->logged_ms[failure] < LOG_PAUSE_MS)
        return false;
    n->logged_ms[failure] = now_ms;
    n->failures_logged |= 1u << failure;
    return true;
}

void node_down(struct node *n, enum node_failure failure, const char *detail)
{
    bool was_ready = n->state == NODE_READY;
    uint32_t connection = n->connection;
    const char *event = was_ready ? "node_lost" : "node_unreachable";
    n->errors++;
    n->why = failure_words[failure];
    const char *node = n->address->address.shown, *key = *detail ? " detail=" : "";
    if (node_logs(n, failure))
        log_warn(event, "node=%s why=%s%s%s", node, n->why, key, detail);
    else
        log_debug(event, "node=%s why=%s%s%s", node, n->why, key, detail);
    node_hangup(n);
    node_wait(n);
    if (was_ready) {
        n->handler->lost(n->handler->arg, n->index, connection);
    } else if (!n->first_told) {
        n->first_told = true;
        n->handler->failed(n->handler->arg, n->index);
    }
}

void node_down_errno(struct node *n, enum node_failure failure, int error)
{
    char detail[NODE_SHOWN_BYTES];
    const char *text = strerror(error);
    node_down(n, failure, log_escape(detail, sizeof detail, text, strlen(text)));
}

void node_close(struct node *n, const char *why)
{
    if (n->state != NODE_READY)
        return;
    log_warn("node_closed", "node=%s why=%s", n->address->address.shown, why);
    n->errors++;
    n->why = why;
    node_hangup(n);
    node_wait(n);
}

/* ---- logging in ---- */

bool node_script_loaded(const struct expected *expected, const struct resp_reply *reply)
{
    return reply->type == RESP_STRING && strcmp(reply->text, resp_script_sha1(expected->detail)) == 0;
}

static void node_ready(struct node *n)
{
    event_del(n->timer);
    node_move(n, NODE_READY);
    n->first_told = true;
    n->connection++;
    n->ready_ms = clock_boot_ms();
    n->failures_logged = 0;
    log_debug("node_connected", "node=%s connection=%u", n->address->address.shown, n->connection);
    n->handler->connected(n->handler->arg, n->index, n->connection);
}

static bool tells_password(const struct node *n, const struct resp_reply *reply)
{
    const char *password = n->address->password;
    return *password && memmem(reply->text, node_text_len(reply), password, strlen(password));
}

static void node_refused(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    static const char *const asked[] = {
        [EXPECTED_AUTH] = "AUTH", [EXPECTED_SELECT] = "SELECT", [EXPECTED_SCRIPT] = "SCRIPT LOAD"};
    char text[NODE_SHOWN_BYTES], detail[NODE_SHOWN_BYTES + 32];
    enum vote_error error = reply->type == RESP_ERROR ? resp_error(reply) : ERROR_OTHER;
    const char *shown = tells_password(n, reply) ? "\"(hidden)\"" : node_text(text, reply);
    snprintf(detail, sizeof detail, "%s asked=\"%s\"", shown, asked[expected->kind]);
    node_down(n, error == ERROR_LOADING ? FAILURE_LOADING : FAILURE_LOGIN_REFUSED, detail);
}

void node_login_reply(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    bool script = expected->kind == EXPECTED_SCRIPT;
    bool good = script ? node_script_loaded(expected, reply) : reply->type == RESP_STATUS;
    if (!good)
        node_refused(n, expected, reply);
    else if (!expected_count(&n->expected))
        node_ready(n);
}

/* ---- dialling ---- */

static void node_login(struct node *n)
{
    const struct conf_node *address = n->address;
    size_t len = 0;
    n->reader = resp_reader_new();
    if (address->password[0]) {
        char *bytes = resp_auth(address->user, address->password, &len);
        node_append_own(n, bytes, len, EXPECTED_AUTH, 0);
    }
    if (address->db) {
        char *bytes = resp_select(address->db, &len);
        node_append_own(n, bytes, len, EXPECTED_SELECT, 0);
    }
    for (unsigned script = 0; script < RESP_SCRIPTS; script++) {
        char *bytes = resp_script_load(script, &len);
        node_append_own(n, bytes, len, EXPECTED_SCRIPT, script);
    }
    node_move(n, NODE_LOGIN);
    if (!n->reader || n->broken) {
        node_down(n, FAILURE_MEMORY, "");
        return;
    }
    event_add(n->readable, NULL);
    node_timer(n, STEP_TIMEOUT_MS);
    node_write(n);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct node *n = arg;
    (void)fd, (void)what;
    if (n->state == NODE_CONNECTING) {
        int error = dial_connected(n->fd);
        if (error)
            node_open(n, strerror(error));
        else
            node_login(n);
        return;
    }
    n->blocked = false;
    if (n->state == NODE_READY)
        node_flush(n);
    else
        node_write(n);
}

/* The next of the addresses; error is why the one before failed. */
static void node_open(struct node *n, const char *error)
{
    socket_close(n);
    while (n->next_target < n->targets.count) {
        n->fd = dial_open(&n->targets.list[n->next_target++]);
        if (n->fd < 0) {
            error = strerror(errno);
            continue;
        }
        n->readable = event_new(n->base, n->fd, EV_READ | EV_PERSIST, node_on_readable, n);
        n->writable = event_new(n->base, n->fd, EV_WRITE, on_writable, n);
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

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct node *n = arg;
    (void)fd, (void)what;
    assert(n->state != NODE_IDLE && n->state != NODE_READY);
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
    case NODE_LOGIN: node_down(n, FAILURE_LOGIN_TIMEOUT, ""); break;
    case NODE_IDLE:
    case NODE_READY: break;
    }
}

/* ---- the node ---- */

struct node *node_new(struct event_base *base, struct evdns_base *dns, const struct conf *conf,
                      unsigned index, const struct node_handler *handler)
{
    assert(index < conf->masters);
    struct node *n = calloc(1, sizeof *n);
    if (!n)
        return NULL;
    n->base = base;
    n->dns = dns;
    n->conf = conf;
    n->address = &conf->nodes[index];
    n->index = index;
    n->handler = handler;
    n->fd = -1;
    n->rtt_sent_us = n->rtt_us = -1;
    n->why = "";
    n->timer = evtimer_new(base, on_timer, n);
    if (!n->timer) {
        free(n);
        return NULL;
    }
    return n;
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
    free(n);
}

void node_row(const struct node *n, struct node_row *row)
{
    row->rtt_us = n->rtt_us;
    row->pending = expected_count(&n->expected);
    row->errors = n->errors;
    row->why = n->why;
}
