#include "daemon/coordinator/master/generation.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/master/fresh.h"
#include "daemon/coordinator/master/master_private.h"

enum { BEFORE, HERE, AFTER }; /* indices of steps[] */
enum { SINCE_MS = 100, LEAST_F_MS = 3000, PROBES_MS = 1000, KEYS_MS = 60000, HASH_BYTES = 8 };

static const struct quorum unknown;

/* ---- steps ---- */

static bool is_joint(uint32_t step)
{
    return step % 2 != 0;
}

/* A step says who votes, and what keys say then. */
struct form {
    struct quorum quorum;
    uint64_t hash;
    int64_t max_ttl_ms;
};

static struct form plain(const struct coordinator_set *set)
{
    if (set->masters == 0)
        return (struct form){.quorum = unknown};
    return (struct form){quorum_plain(set->masters, set->of), set->hash, set->max_ttl_ms};
}

/* FNV-1a-64 of both hashes. */
static uint64_t hash_of_two(uint64_t first, uint64_t second)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (unsigned i = 0; i < 2 * HASH_BYTES; i++)
        hash = (hash ^ ((i < HASH_BYTES ? first >> 8 * i : second >> 8 * (i - HASH_BYTES)) & 0xff)) *
               UINT64_C(1099511628211);
    return hash != 0 ? hash : 1;
}

static struct form joint(const struct coordinator_set *before, const struct coordinator_set *after)
{
    struct form first = plain(before), second = plain(after);
    if (before->masters == 0 || after->masters == 0)
        return (struct form){.quorum = unknown};
    return (struct form){quorum_joint(&first.quorum, &second.quorum), hash_of_two(before->hash, after->hash),
                         first.max_ttl_ms > second.max_ttl_ms ? first.max_ttl_ms : second.max_ttl_ms};
}

/* A key says this of the step before its own. Two lists of the same masters may differ in max_ttl. */
static uint64_t mark_of(struct form form)
{
    return hash_of_two(form.hash, (uint64_t)form.max_ttl_ms);
}

static struct form form_of(const struct generation *g, unsigned which)
{
    bool between = is_joint(g->step);
    switch (which) {
    case BEFORE: return between ? plain(&g->here) : joint(&g->past, &g->here);
    case HERE: return between ? joint(&g->here, &g->next) : plain(&g->here);
    default: return between ? plain(&g->next) : joint(&g->here, &g->next);
    }
}

static bool changes(const struct generation *g)
{
    return g->next.masters != 0;
}

static uint32_t target(const struct generation *g)
{
    return g->step + (g->stage == GENERATION_RAISING);
}

/* ---- what follows from the step ---- */

static int64_t longer_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms > b_ms ? a_ms : b_ms;
}

static void apply(struct coordinator *c)
{
    struct generation *g = &c->generation;
    for (unsigned i = BEFORE; i <= AFTER; i++)
        g->steps[i] = form_of(g, i).quorum;
    c->quorum = g->steps[HERE];
    c->longest_ttl_ms = longer_ms(g->here.max_ttl_ms, longer_ms(g->next.max_ttl_ms, g->past.max_ttl_ms));
    c->ttl_most_ms =
        is_joint(g->step) ? earlier_ms(g->here.max_ttl_ms, g->next.max_ttl_ms) : g->here.max_ttl_ms;
    c->full_ms = c->longest_ttl_ms + quorum_drift_ms(c->longest_ttl_ms);
    g->moved = masters_all(c->config.masters);
}

static const unsigned legal[] = {
    [GENERATION_OUT] = 1u << GENERATION_AT,
    [GENERATION_AT] = 1u << GENERATION_OUT | 1u << GENERATION_RAISING,
    [GENERATION_RAISING] = 1u << GENERATION_OUT | 1u << GENERATION_AT,
};

static void move(struct coordinator *c, enum generation_stage to)
{
    assert(legal[c->generation.stage] & 1u << to);
    c->generation.stage = to;
    c->generation.once |= to == GENERATION_AT;
    apply(c);
}

static void complete(const struct coordinator *c, struct coordinator_set *set)
{
    if (set->masters != 0 && set->max_ttl_ms == 0)
        set->max_ttl_ms = c->config.max_ttl_ms;
}

void generation_init(struct coordinator *c)
{
    struct coordinator_set *file = &c->config.set;
    if (file->masters == 0) {
        file->masters = c->config.masters;
        file->of = masters_all(c->config.masters);
    }
    complete(c, file);
    complete(c, &c->config.before);
    c->generation.here = *file;
    c->generation.why = GROUP_WHY_NO_MARKER;
    apply(c);
    if (file->generation == 0)
        move(c, GENERATION_AT);
}

/* ---- rule 2: what a key means ---- */

