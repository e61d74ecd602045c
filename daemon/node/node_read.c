/* Replies of a master: bytes -> replies -> votes for the handler. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "daemon/clock.h"
#include "daemon/log.h"
#include "daemon/node/node_private.h"

enum {
    READ_BYTES = 64 * 1024,
    READS = 4, /* at most, in one wake-up: other masters and clients want their turn */
    RTT_WEIGHT = 8,
};

static void node_error(struct node *n, enum vote_error error, const struct resp_reply *reply)
{
    char text[NODE_SHOWN_BYTES];
    n->errors++;
    n->errors_count[error]++;
    n->why = resp_error_name(error);
    if (n->errors_logged & 1u << error)
        return;
    n->errors_logged |= 1u << error;
    node_text(text, reply);
    log_warn("node_error", "node=%s class=%s error=%s", n->address->address.shown, n->why, text);
}

/* Loads a script again that the server has forgotten (SCRIPT FLUSH). */
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

/* The votes on all keys of a batch but the first. A handler may close the connection in between: the
 * coordinator then counts the remaining keys as lost with it. */
__attribute__((noinline)) static void vote_of_several(enum command_verb verb, const struct resp_reply *reply,
                                                      unsigned key, unsigned keys, struct vote *vote)
{
    if (verb == COMMAND_SEE)
        resp_vote_seen(reply, key, keys, vote);
    else
        resp_vote_key(reply, key, keys, vote);
}

static void node_vote_rest(struct node *n, enum command_verb verb, unsigned keys,
                           const struct resp_reply *reply, struct vote *vote)
{
    for (unsigned key = 1; key < keys && n->wire.fd >= 0; key++) {
        uint64_t ref = expected_pop(&n->expected).ref;
        vote_of_several(verb, reply, key, keys, vote);
        n->handler->voted(n->handler->arg, n->index, n->connection, verb, ref, vote);
    }
}

/* A script ran, but the user of this daemon may not wake others. */
static void node_may_not_publish(struct node *n)
{
    if (n->errors_logged & 1u << ERROR_NOPERM)
        return;
    n->errors_logged |= 1u << ERROR_NOPERM;
    log_warn("wake_refused",
             "node=%s asked=PUBLISH hint=\"waiting clients poll: give the user the rights that "
             "redlockd --check prints (acl)\"",
             n->address->address.shown);
}

/* A server need not know native commands, nor allow them, nor need each key be a string: that is no error. */
static bool is_to_native(enum command_verb verb, enum vote_error error)
{
    bool usual = error == ERROR_OTHER || error == ERROR_NOPERM || error == ERROR_WRONGTYPE;
    return usual && (command_is_question(verb) || command_is_native(verb));
}

/* false: the replies are out of step with the commands, so none of them was trusted. */
static bool node_vote_error(struct node *n, enum command_verb verb, enum vote_error error,
                            const struct resp_reply *reply)
{
    bool text = reply->type == RESP_STRING && (verb == COMMAND_INFO || verb == COMMAND_ZSCORE);
    if (reply->type != RESP_ERROR && !text) {
        node_down(n, FAILURE_PROTOCOL, OUT_OF_STEP);
        return false;
    }
    if (!is_to_native(verb, error))
        node_error(n, error, reply);
    return true;
}

static void node_vote(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    enum command_verb verb = (enum command_verb)expected->detail;
    unsigned keys = expected->replies_to;
    struct vote vote;
    if (keys > 1)
        vote_of_several(verb, reply, 0, keys, &vote);
    else
        resp_vote(verb, reply, &vote);
    if (vote.kind == VOTE_NOT_RUN)
        node_reload(n, (unsigned)resp_script_of(verb));
    else if (vote.kind == VOTE_UNHEARD && vote.error == ERROR_NOPERM)
        node_may_not_publish(n);
    else if (vote.kind == VOTE_ERROR && !node_vote_error(n, verb, vote.error, reply))
        return;
    n->handler->voted(n->handler->arg, n->index, n->connection, verb, expected->ref, &vote);
    if (keys > 1)
        node_vote_rest(n, verb, keys, reply, &vote);
}

static void node_aside(struct node *n, const struct expected *expected, const struct resp_reply *reply)
{
    if (reply->type == RESP_ARRAY || reply->type == RESP_INTEGER) {
        node_down(n, FAILURE_PROTOCOL, OUT_OF_STEP);
        return;
    }
    if (resp_is_not_run(reply))
        node_reload(n, expected->detail);
    n->handler->answered(n->handler->arg, n->index, expected->ref, reply);
}

static void node_rtt(struct node *n)
{
    if (n->rtt_sent_us <= 0 || n->expected.popped <= n->rtt_sample)
        return;
    int64_t sample_us = clock_boot_us() - n->rtt_sent_us;
    histogram_count(&n->rtts, sample_us);
    n->rtt_us = n->rtt_us < 0 ? sample_us : n->rtt_us + (sample_us - n->rtt_us) / RTT_WEIGHT;
    n->rtt_sent_us = -1;
}

static void node_reply(struct node *n, const struct resp_reply *reply)
{
    char text[NODE_SHOWN_BYTES];
    if (n->channel && n->state == NODE_READY) {
        if (!subscribe_reply(n, reply))
            node_down(n, FAILURE_PROTOCOL, "\"a reply that a subscriber cannot have\"");
        return;
    }
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
    } else if (expected.kind == EXPECTED_ASIDE) {
        node_aside(n, &expected, reply);
    } else if (expected.kind == EXPECTED_AUTH) {
        node_auth_reply(n, reply);
    } else if (expected.kind == EXPECTED_PONG) {
        node_auth_mark(n, reply);
    } else {
        n->scripts_loading &= ~(1u << expected.detail);
        if (!node_script_loaded(&expected, reply))
            node_error(n, reply->type == RESP_ERROR ? resp_error(reply) : ERROR_OTHER, reply);
    }
}

/* Any reply may end the connection, here or in a handler. Only the timer dials again, so fd < 0 means that
 * the connection is gone. */
static void node_replies(struct node *n)
{
    while (n->wire.fd >= 0) {
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
    static const struct timeval at_once;
    static char bytes[READ_BYTES]; /* shared by all masters: it is consumed before the next read */
    struct node *n = arg;
    (void)fd;
    if (what & EV_TIMEOUT && event_add(n->readable, NULL) < 0) { /* its time-out has deleted it */
        node_down(n, FAILURE_MEMORY, "");
        return;
    }
    if (n->state == NODE_TLS) {
        node_tls_step(n);
        return;
    }
    for (unsigned reads = 0; reads < READS && n->wire.fd >= 0; reads++) {
        ssize_t len = wire_read(&n->wire, bytes, sizeof bytes);
        if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
            break;
        if (len < 0) {
            node_broken(n, errno);
            return;
        }
        if (len == 0) {
            node_down(n, FAILURE_CLOSED, node_wants_tls(n) ? NODE_WANTS_TLS : "");
            return;
        }
        if (n->state == NODE_LOGIN && !n->wire.tls && wire_looks_like_tls(bytes, (size_t)len)) {
            node_down(n, FAILURE_PROTOCOL, "\"it answers with TLS\" hint=\"write rediss:// in nodes\"");
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
    if (n->wire.fd >= 0 && wire_pending(&n->wire)) /* what only TLS has is read in the next turn */
        event_add(n->readable, &at_once);
    /* The node itself has appended SCRIPT LOAD, so it does not wait for its user to flush. */
    if (n->scripts_loading)
        node_flush(n);
}
