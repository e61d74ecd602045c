/* Functions that release.c and release_send.c share: release.c decides, and release_send.c sends and calls no
 * function that decides. */
#ifndef REDLOCKD_RELEASE_PRIVATE_H
#define REDLOCKD_RELEASE_PRIVATE_H

#include "daemon/coordinator/keep/release.h"

/* Sends the release's command to these masters. */
void release_send(struct coordinator *c, const struct release *release, masters_t masters);
/* The same for all masters that are asked, for the first time: natively where that is enough. */
void release_send_first(struct coordinator *c, const struct release *release);
/* Notes that at now_ms no earlier command could run any more on this master (bit): a key that is still
 * there expires within the release's TTL. Later calls for the same master change nothing. */
void release_caught_up(struct release *release, masters_t bit, int64_t now_ms);
/* Sets the release's deadline item to the time when no key of it can be left. */
void release_rearm(struct coordinator *c, struct release *release);

#endif