static enum generation_told told(const struct generation *g, const struct group *group)
{
    struct form here = form_of(g, HERE), after = form_of(g, AFTER);
    if (group->step > g->step + 1)
        return GENERATION_AHEAD;
    if (group->step < g->step)
        return GENERATION_BEHIND;
    bool compares = here.hash != 0 && group->set != 0, other;
    if (group->step > g->step)
        other = group->before != mark_of(here) ||
                (changes(g) && (group->set != after.hash || group->max_ttl_ms != after.max_ttl_ms));
    else
        other = group->max_ttl_ms != here.max_ttl_ms || (compares && group->set != here.hash) ||
                (g->step == 0 && group->masters != g->here.masters);
    return other ? GENERATION_OTHER : GENERATION_OURS;
}

enum generation_told generation_told(const struct coordinator *c, const struct group *group)
{
    return c->generation.stage != GENERATION_OUT ? told(&c->generation, group) : GENERATION_OURS;
}

static masters_t members(const struct generation *g)
{
    return g->here.of | g->next.of;
}

/* A change is asked for, and no master was told. */
static bool is_asked_for(const struct generation *g)
{
    return changes(g) && !is_joint(g->step) && g->stage == GENERATION_AT;
}

/* The master has no part in the step before the change under way, or before the last one. */
static bool is_new(const struct coordinator *c, const struct master *m)
{
    const struct generation *g = &c->generation;
    const struct coordinator_set *old = changes(g) ? &g->here : &g->past;
    return old->masters != 0 && !(old->of & masters_bit(m->index));
}

/* A new master is told only when the change begins. */
bool generation_is_late(const struct coordinator *c, const struct master *m, const struct group *group)
{
    const struct generation *g = &c->generation;
    bool too_early = is_new(c, m) && is_asked_for(g);
    return g->stage != GENERATION_OUT && (members(g) & masters_bit(m->index)) && !too_early &&
           group->step < target(g);
}

/* Another daemon may start, and it begins at a step by which somebody votes. */
bool generation_is_unsettled(const struct coordinator *c, const struct group *group)
{
    const struct generation *g = &c->generation;
    return g->stage == GENERATION_AT && g->step != 0 && target(g) == g->step && group->step == g->step &&
           !group->settled;
}

/* The first step whose masters are told to a new master. */
static uint32_t first_step(const struct generation *g)
{
    return is_joint(g->step) || !changes(g) ? (g->step - 1) | 1 : g->step + 1;
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
    return target(&c->generation) != 0 || changes(&c->generation);
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
    if (is_new(c, m) ? is_asked_for(g) : !(members(g) & masters_bit(m->index)))
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
static bool is_forgotten(const struct coordinator *c)
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
    struct form form = form_of(g, target(g) == g->step ? HERE : AFTER);
    group->step = target(g);
    group->set = form.hash;
    group->max_ttl_ms = form.max_ttl_ms;
    group->settled = group->step != 0 && group->step == g->step;
    if (group->step == 0)
        group->masters = g->here.masters;
    else
        group->before = group->step == g->step ? g->before : mark_of(form_of(g, HERE));
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
    return target(&c->generation) != 0 || (m->memory.there && m->memory.shows.step != 0);
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
    if (g->steps[BEFORE].of & bit)
        return was_asked;
    return ((g->steps[HERE].of | g->steps[AFTER].of) & bit) && counts(c, m);
}

bool generation_denies(const struct coordinator *c, masters_t missing)
{
    for (unsigned i = BEFORE; i <= AFTER; i++)
        if (c->generation.steps[i].needed != 0 && !quorum_blocks(&c->generation.steps[i], missing))
            return false;
    return true;
}

bool generation_held_before(const struct coordinator *c, masters_t have)
{
    const struct quorum *before = &c->generation.steps[BEFORE];
    return before->needed != 0 && quorum_has(before, have & c->up);
}

/* ---- rule 3: from s to s+1 ---- */

static int64_t time_ms(const struct coordinator *c, const struct master *m)
{
    return m->clock.time_ms + (c->now_ms - m->clock.told_at_ms);
}

/* By then whoever votes by s-1 has probed a master that shows s+1, and the locks that it granted are over. */
static int64_t wait_ms(const struct coordinator *c)
{
    int64_t probes_ms = PROBES_MS + 2 * c->generation.daemons.node_timeout_ms;
    return longer_ms(longer_ms(probes_ms, LEAST_F_MS), fresh_limit_ms(c)) + SINCE_MS + c->full_ms;
}

