/* The ways in which a round goes on: a vote arrives, its time-out passes, or a master of it was lost. Each
 * is noted in the round, and then the file that began the round (acquire.c, extend.c or resume.c) decides
 * whether the round is over. */
#ifndef REDLOCKD_VOTES_H
#define REDLOCKD_VOTES_H

#include "daemon/coordinator/data/state.h"

/* A master's reply to the command verb of this round. The round may be freed. */
void votes_told(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                const struct vote *vote);
/* The time-out of the oldest pending round has passed: its silent masters are overdue, unless the round only
 * waits for the end of a trial. */
void votes_timeout(struct coordinator *c, struct in_flight *in_flight);
/* Decides one stale round (see rounds_lost()) if its votes allow it. Returns false if there is none. */
bool votes_look_stale(struct coordinator *c);

#endif
