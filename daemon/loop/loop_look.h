/* Files that change while the daemon runs: certificates, keys, and the masters' password. They are looked at
 * every 10 s, so that whoever renews them need not tell us, and at SIGHUP. */
#ifndef REDLOCKD_LOOP_LOOK_H
#define REDLOCKD_LOOP_LOOK_H

#include <event2/event.h>

#include "daemon/conn/conns.h"
#include "daemon/loop/loop_tls.h"
#include "daemon/node/node.h"

struct loop_look {
    const struct conf *conf;
    const struct places *places;
    struct conns *conns;
    struct node **nodes, **subscribers; /* (ref) */
    struct loop_tls tls;
    struct event *timer;
    bool password_told; /* the log says that node_password_file cannot be read */
};

/* Reads all files for the first time. false: at least one could not be used, which was logged. */
bool loop_look_files(struct loop_look *look, const struct conf *conf, const struct places *places);
/* Begins to look, once clients and masters are there. false: no memory. */
bool loop_look_start(struct loop_look *look, struct event_base *base, struct conns *conns,
                     struct node **nodes, struct node **subscribers);
/* The configuration was read again, so its files are, too. */
void loop_look_again(struct loop_look *look);
/* There is a new connection for the master of that place: it gets its TLS. */
void loop_look_opened(struct loop_look *look, unsigned place);
void loop_look_stop(struct loop_look *look);

#endif
