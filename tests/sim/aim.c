/* For each planted bug the kind of world in which it shows. */
#include "tests/sim/sim.h"

void swarm_calm(struct plan *plan, struct swarm *swarm)
{
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        swarm->rate[i] = 0;
    swarm->give_up_pct = 0;
    swarm->blackouts = 0;
    plan->param[P_TAIL_PPM] = 0;
    plan->param[P_MAX_LOCKS] = 64;
    plan->param[P_MAX_WAITERS] = 128;
    plan->param[P_MAX_UNDO] = 16384;
    plan->param[P_BACKLOG] = 10000;
    plan->param[P_UPTIME] = 1000000;
}

void swarm_crowd(struct plan *plan, struct swarm *swarm)
{
    plan->param[P_NAMES] = 1;
    plan->param[P_DAEMONS] = 3;
    swarm->clients = 3;
    swarm->think_ms = 20;
    swarm->keep_ms = 20;
    swarm->wait_pct = 90;
    swarm->long_keep_pct = 0;
    swarm->abandon_pct = 0;
}

static void masters(struct plan *plan, int64_t count)
{
    plan->param[P_MASTERS] = count;
}

/* Old connections whose bytes arrive after the new one is in use. */
static void strays(struct plan *plan, struct swarm *swarm)
{
    masters(plan, 3);
    plan->param[P_STRAY] = plan->param[P_MAX_TTL] * 1000;
    swarm->rate[FAULT_RESET] = 800;
    swarm->rate[FAULT_HANG] = 60;
    swarm->longest_ms[FAULT_HANG] = 4000;
}

static void restarts(struct swarm *swarm, int64_t rate)
{
    swarm->rate[FAULT_CRASH_LOSE] = rate;
    swarm->longest_ms[FAULT_CRASH_LOSE] = 300;
}

static void leases(struct swarm *swarm)
{
    swarm->lease_pct = 100;
    swarm->extend_pct = 80;
    swarm->long_keep_pct = 40;
}

static void aim_fences(struct plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    plan->param[P_WALL] = plan->param[P_MAX_TTL] / 2 - 100;
    masters(plan, 5);
    swarm->rate[FAULT_RESET] = 300;
    plan->param[P_TAIL_PPM] = 50000;
    plan->param[P_TAIL] = 20000;
    if (mutant == MUTANT_ZADD_ERROR_KEEPS_VOTE)
        swarm->rate[FAULT_ZADD_ERROR] = 200;
    if (mutant == MUTANT_REASK_COUNTS_FIRST_ZADD) { /* votes are split only of those who do not wait */
        swarm->wait_pct = 10;
        swarm->clients = 6;
    }
    if (mutant == MUTANT_QUARANTINED_FENCES || mutant == MUTANT_QUARANTINED_VOTES)
        restarts(swarm, 200);
    if (mutant != MUTANT_NO_LEAD_CAP)
        return;
    /* Clocks that step within their window lead each other on, until all masters forget. */
    plan->param[P_MAX_TTL] = 2000;
    plan->param[P_WALL] = 900;
    masters(plan, 3);
    plan->param[P_TAIL_PPM] = 0;
    swarm->rate[FAULT_RESET] = 0;
    swarm->rate[FAULT_WALL] = 2000;
    swarm->blackouts = 120;
}

static void aim_extends(struct plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    leases(swarm);
    swarm->via_pct = 60;
    plan->param[P_TAIL_PPM] = 20000;
    plan->param[P_TAIL] = 3 * plan->param[P_MAX_TTL] / 2 * 1000;
    if (mutant == MUTANT_EXTEND_RESURRECTS)
        swarm->lease_pct = 30;
    if (mutant == MUTANT_EXTEND_NO_VALIDITY) {
        plan->param[P_NODE_TIMEOUT] = 50;
        plan->param[P_MIN_TTL] = 100;
        swarm->rate[FAULT_PAUSE] = 500;
        swarm->longest_ms[FAULT_PAUSE] = 6000;
    }
}

