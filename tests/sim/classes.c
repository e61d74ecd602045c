/* The classes of plans, each a world with faults of its own: see enum plan_class. */
#include "tests/sim/sim.h"

enum { RECONNECT_MS = 1600 /* a back-off of up to a second, and the handshake that follows */ };

static int64_t drawn(const struct sim_plan *plan, uint64_t what, int64_t low, int64_t high)
{
    return low + chance_below(plan->seed, 4, what, CHANCE_PLAN, high - low + 1);
}

static void memory(struct sim_plan *plan, struct swarm *swarm)
{
    if (drawn(plan, 0, 0, 1) == 0)
        swarm_calm(plan, swarm);
    swarm->rate[FAULT_FLUSH] = drawn(plan, 1, 0, 1) * drawn(plan, 2, 10, 120);
    swarm->rate[FAULT_PROMOTE] = drawn(plan, 3, 0, 1) * drawn(plan, 4, 5, 80);
    swarm->rate[FAULT_REPLICA] = drawn(plan, 5, 0, 1) * drawn(plan, 6, 5, 80);
    swarm->rate[FAULT_RUBBISH] = drawn(plan, 7, 0, 3) == 0 ? drawn(plan, 8, 2, 20) : 0;
    swarm->rate[FAULT_CRASH_DAEMON] = drawn(plan, 9, 0, 1) * drawn(plan, 10, 10, 200);
    swarm->longest_ms[FAULT_PROMOTE] = swarm->longest_ms[FAULT_RUBBISH] = 2000;
    swarm->longest_ms[FAULT_REPLICA] = 3000;
    swarm->longest_ms[FAULT_FLUSH] = 1;
    swarm->longest_ms[FAULT_CRASH_DAEMON] = 2000;
}

/* Stalls of the daemons' hosts: frequent and short, or rare and long. */
static void stalls(const struct sim_plan *plan, struct swarm *swarm)
{
    static const int64_t longest_ms[] = {30, 30, 300, 3000, 10000}, most[] = {2000, 500, 300, 100, 60};
    int64_t kind = drawn(plan, 11, 0, 4);
    swarm->longest_ms[FAULT_STALL] = longest_ms[kind];
    swarm->rate[FAULT_STALL] = drawn(plan, 12, 10, most[kind]);
}

/* Clocks of a minority of the masters drift, and nothing else is wrong: see draw_fault(). */
static void drifts(struct sim_plan *plan, struct swarm *swarm)
{
    swarm_calm(plan, swarm);
    swarm->rate[FAULT_DRIFT] = drawn(plan, 13, 10, 100);
    swarm->longest_ms[FAULT_DRIFT] = 25000;
}

/* Masters' clocks are set back, daemons crash, and nothing else is wrong. */
static void backs(struct sim_plan *plan, struct swarm *swarm)
{
    swarm_calm(plan, swarm);
    swarm->rate[FAULT_SET] = drawn(plan, 15, 5, 100);
    swarm->longest_ms[FAULT_SET] = 1;
    swarm->rate[FAULT_CRASH_DAEMON] = drawn(plan, 17, 10, 200);
    swarm->longest_ms[FAULT_CRASH_DAEMON] = 2000;
}

static void clocks(struct sim_plan *plan, struct swarm *swarm)
{
    if (drawn(plan, 0, 0, 1) == 0)
        swarm_calm(plan, swarm);
    swarm->rate[FAULT_JUMP] = drawn(plan, 1, 10, 150);
    swarm->longest_ms[FAULT_JUMP] = 1;
    enum { JUMPS, STALLS, BOTH, DRIFTS };
    int64_t what = drawn(plan, 2, JUMPS, DRIFTS);
    if (what == STALLS || what == DRIFTS)
        swarm->rate[FAULT_JUMP] = 0;
    if (what == STALLS || what == BOTH)
        stalls(plan, swarm);
    if (what != DRIFTS && drawn(plan, 14, 0, 2) == 0)
        swarm->rate[FAULT_SET] = drawn(plan, 15, 5, 100);
    swarm->longest_ms[FAULT_SET] = 2 * plan->param[P_MAX_TTL];
    if (what == DRIFTS)
        drifts(plan, swarm);
    if (drawn(plan, 16, 0, 9) == 0)
        backs(plan, swarm);
}

