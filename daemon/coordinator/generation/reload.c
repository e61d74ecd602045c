/* A new list of masters, and what is told of the change. */
#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/generation/steps.h"

uint16_t coordinator_places(const struct coordinator *c)
{
    const struct generation *g = &c->generation;
    masters_t places = step_members(g) | g->past.of | g->left;
    return g->stage == GENERATION_OUT ? places | c->config.set.of | c->config.before.of : places;
}

void coordinator_daemons(struct coordinator *c, const struct coordinator_daemons *seen)
{
    c->generation.daemons = *seen;
    c->generation.told = true;
}

static bool is_same(const struct coordinator_set *a, const struct coordinator_set *b)
{
    return a->hash == b->hash && a->masters == b->masters && a->max_ttl_ms == b->max_ttl_ms;
}

static bool is_possible(const struct coordinator *c, const struct coordinator_set *next,
                        struct reload_answer *answer)
{
    struct step_form here = form_plain(&c->generation.here), after = form_plain(next);
    struct step_form between = form_joint(&c->generation.here, next);
    answer->keep = quorum_keep(&here.quorum, &after.quorum);
    return quorum_is_possible(&between.quorum);
}

static int64_t left_ms(const struct coordinator *c)
{
    const struct generation *g = &c->generation;
    masters_t over;
    int64_t rest_ms;
    if (g->stage == GENERATION_OUT || !step_changes(g))
        return 0;
    step_raised(c, &over, &rest_ms);
    if (g->stage != GENERATION_RAISING)
        rest_ms = step_wait_ms(c);
    return step_is_joint(g->step) ? rest_ms : rest_ms + step_wait_ms(c);
}

struct reload_answer coordinator_reload_try(const struct coordinator *c, const struct coordinator_set *next)
{
    const struct generation *g = &c->generation;
    struct reload_answer answer = {.generation = g->here.generation};
    struct coordinator_set set = *next;
    step_complete(c, &set);
    bool wanted = step_changes(g) && set.generation == g->next.generation;
    if (g->stage == GENERATION_OUT)
        answer.group = RELOAD_TAKEN;
    else if (is_same(&set, &c->config.set) && set.generation == c->config.set.generation)
        answer.group = RELOAD_SAME;
    else if (wanted && !step_is_joint(g->step) && c->differing != 0)
        answer.group = is_possible(c, &set, &answer) ? RELOAD_TAKEN : RELOAD_TOO_BIG;
    else if (set.generation == c->config.set.generation)
        answer.group = RELOAD_OTHER_LIST;
    else if (set.generation < g->here.generation)
        answer.group = RELOAD_OLD;
    else if (step_changes(g)) {
        answer.group = RELOAD_BUSY;
        answer.left_ms = left_ms(c);
    } else if (set.generation != g->here.generation + 1)
        answer.group = RELOAD_JUMP;
    else if (g->told && !g->daemons.knows_steps)
        answer.group = RELOAD_OLD_DAEMON;
    else
        answer.group = is_possible(c, &set, &answer) ? RELOAD_TAKEN : RELOAD_TOO_BIG;
    return answer;
}

/* A server that was never seen at its place: what was known there was of another one. */
static void use_places(struct coordinator *c, const struct coordinator_set *next, masters_t before)
{
    for (unsigned i = 0; i < MASTERS; i++) {
        struct master *m = &c->masters[i];
        if (!(masters_without(next->of, before) & masters_bit(i)))
            continue;
        m->memory.there = m->memory.heard_once = m->handshake.ended_once = false;
        m->clock.unsure = true; /* the last reading is of the server that had the place before */
        memset(&m->memory.shows, 0, sizeof m->memory.shows);
        m->since_ms = c->now_ms;
        if (c->config.masters <= i)
            c->config.masters = i + 1;
    }
    c->config.no_kill = (uint16_t)(masters_without(c->config.no_kill, next->of) | (next->no_kill & next->of));
}

struct reload_answer generation_reload(struct coordinator *c, const struct coordinator_set *next)
{
    struct generation *g = &c->generation;
    struct reload_answer answer = coordinator_reload_try(c, next);
    if (answer.group != RELOAD_TAKEN)
        return answer;
    use_places(c, next, coordinator_places(c));
    if (g->stage != GENERATION_OUT)
        c->config.before = g->here;
    c->config.set = *next;
    step_complete(c, &c->config.set);
    if (g->stage == GENERATION_OUT)
        return answer; /* the next answer of a master lets it begin */
    g->next = c->config.set;
    g->told = false;
    if (g->stage == GENERATION_RAISING)
        step_move(c, GENERATION_AT);
    else
        step_apply(c);
    return answer;
}

uint32_t coordinator_step_number(const struct coordinator *c)
{
    return c->generation.step;
}

static enum group_why why_waiting(const struct coordinator *c)
{
    masters_t over;
    int64_t rest_ms;
    const struct generation *g = &c->generation;
    if (c->differing != 0)
        return GROUP_WHY_OTHER_LIST;
    if (g->stage == GENERATION_OUT)
        return g->why;
    if (generation_is_forgotten(c))
        return GROUP_WHY_NO_MARKER;
    if (!step_changes(g))
        return GROUP_WHY_NONE;
    if (g->stage == GENERATION_AT)
        return GROUP_WHY_DAEMON;
    if (g->ready_ms != 0)
        return GROUP_WHY_KEYS;
    return quorum_has(&c->quorum, step_raised(c, &over, &rest_ms)) ? GROUP_WHY_SINCE : GROUP_WHY_MASTERS;
}

void coordinator_group_row(const struct coordinator *c, struct group_row *row)
{
    const struct generation *g = &c->generation;
    *row = (struct group_row){.step = g->step,
                              .generation = c->config.set.generation,
                              .set = form_of(g, STEP_HERE).hash,
                              .voters = c->quorum.of,
                              .needed = c->quorum.needed,
                              .masters = c->config.set.masters,
                              .max_ttl_ms = c->longest_ttl_ms,
                              .why = why_waiting(c),
                              .their_step = g->highest,
                              .left_ms = c->differing == 0 ? left_ms(c) : 0};
    if (step_changes(g))
        row->between = form_of(g, step_is_joint(g->step) ? STEP_HERE : STEP_AFTER).hash;
    if (g->told) /* else it may have come further meanwhile */
        memcpy(row->host, g->daemons.lowest_host, sizeof row->host);
    if (g->stage == GENERATION_OUT)
        row->state = g->once || g->why == GROUP_WHY_OLD_FILE ? GROUP_OUTDATED : GROUP_WAITING;
    else if (step_is_joint(g->step))
        row->state = GROUP_JOINT;
    else
        row->state = step_changes(g) || row->why == GROUP_WHY_NO_MARKER ? GROUP_WAITING : GROUP_STEADY;
}
