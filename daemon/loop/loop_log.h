/* What the log tells of masters, of the quorum, and of locks that were lost. */
#ifndef REDLOCKD_LOOP_LOG_H
#define REDLOCKD_LOOP_LOG_H

#include "daemon/loop/loop_show.h"

struct loop_log {
    uint32_t changes[MASTERS], clock_backs[MASTERS]; /* of masters, as logged last */
    bool has_quorum;                                 /* as logged last */
    bool told_quorum;                                /* it was logged at all */
    int64_t second;                                  /* lost locks are logged so many a second ... */
    unsigned lost;                                   /* ... and these were in this one */
};

/* What changed of them since the last call. Cheap when none did: once a turn. */
void loop_log_masters(struct loop_log *log, const struct loop_view *view);
/* Whether a quorum may vote: when that changed, and the first time. From the moment that clients come in. */
void loop_log_quorum(struct loop_log *log, const struct loop_view *view);
/* This daemon's clock stood still: this time, and all in all. */
void loop_log_behind(int64_t stall_ms, int64_t behind_ms);
void loop_log_lost(struct loop_log *log, const struct notice *notice);

#endif
