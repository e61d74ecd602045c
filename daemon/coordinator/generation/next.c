/* Rule 3: from step s to s+1. */
#include "daemon/coordinator/generation/steps.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/master/fresh.h"

enum { SINCE_MS = 100, LEAST_F_MS = 3000, PROBES_MS = 1000, KEYS_MS = 60000 };

static int64_t time_ms(const struct coordinator *c, const struct master *m)
{
    return m->clock.time_ms + (c->now_ms - m->clock.told_at_ms);
}

/* By then whoever votes by s-1 has probed a master that shows s+1, and the locks that it granted are over. */
int64_t step_wait_ms(const struct coordinator *c)
{
    int64_t probes_ms = PROBES_MS + 2 * c->generation.daemons.node_timeout_ms;
    return longer_ms(longer_ms(probes_ms, LEAST_F_MS), fresh_limit_ms(c)) + SINCE_MS + c->full_ms;
}

masters_t step_raised(const struct coordinator *c, masters_t *over, int64_t *left_ms)
{
    const struct generation *g = &c->generation;
    masters_t set = 0, served = c->renewers | c->extenders;
    *over = 0;
    *left_ms = 0;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if (!(served & masters_bit(i)) || !fresh_is(c, m) || !m->memory.there ||
            m->memory.shows.step != g->step + 1 || m->memory.shows.set != form_of(g, STEP_AFTER).hash)
            continue;
        int64_t rest_ms = m->memory.shows.since_ms + step_wait_ms(c) - time_ms(c, m);
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
            lease->granted_ms < settled_ms &&
            !quorum_has(&c->generation.steps[STEP_AFTER], lease->copies.granted))
            return false;
    }
    return true;
}

/* A mark likewise: what a quorum of this step keeps is to be kept by the next one, too. Where it was released, it is not
 * set again. */
static bool marks_came(const struct coordinator *c)
{
    const struct quorum *after = &c->generation.steps[STEP_AFTER];
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
    g->before = form_mark(form_of(g, STEP_HERE));
    if (step_is_joint(g->step)) {
        g->past = g->here;
        g->past_until_ms = c->now_ms + c->full_ms;
        g->here = g->next;
        g->next = (struct coordinator_set){0};
    }
    g->step++;
    g->ready_ms = 0;
    g->told = g->by_word = false;
    step_move(c, GENERATION_AT);
}

/* The last change is over: what left is of no use any more when all that was kept there is over. */
static void forget_past(struct coordinator *c)
{
    struct generation *g = &c->generation;
    if ((g->past.of | g->left) == 0 || c->now_ms < g->past_until_ms)
        return;
    g->gone |= masters_without(g->past.of | g->left, step_members(g));
    g->past = (struct coordinator_set){0};
    g->left = 0;
    step_apply(c);
}

void step_go_on(struct coordinator *c)
{
    struct generation *g = &c->generation;
    masters_t over;
    int64_t left_ms;
    forget_past(c);
    if (!step_changes(g))
        return;
    if (g->stage == GENERATION_AT && daemons_came(g))
        step_move(c, GENERATION_RAISING);
    if (g->stage != GENERATION_RAISING)
        return;
    /* Nothing would be gained by a step whose voters are not there. */
    bool ready =
        quorum_has(&g->steps[STEP_AFTER], step_raised(c, &over, &left_ms)) && quorum_has(&c->quorum, over);
    if (!ready || g->ready_ms == 0)
        g->ready_ms = ready ? c->now_ms : 0;
    if (ready && keys_came(c))
        step_on(c);
}
