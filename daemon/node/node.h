/* The transport to one Redis master: bytes out, replies in.
 *
 * A node dials (evdns resolves names), logs in (AUTH, SELECT), loads the scripts, keeps the FIFO of
 * expected replies, and dials again with jittered back-off after any loss. The coordinator decides what a
 * master may be used for.
 *
 * Commands are written by node_flush(), so that a master usually costs one write in a turn of the loop.
 * Handlers are called from the event loop and from node_flush(), never from node_send() or node_close(). A
 * handler may call node_send() and node_close() on any node. Only the thread of the loop may use this. */
#ifndef REDLOCKD_NODE_H
#define REDLOCKD_NODE_H

#include <event2/dns.h>
#include <event2/event.h>

#include "daemon/conf/conf.h"
#include "daemon/histogram.h"
#include "proto/command.h"

struct node;
struct wire_context;
struct resp_reply;

struct node_handler {
    /* A connection is logged in and has its scripts; nothing else has been sent on it. */
    void (*connected)(void *arg, unsigned index, uint32_t connection);
    /* The reply to a command. For VOTE_NOT_RUN the script is already being loaded on this connection. */
    void (*voted)(void *arg, unsigned index, uint32_t connection, enum command_verb verb, uint64_t ref,
                  const struct vote *vote);
    /* A connection that connected() announced is gone, and node_close() was not the cause. */
    void (*lost)(void *arg, unsigned index, uint32_t connection);
    /* Unsent bytes and expected replies together take more memory than node_backlog. Called once a
     * connection; at twice as much the node closes it. */
    void (*backlog)(void *arg, unsigned index, uint32_t connection);
    /* The first dial of this node failed before connected(). Called once, for the start of the daemon. */
    void (*failed)(void *arg, unsigned index);
    /* A subscriber heard a message; what is its first letter, and the name that follows is borrowed. */
    void (*heard)(void *arg, unsigned index, char what, const char *name, size_t len);
    /* The answer to the node_ask() with that ref: a string, a status, nil or an error, borrowed. A script that was not there is
     * being loaded. */
    void (*answered)(void *arg, unsigned index, uint64_t ref, const struct resp_reply *reply);
    void *arg;
};

struct node_row {
    bool ready;       /* logged in; of a subscriber: it hears what is published */
    int64_t rtt_us;   /* smoothed; -1: not known */
    uint64_t pending; /* commands without a reply yet */
    uint64_t errors;  /* errors, time-outs and losses since the start */
    const char *why;  /* the last failure, by its word in the log; "": none (static text) */
};

/* conf, address and handler are borrowed and must outlive the node; dns may be NULL where no
 * master has a name. NULL: no memory. */
struct node *node_new(struct event_base *base, struct evdns_base *dns, const struct conf *conf,
                      const struct conf_node *address, unsigned index, const struct node_handler *handler);
/* The same for a connection that only listens to a channel, which is borrowed too: it hears messages, and
 * nothing can be sent on it. */
struct node *node_new_subscriber(struct event_base *base, struct evdns_base *dns, const struct conf *conf,
                                 const struct conf_node *address, unsigned index,
                                 const struct node_handler *handler, const char *channel);
/* The text of a subscriber's channel has changed: it dials anew. lost() is called, as after any loss. */
void node_subscribe_anew(struct node *node);
/* The context of a master whose URL is rediss://, which is borrowed and used from the next dial on. */
void node_secure(struct node *node, struct wire_context *context);
/* The master's password, where it is that of node_password_file, has become this one: a connection says AUTH
 * again, except a subscriber's, which may not. If the master refuses, the connection is kept. */
void node_reauthenticate(struct node *node, const char *password);
void node_start(struct node *node); /* dials */
void node_free(struct node *node);

/* Appends a command's bytes and expects its reply. Before connected() and after a loss nothing happens. */
void node_send(struct node *node, const char *bytes, size_t len, enum command_verb verb, uint64_t ref);
/* The same for an EXTEND of count keys: its one reply is a vote for each ref, in the same order. */
void node_send_extends(struct node *node, const char *bytes, size_t len, const uint64_t refs[],
                       unsigned count);
/* The same for SEEs. */
void node_send_sees(struct node *node, const char *bytes, size_t len, const uint64_t refs[], unsigned count);
/* Appends a question that is nobody's vote and runs that script, and frees bytes (NULL: there was no memory). Its
 * answer, if the connection lives to get it, is told by answered(). false: the node has no connection. */
bool node_ask(struct node *node, char *bytes, size_t len, unsigned script, uint64_t ref);
bool node_wants_flush(const struct node *node);
/* Writes the appended commands, and acts on a lack of memory and on the backlog. */
void node_flush(struct node *node);

/* Closes the connection without a call of lost(), and dials again later. SO_LINGER is 0, so bytes that
 * were not sent yet never will be. why is static text for the log. */
void node_close(struct node *node, const char *why);

void node_row(const struct node *node, struct node_row *row);

/* Error i of this node and how often it came, with the word of the log; false: there is no error i. */
bool node_error_count(const struct node *node, unsigned i, const char **word, uint64_t *count);
/* The number of its connection that connected() announced last; 0: none was. */
uint32_t node_connection(const struct node *node);
int64_t node_rtt_us(const struct node *node); /* as in struct node_row */
const struct histogram *node_rtts(const struct node *node);
uint64_t node_reconnects(const struct node *node); /* logins after the first one */
/* Handshakes of TLS. One has failed, too, where no reply followed: by TLS 1.3 a master refuses our certificate
 * after the handshake. */
void node_handshakes(const struct node *node, uint64_t *done, uint64_t *failed);

#endif
