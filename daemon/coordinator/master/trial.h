/* Trials: whose clock was wrong? If a master's TIME is ahead of this daemon's clock, then either the
 * master's clock jumped forward, or this daemon stood still: CLOCK_BOOTTIME does not count the pause of a
 * virtual machine for a snapshot or a live migration. A single reading cannot tell these apart, and the
 * first reading after a stall is always single, because the readings of the other masters are older. So the
 * first suspicious reading opens a trial: every connected master is asked for its TIME, and a majority of
 * the answers says how long this daemon stood still, if it did. A master that is ahead of that is blamed.
 *
 *     no trial --a suspicious reading--> open --enough masters answered, or 200 ms--> no trial
 *                                        |                                         ^
 *                                        +--a master is to be blamed--> confirming-+
 *
 * (confirming: the other masters are asked once more)
 *
 * A reading is suspicious if it is more than 50 ms ahead. For a master that is kept out for its clock, more
 * than 5 ms are enough. After a trial without a verdict, the lead in that trial is added to the limit.
 *
 * No grant is told while a trial is open. Times are in ms. */
#ifndef REDLOCKD_TRIAL_H
#define REDLOCKD_TRIAL_H

#include "daemon/coordinator/data/state.h"

/* Asks a connected master for its TIME, unless it already owes TIMES answers. */
void trial_ask_time(struct coordinator *c, struct master *m);
/* Handles the answer to a TIME; may begin or decide a trial. */
void trial_told_time(struct coordinator *c, struct master *m, const struct vote *vote);

/* A TIME failed, or the master's connection is gone: the trial does not wait for this master any more. */
void trial_lost(struct coordinator *c, struct master *m);
/* The trial's time is over: decides by the answers that came. */
void trial_timer(struct coordinator *c);

#endif
