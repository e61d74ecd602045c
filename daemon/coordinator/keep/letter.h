/* Letters: somebody else ended a lock of this daemon's. Whoever deletes another daemon's key, by UNLOCK or RESUME with
 * its token, or by BREAK, tells that daemon on its channel, from each master. Without that its clients would wait for
 * a free name until the lock's next renewal.
 *
 *     letters of N-Q+1 masters within a second ----> the lease is renewed at once: it is held, or gone
 *     of fewer: 20 ms after the first of them -----> the same
 *     later letters, at the end of that second ----> the same
 *     the first ones after a new grant ------------> as in a second of their own, but once in each second
 *     while no lease is here, but an attempt is ---> the same, when it was granted
 *
 * A reader's attempt beside leases of other readers is not waited for: what was broken then shows at its next renewal.
 *
 * A letter proves nothing, since everybody may send one who may PUBLISH: only the masters' answers to a renewal end
 * a lock. So forged letters cost renewals, two in the first second or after a grant, and one in each other second, and
 * only where fewer than a quarter of max_renewals are under way for letters; the others look again after 20 ms, and then
 * ever more rarely. Until the answer comes, nothing more is told from memory: a key with a secret token settles and is not
 * handed on, and nobody joins a crowd. */
#ifndef REDLOCKD_COORDINATOR_LETTER_H
#define REDLOCKD_COORDINATOR_LETTER_H

#include "daemon/coordinator/data/state.h"

static inline struct letter *letter_of(const struct coordinator *c, const struct resource *resource)
{
    return &c->letters[pool_slot(&c->resources, resource)];
}

/* This master published a letter about the name, which may be that of a slot, or one of a list's. */
void letter_came(struct coordinator *c, unsigned master, const struct name *name);
/* The letter's deadline item is due: leases are asked, or looked at, a few in a step. */
void letter_timer(struct coordinator *c, struct letter *letter);

/* A name that had no lease here gets one, by an attempt or RESUME that began at t0_ms: letters from before then mean
 * nothing, and the lease is asked because of later ones. */
void letter_forget_lettered(struct coordinator *c, struct resource *resource, int64_t t0_ms);
static inline void letter_forget(struct coordinator *c, struct resource *resource, int64_t t0_ms)
{
    if (resource->lettered || resource->links != NULL)
        letter_forget_lettered(c, resource, t0_ms);
}

/* Whether the common lease may have been ended elsewhere: a letter came since Q masters had its key. */
bool letter_doubts(const struct coordinator *c, const struct lease *common);

/* Writes to the daemon that made the token that its key is gone, or has another token; nothing to this one. */
void letter_send(struct coordinator *c, const struct name *name, const struct token *token);

#endif
