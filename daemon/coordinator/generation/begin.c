/* Rule 4: a start. */
#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/generation/steps.h"

void generation_init(struct coordinator *c)
{
    struct coordinator_set *file = &c->config.set;
    if (file->masters == 0) {
        file->masters = c->config.masters;
        file->of = masters_all(c->config.masters);
    }
    step_complete(c, file);
    step_complete(c, &c->config.before);
    c->generation.here = *file;
    c->generation.why = GROUP_WHY_NO_MARKER;
    step_apply(c);
    if (file->generation == 0)
        step_move(c, GENERATION_AT);
}

static bool knows_before(const struct coordinator *c)
{
    return c->config.before.masters != 0 && c->config.before.generation + 1 == c->config.set.generation;
}

/* Returns why it does not begin: some master shows that step with another set. */
static enum group_why begin(struct coordinator *c, uint32_t step, uint64_t before)
{
    static const struct coordinator_set none;
    struct generation *g = &c->generation, at = *g;
    const struct coordinator_set *file = &c->config.set;
    masters_t old = g->once ? step_members(g) | g->past.of | g->left : 0;
    bool at_file = step == 2 * file->generation;
    at.past = none;
    at.here = at_file ? *file : c->config.before;
    at.next = at_file ? none : *file;
    at.step = step;
    at.before = before != 0 ? before : form_hash(at.here.hash, at.here.hash);
    at.told = at.by_word = false;
    if (at_file && knows_before(c)) /* locks of then may live, with its max_ttl */
        at.past = c->config.before;
    at.left = masters_without(old, step_members(&at)); /* they may owe releases */
    int64_t longest_ms = longer_ms(at.here.max_ttl_ms, at.past.max_ttl_ms);
    at.past_until_ms = c->now_ms + longer_ms(c->full_ms, longest_ms + quorum_drift_ms(longest_ms));
    if (step_is_joint(step))
        at.before = form_mark(form_plain(&at.here));
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].memory.there && step_told(&at, &c->masters[i].memory.shows) == GENERATION_OTHER)
            return GROUP_WHY_OTHER_LIST;
    *g = at;
    step_move(c, GENERATION_AT);
    return GROUP_WHY_NONE;
}

/* The key of a master that shows this step; NULL: none does. */
static const struct group *shown(const struct coordinator *c, uint32_t step, bool settled)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (m->memory.there && m->memory.shows.step == step && (!settled || m->memory.shows.settled))
            return &m->memory.shows;
    }
    return NULL;
}

static uint64_t before_of(const struct coordinator *c, uint32_t step)
{
    const struct group *group = shown(c, step, false);
    return group != NULL ? group->before : 0;
}

/* The highest step that any master has shown, also where its memory was lost since: who votes by it may run still. Returns
 * false if there is none, and no master has a key. */
static bool highest_shown(const struct coordinator *c, uint32_t *highest)
{
    *highest = c->generation.highest;
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].memory.there)
            return true;
    return *highest != 0;
}

static enum group_why begin_between(struct coordinator *c, uint32_t highest, uint32_t own)
{
    bool at_own = highest >= own;
    uint32_t step = at_own ? own - 1 : own - 2;
    if (highest > own || shown(c, own, true) != NULL)
        return begin(c, own, before_of(c, own));
    if (!knows_before(c))
        return GROUP_WHY_NEEDS_BEFORE;
    if (!at_own && highest == step && step != 0 && shown(c, step, true) == NULL)
        return GROUP_WHY_NOT_SETTLED;
    return begin(c, step, before_of(c, step));
}

/* The operator's word is about the start. Who has voted since may have been overtaken by others. */
static bool has_word(const struct coordinator *c)
{
    return c->config.begin_at && !c->generation.once;
}

static enum group_why begin_by_word(struct coordinator *c, uint32_t own)
{
    enum group_why why = begin(c, own, 0);
    c->generation.by_word = why == GROUP_WHY_NONE;
    return why;
}

enum group_why step_begin(struct coordinator *c)
{
    uint32_t own = 2 * c->config.set.generation, highest;
    bool any = highest_shown(c, &highest);
    if (highest > own + 1 || (has_word(c) && highest > own))
        return GROUP_WHY_OLD_FILE;
    if (has_word(c))
        return begin_by_word(c, own);
    if (!any) /* others may run by a list that has none of these masters */
        return GROUP_WHY_NO_MARKER;
    if (highest + 2 < own)
        return GROUP_WHY_LOAD_FIRST;
    return own == 0 ? begin(c, 0, 0) : begin_between(c, highest, own);
}
