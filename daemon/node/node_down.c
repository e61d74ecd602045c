/* The end of a connection to a master, and the pause before the next one. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/node/node_private.h"

enum {
    BACKOFF_MIN_MS = 50,
    BACKOFF_MAX_MS = 1000,
    LOG_PAUSE_MS = 1000, /* between two log lines about the same kind of failure of one master */
};

static const char *const failure_words[FAILURES] = {
    [FAILURE_RESOLVE] = "resolve",
    [FAILURE_CONNECT] = "connect",
    [FAILURE_CONNECT_TIMEOUT] = "connect_timeout",
    [FAILURE_TLS] = "tls",
    [FAILURE_TLS_TIMEOUT] = "tls_timeout",
    [FAILURE_LOGIN_TIMEOUT] = "login_timeout",
    [FAILURE_LOGIN_REFUSED] = "login_refused",
    [FAILURE_LOADING] = "loading",
    [FAILURE_MAXCLIENTS] = "maxclients",
    [FAILURE_CLOSED] = "closed_by_master",
    [FAILURE_SOCKET] = "socket_error",
    [FAILURE_PROTOCOL] = "protocol",
    [FAILURE_UNSOLICITED] = "unsolicited_reply",
    [FAILURE_BACKLOG] = "backlog",
    [FAILURE_MEMORY] = "no_memory",
    [FAILURE_SILENT] = "silent",
    [FAILURE_HANDSHAKE] = "handshake",
};

const char *node_failure_word(enum node_failure failure)
{
    return failure_words[failure];
}

void node_move(struct node *n, enum node_state to)
{
    static const unsigned from[] = {
        [NODE_WAITING] = 1u << NODE_IDLE | 1u << NODE_RESOLVING | 1u << NODE_CONNECTING | 1u << NODE_TLS |
                         1u << NODE_LOGIN | 1u << NODE_READY,
        [NODE_RESOLVING] = 1u << NODE_WAITING,
        [NODE_CONNECTING] = 1u << NODE_RESOLVING,
        [NODE_TLS] = 1u << NODE_CONNECTING,
        [NODE_LOGIN] = 1u << NODE_CONNECTING | 1u << NODE_TLS,
        [NODE_READY] = 1u << NODE_LOGIN,
    };
    assert(from[to] & 1u << n->state);
    n->state = to;
}

void node_timer(struct node *n, int64_t ms)
{
    struct timeval after = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    /* Without memory for the timer, fire at once: never would leave this master away for good. */
    if (event_add(n->timer, &after) < 0)
        event_active(n->timer, EV_TIMEOUT, 0);
}

void node_socket_close(struct node *n)
{
    if (n->readable)
        event_free(n->readable);
    if (n->writable)
        event_free(n->writable);
    n->readable = n->writable = NULL;
    wire_end(&n->wire);
    if (n->wire.fd >= 0)
        dial_hangup(n->wire.fd);
    n->wire.fd = -1;
}

void node_hangup(struct node *n)
{
    node_socket_close(n);
    n->shaking = false;
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
    /* A connection that did not last counts as a failure. Otherwise a server that closes each connection
     * right after the login would be dialled 20 times a second. */
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

/* A kind of failure is logged once while the master is absent, not at every dial. If the connection comes and
 * goes, it is logged at most once a second. */
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
    const char *event = n->channel ? "wake_lost" : was_ready ? "node_lost" : "node_unreachable";
    n->errors++;
    n->failures_count[failure]++;
    n->handshakes_failed += n->shaking;
    n->why = failure_words[failure];
    const char *node = n->address->address.shown, *key = *detail ? " detail=" : "";
    if (!n->channel && node_logs(n, failure)) /* the other connection tells what the master does */
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

static void node_tls_down(struct node *n)
{
    char what[NODE_SHOWN_BYTES], detail[NODE_SHOWN_BYTES + 256];
    const struct wire_fault *fault = wire_fault();

    log_escape(what, sizeof what, fault->what, strlen(fault->what));
    snprintf(detail, sizeof detail, *fault->hint ? "%s hint=\"%s\"" : "%s", what, fault->hint);
    node_down(n, FAILURE_TLS, detail);
}

bool node_wants_tls(const struct node *n)
{
    return n->state == NODE_LOGIN && !n->wire.tls && n->expected.popped == 0 && !n->address->address.path[0];
}

void node_broken(struct node *n, int error)
{
    if (n->wire.tls && error != ENOMEM)
        node_tls_down(n);
    else if (error == ECONNRESET && node_wants_tls(n))
        node_down(n, FAILURE_SOCKET, NODE_WANTS_TLS);
    else
        node_down_errno(n, FAILURE_SOCKET, error);
}

void node_close(struct node *n, const char *why)
{
    if (n->state != NODE_READY)
        return;
    log_warn("node_closed", "node=%s why=%s", n->address->address.shown, why);
    n->errors++;
    for (unsigned i = 0; i < FAILURES; i++)
        n->failures_count[i] += strcmp(failure_words[i], why) == 0;
    n->why = why;
    node_hangup(n);
    node_wait(n);
}
