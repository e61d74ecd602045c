#include "daemon/coordinator/generation/generation.h"

#include "daemon/coordinator/generation/steps.h"
#include "daemon/coordinator/master/fresh.h"

/* ---- rule 2: what a key means ---- */

enum generation_told generation_told(const struct coordinator *c, const struct group *group)
{
    return c->generation.stage != GENERATION_OUT ? step_told(&c->generation, group) : GENERATION_OURS;
}

/* A change is asked for, and no master was told. */
static bool is_asked_for(const struct generation *g)
{
    return step_changes(g) && !step_is_joint(g->step) && g->stage == GENERATION_AT;
}

/* The master has no part in the step before the change under way, or before the last one. */
static bool is_new(const struct coordinator *c, const struct master *m)
{
    const struct generation *g = &c->generation;
    const struct coordinator_set *old = step_changes(g) ? &g->here : &g->past;
    return old->masters != 0 && !(old->of & masters_bit(m->index));
}

/* A new master is told only when the change begins. */
bool generation_is_late(const struct coordinator *c, const struct master *m, const struct group *group)
{
    const struct generation *g = &c->generation;
    bool too_early = is_new(c, m) && is_asked_for(g);
    return g->stage != GENERATION_OUT && (step_members(g) & masters_bit(m->index)) && !too_early &&
           group->step < step_target(g);
}

/* Another daemon may start, and it begins at a step by which somebody votes. */
bool generation_is_unsettled(const struct coordinator *c, const struct group *group)
{
    const struct generation *g = &c->generation;
    return g->stage == GENERATION_AT && g->step != 0 && step_target(g) == g->step && group->step == g->step &&
           !group->settled;
}

/* The first step whose masters are told to a new master. */
static uint32_t first_step(const struct generation *g)
{
    return step_is_joint(g->step) || !step_changes(g) ? (g->step - 1) | 1 : g->step + 1;
}

bool generation_forgot(const struct coordinator *c, const struct master *m, const struct group *group)
{
    const struct generation *g = &c->generation;
    if (!generation_is_late(c, m, group))
        return false;
    if (is_new(c, m) && group->step < first_step(g))
        return true;
    if (g->by_word && group->step < g->step)
        return true;
    return group->step < g->step && group->max_ttl_ms < c->longest_ttl_ms;
}

bool generation_is_under_way(const struct coordinator *c)
{
    return step_target(&c->generation) != 0 || step_changes(&c->generation);
}

/* ---- rule 5 ---- */

static bool shows(const struct coordinator *c, const struct master *m)
{
    return m->memory.there && m->memory.shows.step >= c->generation.step;
}

static bool is_heard(const struct coordinator *c, const struct master *m)
{
    return m->state != MASTER_DOWN && m->memory.read_ms + fresh_limit_ms(c) >= c->now_ms &&
           m->memory.read_ms != 0;
}

/* Masters that were heard lately: who shows this step, or a later one, and who has no key. */
static masters_t showing(const struct coordinator *c, masters_t *without)
{
    masters_t with = 0;
    *without = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (is_heard(c, m) && shows(c, m))
            with |= masters_bit(i);
        else if (is_heard(c, m) && !m->memory.there)
            *without |= masters_bit(i);
    }
    return with;
}

bool generation_may_write(const struct coordinator *c, const struct master *m)
{
    const struct generation *g = &c->generation;
    masters_t with, without;
    if (!generation_is_under_way(c))
        return true;
    if (is_new(c, m) ? is_asked_for(g) : !(step_members(g) & masters_bit(m->index)))
        return false;
    if (g->by_word && g->highest <= g->step)
        return true;
    if (m->memory.good_at_ms != 0 && m->known && c->now_ms - m->memory.good_at_ms <= c->ttl_most_ms)
        return true;
    with = showing(c, &without);
    if (quorum_has(&c->quorum, with))
        return true;
    return ((with | without) & c->quorum.of) == c->quorum.of && quorum_blocks(&c->quorum, without) &&
           g->highest <= g->step + 1;
}

