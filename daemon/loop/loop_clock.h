/* The time of each event. CLOCK_BOOTTIME is read for each event, since validity depends on it, with one
 * exception: a vote on SET, ZADD or RELEASE may use the reading of the vote before it. At most seven votes
 * in a row do so, all from the same master and without a sleep of the process in between.
 *
 * A vote on EXTEND always has a reading of its own, because its lock may have expired meanwhile. So does a
 * vote that tells about the master itself. The validity that a holder is told is shortened by the time since
 * the reading. */
#ifndef REDLOCKD_LOOP_CLOCK_H
#define REDLOCKD_LOOP_CLOCK_H

#include "daemon/coordinator/coordinator.h"

/* Begins zeroed. */
struct loop_clock {
    unsigned votes_left;   /* how many more votes may share the last reading ... */
    unsigned votes_of;     /* ... if this master sent them */
    int64_t boot_us;       /* CLOCK_BOOTTIME as it was read last */
    int64_t wall_read_us;  /* when the wall clock was read, on CLOCK_BOOTTIME ... */
    int64_t wall_ahead_us; /* ... and how far it was ahead of CLOCK_BOOTTIME then */
};

/* Fills in now_ms and wall_us of an event whose kind is set, and whose master and verb are set if it is a
 * vote. Every call must get the same struct, since a vote that uses an earlier reading finds it there. */
void loop_clock_stamp(struct loop_clock *clock, struct coordinator_event *event);
/* The process is about to sleep: no reading is shared across a sleep. */
void loop_clock_sleep(struct loop_clock *clock);
/* How much is left now of a validity that was valid_ms at the time of the event. */
int64_t loop_clock_left_ms(const struct loop_clock *clock, const struct coordinator_event *event,
                           int64_t valid_ms);

#endif
