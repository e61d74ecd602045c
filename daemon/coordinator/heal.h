/* What masters acknowledged of a lease, and the keys that are set again where a master forgot them. */
#ifndef REDLOCKD_HEAL_H
#define REDLOCKD_HEAL_H

#include "daemon/coordinator/state.h"

/* The lease was granted by this round: masters in quarantine get its key too (after a RESUME some have it). */
void heal_granted(struct coordinator *c, struct lease *lease, const struct round *round);

/* The told deadline moves on; what is noted of the masters stays. */
void heal_until(struct coordinator *c, struct lease *lease, int64_t until_ms);

/* A master's answer to SET or EXTEND of this lease, in time or late. */
void heal_told(struct coordinator *c, struct lease *lease, const struct round *round, unsigned master,
               const struct vote *vote);

/* Q masters said "extended" in this round: those that said that they have not the key get it, if they forgot it. */
void heal_extended(struct coordinator *c, struct lease *lease, struct round *round);

/* The reply to a HEAL. */
void heal_done(struct coordinator *c, struct lease *lease, unsigned master, const struct vote *vote);

/* Masters whose "extended" counts for this lease, also of those in quarantine; lease NULL: none of these. */
masters_t heal_counted(struct coordinator *c, struct lease *lease);

/* Of those that say "not ours", the ones that would know. */
masters_t heal_known_missing(const struct coordinator *c, const struct round *round,
                             const struct lease *lease);

#ifdef MUTANTS
/* The planted bug: a key is set again after its release was sent. */
void heal_plant(struct coordinator *c, const struct name *name, const struct token *token, int64_t until_ms);
#endif

#endif
