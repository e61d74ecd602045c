/* The steps of generation.h, for the files of this folder: what a step says, and the way from one to another. */
#ifndef REDLOCKD_GENERATION_STEPS_H
#define REDLOCKD_GENERATION_STEPS_H

#include "daemon/coordinator/data/state.h"

enum { STEP_BEFORE, STEP_HERE, STEP_AFTER }; /* indices of steps[] */

/* A step says who votes, and what keys say then. */
struct step_form {
    struct quorum quorum; /* of nobody where the set is unknown */
    uint64_t hash;
    int64_t max_ttl_ms;
};

struct step_form form_plain(const struct coordinator_set *set);
struct step_form form_joint(const struct coordinator_set *before, const struct coordinator_set *after);
/* The step at which this daemon is, or the one beside it. */
struct step_form form_of(const struct generation *g, unsigned which);
/* FNV-1a-64 of both hashes. */
uint64_t form_hash(uint64_t first, uint64_t second);
/* A key says this of the step before its own. Two lists of the same masters may differ in max_ttl. */
uint64_t form_mark(struct step_form form);

bool step_is_joint(uint32_t step);
/* Whether a change is asked for, or under way. */
bool step_changes(const struct generation *g);
/* The step that keys are to show. */
uint32_t step_target(const struct generation *g);
/* The masters of both sets. */
masters_t step_members(const struct generation *g);
enum generation_told step_told(const struct generation *g, const struct group *group);

/* Sets what follows from the step: the quorum, and the bounds on TTLs. */
void step_apply(struct coordinator *c);
void step_move(struct coordinator *c, enum generation_stage to);
/* A set without a max_ttl has the configuration's. */
void step_complete(const struct coordinator *c, struct coordinator_set *set);

/* ---- begin.c ---- */

/* Begins at a step, if the keys that were read allow it, and else returns why not. */
enum group_why step_begin(struct coordinator *c);

/* ---- next.c ---- */

/* Begins the change that is asked for, or goes to the next step, once that is safe. */
void step_go_on(struct coordinator *c);
/* The masters that show s+1 with this daemon's set; *over: those voters of s where it has been so for long enough. */
masters_t step_raised(const struct coordinator *c, masters_t *over, int64_t *left_ms);
/* For how long a master shows s+1 before s is left. */
int64_t step_wait_ms(const struct coordinator *c);

static inline int64_t longer_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

#endif
