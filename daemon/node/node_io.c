/* A connection at work: commands out, replies in. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/node/node_private.h"

enum {
    READ_BYTES = 64 * 1024,
    READS = 4, /* most reads of a wake-up: others want their turn */
    RTT_WEIGHT = 8,
    RTT_EVERY = 16, /* commands: between two samples, since each reads the clock twice */
};

/* ---- writing ---- */

bool node_write(struct node *n)
{
    if (n->blocked)
        return true;
    if (buffer_len(&n->out))
        n->asked = n->expected.pushed;
    if (buffer_write(&n->out, n->fd) < 0) {
        node_down_errno(n, FAILURE_SOCKET, errno);
        return false;
    }
    if (buffer_len(&n->out)) {
        n->blocked = true;
        event_add(n->writable, NULL);
    } else {
        buffer_trim(&n->out, NODE_KEPT_BYTES);
    }
    return true;
}

/* Of a command whose reply, or replies, were just expected. Without memory for either the connection is of no
 * use: the next flush closes it. bytes NULL: there was none for them. */
static void node_append(struct node *n, const char *bytes, size_t len, int expected)
{
    char *room = bytes && expected == 0 ? buffer_reserve(&n->out, len) : NULL;
    if (!room) {
        n->broken = true;
        return;
    }
    memcpy(room, bytes, len);
    buffer_commit(&n->out, len);
}

void node_append_own(struct node *n, char *bytes, size_t len, enum expected_kind kind, unsigned detail)
{
    if (!n->broken)
        node_append(n, bytes, len, expected_push(&n->expected, kind, detail, 0));
    resp_bytes_free(bytes);
}

static void node_sample(struct node *n)
{
    bool due = n->rtt_us < 0 || n->expected.pushed - n->rtt_sample >= RTT_EVERY;
    if (n->rtt_sent_us < 0 && due) {
        n->rtt_sent_us = 0;
        n->rtt_sample = n->expected.pushed;
    }
}

void node_send(struct node *n, const char *bytes, size_t len, enum command_verb verb, uint64_t ref)
{
    if (n->state != NODE_READY || n->broken)
        return;
    node_sample(n);
    node_append(n, bytes, len, expected_push(&n->expected, EXPECTED_VOTE, verb, ref));
}

void node_send_extends(struct node *n, const char *bytes, size_t len, const uint64_t refs[], unsigned count)
{
    if (n->state != NODE_READY || n->broken)
        return;
    node_sample(n);
    node_append(n, bytes, len, expected_push_all(&n->expected, EXPECTED_VOTE, COMMAND_EXTEND, refs, count));
}

/* Memory that this connection holds for what waits to be written or answered; above the limit the handler is
 * told, above twice the limit it did not listen. */
static bool node_backlogged(const struct node *n)
{
    uint64_t bytes = buffer_len(&n->out) + expected_count(&n->expected) * sizeof(struct expected);
    uint64_t limit_bytes = (uint64_t)n->conf->node_backlog_bytes;
    return bytes > (n->backlog_told ? 2 * limit_bytes : limit_bytes);
}

bool node_wants_flush(const struct node *n)
{
    if (n->state != NODE_READY)
        return false;
    return n->broken || (buffer_len(&n->out) && !n->blocked) || node_backlogged(n);
}

void node_flush(struct node *n)
{
    if (n->state != NODE_READY)
        return;
    if (n->broken) {
        node_down(n, FAILURE_MEMORY, "");
        return;
    }
    if (n->rtt_sent_us == 0)
        n->rtt_sent_us = clock_boot_us();
    if (!node_write(n) || !node_backlogged(n))
        return;
    if (n->backlog_told) {
        node_down(n, FAILURE_BACKLOG, "");
        return;
    }
    n->backlog_told = true;
    n->handler->backlog(n->handler->arg, n->index, n->connection);
}

/* ---- replies ---- */

size_t node_text_len(const struct resp_reply *reply)
{
    static const char arguments[] = ", with args";
    const char *cut = memmem(reply->text, reply->text_len, arguments, sizeof arguments - 1);
    return cut ? (size_t)(cut - reply->text) : reply->text_len;
}

const char *node_text(char out[NODE_SHOWN_BYTES], const struct resp_reply *reply)
{
    return log_escape(out, NODE_SHOWN_BYTES, reply->text, node_text_len(reply));
}

static void node_error(struct node *n, enum vote_error error, const struct resp_reply *reply)
{
    char text[NODE_SHOWN_BYTES];
    n->errors++;
    n->why = resp_error_name(error);
    if (n->errors_logged & 1u << error)
        return;
    n->errors_logged |= 1u << error;
    node_text(text, reply);
    log_warn("node_error", "node=%s class=%s error=%s", n->address->address.shown, n->why, text);
}

