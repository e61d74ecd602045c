/* Rounds are decided here: a vote is counted, or a time-out or a lost master is noted, and then the file
 * that began the round (acquire.c, extend.c or resume.c) looks at what it has. */
#ifndef REDLOCKD_VOTES_H
#define REDLOCKD_VOTES_H

#include "daemon/coordinator/state.h"

void votes_told(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                const struct vote *vote);
void votes_timeout(struct coordinator *c, struct in_flight *in_flight); /* the oldest */
/* Looks at one round that lost a master; false: there is none. */
bool votes_look_stale(struct coordinator *c);

#endif
