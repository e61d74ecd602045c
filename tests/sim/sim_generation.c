/* The class `generation`: the operator replaces, adds and removes masters, and changes max_ttl, while daemons run. All
 * servers are there from the start; place i of each daemon is server i. */
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "tests/sim/sim.h"

enum { LOOK_US = 300000, TRIES = 32, GENERATION_BITS = 8, WHO = 900 };

static int64_t drawn(const struct sim_plan *plan, uint64_t who, uint64_t what, int64_t low, int64_t high)
{
    return low + chance_below(plan->seed, WHO + who, what, CHANCE_PLAN, high - low + 1);
}

bool generation_class(const struct sim_world *w)
{
    return w->plan->param[P_SET] != 0;
}

/* Nothing is wrong, and each change comes to all daemons within a second. */
bool generation_smooth(const struct sim_world *w)
{
    return w->plan->param[P_LISTED] == LISTED_SMOOTH;
}

/* ---- the sets ---- */

static unsigned pick(const struct sim_plan *plan, uint64_t who, uint64_t what, uint16_t of)
{
    unsigned skip = (unsigned)drawn(plan, who, what, 0, (int64_t)masters_count(of) - 1), i = 0;
    for (;; i++)
        if ((of >> i & 1) && skip-- == 0)
            return i;
}

/* One replaced, mostly; else one or two come or go, or only max_ttl changes. */
static uint16_t changed(const struct sim_plan *plan, uint64_t who, uint64_t try, uint16_t of)
{
    static const int come[] = {1, 1, 1, 1, 1, 1, 1, 0, 0, 2}, go[] = {2, 1, 1, 1, 1, 0, 0, 1, 0, 2};
    int64_t what = plan->param[P_SET] & SET_LEAPS ? 9 : drawn(plan, who, 8 * try, 0, 9);
    for (int i = 0; i < come[what] && of != masters_all(SIM_MASTERS); i++)
        of |= masters_bit(
            pick(plan, who, 8 * try + 1 + (uint64_t)i, (uint16_t)(masters_all(SIM_MASTERS) & ~of)));
    for (int i = 0; i < go[what] && masters_count(of) > 1; i++)
        of &= (uint16_t)~masters_bit(pick(plan, who, 8 * try + 3 + (uint64_t)i, of));
    return of;
}

static bool is_possible(uint16_t before, uint16_t after)
{
    struct quorum a = quorum_plain(masters_count(before), before),
                  b = quorum_plain(masters_count(after), after);
    struct quorum joint = quorum_joint(&a, &b);
    return quorum_is_possible(&joint);
}

/* The list that another operator wrote for the generation differs from the first one. */
struct coordinator_set generation_set(const struct sim_plan *plan, uint32_t generation, bool other)
{
    uint16_t of = (uint16_t)(plan->param[P_SET] & masters_all(SIM_MASTERS));
    int64_t max_ttl_ms = plan->param[P_MAX_TTL];
    for (uint32_t g = 1; g <= generation; g++) {
        uint64_t who = g + (g == generation && other ? 1000 : 0), try = 0;
        uint16_t next = changed(plan, who, try, of);
        while (!is_possible(of, next) && ++try < TRIES)
            next = changed(plan, who, try, of);
        if (is_possible(of, next))
            of = next;
        if (drawn(plan, who, 999, 0, 3) == 0)
            max_ttl_ms = drawn(plan, who, 998, 1, 2) * plan->param[P_MAX_TTL] / 2;
    }
    return (struct coordinator_set){.generation = generation,
                                    .masters = masters_count(of),
                                    .of = of,
                                    .hash = 1 + of,
                                    .no_kill = (uint16_t)plan->param[P_NO_KILL],
                                    .max_ttl_ms = max_ttl_ms};
}

/* ---- the plan ---- */

static void add_file(struct sim_plan *plan, int64_t daemon, int64_t at_ms, int64_t file)
{
    if (plan->faults == PLAN_FAULTS || at_ms >= plan->param[P_HEAL])
        return;
    struct sim_record *fault = &plan->fault[plan->faults];
    memset(fault, 0, sizeof *fault);
    fault->id = plan->faults++;
    fault->field[F_KIND] = FAULT_FILE;
    fault->field[F_AT] = at_ms * 1000;
    fault->field[F_FOR] = 1;
    fault->field[F_TARGET] = daemon;
    fault->field[F_ARG] = file;
}

static bool has_two_lists(const struct sim_plan *plan)
{
    return drawn(plan, 1, 2, 0, 3) == 0;
}

