/* Shared by the files of a node only. Each file calls only files above it in this list:
 *
 *     node_down.c   the end of a connection, and the pause before the next dial
 *     node_write.c  commands: collected, and written once a turn
 *     node_subscribe.c  a connection that only listens: its login, messages, PING
 *     node_login.c  AUTH, SELECT, the scripts
 *     node_tls.c    the TLS handshake
 *     node_read.c   replies -> votes
 *     node.c        dialling, and the node itself */
#ifndef REDLOCKD_NODE_PRIVATE_H
#define REDLOCKD_NODE_PRIVATE_H

#include "daemon/buffer.h"
#include "daemon/node/dial.h"
#include "daemon/node/expected.h"
#include "daemon/node/node.h"
#include "daemon/wire/wire.h"
#include "proto/resp.h"

/*         node_start()        timer         addresses       connected       all answered
 *   IDLE ------------> WAITING ---> RESOLVING ----> CONNECTING ----> LOGIN ------------> READY
 *                         ^             |            |  | ^ |        ^ |                   |
 *                         |             |            |  | +-+ next   | |                   |
 *                         |             |            |  |  address   | |                   |
 *                         |             |            |  +--> TLS ----+ |                   |
 *                         |             |            |   rediss://     |                   |
 *                         +-------------+------------+-----------------+-------------------+
 *                              any failure, or node_close(): back off, with jitter
 */
enum node_state {
    NODE_IDLE,
    NODE_WAITING,
    NODE_RESOLVING,
    NODE_CONNECTING,
    NODE_TLS,
    NODE_LOGIN,
    NODE_READY
};

enum node_failure {
    FAILURE_RESOLVE,
    FAILURE_CONNECT,
    FAILURE_CONNECT_TIMEOUT,
    FAILURE_TLS,
    FAILURE_TLS_TIMEOUT,
    FAILURE_LOGIN_TIMEOUT,
    FAILURE_LOGIN_REFUSED,
    FAILURE_LOADING,
    FAILURE_MAXCLIENTS,
    FAILURE_CLOSED,
    FAILURE_SOCKET,
    FAILURE_PROTOCOL,
    FAILURE_UNSOLICITED,
    FAILURE_BACKLOG,
    FAILURE_MEMORY,
    FAILURE_SILENT, /* node_close() was told so, as with the next one; or a PING was not answered */
    FAILURE_HANDSHAKE,
    FAILURES,
};

enum {
    NODE_SHOWN_BYTES = 200,
    NODE_KEPT_BYTES = 64 * 1024,
    STEP_TIMEOUT_MS = 1000, /* for each of resolve, connect, TLS, login */
};

struct node {
    enum node_state state;
    unsigned index;
    uint32_t connection; /* counts connections that were announced by connected() */
    struct wire wire;    /* .fd: -1: none */
    struct event_base *base;
    struct evdns_base *dns;
    const struct conf *conf;
    const struct conf_node *address;
    const struct node_handler *handler;

    const char *channel;         /* a subscriber listens to it; NULL: this node sends commands */
    struct {                     /* the connection that subscribed last, which the next one kills */
        uint64_t id, new_id;     /* 0: none */
        char run_id[RUN_ID_HEX]; /* an id belongs to a run of the server */
        bool same_run;
    } subscribed;

    char *password;               /* the one that AUTH said last; NULL: none yet */
    struct wire_context *context; /* (ref) for rediss:// */
    bool shaking;                 /* the TLS handshake has begun, and no reply has come yet */
    uint64_t handshakes, handshakes_failed;

    struct event *timer;    /* READY: a subscriber's PING, or input that only TLS has */
    struct event *readable; /* NULL without a socket, as is writable */
    struct event *writable;
    struct dial_lookup *lookup; /* RESOLVING */
    struct dial_targets targets;
    unsigned next_target;
    unsigned failures_in_a_row;
    int64_t ready_ms; /* when the state became READY last */
    bool first_told;  /* connected() or failed() has told how the first dial ended */

    struct resp_reader *reader;
    struct buffer out;
    struct expected_ring expected;
    uint64_t asked; /* index behind the last reply that may come: no later command was handed to write() */
    unsigned scripts_loading; /* one bit for each script with a SCRIPT LOAD under way */
    bool blocked;             /* the socket took no more: wait until it is writable */
    bool broken;              /* there was no memory for a command: the next flush closes the connection */
    bool backlog_told;