static void rolling(struct sim_plan *plan, struct swarm *swarm)
{
    swarm_calm(plan, swarm);
    if (plan->param[P_MASTERS] < 3)
        plan->param[P_MASTERS] = 3;
    swarm->lease_pct = 0;
    swarm->abandon_pct = 0;
    swarm->long_keep_pct = 60;
    swarm->resume_pct = 0;
    swarm->via_pct = 0;
}

/* As many masters, but others: the odd daemon has the first of them nowhere, and others behind the last. It comes when
 * the masters know the set; nobody can tell two sets apart whose common masters forgot it. */
static void other_masters(struct sim_plan *plan)
{
    int64_t *p = plan->param;
    p[P_MASTERS] = drawn(plan, 7, 0, 1) ? 3 : 5;
    p[P_ODD_MASTERS] = p[P_ODD_MAX_TTL] = 0;
    p[P_ODD_FIRST] = drawn(plan, 8, 1, 2);
    p[P_ODD_LATE] = drawn(plan, 10, 0, 1) ? 0 : drawn(plan, 9, 2000, p[P_HEAL] / 2);
}

static void disagree(struct sim_plan *plan, struct swarm *swarm)
{
    int64_t *p = plan->param;
    swarm_calm(plan, swarm);
    if (p[P_DAEMONS] < 2)
        p[P_DAEMONS] = 2;
    if (p[P_MASTERS] <
        3) /* a master that was restarted empty has no key to differ by, so there must be others */
        p[P_MASTERS] = 3;
    if (drawn(plan, 0, 0, 1) == 0) {
        p[P_MASTERS] = drawn(plan, 1, 0, 1) ? 3 : 5;
        p[P_ODD_MASTERS] = p[P_MASTERS] == 3 ? 5 : 3;
    } else {
        p[P_ODD_MAX_TTL] = p[P_MAX_TTL] + (drawn(plan, 1, 0, 1) ? 1 : 3000);
    }
    p[P_ODD_LATE] = drawn(plan, 2, 0, 2) == 0 ? 0 : drawn(plan, 3, 1000, p[P_HEAL] / 2);
    if (drawn(plan, 6, 0, 2) == 0)
        other_masters(plan);
    swarm->rate[FAULT_CRASH_DAEMON] = drawn(plan, 4, 0, 1) * drawn(plan, 5, 10, 100);
    swarm->longest_ms[FAULT_CRASH_DAEMON] = 2000;
}

static void turns(struct sim_plan *plan, struct swarm *swarm)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    plan->param[P_DAEMONS] = drawn(plan, 0, 2, SIM_DAEMONS);
    plan->param[P_NODE_TIMEOUT] = 50;
    swarm->clients = drawn(plan, 1, 1, SIM_CLIENTS / SIM_DAEMONS);
    swarm->think_ms = drawn(plan, 2, 0, 20);
    swarm->keep_ms = drawn(plan, 3, 0, 100);
    swarm->wait_pct = 100;
    swarm->lease_pct = swarm->extend_pct = swarm->via_pct = swarm->resume_pct = 0;
    if (drawn(plan, 4, 0, 2) == 0) { /* locks are given back through other daemons, or taken along to them */
        swarm->via_pct = drawn(plan, 5, 5, 40);
        swarm->resume_pct = drawn(plan, 6, 0, 1) * drawn(plan, 7, 5, 40);
        swarm->rate[FAULT_BREAK] = drawn(plan, 8, 0, 1) * drawn(plan, 9, 5, 100);
    }
}

static void split(struct sim_plan *plan, struct swarm *swarm)
{
    turns(plan, swarm);
    swarm->clients = 1;
    swarm->wait_pct = 0;
    swarm->keep_ms = 50;
    swarm->think_ms = 1;
    swarm->sync_ms = 1000;
    swarm->remote_pct = 0;
    plan->param[P_JITTER] = plan->param[P_JITTER] > 2000 ? 2000 : plan->param[P_JITTER];
    plan->param[P_MIN_TTL] = 500;
}

