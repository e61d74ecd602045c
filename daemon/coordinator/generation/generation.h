/* Generations: the masters are replaced, and max_ttl is changed, while daemons run.
 *
 * Generation g of the configuration is step 2g; its set of masters votes. At the step between, 2g-1, the masters that
 * both sets have vote, so many of them that each quorum meets every quorum of either set. The masters themselves keep
 * the order: the group's key on each of them shows a step, which only grows.
 *
 *     OUT --rule 4--> AT step s --a change is asked for, and no daemon is behind--> RAISING: s+1 is written
 *      ^                 ^                                                             |
 *      |                 \--a quorum has shown s+1 for so long that nothing of s-1 is left: s is s+1 now--/
 *      \--a master shows a step above s+1--- AT, RAISING
 *
 * A daemon at step s believes masters that show s, with its set, or s+1, with its set as the one before. To a master
 * that shows less it writes its own step. A daemon that is OUT grants and renews nothing, until its file lets it begin.
 *
 * So two daemons that grant are one step apart at most, and their quorums have a master in common. Two steps apart,
 * time parts them: longer than any lock lives.
 *
 * steps.c has the steps, begin.c finds where a daemon begins, next.c goes from one step to the next, reload.c takes a new
 * list of masters and tells of the change. */
#ifndef REDLOCKD_GENERATION_GENERATION_H
#define REDLOCKD_GENERATION_GENERATION_H

#include "daemon/coordinator/data/state.h"

/* At the start: by the configuration. */
void generation_init(struct coordinator *c);

/* Notes what a master's key says, or that it is not there; may begin (once all masters were heard), move to the next step,
 * or go out: master_follow_step() does what follows. Returns false if the master is of no use as long as this daemon is
 * out. */
bool generation_read(struct coordinator *c, struct master *m, const struct vote *vote, bool all_heard);
/* coordinator_reload(), but for what follows from it: master_follow_step(). */
struct reload_answer generation_reload(struct coordinator *c, const struct coordinator_set *next);

enum generation_told {
    GENERATION_OURS,
    GENERATION_BEHIND, /* an earlier step */
    GENERATION_AHEAD,  /* beyond the next step */
    GENERATION_OTHER,  /* another set has this step, or the one before it */
};
/* Tells what a key means to this daemon. */
enum generation_told generation_told(const struct coordinator *c, const struct group *group);
/* Whether the master is to be told a later step than the key shows. */
bool generation_is_late(const struct coordinator *c, const struct master *m, const struct group *group);
/* Whether the key is to say that this daemon votes by its step. */
bool generation_is_unsettled(const struct coordinator *c, const struct group *group);
/* Whether a key that shows an earlier step leaves open that its master forgot locks, or never knew them. */
bool generation_forgot(const struct coordinator *c, const struct master *m, const struct group *group);
/* Whether a master without a key cannot be a new one of the first generation. */
bool generation_is_under_way(const struct coordinator *c);
/* Whether this daemon may write a key where there is none (rule 5). */
bool generation_may_write(const struct coordinator *c, const struct master *m);
/* Whether too many masters have no key, and none may be written there. */
bool generation_is_forgotten(const struct coordinator *c);
/* Fills in what the key on that master is to say of step, sets and max_ttl. */
void generation_mark(const struct coordinator *c, const struct master *m, struct group *group);
/* Whether the key there has no TTL. */
bool generation_lasts(const struct coordinator *c, const struct master *m);

/* Whether the master's votes count, and whether it is asked to renew locks, if its state allows that. */
bool generation_votes(const struct coordinator *c, const struct master *m);
bool generation_extends(const struct coordinator *c, const struct master *m);
/* Whether so many masters do not have a key that no quorum can, neither of this step nor of one beside it. */
bool generation_denies(const struct coordinator *c, masters_t missing);
/* Whether masters that have a key, and may have forgotten nothing, are a quorum of the step before this one. */
bool generation_held_before(const struct coordinator *c, masters_t have);

#endif
