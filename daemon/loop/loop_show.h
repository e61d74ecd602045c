/* Rows of SHOW: what coordinator, masters' transports and clients know, joined. */
#ifndef REDLOCKD_LOOP_SHOW_H
#define REDLOCKD_LOOP_SHOW_H

#include "daemon/conf/conf.h"
#include "daemon/conn/conns.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/node/node.h"
#include "proto/line.h"

struct loop_view {
    const struct conf *conf;
    const char *version;
    const struct coordinator *coordinator;
    const struct conns *conns;
    struct node *const *nodes;
    int64_t started_ms;
};

/* The next row of a list as one line in out (SERVER_LINE_BYTES); its length, 0: no more. state starts
 * as zeroes. */
size_t loop_show_row(const struct loop_view *view, enum show show, const struct tag *tag, uint64_t state[8],
                     char *out);

const char *loop_state_name(enum master_state state);
const char *loop_why_name(enum master_why why); /* "" for WHY_NONE */

#endif