static void aim_releases(struct plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    switch (mutant) {
    case MUTANT_RELEASE_ONLY_GRANTED:
        plan->param[P_TAIL_PPM] = 20000;
        plan->param[P_TAIL] = 200000;
        break;
    case MUTANT_DELETE_AT_DEADLINE:
        leases(swarm);
        swarm->abandon_pct = 30;
        swarm->via_pct = 60;
        break;
    case MUTANT_UNDO_FROM_T0:
        strays(plan, swarm);
        swarm->rate[FAULT_HANG] = 200;
        swarm->longest_ms[FAULT_HANG] = 8000;
        plan->param[P_MAX_TTL] = 2000;
        break;
    case MUTANT_KILL_ONCE: /* the second connection must break while it kills the first */
        strays(plan, swarm);
        plan->param[P_DELAY] = 15000;
        plan->param[P_NODE_TIMEOUT] = 100;
        plan->param[P_MIN_TTL] = 500;
        swarm->rate[FAULT_RESET] = 4000;
        break;
    default: /* kill, undo_granted */ strays(plan, swarm);
    }
}

static void aim_others(struct plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    switch (mutant) {
    case MUTANT_NO_VALIDITY:
    case MUTANT_MONOTONIC_CLOCK:
        swarm->rate[FAULT_PAUSE] = mutant == MUTANT_NO_VALIDITY ? 500 : 0;
        swarm->rate[FAULT_SLEEP] = mutant == MUTANT_NO_VALIDITY ? 0 : 300;
        swarm->longest_ms[FAULT_PAUSE] = swarm->longest_ms[FAULT_SLEEP] = 8000;
        swarm->long_keep_pct = 30;
        swarm->remote_pct = 0;
        break;
    case MUTANT_UPTIME_WITHOUT_MARGIN:
        swarm->rate[FAULT_CRASH_DAEMON] = 500;
        swarm->longest_ms[FAULT_CRASH_DAEMON] = 3000;
        /* fall through */
    case MUTANT_NO_RESTART_GUARD:
        restarts(swarm, 100);
        swarm->long_keep_pct = 30;
        break;
    case MUTANT_DEAD_WAITER_NOT_SKIPPED: swarm->give_up_pct = 30; break;
    case MUTANT_LATE_REPLY_MATCHES:
        plan->param[P_TAIL_PPM] = 50000;
        plan->param[P_TAIL] = 300000;
        break;
    default: break;
    }
}

void swarm_aim(struct plan *plan, struct swarm *swarm, enum mutant mutant)
{
    switch (mutant) {
    case MUTANT_NONE: return;
    case MUTANT_FENCE_INCR_MAX:
    case MUTANT_RAISE_FEW_SCORES:
    case MUTANT_RAISE_FEW_ACKS:
    case MUTANT_RETRY_REUSES_PROPOSAL:
    case MUTANT_ZADD_ERROR_KEEPS_VOTE:
    case MUTANT_REASK_COUNTS_FIRST_ZADD:
    case MUTANT_QUARANTINED_VOTES:
    case MUTANT_QUARANTINED_FENCES:
    case MUTANT_NO_LEAD_CAP: aim_fences(plan, swarm, mutant); return;
    case MUTANT_EXTEND_NO_VALIDITY:
    case MUTANT_EXTEND_NO_COMPARE:
    case MUTANT_EXTEND_SHORTENS:
    case MUTANT_EXTEND_RESURRECTS: aim_extends(plan, swarm, mutant); return;
    case MUTANT_PLAIN_DEL:
    case MUTANT_RELEASE_ONLY_GRANTED:
    case MUTANT_DELETE_AT_DEADLINE:
    case MUTANT_NO_KILL:
    case MUTANT_KILL_ONCE:
    case MUTANT_UNDO_FROM_T0:
    case MUTANT_UNDO_GRANTED: aim_releases(plan, swarm, mutant); return;
    default: aim_others(plan, swarm, mutant);
    }
}

/* To become empty, and to go then. */
bool mutant_awaited(enum mutant mutant)
{
    return mutant == MUTANT_UPTIME_WITHOUT_MARGIN /* its faults need another aim */ ||
           (mutant > MUTANT_REASK_COUNTS_FIRST_ZADD && mutant <= MUTANT_DISAGREEMENT_EACH);
}
