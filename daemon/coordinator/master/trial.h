/* Whose clock was it? When a master's TIME runs ahead of this daemon's clock, either that master's clock jumped or the
 * daemon's own stood still (a virtual machine whose pause CLOCK_BOOTTIME did not count: a snapshot, a live migration).
 * One reading cannot tell, and the first reading after a stall is always alone, since the others are older. So the first
 * suspicious reading opens a trial: every connected master is asked for its TIME, and what a majority of the answers
 * supports is how long this daemon stood still.
 *
 *     no trial --a reading more than 50 ms ahead--> open --enough masters told, or 200 ms--> decided: no trial
 *                                                   open --a master is to be blamed--> confirming --the same--> decided
 *
 * No grant is told while a trial is open. */
#ifndef REDLOCKD_TRIAL_H
#define REDLOCKD_TRIAL_H

#include "daemon/coordinator/state.h"

/* Asks a connected master for its TIME, unless it owes TIMES answers; they come to trial_told_time(). */
void trial_ask_time(struct coordinator *c, struct master *m);
void trial_told_time(struct coordinator *c, struct master *m, const struct vote *vote);

/* Nothing more is told on the present connection of this master. */
void trial_lost(struct coordinator *c, struct master *m);
void trial_timer(struct coordinator *c);

#endif