    uint64_t rtt_sample; /* index of the expected reply that ends the measurement; one runs at a time */
    int64_t rtt_sent_us; /* -1: no measurement runs; 0: its command is not written yet */
    int64_t rtt_us;

    uint64_t errors;
    uint64_t failures_count[FAILURES];
    uint64_t errors_count[VOTE_ERRORS];
    struct histogram rtts;
    const char *why;
    unsigned failures_logged; /* bits of enum node_failure, since the last connected() */
    unsigned errors_logged;   /* bits of enum vote_error, on this connection */
    int64_t logged_ms[FAILURES];
};

/* ---- node_down.c ---- */

const char *node_failure_word(enum node_failure failure);

void node_move(struct node *n, enum node_state to);
void node_timer(struct node *n, int64_t ms);
void node_socket_close(struct node *n);
/* Drops the connection, or the attempt to get one, and everything that belongs to it. */
void node_hangup(struct node *n);
/* Every failure ends here: logs it, hangs up and starts the wait for the next dial. Then it calls lost(), or
 * failed() if the first dial failed. detail is for the log: escaped, or "". */
void node_down(struct node *n, enum node_failure failure, const char *detail);
void node_down_errno(struct node *n, enum node_failure failure, int error);
/* A read, a write or the handshake failed with this errno: logs why, and hangs up. */
void node_broken(struct node *n, int error);
/* Whether a plain connection that ended now did so before the master's first reply, as one to a TLS port
 * does. */
bool node_wants_tls(const struct node *n);
/* Why a connection ends whose replies are out of step with its commands. */
#define OUT_OF_STEP    "\"a reply that its command cannot have\""
#define NODE_WANTS_TLS "\"at the first command\" hint=\"if TLS is spoken there, write rediss:// in nodes\""

/* ---- node_write.c ---- */

/* Appends a command of the transport itself and the reply to expect, and frees bytes. NULL bytes mean that
 * there was no memory for them: the next flush closes the connection. */
void node_append_own(struct node *n, char *bytes, size_t len, enum expected_kind kind, unsigned detail);
/* false: the connection is gone. */
bool node_write(struct node *n);

/* ---- node_subscribe.c ---- */

void subscribe_begin(struct node *n); /* appends the questions of the login */
/* An answer in the login; false: it is none. */
bool subscribe_answer(struct node *n, const struct expected *expected, const struct resp_reply *reply);
/* All questions are answered; true: more were appended and written. */
bool subscribe_go_on(struct node *n);
/* A reply in NODE_READY; false: not one that a subscriber gets. */
bool subscribe_reply(struct node *n, const struct resp_reply *reply);
void subscribe_ping(struct node *n); /* the timer in NODE_READY */
void subscribe_refused(struct node *n, enum node_failure failure, const struct resp_reply *reply);
/* ---- node_tls.c ---- */

/* Begins the TLS handshake on a socket that has just connected. */
void node_tls(struct node *n);
/* The socket is ready for the next step of the handshake. */
void node_tls_step(struct node *n);

/* ---- node_login.c ---- */

/* Begins the login on a socket that has just connected. */
void node_login(struct node *n);
void node_forget_password(struct node *n);
/* The replies to AUTH and PING of node_reauthenticate(). */
void node_auth_reply(struct node *n, const struct resp_reply *reply);
void node_auth_mark(struct node *n, const struct resp_reply *reply);
/* Handles a reply in the state NODE_LOGIN. */
void node_login_reply(struct node *n, const struct expected *expected, const struct resp_reply *reply);
bool node_script_loaded(const struct expected *expected, const struct resp_reply *reply);
/* The part of a server's text that the log may show: "unknown command" repeats arguments, such as tokens. */
size_t node_text_len(const struct resp_reply *reply);
const char *node_text(char out[NODE_SHOWN_BYTES], const struct resp_reply *reply);

/* ---- node_read.c ---- */

/* The callback of the readable event; arg is the node. */
void node_on_readable(evutil_socket_t fd, short what, void *arg);

#endif