void swarm_generation(struct sim_plan *plan, struct swarm *swarm)
{
    int64_t *p = plan->param;
    int64_t kind = drawn(plan, 0, 0, 0, 5);
    if (kind <= 1)
        swarm_calm(plan, swarm);
    p[P_HEAL] *= 3;
    if (p[P_MAX_TTL] > 3000)
        p[P_MAX_TTL] = 3000;
    p[P_SET] = masters_all((unsigned)drawn(plan, 0, 1, 1, 5));
    p[P_MASTERS] = SIM_MASTERS;
    p[P_DAEMONS] = drawn(plan, 0, 2, 1, 4);
    p[P_LISTED] = kind == 0 ? LISTED_SMOOTH : drawn(plan, 0, 3, 0, 2) != 0;
    p[P_DEAF] = DEAF_NONE;
    swarm->rate[FAULT_SCORES] = 0; /* a minority of all servers may be a majority of a set */
    if (has_two_lists(plan))
        swarm->blackouts =
            0; /* where all memory is lost, nothing tells a daemon that another has another list */
    if (kind == 0) {
        swarm->rate[FAULT_BREAK] = 0;
        return;
    }
    if (drawn(plan, 0, 4, 0, 1) == 0)
        swarm->longest_ms[FAULT_PAUSE] = swarm->longest_ms[FAULT_SLEEP] = 15000;
    if (drawn(plan, 0, 5, 0, 1) == 0)
        swarm->longest_ms[FAULT_CUT_UP] = swarm->longest_ms[FAULT_CUT_DOWN] = 20000;
    if (drawn(plan, 0, 6, 0, 2) == 0)
        swarm->longest_ms[FAULT_CRASH_DAEMON] = 12000;
}

/* Where masters change under faults, it is not judged whether a watched name is free, or a mark still there. */
static void leave_out(struct sim_plan *plan)
{
    for (unsigned i = 0; i < plan->ops && plan->param[P_LISTED] != LISTED_SMOOTH; i++)
        plan->op[i].field[O_KEPT] = 0;
}

/* Each generation comes to the daemons' files in any order, to some late or never, sometimes before the change before
 * is over. */
void plan_generation(struct sim_plan *plan)
{
    int64_t *p = plan->param, at_ms = drawn(plan, 1, 0, 1000, 6000), lags = drawn(plan, 1, 1, 0, 3);
    bool two_lists = has_two_lists(plan);
    int64_t no_before = drawn(plan, 1, 3, 0, 2);
    p[P_UNGUARDED] = p[P_LIAR] = 0;
    if (p[P_LISTED] == LISTED_SMOOTH) {
        lags = 1;
        two_lists = false;
        no_before = 1;
    }
    leave_out(plan);
    for (int64_t g = 1; at_ms < p[P_HEAL]; g++) {
        for (int64_t d = 0; d < p[P_DAEMONS]; d++) {
            uint64_t what = (uint64_t)(8 * g + d);
            int64_t lag_ms = lags == 0 ? 0 : drawn(plan, 2, what, 0, lags == 1 ? 1000 : 8000);
            bool never = lags == 3 && drawn(plan, 3, what, 0, 5) == 0;
            bool other = two_lists && drawn(plan, 4, what, 0, 4) == 0;
            bool before = no_before != 0 || drawn(plan, 5, what, 0, 3) != 0;
            if (!never)
                add_file(plan, d, at_ms + lag_ms,
                         g | (int64_t)other << GENERATION_BITS | (int64_t)before << (GENERATION_BITS + 1));
        }
        at_ms += drawn(plan, 6, (uint64_t)g, drawn(plan, 7, (uint64_t)g, 0, 3) == 0 ? 1000 : 11000, 22000);
    }
}

/* ---- the files of a daemon ---- */

static struct coordinator_set file_of(const struct sim_world *w, const struct sim_daemon *d)
{
    uint32_t generation = (uint32_t)d->file & ((1u << GENERATION_BITS) - 1);
    return generation_set(w->plan, generation, d->file >> GENERATION_BITS & 1);
}

void generation_config(const struct sim_world *w, const struct sim_daemon *d,
                       struct coordinator_config *config)
{
    config->masters = SIM_MASTERS;
    config->set = file_of(w, d);
    config->max_ttl_ms = config->set.max_ttl_ms;
    config->default_ttl_ms = config->max_ttl_ms;
    config->begin_at = w->healing; /* all were stopped, and the operator says so */
    if (config->set.generation == 0)
        return;
    /* Nobody leaves it out who has just made max_ttl shorter. */
    struct coordinator_set before = generation_set(w->plan, config->set.generation - 1, false);
    if ((d->file >> (GENERATION_BITS + 1) & 1) || before.max_ttl_ms > config->max_ttl_ms)
        config->before = before;
}

/* What the oracle judges by: the step's quorum, and the shortest quarantine that any daemon may count on. */
void generation_stepped(struct sim_world *w, struct sim_daemon *d)
{
    struct group_row row;
    if (!generation_class(w))
        return;
    coordinator_group_row(d->core, &row);
    d->quorum = row.needed;
    d->voters = row.voters;
    d->spare = masters_count(row.voters) > row.needed;
    int64_t least_ms = w->plan->param[P_MAX_TTL] / 2; /* no lock that a master forgot need have had longer */
    d->full_us = (least_ms + quorum_drift_ms(least_ms)) * 1000;
    if (row.step != d->step)
        d->step_us = w->now_us;
    if (row.step != d->step)
        trace_add(w, TRACE_STEP, d->index, row.step, row.state, row.voters, row.needed, row.why, 0);
    d->step = row.step;
    if (row.why == GROUP_WHY_KEYS)
        w->keys_us = w->now_us;
}

