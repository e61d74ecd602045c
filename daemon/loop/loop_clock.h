/* The time of each event. CLOCK_BOOTTIME is read for each, since validity hangs on it; only votes that no instant is
 * concluded from share a reading, a few at a time:
 *
 *     SET, ZADD, RELEASE, of one master, read from its socket together, eight at most
 *
 * Never EXTEND, whose lock may be over by now, and never what tells of the master itself. What a holder is told
 * to have left is shortened by what passed since. */
#ifndef REDLOCKD_LOOP_CLOCK_H
#define REDLOCKD_LOOP_CLOCK_H

#include "daemon/coordinator/coordinator.h"

/* One that is zeroed has read nothing yet. */
struct loop_clock {
    unsigned votes_left;   /* that may share the last reading ... */
    unsigned votes_of;     /* ... of this master */
    int64_t wall_read_us;  /* on CLOCK_BOOTTIME ... */
    int64_t wall_ahead_us; /* ... and how much more the wall clock showed then */
};

/* Fills in event's now_ms and wall_us; its kind is set, and of a vote its master and verb. */
void loop_clock_stamp(struct loop_clock *clock, struct core_event *event);
/* The process sleeps: nothing is shared beyond it. */
void loop_clock_sleep(struct loop_clock *clock);
/* What is left now of what was left at the event's time. */
int64_t loop_clock_left_ms(const struct loop_clock *clock, const struct core_event *event, int64_t valid_ms);

#endif
