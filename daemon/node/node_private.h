/* Between the files of node.h: node.c dials, logs in and ends connections, node_io.c writes
 * commands and reads replies. */
#ifndef REDLOCKD_NODE_PRIVATE_H
#define REDLOCKD_NODE_PRIVATE_H

#include "daemon/buffer.h"
#include "daemon/node/dial.h"
#include "daemon/node/expected.h"
#include "daemon/node/node.h"
#include "proto/resp.h"

/*         node_start()        timer         addresses       connected       all answered
 *   IDLE ------------> WAITING ---> RESOLVING ----> CONNECTING ----> LOGIN ------------> READY
 *                         ^             |            |    ^ |          |                   |
 *                         |             |            |    +-+ next     |                   |
 *                         |             |            |     address     |                   |
 *                         +-------------+------------+-----------------+-------------------+
 *                              any failure, or node_close(): back off, with jitter
 */
enum node_state { NODE_IDLE, NODE_WAITING, NODE_RESOLVING, NODE_CONNECTING, NODE_LOGIN, NODE_READY };

enum node_failure {
    FAILURE_RESOLVE,
    FAILURE_CONNECT,
    FAILURE_CONNECT_TIMEOUT,
    FAILURE_LOGIN_TIMEOUT,
    FAILURE_LOGIN_REFUSED,
    FAILURE_LOADING,
    FAILURE_CLOSED,
    FAILURE_SOCKET,
    FAILURE_PROTOCOL,
    FAILURE_UNSOLICITED,
    FAILURE_BACKLOG,
    FAILURE_MEMORY,
    FAILURES,
};

enum { NODE_SHOWN_BYTES = 200, NODE_KEPT_BYTES = 64 * 1024 };

struct node {
    enum node_state state;
    unsigned index;
    uint32_t connection; /* counts those that connected() told of */
    int fd;              /* -1: none */
    struct event_base *base;
    struct evdns_base *dns;
    const struct conf *conf;
    const struct conf_node *address;
    const struct node_handler *handler;

    struct event *timer;
    struct event *readable; /* both only while there is a socket */
    struct event *writable;
    struct dial_lookup *lookup; /* RESOLVING */
    struct dial_targets targets;
    unsigned next_target;
    unsigned failures_in_a_row;
    int64_t ready_ms; /* when it came to be READY last */
    bool first_told;  /* how the first dial ended: by connected() or failed() */

    struct resp_reader *reader;
    struct buffer out;
    struct expected_ring expected;
    uint64_t asked;           /* of expected: those before it were written, if only in part */
    unsigned scripts_loading; /* a bit each: SCRIPT LOAD is under way */
    bool blocked;             /* the socket took no more: wait for writable */
    bool broken;              /* no memory for a command: to be closed by the next flush */
    bool backlog_told;

    uint64_t rtt_sample; /* which expected reply ends the measurement; one at a time */
    int64_t rtt_sent_us; /* -1: none under way; 0: not written yet */
    int64_t rtt_us;

    uint64_t errors;
    const char *why;
    unsigned failures_logged; /* bits; since the last connected() */
    unsigned errors_logged;   /* bits of enum vote_error; on this connection */
    int64_t logged_ms[FAILURES];
};

/* ---- node.c ---- */

/* The one way in which a connection, or the attempt to get one, ends by itself. detail is
 * for the log: escaped, or "". */
void node_down(struct node *n, enum node_failure failure, const char *detail);
void node_down_errno(struct node *n, enum node_failure failure, int error);
/* A reply while NODE_LOGIN. */
void node_login_reply(struct node *n, const struct expected *expected, const struct resp_reply *reply);
bool node_script_loaded(const struct expected *expected, const struct resp_reply *reply);

/* ---- node_io.c ---- */

/* Appends what the transport says on its own, and the reply to expect; frees bytes. NULL: there was no memory for
 * them, and the next flush closes the connection. */
void node_append_own(struct node *n, char *bytes, size_t len, enum expected_kind kind, unsigned detail);
/* false: the connection is gone. */
bool node_write(struct node *n);
/* Of a socket: what event_new() takes. */
void node_on_readable(evutil_socket_t fd, short what, void *arg);
/* What the log may show of a server's text: "unknown command" repeats its arguments, among them tokens. */
size_t node_text_len(const struct resp_reply *reply);
const char *node_text(char out[NODE_SHOWN_BYTES], const struct resp_reply *reply);

#endif