/* The masters that show s+1 with this daemon's set; *over: those voters of s where it has been so for long enough. */
static masters_t raised(const struct coordinator *c, masters_t *over, int64_t *left_ms)
{
    const struct generation *g = &c->generation;
    masters_t set = 0, served = c->renewers | c->extenders;
    *over = 0;
    *left_ms = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (!(served & masters_bit(i)) || !fresh_is(c, m) || !m->memory.there ||
            m->memory.shows.step != g->step + 1 || m->memory.shows.set != form_of(g, AFTER).hash)
            continue;
        int64_t rest_ms = m->memory.shows.since_ms + wait_ms(c) - time_ms(c, m);
        set |= masters_bit(i);
        if (!(c->renewers & c->quorum.of & masters_bit(i)))
            continue; /* in quarantine for a clock that jumped, the wait would be too short */
        if (rest_ms <= 0 && !m->clock.unsure)
            *over |= masters_bit(i);
        *left_ms = longer_ms(*left_ms, rest_ms);
    }
    return set;
}

static bool daemons_came(const struct generation *g)
{
    return g->told && g->daemons.knows_steps && g->daemons.lowest_step >= g->step;
}

/* A lock that fewer than Q masters of the next step have would be lost there. A dead holder's key may be in its way on a new
 * master, and is over soon. A lock that was granted just now is on its way to them. */
static bool leases_came(const struct coordinator *c)
{
    int64_t settled_ms = c->now_ms - 2 * c->config.node_timeout_ms;
    for (uint32_t slot = 0; slot < c->leases.fresh; slot++) {
        const struct lease *lease = pool_at(&c->leases, slot);
        if (lease != NULL && lease_is_bound(lease) && lease->keeping->has_key &&
            lease->granted_ms < settled_ms && !quorum_has(&c->generation.steps[AFTER], lease->copies.granted))
            return false;
    }
    return true;
}

/* A mark likewise: what a quorum of this step keeps is to be kept by the next one, too. Where it was released, it is not
 * set again. */
static bool marks_came(const struct coordinator *c)
{
    const struct quorum *after = &c->generation.steps[AFTER];
    for (uint32_t slot = 0; slot < c->kepts.fresh; slot++) {
        const struct kept *kept = pool_at(&c->kepts, slot);
        if (kept != NULL && kept->told && quorum_has(&c->quorum, kept->had) &&
            !quorum_has(after, kept->had) && quorum_has(after, masters_without(after->of, kept->gone)))
            return false;
    }
    return true;
}

/* A step that is ready otherwise waits for keys, for some time at most. */
static bool keys_came(const struct coordinator *c)
{
    int64_t waited_ms = c->now_ms - c->generation.ready_ms;
    return (leases_came(c) && marks_came(c)) || waited_ms >= longer_ms(c->full_ms, KEYS_MS);
}

static void step_on(struct coordinator *c)
{
    struct generation *g = &c->generation;
    g->before = mark_of(form_of(g, HERE));
    if (is_joint(g->step)) {
        g->past = g->here;
        g->past_until_ms = c->now_ms + c->full_ms;
        g->here = g->next;
        g->next = (struct coordinator_set){0};
    }
    g->step++;
    g->ready_ms = 0;
    g->told = g->by_word = false;
    move(c, GENERATION_AT);
}

/* The last change is over: what left is of no use any more when all that was kept there is over. */
static void forget_past(struct coordinator *c)
{
    struct generation *g = &c->generation;
    if ((g->past.of | g->left) == 0 || c->now_ms < g->past_until_ms)
        return;
    g->gone |= masters_without(g->past.of | g->left, members(g));
    g->past = (struct coordinator_set){0};
    g->left = 0;
    apply(c);
}

static void go_on(struct coordinator *c)
{
    struct generation *g = &c->generation;
    masters_t over;
    int64_t left_ms;
    forget_past(c);
    if (!changes(g))
        return;
    if (g->stage == GENERATION_AT && daemons_came(g))
        move(c, GENERATION_RAISING);
    if (g->stage != GENERATION_RAISING)
        return;
    /* Nothing would be gained by a step whose voters are not there. */
    bool ready = quorum_has(&g->steps[AFTER], raised(c, &over, &left_ms)) && quorum_has(&c->quorum, over);
    if (!ready || g->ready_ms == 0)
        g->ready_ms = ready ? c->now_ms : 0;
    if (ready && keys_came(c))
        step_on(c);
}

/* ---- rule 4: a start ---- */

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
    masters_t old = g->once ? members(g) | g->past.of | g->left : 0;
    bool at_file = step == 2 * file->generation;
    at.past = none;
    at.here = at_file ? *file : c->config.before;
    at.next = at_file ? none : *file;
    at.step = step;
    at.before = before != 0 ? before : hash_of_two(at.here.hash, at.here.hash);
    at.told = at.by_word = false;
    if (at_file && knows_before(c)) /* locks of then may live, with its max_ttl */
        at.past = c->config.before;
    at.left = masters_without(old, members(&at)); /* they may owe releases */
    int64_t longest_ms = longer_ms(at.here.max_ttl_ms, at.past.max_ttl_ms);
    at.past_until_ms = c->now_ms + longer_ms(c->full_ms, longest_ms + quorum_drift_ms(longest_ms));
    if (is_joint(step))
        at.before = mark_of(plain(&at.here));
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].memory.there && told(&at, &c->masters[i].memory.shows) == GENERATION_OTHER)
            return GROUP_WHY_OTHER_LIST;
    *g = at;
    move(c, GENERATION_AT);
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

