/* The second connections to the masters, on which this daemon hears that a name is free or that another
 * daemon waits. */
#ifndef REDLOCKD_LOOP_SUBSCRIBE_H
#define REDLOCKD_LOOP_SUBSCRIBE_H

#include "daemon/coordinator/coordinator.h"
#include "daemon/loop/loop_places.h"
#include "daemon/node/node.h"

/* Hears what a subscriber tells. name: NULL of EVENT_MASTER_LISTENS and EVENT_MASTER_DEAF. daemon: of
 * EVENT_MASTER_WATCHED, else NULL. */
typedef void loop_subscribe_tell(void *arg, enum event_kind kind, unsigned master, const struct name *name,
                                 const struct token *daemon);

struct loop_subscribe {
    struct node *nodes[MASTERS];
    struct node_handler handler;
    char channel[CONF_PREFIX_BYTES + 32];
    const struct places *places;
    unsigned listening; /* a bit for each master that publishes to this daemon */
    bool wakes;         /* a quorum does, as was logged last */
    loop_subscribe_tell *tell;
    void *arg; /* of tell */
};

/* self: this daemon, whose first bytes are its id. */
void loop_subscribe_new(struct loop_subscribe *subscribe, const struct conf *conf,
                        const struct places *places, const struct token *self);
/* A master has got a place: makes its connection. false: no memory. */
bool loop_subscribe_open(struct loop_subscribe *subscribe, struct event_base *base, struct evdns_base *dns,
                         const struct conf *conf, unsigned place);
void loop_subscribe_close(struct loop_subscribe *subscribe, unsigned place);
/* Another self: another channel. */
void loop_subscribe_rename(struct loop_subscribe *subscribe, const struct conf *conf,
                           const struct token *self);
void loop_subscribe_start(struct loop_subscribe *subscribe);
void loop_subscribe_free(struct loop_subscribe *subscribe);

#endif
