/* Log lines about masters, the quorum, the clock, and locks that were lost. */
#ifndef REDLOCKD_LOOP_LOG_H
#define REDLOCKD_LOOP_LOG_H

#include "daemon/events.h"
#include "daemon/loop/loop_show.h"

struct loop_log {
    struct events *events;                           /* (ref) the status page tells the same */
    uint32_t changes[MASTERS], clock_backs[MASTERS]; /* how many of each master's were logged so far */
    bool has_quorum;                                 /* as logged last */
    bool told_quorum;                                /* has_quorum was logged at all */
    bool wall_off, before_2020;                      /* the clock of the day, as logged last ... */
    int64_t wall_at_ms;                              /* ... and when to look next */
    int64_t fence_second;                            /* the second of the last line about fences */
    int64_t second;                                  /* the second in which a lock was lost last ... */
    unsigned lost;                                   /* ... and how many locks were lost in it */
};

/* Logs what changed in the masters' states since the last call, and returns whether anything did. Called in
 * each turn, so it is cheap if nothing changed. */
bool loop_log_masters(struct loop_log *log, const struct loop_view *view);
/* Logs whether a quorum may vote: at the first call and after each change. Called when clients can connect,
 * and from then on whenever a master's state has changed. */
void loop_log_quorum(struct loop_log *log, const struct loop_view *view);
/* Logs that this daemon's clock stood still: for stall_ms this time, for behind_ms in all. */
void loop_log_behind(struct loop_log *log, int64_t stall_ms, int64_t behind_ms);
/* Logs that this host's clock of the day is off, or right again: against the masters', or before 2020. Called
 * when wall_at_ms has come. */
void loop_log_wall(struct loop_log *log, const struct loop_view *view);
/* Logs that a request was refused since no fence is high enough: one line a second at most. */
void loop_log_fence(struct loop_log *log);
void loop_log_lost(struct loop_log *log, const struct notice *notice);

#endif
