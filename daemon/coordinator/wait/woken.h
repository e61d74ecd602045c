/* The messages that this daemon hears on the channels of the masters. */
#ifndef REDLOCKD_WOKEN_H
#define REDLOCKD_WOKEN_H

#include "daemon/coordinator/data/state.h"

/* "w": this daemon was taken off the queue of a name, which is free. "l", late: so was a daemon before it that
 * nobody can wake. */
void woken(struct coordinator *c, unsigned master, const struct name *name, bool late);
/* "t": another daemon waits for a name that this one has. */
void woken_told(struct coordinator *c, unsigned master, const struct name *name);

#endif