/* Clients know the present max_ttl. */
void generation_asked(const struct sim_daemon *d, struct request *what)
{
    struct group_row row;
    coordinator_group_row(d->core, &row);
    if (what->ttl_ms > row.max_ttl_ms)
        what->ttl_ms = row.max_ttl_ms;
}

/* As the operator and the loop do: the file is loaded until it is taken; connections follow the places. */
static void look(struct sim_world *w, struct sim_daemon *d)
{
    struct coordinator_daemons seen = {.lowest_step = UINT32_MAX, .knows_steps = true};
    struct coordinator_set file = file_of(w, d);
    for (unsigned i = 0; i < w->daemons && w->plan->param[P_LISTED] != 0; i++) {
        const struct sim_daemon *other = &w->daemon[i];
        if (other->running && coordinator_step_number(other->core) < seen.lowest_step)
            seen.lowest_step = coordinator_step_number(other->core);
    }
    coordinator_daemons(d->core, &seen);
    coordinator_reload(d->core, &file);
    uint16_t places = coordinator_places(d->core);
    for (unsigned i = 0; i < SIM_MASTERS; i++) {
        bool open = d->open >> i & 1, wanted = places >> i & 1;
        d->open = (uint16_t)(wanted ? d->open | oracle_bit(i) : d->open & ~oracle_bit(i));
        if (wanted && !open)
            node_open(w, d, i);
        else if (open && !wanted)
            node_reset(w, d, i);
    }
    daemon_arm(w, d);
}

/* The operator raises the generation when the last one is in force, as far as some daemon tells; at times a little too
 * early, but not where a generation has two lists: daemons say so, and the files are mended first. Who missed one gets
 * the next. */
static void write_files(struct sim_world *w)
{
    const int64_t mask = (1 << GENERATION_BITS) - 1;
    int64_t most = 0;
    for (unsigned i = 0; i < w->daemons; i++)
        if (w->daemon[i].running && coordinator_step_number(w->daemon[i].core) / 2 > most)
            most = coordinator_step_number(w->daemon[i].core) / 2;
    for (unsigned i = 0; i < w->daemons; i++) {
        struct sim_daemon *d = &w->daemon[i];
        int64_t wanted = d->wanted & mask;
        bool early = !generation_smooth(w) && !has_two_lists(w->plan) &&
                     drawn(w->plan, 8, (uint64_t)(8 * wanted + i), 0, 7) == 0;
        if (wanted > most + 1 + early)
            wanted = most + 1;
        if (wanted > (d->file & mask)) {
            d->file = (d->wanted & ~mask) | wanted;
            d->step_us = w->now_us;
        }
    }
}

/* Nothing is wrong, and no daemon is late: a change goes on. Each step takes the largest max_ttl, its drift, three
 * seconds of probes, and two or three more for what comes once a second. It waits for keys a minute at
 * most, and for daemons that do. */
static void goes_on(struct sim_world *w, const struct sim_daemon *d)
{
    const int64_t mask = (1 << GENERATION_BITS) - 1;
    int64_t longest_us = (w->plan->param[P_MAX_TTL] * 101 / 100 + 7000) * 1000;
    longest_us += w->keys_us > d->step_us ? 60000000 : 0;
    bool asked = (d->file & mask) * 2 > (int64_t)d->step;
    if (generation_smooth(w) && asked && w->now_us > d->step_us + longest_us)
        violation(w, 5, "d%u is at step %u for %.3f s, though generation %d is asked for", d->index, d->step,
                  (double)(w->now_us - d->step_us) / 1e6, (int)(d->file & mask));
}

void generation_tick(struct sim_world *w)
{
    if (!w->odd_over)
        write_files(w);
    for (unsigned i = 0; i < w->daemons; i++)
        if (w->daemon[i].running && w->now_us > w->daemon[i].paused_until_us)
            look(w, &w->daemon[i]);
    for (unsigned i = 0; i < w->daemons && !w->odd_over; i++)
        goes_on(w, &w->daemon[i]);
    queue_push(w, w->now_us + LOOK_US, ITEM_GENERATION, 0, 0, 0);
}

/* All daemons were stopped, and the markers are gone: the last list counts. */
void generation_heal(struct sim_world *w)
{
    int64_t last = 0;
    for (unsigned i = 0; i < w->daemons; i++)
        if ((w->daemon[i].file & ((1 << GENERATION_BITS) - 1)) > last)
            last = w->daemon[i].file & ((1 << GENERATION_BITS) - 1);
    for (unsigned i = 0; i < w->daemons; i++)
        w->daemon[i].file = last;
}