/* The server forgot its scripts (SCRIPT FLUSH). */
static void node_reload(struct node *n, unsigned script)
{
    size_t len = 0;
    if (n->scripts_loading & 1u << script)
        return;
    n->scripts_loading |= 1u << script;
    char *bytes = resp_script_load(script, &len);
    node_append_own(n, bytes, len, EXPECTED_SCRIPT, script);
    log_info("node_scripts", "node=%s script=%u why=not_there", n->address->address.shown, script);
}

/* To the others of several. A handler may end the connection, and with it the reply: the rest hears of that. */
static void node_vote_rest(struct node *n, unsigned keys, const struct resp_reply *reply, struct vote *vote)
{
    for (unsigned key = 1; key < keys && n->fd >= 0; key++) {
        uint64_t ref = expected_pop(&n->expected).ref;
        resp_vote_key(reply, key, keys, vote);
        n->handler->voted(n->handler->arg, n->index, n->connection, COMMAND_EXTEND, ref, vote);
    }
}

static void node_vote(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    enum command_verb verb = (enum command_verb)expected->detail;
    unsigned keys = expected->replies_to;
    struct vote vote;
    if (keys > 1)
        resp_vote_key(reply, 0, keys, &vote);
    else
        resp_vote(verb, reply, &vote);
    if (vote.kind == VOTE_NOT_RUN)
        node_reload(n, (unsigned)resp_script_of(verb));
    if (vote.kind == VOTE_ERROR) {
        bool text = reply->type == RESP_STRING && (verb == COMMAND_INFO || verb == COMMAND_ZSCORE);
        if (reply->type != RESP_ERROR && !text) {
            /* Replies no longer belong to the commands that we think: trust none of them. */
            node_down(n, FAILURE_PROTOCOL, "\"a reply that its command cannot have\"");
            return;
        }
        node_error(n, vote.error, reply);
    }
    n->handler->voted(n->handler->arg, n->index, n->connection, verb, expected->ref, &vote);
    if (keys > 1)
        node_vote_rest(n, keys, reply, &vote);
}

static void node_rtt(struct node *n)
{
    if (n->rtt_sent_us <= 0 || n->expected.popped <= n->rtt_sample)
        return;
    int64_t sample_us = clock_boot_us() - n->rtt_sent_us;
    n->rtt_us = n->rtt_us < 0 ? sample_us : n->rtt_us + (sample_us - n->rtt_us) / RTT_WEIGHT;
    n->rtt_sent_us = -1;
}

static void node_reply(struct node *n, const struct resp_reply *reply)
{
    char text[NODE_SHOWN_BYTES];
    if (n->expected.popped == n->asked) {
        node_down(n, FAILURE_UNSOLICITED, node_text(text, reply));
        return;
    }
    struct expected expected = expected_pop(&n->expected);
    node_rtt(n);
    if (n->state == NODE_LOGIN) {
        node_login_reply(n, &expected, reply);
    } else if (expected.kind == EXPECTED_VOTE) {
        node_vote(n, &expected, reply);
    } else {
        n->scripts_loading &= ~(1u << expected.detail);
        if (!node_script_loaded(&expected, reply))
            node_error(n, reply->type == RESP_ERROR ? resp_error(reply) : ERROR_OTHER, reply);
    }
}

/* Every reply may end the connection, here or in a handler; a new one is only dialled by the timer, so the
 * socket tells. */
static void node_replies(struct node *n)
{
    while (n->fd >= 0) {
        const struct resp_reply *reply;
        const char *why;
        int got = resp_reader_next(n->reader, &reply, &why);
        if (got == 0)
            return;
        if (got > 0) {
            node_reply(n, reply);
            continue;
        }
        char text[NODE_SHOWN_BYTES];
        node_down(n, FAILURE_PROTOCOL, log_escape(text, sizeof text, why, strlen(why)));
    }
}

void node_on_readable(evutil_socket_t fd, short what, void *arg)
{
    static char bytes[READ_BYTES]; /* of all masters: emptied before anybody else reads */
    struct node *n = arg;
    (void)fd, (void)what;
    for (unsigned reads = 0; reads < READS && n->fd >= 0; reads++) {
        ssize_t len = recv(n->fd, bytes, sizeof bytes, 0);
        if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            break;
        if (len < 0) {
            node_down_errno(n, FAILURE_SOCKET, errno);
            return;
        }
        if (len == 0) {
            node_down(n, FAILURE_CLOSED, "");
            return;
        }
        if (resp_reader_feed(n->reader, bytes, (size_t)len) < 0) {
            node_down(n, FAILURE_MEMORY, "");
            return;
        }
        node_replies(n);
        if ((size_t)len < sizeof bytes)
            break;
    }
    expected_trim(&n->expected);
    /* A script that had to be loaded again: nobody outside knows that there is something to write. */
    if (n->scripts_loading)
        node_flush(n);
}