static enum group_why begin_why(struct coordinator *c)
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

static void look(struct coordinator *c, bool all_heard)
{
    if (c->generation.stage != GENERATION_OUT)
        go_on(c);
    else if (all_heard)
        c->generation.why = begin_why(c);
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
        move(c, GENERATION_OUT);
    look(c, all_heard);
    if (counts(c, m) != counted || generation_extends(c, m) != extended)
        g->moved |= masters_bit(m->index);
    return g->stage != GENERATION_OUT || (g->once && there);
}

/* ---- the driver's calls ---- */

uint16_t coordinator_places(const struct coordinator *c)
{
    const struct generation *g = &c->generation;
    masters_t places = members(g) | g->past.of | g->left;
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
    struct form here = plain(&c->generation.here), after = plain(next);
    struct form between = joint(&c->generation.here, next);
    answer->keep = quorum_keep(&here.quorum, &after.quorum);
    return quorum_is_possible(&between.quorum);
}

static int64_t left_ms(const struct coordinator *c)
{
    const struct generation *g = &c->generation;
    masters_t over;
    int64_t rest_ms;
    if (g->stage == GENERATION_OUT || !changes(g))
        return 0;
    raised(c, &over, &rest_ms);
    if (g->stage != GENERATION_RAISING)
        rest_ms = wait_ms(c);
    return is_joint(g->step) ? rest_ms : rest_ms + wait_ms(c);
}

struct reload_answer coordinator_reload_try(const struct coordinator *c, const struct coordinator_set *next)
{
    const struct generation *g = &c->generation;
    struct reload_answer answer = {.generation = g->here.generation};
    struct coordinator_set set = *next;
    complete(c, &set);
    bool wanted = changes(g) && set.generation == g->next.generation;
    if (g->stage == GENERATION_OUT)
        answer.group = RELOAD_TAKEN;
    else if (is_same(&set, &c->config.set) && set.generation == c->config.set.generation)
        answer.group = RELOAD_SAME;
    else if (wanted && !is_joint(g->step) && c->differing != 0)
        answer.group = is_possible(c, &set, &answer) ? RELOAD_TAKEN : RELOAD_TOO_BIG;
    else if (set.generation == c->config.set.generation)
        answer.group = RELOAD_OTHER_LIST;
    else if (set.generation < g->here.generation)
        answer.group = RELOAD_OLD;
    else if (changes(g)) {
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
    complete(c, &c->config.set);
    if (g->stage == GENERATION_OUT)
        return answer; /* the next answer of a master lets it begin */
    g->next = c->config.set;
    g->told = false;
    if (g->stage == GENERATION_RAISING)
        move(c, GENERATION_AT);
    else
        apply(c);
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
    if (is_forgotten(c))
        return GROUP_WHY_NO_MARKER;
    if (!changes(g))
        return GROUP_WHY_NONE;
    if (g->stage == GENERATION_AT)
        return GROUP_WHY_DAEMON;
    if (g->ready_ms != 0)
        return GROUP_WHY_KEYS;
    return quorum_has(&c->quorum, raised(c, &over, &rest_ms)) ? GROUP_WHY_SINCE : GROUP_WHY_MASTERS;
}

void coordinator_group_row(const struct coordinator *c, struct group_row *row)
{
    const struct generation *g = &c->generation;
    *row = (struct group_row){.step = g->step,
                              .generation = c->config.set.generation,
                              .set = form_of(g, HERE).hash,
                              .voters = c->quorum.of,
                              .needed = c->quorum.needed,
                              .masters = c->config.set.masters,
                              .max_ttl_ms = c->longest_ttl_ms,
                              .why = why_waiting(c),
                              .their_step = g->highest,
                              .left_ms = c->differing == 0 ? left_ms(c) : 0};
    if (changes(g))
        row->between = form_of(g, is_joint(g->step) ? HERE : AFTER).hash;
    if (g->told) /* else it may have come further meanwhile */
        memcpy(row->host, g->daemons.lowest_host, sizeof row->host);
    if (g->stage == GENERATION_OUT)
        row->state = g->once || g->why == GROUP_WHY_OLD_FILE ? GROUP_OUTDATED : GROUP_WAITING;
    else if (is_joint(g->step))
        row->state = GROUP_JOINT;
    else
        row->state = changes(g) || row->why == GROUP_WHY_NO_MARKER ? GROUP_WAITING : GROUP_STEADY;
}
