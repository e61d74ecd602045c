/* Whether this daemon looked at a master lately enough to believe its votes.
 *
 * Only a probe shows that a master has not forgotten locks. So a vote counts only while the last good probe of
 * its master is at most F old: three seconds, or more where node_timeout is long. A daemon that runs asks in
 * time; but after a pause (SIGSTOP, a sleeping host) its masters are *stale*: each is probed at once, and no
 * round is decided before these probes have been answered, for node_timeout at most. Only a lock that Q probed
 * masters hold is renewed sooner. A master that does not answer its probe in time is slow then, and has no vote. */
#ifndef REDLOCKD_MASTER_FRESH_H
#define REDLOCKD_MASTER_FRESH_H

#include "daemon/coordinator/data/state.h"

/* F: a good probe is believed for so long. */
int64_t fresh_limit_ms(const struct coordinator *c);
/* Whether the master's last good probe was sent within F. */
bool fresh_is(const struct coordinator *c, const struct master *m);
/* Returns the masters of the set for which fresh_is(), whether they serve or not. */
masters_t fresh_of(const struct coordinator *c, masters_t masters);

/* Called in a step if c->now_ms is beyond c->fresh_until_ms: finds the masters that became stale. Returns those of
 * them that owed an answer for too long already, so that no round is to wait for them. */
masters_t fresh_look(struct coordinator *c);
/* The master begins to be asked for votes. */
void fresh_begin(struct coordinator *c, struct master *m);
/* The master's group key was read without an error, by the last probe or handshake. */
void fresh_told(struct coordinator *c, struct master *m);
/* The master is asked for votes no more, so that no round waits for its probe. */
void fresh_end(struct coordinator *c, const struct master *m);

#endif
