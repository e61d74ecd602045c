/* WATCH: clients that are told who has a name, and whenever that changes. A watcher takes part in nothing: it has no place
 * in a queue, and no vote.
 *
 *                 a second, the key's end, news, a change here
 *     resting -----------------------------------------------> looking --decided--> resting, or telling
 *        ^                                                        |                    |
 *        +-- telling: the watchers, a few a step <----changed-----+<-------------------+
 *
 * A look (SEE) asks the masters in service. The name is held (or kept) where Q of them have one key, and free only where
 * no Q of all masters can have any; where that is open when all have answered or are late, it is unknown. Where Q masters
 * have answered and do not agree (sight.h), looks come after 2, 4 ... 256 ms, before that is told. Looks follow each other:
 * the answers of one that is over are nobody's. A fence that is told is never below one that was told before.
 *
 * The script of SEE tells the daemon that set the key who watches. That daemon, which is the witness (witness.h), writes
 * news when the lock ends or what is told of it changes. After news, and when a name was held and is not, looks come after 1,
 * 2, 4 ... 64 ms, and go on each 64 ms for 2 s or until the name is held again: the next holder's daemon knows no watchers
 * before the next look. */
#ifndef REDLOCKD_WATCH_H
#define REDLOCKD_WATCH_H

#include "daemon/coordinator/data/state.h"

/* WATCH and UNWATCH. */
void watch_request(struct coordinator *c, const struct coordinator_event *event);
/* Some watchers of a session that ends leave, until it has none. */
void watch_leave(struct coordinator *c, struct session *session);

/* The deadline of a watched name: a look, or watchers to be told. */
void watch_timer(struct coordinator *c, struct watched *watched);
void watch_told(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote);
void watch_look(struct coordinator *c, struct round *round, bool late);

/* Who has the name may have changed. */
void watch_news(struct coordinator *c, const struct name *name);

#endif
