#include "daemon/coordinator/generation/steps.h"

#include <assert.h>

#include "daemon/coordinator/generation/generation.h"

enum { HASH_BYTES = 8 };

static const struct quorum unknown;

bool step_is_joint(uint32_t step)
{
    return step % 2 != 0;
}

struct step_form form_plain(const struct coordinator_set *set)
{
    if (set->masters == 0)
        return (struct step_form){.quorum = unknown};
    return (struct step_form){quorum_plain(set->masters, set->of), set->hash, set->max_ttl_ms};
}

uint64_t form_hash(uint64_t first, uint64_t second)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (unsigned i = 0; i < 2 * HASH_BYTES; i++)
        hash = (hash ^ ((i < HASH_BYTES ? first >> 8 * i : second >> 8 * (i - HASH_BYTES)) & 0xff)) *
               UINT64_C(1099511628211);
    return hash != 0 ? hash : 1;
}

struct step_form form_joint(const struct coordinator_set *before, const struct coordinator_set *after)
{
    struct step_form first = form_plain(before), second = form_plain(after);
    if (before->masters == 0 || after->masters == 0)
        return (struct step_form){.quorum = unknown};
    return (struct step_form){quorum_joint(&first.quorum, &second.quorum),
                              form_hash(before->hash, after->hash),
                              first.max_ttl_ms > second.max_ttl_ms ? first.max_ttl_ms : second.max_ttl_ms};
}

uint64_t form_mark(struct step_form form)
{
    return form_hash(form.hash, (uint64_t)form.max_ttl_ms);
}

struct step_form form_of(const struct generation *g, unsigned which)
{
    bool between = step_is_joint(g->step);
    switch (which) {
    case STEP_BEFORE: return between ? form_plain(&g->here) : form_joint(&g->past, &g->here);
    case STEP_HERE: return between ? form_joint(&g->here, &g->next) : form_plain(&g->here);
    default: return between ? form_plain(&g->next) : form_joint(&g->here, &g->next);
    }
}

bool step_changes(const struct generation *g)
{
    return g->next.masters != 0;
}

uint32_t step_target(const struct generation *g)
{
    return g->step + (g->stage == GENERATION_RAISING);
}

masters_t step_members(const struct generation *g)
{
    return g->here.of | g->next.of;
}

enum generation_told step_told(const struct generation *g, const struct group *group)
{
    struct step_form here = form_of(g, STEP_HERE), after = form_of(g, STEP_AFTER);
    if (group->step > g->step + 1)
        return GENERATION_AHEAD;
    if (group->step < g->step)
        return GENERATION_BEHIND;
    bool compares = here.hash != 0 && group->set != 0, other;
    if (group->step > g->step)
        other = group->before != form_mark(here) ||
                (step_changes(g) && (group->set != after.hash || group->max_ttl_ms != after.max_ttl_ms));
    else
        other = group->max_ttl_ms != here.max_ttl_ms || (compares && group->set != here.hash) ||
                (g->step == 0 && group->masters != g->here.masters);
    return other ? GENERATION_OTHER : GENERATION_OURS;
}

/* ---- what follows from the step ---- */

void step_apply(struct coordinator *c)
{
    struct generation *g = &c->generation;
    for (unsigned i = STEP_BEFORE; i <= STEP_AFTER; i++)
        g->steps[i] = form_of(g, i).quorum;
    c->quorum = g->steps[STEP_HERE];
    c->longest_ttl_ms = longer_ms(g->here.max_ttl_ms, longer_ms(g->next.max_ttl_ms, g->past.max_ttl_ms));
    c->ttl_most_ms =
        step_is_joint(g->step) ? earlier_ms(g->here.max_ttl_ms, g->next.max_ttl_ms) : g->here.max_ttl_ms;
    c->full_ms = c->longest_ttl_ms + quorum_drift_ms(c->longest_ttl_ms);
    g->moved = masters_all(c->config.masters);
}

static const unsigned legal[] = {
    [GENERATION_OUT] = 1u << GENERATION_AT,
    [GENERATION_AT] = 1u << GENERATION_OUT | 1u << GENERATION_RAISING,
    [GENERATION_RAISING] = 1u << GENERATION_OUT | 1u << GENERATION_AT,
};

void step_move(struct coordinator *c, enum generation_stage to)
{
    assert(legal[c->generation.stage] & 1u << to);
    c->generation.stage = to;
    c->generation.once |= to == GENERATION_AT;
    step_apply(c);
}

void step_complete(const struct coordinator *c, struct coordinator_set *set)
{
    if (set->masters != 0 && set->max_ttl_ms == 0)
        set->max_ttl_ms = c->config.max_ttl_ms;
}
