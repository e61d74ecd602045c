/* The values that HTTP shows, joined from what the coordinator, the nodes and the client connections know. */
#ifndef REDLOCKD_LOOP_STATUS_H
#define REDLOCKD_LOOP_STATUS_H

#include "daemon/events.h"
#include "daemon/http/snapshot.h"
#include "daemon/loop/loop_show.h"

/* The counts of the loop itself. Begins zeroed. */
struct loop_status {
    uint64_t lost[LOST_REASONS];
    struct histogram lag; /* how late the timer was */
    struct events events;
    bool reload_failed;
};

/* Takes a few µs and 40 steps, however many locks there are; only the releases that masters owe are all
 * looked at. */
void loop_status_snapshot(const struct loop_view *view, const struct loop_status *status,
                          struct snapshot *snapshot);
void loop_status_sample(const struct loop_view *view, const struct loop_status *status,
                        struct snapshot_sample *sample);
/* Counts a !LOST. */
void loop_status_lost(struct loop_status *status, const struct notice *notice);

#endif
