/* Shared by the files of this folder that drive the daemon. Each calls only files below it in this list:
 *
 *     loop_new.c   makes the parts, and frees them
 *     loop_open.c  makes the connections to a master, and ends them
 *     loop.c       the turn of the loop, and what main asks of it
 *     loop_step.c  callbacks -> events -> steps -> actions -> I/O */
#ifndef REDLOCKD_LOOP_PRIVATE_H
#define REDLOCKD_LOOP_PRIVATE_H

#include "daemon/conn/conns.h"
#include "daemon/conn/listen.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/http/http.h"
#include "daemon/loop/loop.h"
#include "daemon/loop/loop_clock.h"
#include "daemon/loop/loop_daemons.h"
#include "daemon/loop/loop_group.h"
#include "daemon/loop/loop_log.h"
#include "daemon/loop/loop_look.h"
#include "daemon/loop/loop_places.h"
#include "daemon/loop/loop_send.h"
#include "daemon/loop/loop_set.h"
#include "daemon/loop/loop_show.h"
#include "daemon/loop/loop_status.h"
#include "daemon/loop/loop_subscribe.h"
#include "daemon/loop/loop_user.h"
#include "daemon/loop/loop_who.h"
#include "daemon/node/node.h"
#include "proto/resp.h"

struct loop {
    const struct conf *conf;
    struct event_base *base;
    struct evdns_base *dns; /* NULL: no master has a name */
    struct coordinator *coordinator;
    struct resp_format *format;
    struct conns *conns;
    struct listeners *listeners;
    struct http *http; /* NULL: the configuration has no http */
    struct listeners *http_listeners;
    struct http_handler http_handler;
    struct loop_look look;
    struct places places;
    struct node *nodes[MASTERS];
    struct node_handler node_handler;
    struct loop_subscribe subscribe;
    struct loop_daemons daemons;
    struct loop_set set;
    struct loop_group group;
    struct loop_who who;
    struct conn_handler conn_handler;
    struct loop_view view;
    struct loop_send send;
    struct loop_clock clock;
    struct event *timer;
    int64_t now_ms;        /* CLOCK_BOOTTIME as it was read last in this turn */
    int64_t armed_ms;      /* when the timer fires; INT64_MAX: it is not set */
    int64_t drained_by_ms; /* when a drain ends at the latest */
    /* When clients are told of a drain at the latest; INT64_MAX: they were, or need not be. */
    int64_t drain_told_by_ms;
    struct loop_log log;
    struct loop_status status;
    bool begin_at; /* --begin-at-generation */
    bool listening, draining, stopping, failed;
    bool active; /* something is to be flushed */
    bool deny;   /* sessions may hold or wait for what their users have no right to any more ... */
    struct loop_denied denied; /* ... which is searched for; after this search the next one may begin */
    void (*ready)(void *arg);
    void *ready_arg;
    struct coordinator_event event; /* a single one is enough: a step ends before the next one begins */
    struct actions actions;
};

/* ---- loop.c ---- */

struct coordinator_config loop_configuration(const struct loop *loop);
void loop_on_timer(evutil_socket_t fd, short what, void *arg);

/* ---- loop_open.c ---- */

/* Makes the connections to the master in that place. false: no memory. */
bool loop_open(struct loop *loop, unsigned place);
/* Ends them, and frees the place. */
void loop_close(struct loop *loop, unsigned place);

/* ---- loop_step.c ---- */

/* Hands the event of that kind, whose other fields are set, to the coordinator, and carries its actions out.
 * Steps never nest: no function that carries out an action calls a handler of nodes or connections. */
void loop_step(struct loop *loop, enum event_kind kind);
/* Fills in the handlers of all parts. */
void loop_handlers(struct loop *loop);
/* The listeners call these two; arg: the loop. */
void loop_on_accepted(void *arg, int fd, const struct conf_listener *listener, const struct sockaddr *peer,
                      socklen_t peer_len);
void loop_on_http_accepted(void *arg, int fd, const struct conf_listener *listener,
                           const struct sockaddr *peer, socklen_t peer_len);

#endif
