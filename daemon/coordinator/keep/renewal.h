/* Renewals: when a lease is looked at next, for its renewal, the warning of its holder, or its end; and what a
 * renewal changes. */
#ifndef REDLOCKD_RENEWAL_H
#define REDLOCKD_RENEWAL_H

#include "daemon/coordinator/data/state.h"

enum {
    THIRD = 3 /* parts of a TTL: from one renewal to the next, and what is left when the holder is warned */
};

/* Whether the lease is renewed: it is bound, or readers that are bound have joined it. */
bool renewal_is_wanted(const struct coordinator *c, const struct lease *lease);
/* When the holder is warned (!EXPIRING) that renewals fail; INT64_MAX: never, because max= ends the lock. */
int64_t renewal_warns_ms(const struct lease *lease);

/* Plans the next renewal of a lease that was just granted or renewed. */
void renewal_plan(struct coordinator *c, struct lease *lease);
/* Plans it after one that failed. */
void renewal_soon(struct coordinator *c, struct lease *lease);
/* Puts the lease's next time into the heap. */
void renewal_rearm(struct coordinator *c, struct lease *lease);

/* Records that a quorum keeps the key until until_ms, and plans the next renewal. Returns the deadline that
 * the holder is told, which is never beyond the end that max= sets. */
int64_t renewal_extended(struct coordinator *c, struct lease *lease, const struct round *round,
                         int64_t until_ms);
/* Plans the next renewal after a renewal failed: at once, or after a short pause. */
void renewal_failed(struct coordinator *c, struct lease *lease, bool at_once);

/* Counts a renewal that begins. */
void renewal_begins(struct coordinator *c, struct lease *lease);
/* Counts a renewal that ended, with whatever result; does nothing if none is under way. */
void renewal_ends(struct coordinator *c, struct lease *lease);
/* Tells the holder, if it has a session, the deadline that a renewal brought. */
void renewal_tell(struct coordinator *c, const struct lease *lease);
/* Whether a renewal that is due waits, since many are under way. */
bool renewal_must_wait(const struct coordinator *c, const struct lease *lease);

#endif
