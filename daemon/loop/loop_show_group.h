/* The rows of SHOW GROUP and SHOW RELOAD: at which step the masters are, and what a reload would change. */
#ifndef REDLOCKD_LOOP_SHOW_GROUP_H
#define REDLOCKD_LOOP_SHOW_GROUP_H

#include "daemon/loop/loop_show.h"

/* false: there is no row beyond the first. */
bool show_group(const struct loop_view *view, uint64_t state[8], struct row *row);
bool show_reload(const struct loop_view *view, uint64_t state[8], struct row *row);

#endif