/* Too many masters have no key, and none may be written there. */
bool generation_is_forgotten(const struct coordinator *c)
{
    masters_t without = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (is_heard(c, m) && !m->memory.there && !generation_may_write(c, m))
            without |= masters_bit(i);
    }
    return quorum_blocks(&c->quorum, without);
}

/* ---- the key ---- */

void generation_mark(const struct coordinator *c, const struct master *m, struct group *group)
{
    const struct generation *g = &c->generation;
    struct step_form form = form_of(g, step_target(g) == g->step ? STEP_HERE : STEP_AFTER);
    group->step = step_target(g);
    group->set = form.hash;
    group->max_ttl_ms = form.max_ttl_ms;
    group->settled = group->step != 0 && group->step == g->step;
    if (group->step == 0)
        group->masters = g->here.masters;
    else
        group->before = group->step == g->step ? g->before : form_mark(form_of(g, STEP_HERE));
    if (m->memory.there && m->memory.shows.step > group->step) { /* this daemon's file does not know it */
        *group = m->memory.shows;
        group->settled = false;
        group->by[0] = group->why[0] = '\0';
        group->back_ms = 0;
    }
    group->since_ms = group->step != 0;
}

bool generation_lasts(const struct coordinator *c, const struct master *m)
{
    return step_target(&c->generation) != 0 || (m->memory.there && m->memory.shows.step != 0);
}

/* ---- who counts ---- */

/* Before the first step each key shows it, and what a missing one means is judged without it. */
static bool counts(const struct coordinator *c, const struct master *m)
{
    return c->generation.stage != GENERATION_OUT && (c->generation.step == 0 || shows(c, m));
}

bool generation_votes(const struct coordinator *c, const struct master *m)
{
    return (c->quorum.of & masters_bit(m->index)) && counts(c, m);
}

/* The voters of the step before are asked, too, and show that step at least: a lock that was granted just then may have no
 * quorum of this step yet, and a quorum that has it may be needed to heal it. */
bool generation_extends(const struct coordinator *c, const struct master *m)
{
    const struct generation *g = &c->generation;
    masters_t bit = masters_bit(m->index);
    bool was_asked = g->stage != GENERATION_OUT && m->memory.there && m->memory.shows.step + 1 >= g->step;
    if (g->steps[STEP_BEFORE].of & bit)
        return was_asked;
    return ((g->steps[STEP_HERE].of | g->steps[STEP_AFTER].of) & bit) && counts(c, m);
}

bool generation_denies(const struct coordinator *c, masters_t missing)
{
    for (unsigned i = STEP_BEFORE; i <= STEP_AFTER; i++)
        if (c->generation.steps[i].needed != 0 && !quorum_blocks(&c->generation.steps[i], missing))
            return false;
    return true;
}

bool generation_held_before(const struct coordinator *c, masters_t have)
{
    const struct quorum *before = &c->generation.steps[STEP_BEFORE];
    return before->needed != 0 && quorum_has(before, have & c->up);
}

static void look(struct coordinator *c, bool all_heard)
{
    if (c->generation.stage != GENERATION_OUT)
        step_go_on(c);
    else if (all_heard)
        c->generation.why = step_begin(c);
}

bool generation_read(struct coordinator *c, struct master *m, const struct vote *vote, bool all_heard)
{
    struct generation *g = &c->generation;
    bool there = vote->kind == VOTE_GROUP, counted = counts(c, m), extended = generation_extends(c, m);
    masters_t without;
    m->memory.there = there;
    m->memory.read_ms = c->now_ms;
    if (there)
        m->memory.shows = vote->group;
    if (there && vote->group.step > g->highest)
        g->highest = vote->group.step;
    if (g->by_word && quorum_has(&c->quorum, showing(c, &without)))
        g->by_word = false;
    if (there && g->stage != GENERATION_OUT && generation_told(c, &vote->group) == GENERATION_AHEAD)
        step_move(c, GENERATION_OUT);
    look(c, all_heard);
    if (counts(c, m) != counted || generation_extends(c, m) != extended)
        g->moved |= masters_bit(m->index);
    return g->stage != GENERATION_OUT || (g->once && there);
}
