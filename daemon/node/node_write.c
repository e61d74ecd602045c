/* Commands to a master: collected, and written once a turn. */
#include <errno.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/node/node_private.h"

enum { RTT_EVERY = 16 /* commands between two samples, since a sample reads the clock twice */ };

bool node_write(struct node *n)
{
    if (n->blocked)
        return true;
    if (buffer_len(&n->out))
        n->asked = n->expected.pushed;
    if (wire_write(&n->wire, &n->out) < 0) {
        node_broken(n, errno);
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

/* Appends a command. expected is what expected_push() returned for its replies, and bytes is NULL where
 * there was no memory for the command. If memory was missing for either, the connection is useless, and the
 * next flush closes it. */
static inline void node_append(struct node *n, const char *bytes, size_t len, int expected)
{
    char *room = bytes && expected == 0 ? buffer_reserve(&n->out, len) : NULL;
    if (!room) {
        n->broken = true;
        return;
    }
    memcpy(room, bytes, len);
    buffer_commit(&n->out, len);
}

static void node_append_freed(struct node *n, char *bytes, size_t len, enum expected_kind kind,
                              unsigned detail, uint64_t ref)
{
    if (!n->broken)
        node_append(n, bytes, len, expected_push(&n->expected, kind, detail, ref));
    resp_bytes_free(bytes);
}

void node_append_own(struct node *n, char *bytes, size_t len, enum expected_kind kind, unsigned detail)
{
    node_append_freed(n, bytes, len, kind, detail, 0);
}

bool node_ask(struct node *n, char *bytes, size_t len, unsigned script, uint64_t ref)
{
    if (n->state != NODE_READY) {
        resp_bytes_free(bytes);
        return false;
    }
    node_append_freed(n, bytes, len, EXPECTED_ASIDE, script, ref);
    return true;
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

void node_send_sees(struct node *n, const char *bytes, size_t len, const uint64_t refs[], unsigned count)
{
    if (n->state != NODE_READY || n->broken)
        return;
    node_sample(n);
    node_append(n, bytes, len, expected_push_all(&n->expected, EXPECTED_VOTE, COMMAND_SEE, refs, count));
}

/* Whether unsent bytes and expected replies hold too much memory: more than the limit at first, and more
 * than twice the limit once the handler was told and did not close the connection. */
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
    /* Each command leaves bytes, so a backlog that node_flush() has not seen yet has some, too. */
    return n->broken || (buffer_len(&n->out) && (!n->blocked || node_backlogged(n)));
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
