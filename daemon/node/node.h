/* The transport to one Redis master: bytes out, replies in.
 *
 * It dials (names by evdns), logs in (AUTH, SELECT), loads the scripts, keeps the
 * FIFO of expected replies, and dials again with jittered back-off after any loss.
 * What the master may be used for is not decided here but in the coordinator.
 *
 * Nothing is written before node_flush(): one write for each master and turn of
 * the loop. Handlers are called from the event loop and from node_flush(), never
 * from node_send() or node_close(). A handler may call node_send() and node_close() on
 * any node. Not thread-safe: the loop's thread only. */
#ifndef REDLOCKD_NODE_H
#define REDLOCKD_NODE_H

#include <event2/dns.h>
#include <event2/event.h>

#include "daemon/conf/conf.h"
#include "proto/command.h"

struct node;

struct node_handler {
    /* A connection is logged in and has its scripts; nothing else was sent on it. */
    void (*connected)(void *arg, unsigned index, uint32_t connection);
    /* The reply to a command. For VOTE_NOT_RUN the script is already being loaded on this connection. */
    void (*voted)(void *arg, unsigned index, uint32_t connection, enum command_verb verb, uint64_t ref,
                  const struct vote *vote);
    /* A connection that connected() told of is gone. */
    void (*lost)(void *arg, unsigned index, uint32_t connection);
    /* More than node_backlog bytes wait to be written, or replies to be read. */
    void (*backlog)(void *arg, unsigned index, uint32_t connection);
    /* The first dial of this node failed before connected(): once, for the start. */
    void (*failed)(void *arg, unsigned index);
    void *arg;
};

struct node_row {
    int64_t rtt_us;   /* smoothed; -1: not known */
    uint64_t pending; /* commands without reply */
    uint64_t errors;  /* errors, time-outs and losses since the start */
    const char *why;  /* the last failure in a word or two of the log; "" : none (static text) */
};

/* conf and handler are borrowed and must outlive the node; dns may be NULL where no
 * master has a name. NULL: no memory. */
struct node *node_new(struct event_base *base, struct evdns_base *dns, const struct conf *conf,
                      unsigned index, const struct node_handler *handler);
void node_start(struct node *node); /* dials */
void node_free(struct node *node);

/* Appends a command's bytes and expects its reply. Without a connection nothing happens. */
void node_send(struct node *node, const char *bytes, size_t len, enum command_verb verb, uint64_t ref);
/* The same of an EXTEND of so many keys: its reply is a vote for each ref, in their order. */
void node_send_extends(struct node *node, const char *bytes, size_t len, const uint64_t refs[],
                       unsigned count);
/* Writes what is queued. Call it once a turn for each node that got something. */
void node_flush(struct node *node);
bool node_wants_flush(const struct node *node);

/* Closes the connection without a call of lost() (SO_LINGER 0: what was not sent never
 * is), and dials again later. why is static text for the log. */
void node_close(struct node *node, const char *why);

void node_row(const struct node *node, struct node_row *row);

#endif
