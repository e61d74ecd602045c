/* Downgrades: a writer becomes a reader, and no other writer gets in between.
 *
 *     exclusive --LOCK mode=shared token=--> shared, open --Q masters have the member--> shared, confirmed
 *
 * As soon as a master is asked, the lease is a reader's, whatever the masters answer: it is never taken back. The
 * reader has a new token, since a token tells whether it is a reader's: another daemon that RESUMEs it must not
 * take it for a writer's, and a heal adds a reader. Its fence stays: it is above that of each writer before.
 *
 * The rest is that of settling (secret.h): the tokens that keys may have, told or secret, are replaced on each
 * master by the new one; each renewal does so again, and only a release names all of them. The client that does not
 * know the new token yet goes on with the old one here. */
#ifndef REDLOCKD_DOWNGRADE_H
#define REDLOCKD_DOWNGRADE_H

#include "daemon/coordinator/data/state.h"

/* LOCK with the token of this lease: answers it if another mode is asked for, or the token is that of the writer that
 * was; returns whether it did. */
bool downgrade_answers(struct coordinator *c, const struct coordinator_event *event, struct lease *lease);
/* Fills in +LOCKED of a downgraded lease. */
void downgrade_answer(const struct coordinator *c, struct lease *lease, struct reply *reply);

/* Too few masters answered: a renewal says it again. */
void downgrade_again(struct coordinator *c, struct lease *lease);
/* These masters have the lease's new token. */
void downgrade_confirmed(struct coordinator *c, struct lease *lease, masters_t bit);

#endif
