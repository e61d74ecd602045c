/* Between the files of release.h: release.c decides releases, release_send.c sends them and calls nobody
 * who decides. */
#ifndef REDLOCKD_RELEASE_PRIVATE_H
#define REDLOCKD_RELEASE_PRIVATE_H

#include "daemon/coordinator/release.h"

void release_send(struct coordinator *c, const struct release *release, masters_t masters);
/* The master ran all that was sent before: what it may still have is over in a TTL. */
void release_caught_up(struct release *release, masters_t bit, int64_t now_ms);
void release_rearm(struct coordinator *c, struct release *release); /* its item */

#endif