/* Readers and writers of few names. In half of the runs nothing else is wrong. */
static void modes(struct sim_plan *plan, struct swarm *swarm)
{
    if (drawn(plan, 0, 0, 2) == 0)
        swarm_calm(plan, swarm);
    plan->param[P_NAMES] = drawn(plan, 1, 1, 2);
    swarm->clients = drawn(plan, 2, 2, 6);
    swarm->lease_pct = drawn(plan, 3, 0, 2) * 20;
}

/* Lists of two to four names that overlap, or of any of 16, beside locks of the same names; every other world has faults. */
void swarm_lists(struct sim_plan *plan, struct swarm *swarm)
{
    if (drawn(plan, 0, 0, 1) == 0) {
        swarm_calm(plan, swarm);
        plan->param[P_CALM] = CALM_LISTS;
        swarm->long_keep_pct = drawn(plan, 6, 0, 3) * 10;
    }
    plan->param[P_NAMES] = drawn(plan, 7, 0, 3) == 0 ? SIM_NAMES : drawn(plan, 1, 2, 5);
    swarm->clients = drawn(plan, 2, 2, 8);
    swarm->think_ms = drawn(plan, 3, 0, 50);
    swarm->keep_ms = drawn(plan, 4, 0, 150);
    swarm->list_pct = drawn(plan, 5, 20, 90);
}

/* Clients that wait for each other at one daemon hand a lock on, if their TTLs are alike. The faults stay. */
void swarm_hands(struct sim_plan *plan, struct swarm *swarm)
{
    plan->param[P_NAMES] = drawn(plan, 40, 1, 2);
    plan->param[P_DAEMONS] = drawn(plan, 41, 1, 3);
    plan->param[P_MIN_TTL] = plan->param[P_MAX_TTL] - drawn(plan, 42, 0, 1) * 100;
    plan->param[P_MAX_LOCKS] = 64;
    plan->param[P_MAX_WAITERS] = 128;
    swarm->clients = drawn(plan, 43, 3, 12);
    swarm->think_ms = drawn(plan, 44, 0, 10);
    swarm->keep_ms = drawn(plan, 45, 0, 1) ? drawn(plan, 46, 0, 10) : drawn(plan, 47, 20, 150);
    swarm->wait_pct = 95;
    swarm->lease_pct = drawn(plan, 48, 0, 1) * 10;
}

/* Masters take time for each command there: see sim_flood.c. */
void swarm_flood(struct sim_plan *plan, struct swarm *swarm, enum flood flood)
{
    int64_t *p = plan->param;
    swarm_calm(plan, swarm);
    p[P_FLOOD] = flood;
    p[P_DEAF] = DEAF_NONE;
    p[P_FANOUT] = FANOUT_ALL;
    p[P_NODE_TIMEOUT] = 50;
    p[P_MIN_TTL] = 1000;
    p[P_DAEMONS] = drawn(plan, 80, 0, 1) ? 1 : 3;
    p[P_NAMES] = drawn(plan, 81, 1, 4);
    p[P_SLOTS] = p[P_SLOTTED] = 0;
    swarm->clients = flood == FLOOD_ALL ? SIM_CLIENTS / 4 : drawn(plan, 82, 2, 4);
    swarm->long_keep_pct = 40;
    swarm->abandon_pct = swarm->via_pct = swarm->resume_pct = swarm->extend_pct = swarm->down_pct = 0;
    if (flood == FLOOD_LETTERS) {
        swarm->rate[FAULT_FORGE] = 300;
        swarm->longest_ms[FAULT_FORGE] = 3000;
    } else {
        swarm->rate[FAULT_FLOOD] = 500;
        swarm->longest_ms[FAULT_FLOOD] = 1;
    }
}

void swarm_slots(struct sim_plan *plan, struct swarm *swarm)
{
    int64_t *p = plan->param;
    turns(plan, swarm);
    p[P_SLOTS] = drawn(plan, 60, 1, SIM_SLOTS);
    p[P_NAMES] = 1;
    p[P_CALM] = CALM_TURNS;
}

