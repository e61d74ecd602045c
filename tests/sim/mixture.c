/* Mixtures: several of the daemon's features in one world, beside the faults of its class. */
#include "tests/sim/sim.h"

enum { MIXTURE_PCT = 30, LEAST = 3 };

static int64_t drawn(const struct sim_plan *plan, uint64_t what, int64_t low, int64_t high)
{
    return low + chance_below(plan->seed, 12, what, CHANCE_PLAN, high - low + 1);
}

/* At least three of the features. */
static unsigned features(const struct sim_plan *plan)
{
    unsigned set = 0, many = (unsigned)drawn(plan, 1, LEAST, FEATURES);
    for (uint64_t i = 0; (unsigned)__builtin_popcount(set) < many; i++)
        set |= 1u << drawn(plan, 100 + i, 0, FEATURES - 1);
    return set;
}

/* The last names have slots, and not all the same number of them; the first ones are in lists. */
static void names(struct sim_plan *plan, unsigned set)
{
    int64_t *p = plan->param;
    int64_t plain = (set >> FEATURE_LISTS & 1) + drawn(plan, 2, 1, 2);
    int64_t slotted = set >> FEATURE_SLOTS & 1 ? drawn(plan, 3, 1, 2) : 0;
    p[P_NAMES] = plain + slotted;
    p[P_SLOTTED] = ((INT64_C(1) << slotted) - 1) << plain;
    p[P_SLOTS] = slotted > 0 ? drawn(plan, 4, 1, SIM_SLOTS) : 0;
}

void swarm_mixture(struct sim_plan *plan, struct swarm *swarm)
{
    int64_t *p = plan->param;
    bool own = p[P_CLASS] >= CLASS_MODES && p[P_CLASS] <= CLASS_SLOTS;
    bool may = plan->mutant == MUTANT_NONE && !plan_old && (p[P_CLASS] <= CLASS_CLOCK || own);
    if (!may || p[P_CALM] != 0 || drawn(plan, 0, 0, 99) >= MIXTURE_PCT)
        return;
    unsigned set = features(plan);
    if (p[P_DEAF] == DEAF_FIRST)
        p[P_DEAF] = DEAF_NONE; /* else a daemon may come that knows none of them */
    if (set >> FEATURE_HANDS & 1)
        swarm_hands(plan, swarm);
    names(plan, set);
    swarm->list_pct = set >> FEATURE_LISTS & 1 ? drawn(plan, 5, 5, 60) : 0;
    swarm->shared_pct = set >> FEATURE_READERS & 1 ? drawn(plan, 6, 5, 80) : 0;
    swarm->down_pct = set >> FEATURE_DOWN & 1 ? drawn(plan, 7, 10, 100) : 0;
    swarm->apart = false;
    p[P_JOIN_FROM] = set >> FEATURE_READERS & 1 ? drawn(plan, 8, 0, 3) : 0;
    p[P_FANOUT] = set >> FEATURE_FANOUT & 1 ? drawn(plan, 9, FANOUT_QUORUM, FANOUT_MIXED) : FANOUT_ALL;
}

unsigned plan_features(const struct sim_plan *plan)
{
    unsigned set = feature_if(plan->param[P_SLOTS] != 0, FEATURE_SLOTS);
    set |= feature_if(plan->param[P_FANOUT] != FANOUT_ALL, FEATURE_FANOUT);
    for (unsigned i = 0; i < plan->ops; i++) {
        const int64_t *op = plan->op[i].field;
        set |= feature_if(op[O_SHARED] != 0, FEATURE_READERS) | feature_if(op[O_NAMES] != 0, FEATURE_LISTS);
        set |= feature_if(op[O_DOWN] != 0, FEATURE_DOWN);
    }
    return set;
}
