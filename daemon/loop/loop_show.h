/* Rows of SHOW, which join what the coordinator, the nodes and the client connections know. */
#ifndef REDLOCKD_LOOP_SHOW_H
#define REDLOCKD_LOOP_SHOW_H

#include "daemon/conf/conf.h"
#include "daemon/conn/conns.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/loop/loop_daemons.h"
#include "daemon/loop/loop_set.h"
#include "daemon/loop/loop_tls.h"
#include "daemon/node/node.h"
#include "proto/line.h"

struct loop_view {
    const struct conf *conf;
    const struct places *places;
    const char *version;
    const char *file; /* the configuration; NULL: --dev */
    const struct coordinator *coordinator;
    const struct conns *conns;
    struct node *const *nodes;
    struct node *const *subscribers;
    const struct loop_tls *tls;
    struct loop_daemons *daemons;
    const struct loop_set *set;
    int64_t started_ms;
};

/* Writes the next row of a list, but not of SHOW CLIENTS, for this session as one line to out
 * (SERVER_LINE_BYTES) and returns its length; 0: no more rows; ROW_HIDDEN: the session's user may not see the
 * next row. state starts as zeroes. */
size_t loop_show_row(const struct loop_view *view, uint64_t session, enum show show, const struct tag *tag,
                     uint64_t state[8], char *out);

/* N, in the step between two generations how many masters vote; and which masters vote, with how many votes are
 * needed. */
unsigned loop_masters(const struct loop_view *view);
struct quorum loop_quorum(const struct loop_view *view);
/* A reply that has a sign for each place gets one for each master that votes. */
void loop_noquorum(const struct loop_view *view, struct reply *reply);

/* Fills in the figures, but for those of HTTP, which are 0. */
void loop_figures(const struct loop_view *view, struct figures *figures);

const char *loop_state_name(enum master_state state);
const char *loop_why_name(enum master_why why);    /* "" for WHY_NONE */
const char *loop_lacking_name(enum lacking lacks); /* "" for LACKING_NOTHING */

#endif
