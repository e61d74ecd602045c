/* Admission: whether a request may be put to the masters now, or is to be held back for a while.
 *
 * A master serves one command after the other, so whoever sends it ten thousand at once makes everybody else
 * wait for longer than node_timeout. Each master therefore has a number of places for commands without a reply,
 * and a peer has a quarter of them:
 *
 *     request --> its peer has a quarter? ------------> held back until one of its requests is answered
 *            \--> fewer than Q masters have a place? --> held back until there is one
 *             \-> EVENT_REQUEST
 *
 * Requests are held back by the driver (coordinator_admits()), and further attempts of a LOCK that waits by the
 * coordinator, which pauses once more. Renewals and releases that the coordinator
 * begins by itself go out at once, and take places. Nothing is reordered: what a name has sent to a master stays
 * in its order, a release behind its SET.
 *
 * A place is what a renewal costs a master, since renewals share a script; any other command costs ADMISSION_COST
 * of them. So renewals, of which max_renewals are under way at most, take three quarters of the places. */
#ifndef REDLOCKD_ADMISSION_H
#define REDLOCKD_ADMISSION_H

#include "daemon/coordinator/data/state.h"

enum { ADMISSION_COST = 4 };

/* Counts the commands of a step, whose verbs stand only at its end. */
void admission_sent(struct coordinator *c, const struct actions *actions);
/* The reply to such a command came. */
void admission_heard(struct master *m, enum command_verb verb);

/* A request of the peer asks the masters from now on, or does so no more. */
void admission_begins(struct coordinator *c, uint16_t peer);
void admission_ends(struct coordinator *c, uint16_t peer);

#endif