/* Few names, and more clients than slots. */
static void slots(struct sim_plan *plan, struct swarm *swarm)
{
    if (drawn(plan, 62, 0, 3) == 0) {
        swarm_slots(plan, swarm);
        return;
    }
    plan->param[P_SLOTS] = drawn(plan, 60, 1, SIM_SLOTS);
    plan->param[P_NAMES] = drawn(plan, 61, 1, 2);
    if (drawn(plan, 63, 0, 1) == 0)
        return;
    plan->param[P_MAX_LOCKS] = 64;
    plan->param[P_MAX_WAITERS] = 128;
    swarm->clients = drawn(plan, 64, 2, SIM_CLIENTS / 4);
    swarm->think_ms = drawn(plan, 65, 0, 20);
    swarm->keep_ms = drawn(plan, 66, 0, 1) ? drawn(plan, 67, 0, 10) : drawn(plan, 68, 20, 150);
    if (drawn(plan, 69, 0, 1) == 0) /* handed on */
        plan->param[P_MIN_TTL] = plan->param[P_MAX_TTL] - drawn(plan, 70, 0, 1) * 100;
    swarm->wait_pct = drawn(plan, 71, 0, 2) == 0 ? 50 : 95;
}

void swarm_class(struct sim_plan *plan, struct swarm *swarm, enum plan_class class)
{
    switch (class) {
    case CLASS_MEMORY: memory(plan, swarm); return;
    case CLASS_CLOCK: clocks(plan, swarm); return;
    case CLASS_ROLLING: rolling(plan, swarm); return;
    case CLASS_DISAGREE: disagree(plan, swarm); return;
    case CLASS_TURNS: turns(plan, swarm); return;
    case CLASS_SPLIT: split(plan, swarm); return;
    case CLASS_MODES: modes(plan, swarm); return;
    case CLASS_LISTS: swarm_lists(plan, swarm); return;
    case CLASS_SLOTS: slots(plan, swarm); return;
    case CLASS_GENERATION: swarm_generation(plan, swarm); return;
    default: return;
    }
}

/* ---- what a swarm does not draw ---- */

static void restart(struct sim_plan *plan, int64_t master, int64_t at_ms, int64_t for_ms)
{
    if (plan->faults == PLAN_FAULTS || at_ms + for_ms >= plan->param[P_HEAL])
        return;
    struct sim_record *fault = &plan->fault[plan->faults];
    fault->id = plan->faults++;
    fault->field[F_KIND] = FAULT_CRASH_LOSE;
    fault->field[F_AT] = at_ms * 1000;
    fault->field[F_FOR] = for_ms * 1000;
    fault->field[F_TARGET] = master;
}

/* Restarts masters one after the other, with pauses of apart_ms. */
static void restarts(struct sim_plan *plan, int64_t apart_ms)
{
    const int64_t *p = plan->param;
    int64_t masters = p[P_ODD_MASTERS] > p[P_MASTERS] ? p[P_ODD_MASTERS] : p[P_MASTERS];
    int64_t at_ms = drawn(plan, 20, 2000, 4000);
    for (uint64_t i = 0; at_ms < p[P_HEAL]; i++) {
        int64_t for_ms = drawn(plan, 30 + i, 1, 300);
        restart(plan, ((int64_t)i + drawn(plan, 21, 0, masters - 1)) % masters, at_ms, for_ms);
        at_ms += for_ms + RECONNECT_MS + apart_ms;
    }
}

void plan_class(struct sim_plan *plan)
{
    int64_t max_ttl_ms = plan->param[P_MAX_TTL], odd_ttl_ms = plan->param[P_ODD_MAX_TTL];
    if (odd_ttl_ms > max_ttl_ms)
        max_ttl_ms = odd_ttl_ms;
    /* Between two restarts each lock is renewed: a third of its TTL, and a tenth of that. */
    if (plan->param[P_CLASS] == CLASS_ROLLING)
        restarts(plan, max_ttl_ms * 11 / 30 + 6 * plan->param[P_NODE_TIMEOUT]);
    /* Between two restarts every lock that the restarted master forgot ends. */
    if (plan->param[P_CLASS] == CLASS_DISAGREE && plan->param[P_ODD_FIRST] == 0)
        restarts(plan, max_ttl_ms + 3000);
    if (plan->param[P_CLASS] == CLASS_GENERATION)
        plan_generation(plan);
}
