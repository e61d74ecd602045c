/* Healing: what each master acknowledged of a lease, and keys that are set again on masters that forgot
 * them.
 *
 * The rules are in heal.c. All times are in ms of the coordinator's clock. */
#ifndef REDLOCKD_HEAL_H
#define REDLOCKD_HEAL_H

#include "daemon/coordinator/data/state.h"

/* Forgets what was recorded of masters that lost their memory since the last call. */
void heal_refresh(struct coordinator *c, struct lease *lease);

/* Records what the masters acknowledged in the round that granted the lease, and sends the key to the
 * masters in quarantine, which the round did not ask. (A RESUME moved the key on some of them.) */
void heal_granted(struct coordinator *c, struct lease *lease, const struct round *round);

/* Sets the key on the masters that never acknowledged it, since only a quorum was asked for the grant
 * (fanout.h). Masters that refused it before are asked again. */
void heal_spread(struct coordinator *c, struct lease *lease);

/* Moves the deadline that the holder was told (lease->until_ms), and with it the base from which
 * acknowledged[] counts. */
void heal_until(struct coordinator *c, struct lease *lease, int64_t until_ms);

/* Records a master's answer to SET, EXTEND or CHECK of this lease, in time or late. If a quorum has extended
 * the lease in this round, a late answer that the key is missing has the key set again as heal_extended()
 * does. */
void heal_told(struct coordinator *c, struct lease *lease, const struct round *round, unsigned master,
               const struct vote *vote);

/* A quorum extended the lease in this round: sets the key again on masters that reported it as missing, if
 * they forgot it. */
void heal_extended(struct coordinator *c, struct lease *lease, struct round *round);
/* Only a quorum of the step before extended it: sets the key likewise, but nothing counts that did not before. */
void heal_refused(struct coordinator *c, struct lease *lease, const struct round *round);

/* Records the reply to a HEAL command. */
void heal_done(struct coordinator *c, struct lease *lease, unsigned master, const struct vote *vote);

/* Sends HEAL commands with the instant until_ms, expressed on each master's own clock, and returns the masters that they
 * went to: all of these whose last TIME is recent and sure. ref is the id of the lease or mark. */
masters_t heal_send(struct coordinator *c, const struct name *name, const struct token *token, uint64_t ref,
                    int64_t until_ms, masters_t masters);
/* Masters that acknowledged the key in their present memory, and are to have it still. */
masters_t heal_had(struct coordinator *c, struct lease *lease);

/* The masters whose "extended" or "held" counts for this lease: the masters that are up, and those in quarantine
 * on which the key is confirmed, except masters whose clocks jump again and again (c->fast). Without a
 * lease (NULL): those that are up. */
masters_t heal_counted(struct coordinator *c, struct lease *lease);

/* The masters whose report in this round that the key is missing counts as evidence: masters whose answers
 * count for the lease and whose clocks did not jump, and masters where somebody else released the lock. */
masters_t heal_known_missing(const struct coordinator *c, const struct round *round,
                             const struct lease *lease);

#endif
