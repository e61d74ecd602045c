/* For each planted bug the kind of world in which it shows. */
#include "tests/sim/sim.h"

void swarm_calm(struct sim_plan *plan, struct swarm *swarm)
{
    for (unsigned i = 0; i < FAULT_KINDS; i++)
        swarm->rate[i] = 0;
    swarm->give_up_pct = 0;
    swarm->blackouts = swarm->rollbacks = 0;
    plan->param[P_TAIL_PPM] = 0;
    plan->param[P_MAX_LOCKS] = 64;
    plan->param[P_MAX_WAITERS] = 128;
    plan->param[P_MAX_UNDO] = 16384;
    plan->param[P_BACKLOG] = 10000;
    plan->param[P_UPTIME] = 1000000;
}

void swarm_crowd(struct sim_plan *plan, struct swarm *swarm)
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

static void masters(struct sim_plan *plan, int64_t count)
{
    plan->param[P_MASTERS] = count;
}

static void aim_data(struct sim_plan *plan, struct swarm *swarm)
{
    swarm_calm(plan, swarm);
    masters(plan, 5);
    swarm_crowd(plan, swarm);
    swarm->data_pct = 100;
    swarm->resume_pct = 60;
    swarm->keep_ms = 100;
    /* Some masters hear of a grant too late to be told with the others. */
    plan->param[P_TAIL_PPM] = 100000;
    plan->param[P_TAIL] = 20000;
}

static void aim_watch(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    aim_data(plan, swarm);
    swarm->watch_pct = 100;
    swarm->resume_pct = 0;
    swarm->keep_ms = mutant == MUTANT_WATCH_BACKWARDS ? 100 : 8000;
    if (mutant == MUTANT_WATCH_BACKWARDS) { /* a master that was not told of the release */
        swarm->rate[FAULT_CUT_UP] = 500;
        swarm->longest_ms[FAULT_CUT_UP] = 3000;
    }
    plan->param[P_MAX_TTL] = 10000;
    if (mutant == MUTANT_WATCH_MOVED) { /* half of the masters have the next token already */
        masters(plan, 4);
        plan->param[P_JITTER] = 10000;
        plan->param[P_NODE_TIMEOUT] = 200;
        swarm->resume_pct = 100;
        swarm->keep_ms = 20000;
    }
}

/* Old connections whose bytes arrive after the new one is in use. */
static void strays(struct sim_plan *plan, struct swarm *swarm)
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

static void aim_fences(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
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
    if (mutant ==
        MUTANT_REASK_COUNTS_FIRST_ZADD) { /* votes are split only between requests that do not wait */
        swarm->wait_pct = 10;
        swarm->clients = 6;
    }
    if (mutant == MUTANT_QUARANTINED_FENCES || mutant == MUTANT_QUARANTINED_VOTES)
        restarts(swarm, 200);
    if (mutant != MUTANT_NO_LEAD_CAP && mutant != MUTANT_WALL_TRUSTED)
        return;
    /* Clocks that step within their window drag each other on, until all masters forget. */
    plan->param[P_MAX_TTL] = 2000;
    plan->param[P_WALL] = 900;
    masters(plan, 3);
    plan->param[P_TAIL_PPM] = 0;
    swarm->rate[FAULT_RESET] = 0;
    swarm->rate[FAULT_WALL] = 2000;
    swarm->blackouts = 120;
    if (mutant != MUTANT_WALL_TRUSTED)
        return;
    swarm->rate[FAULT_WRONG] = 100;
    swarm->longest_ms[FAULT_WRONG] = 1;
}

static void aim_extends(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    leases(swarm);
    swarm->via_pct = 60;
    plan->param[P_TAIL_PPM] = 20000;
    plan->param[P_TAIL] = 3 * plan->param[P_MAX_TTL] / 2 * 1000;
    if (mutant == MUTANT_EXTEND_RESURRECTS)
        swarm->lease_pct = 30;
    if (mutant == MUTANT_MAX_FORGOTTEN) { /* clients are paused while they are told that their lock is over */
        plan->param[P_MAX_TTL] = 2000;
        plan->param[P_MIN_TTL] = 200;
        plan->param[P_DAEMONS] = 4;
        plan->param[P_NAMES] = SIM_SLOTTED;
        plan->param[P_TAIL_PPM] = 0;
        swarm->clients = 8;
        swarm->lease_pct = swarm->via_pct = 0;
        swarm->long_keep_pct = swarm->extend_pct = 100;
        swarm->rate[FAULT_PAUSE_CLIENT] = 3000;
        swarm->longest_ms[FAULT_PAUSE_CLIENT] = 600;
    }
    if (mutant == MUTANT_EXTEND_NO_VALIDITY) {
        plan->param[P_NODE_TIMEOUT] = 50;
        plan->param[P_MIN_TTL] = 100;
        plan->param[P_DELAY] = 15000;
        plan->param[P_NAMES] = SIM_SLOTTED;
        swarm->rate[FAULT_PAUSE] = 500;
        swarm->longest_ms[FAULT_PAUSE] = 6000;
    }
}

static void aim_releases(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
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
    case MUTANT_UNGUARDED_NO_KILL:
        strays(plan, swarm);
        plan->param[P_UNGUARDED] = 1;
        break;
    case MUTANT_NO_KILL_VOTES:
        strays(plan, swarm);
        plan->param[P_NO_KILL] = 7;
        break;
    case MUTANT_UNDO_BY_RECORD: /* two flushed masters, and a silent third */
        plan->param[P_CLASS] = CLASS_MEMORY;
        plan->param[P_NAMES] = SIM_SLOTTED;
        plan->param[P_MAX_TTL] = 2000;
        plan->param[P_MIN_TTL] = 800;
        masters(plan, 3);
        leases(swarm);
        swarm->clients = 8;
        swarm->extend_pct = 100;
        swarm->long_keep_pct = 80;
        swarm->via_pct = 0;
        swarm->rate[FAULT_FLUSH] = 400;
        swarm->rate[FAULT_HANG] = 800;
        swarm->rate[FAULT_RESET] = 300;
        swarm->longest_ms[FAULT_FLUSH] = swarm->longest_ms[FAULT_RESET] = 1;
        swarm->longest_ms[FAULT_HANG] = 800;
        break;
    default: /* kill, undo_granted */ strays(plan, swarm);
    }
}

/* Locks that are held over restarts of masters. */
static void aim_heals(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 3);
    swarm->lease_pct = 0;
    swarm->long_keep_pct = 60;
    restarts(swarm, 60);
    switch (mutant) {
    case MUTANT_HEAL_ACKNOWLEDGED: /* the lock goes to another daemon while an EXTEND is under way */
        swarm->via_pct = swarm->resume_pct = swarm->extend_pct = 90;
        swarm->long_keep_pct = 0;
        swarm->keep_ms = 100;
        plan->param[P_JITTER] = 15000;
        plan->param[P_NODE_TIMEOUT] = 50;
        plan->param[P_MIN_TTL] = 1000;
        masters(plan, 5);
        break;
    case MUTANT_HEAL_BY_PX: /* a heal that hangs on its way until its lock is over */
        swarm->rate[FAULT_SLOW_UP] = 200;
        swarm->longest_ms[FAULT_SLOW_UP] = 4000;
        break;
    case MUTANT_UNCONFIRMED_EXTENDS:
        swarm->rate[FAULT_CRASH_LOSE] = 0;
        swarm->rate[FAULT_CRASH_OLD] = 150;
        swarm->longest_ms[FAULT_CRASH_OLD] = 300;
        break;
    default: break;
    }
}

static void aim_resumes(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 3);
    swarm->resume_pct = 80;
    swarm->keep_ms = 100;
    swarm->lease_pct = 20;
    if (mutant == MUTANT_RESUME_OLD_FENCE || mutant == MUTANT_RESUME_KEEPS_TOKEN)
        return;
    /* Some masters do not answer in time. */
    swarm->rate[FAULT_SLOW_DOWN] = 100;
    swarm->rate[FAULT_RESET] = 100;
    swarm->longest_ms[FAULT_SLOW_DOWN] = 500;
    plan->param[P_TAIL_PPM] = 50000;
    plan->param[P_TAIL] = 100000;
}

/* Nothing is wrong; but two RESUMEs of one token meet, and tokens are shown that are not known yet, or no more. */
static void aim_repeats(struct sim_plan *plan, struct swarm *swarm)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 3);
    plan->param[P_MAX_TTL] = 4000;
    swarm->resume_pct = 90;
    swarm->via_pct = 50;
    swarm->keep_ms = 300;
}

static void aim_markers(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    if (mutant == MUTANT_SET_IGNORED) {
        plan->param[P_CLASS] = CLASS_DISAGREE;
        plan->param[P_MAX_TTL] = 2000;
        swarm_class(plan, swarm, CLASS_DISAGREE);
        masters(plan, 3);
        plan->param[P_ODD_MASTERS] = plan->param[P_ODD_MAX_TTL] = 0;
        plan->param[P_ODD_FIRST] = 2;
        plan->param[P_ODD_LATE] = 2000;
        plan->param[P_NAMES] = 1;
        swarm->long_keep_pct = 80;
        return;
    }
    if (mutant == MUTANT_DISAGREEMENT_EACH || mutant == MUTANT_DISAGREEMENT_GRANTS) {
        plan->param[P_CLASS] = CLASS_DISAGREE;
        plan->param[P_MAX_TTL] = 2000;
        swarm_class(plan, swarm, CLASS_DISAGREE);
        plan->param[P_MASTERS] = 5;
        plan->param[P_ODD_MASTERS] = 3;
        plan->param[P_ODD_MAX_TTL] = 0;
        plan->param[P_NAMES] = 1;
        swarm->long_keep_pct = 80;
        swarm->lease_pct = 0;
        return;
    }
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 3);
    swarm->long_keep_pct = 30;
    if (mutant == MUTANT_DISAGREEMENT_RENEWS || mutant == MUTANT_DISAGREEMENT_TTL) {
        plan->param[P_CLASS] = CLASS_MEMORY;
        swarm->long_keep_pct = 80;
        swarm->rate[FAULT_RUBBISH] = 100;
        swarm->longest_ms[FAULT_RUBBISH] = 2000;
        return;
    }
    swarm->rate[FAULT_CRASH_DAEMON] = 300;
    swarm->longest_ms[FAULT_CRASH_DAEMON] = 2000;
    restarts(swarm, 100);
    if (mutant == MUTANT_FROM_IGNORED) { /* only one daemon sees the replica */
        plan->param[P_CLASS] = CLASS_MEMORY;
        swarm->rate[FAULT_REPLICA] = 200;
        swarm->longest_ms[FAULT_REPLICA] = 1500;
    }
    if (mutant != MUTANT_UPTIME_WITHOUT_MARGIN)
        return;
    /* No daemon knows the masters yet, so only their uptime, in whole seconds, ends the quarantine. */
    plan->param[P_MAX_TTL] = 2900;
    plan->param[P_UPTIME] = 1900;
    swarm->think_ms = 5;
}

/* Daemons that pause for long, or masters that cannot be probed. */
static void aim_probes(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    plan->param[P_NODE_TIMEOUT] = 50;
    swarm->remote_pct = 100;
    if (mutant ==
        MUTANT_FRESHNESS_IGNORED) { /* daemons are paused while they ask, and the TTLs outlast that */
        plan->param[P_MIN_TTL] = plan->param[P_MAX_TTL] = 9000;
        plan->param[P_NAMES] = SIM_SLOTTED;
        plan->param[P_DELAY] = 15000;
        swarm->clients = 1;
        swarm->rate[FAULT_PAUSE] = 100;
        swarm->longest_ms[FAULT_PAUSE] = 9000;
        return;
    }
    swarm->rate[FAULT_LACKS] = 200;
    swarm->longest_ms[FAULT_LACKS] = 20000;
    if (mutant == MUTANT_TRY_IGNORED) /* masters lack it when the daemons come */
        swarm->rate[FAULT_RESET] = 100;
}

static void aim_others(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
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

/* Hosts that stand still while locks are held there. */
static void aim_stalls(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 5);
    plan->param[P_CLASS] = CLASS_CLOCK;
    swarm->remote_pct = 0;
    swarm->long_keep_pct = 60;
    swarm->lease_pct = 0;
    plan->param[P_NAMES] = 2;
    swarm->rate[FAULT_STALL] = 100;
    swarm->longest_ms[FAULT_STALL] = 2000;
    if (mutant == MUTANT_COMPARED_WITHIN_RUN) { /* all masters are restarted meanwhile */
        swarm->longest_ms[FAULT_STALL] = 2000;
        swarm->rate[FAULT_STALL] = 600;
        swarm->rate[FAULT_CRASH_KEEP] = 400;
        swarm->longest_ms[FAULT_CRASH_KEEP] = 100;
        masters(plan, 1);
    }
    if (mutant == MUTANT_QUARANTINE_SOONER) { /* a jump of the only master is taken for a stall */
        masters(plan, 1);
        swarm->rate[FAULT_STALL] = 0;
        swarm->rate[FAULT_JUMP] = 300;
        swarm->longest_ms[FAULT_JUMP] = 1;
        restarts(swarm, 100);
    }
    if (mutant == MUTANT_NO_RAISE) { /* so often that no daemon ever knows how far its clock is behind */
        plan->param[P_WALL] = plan->param[P_MAX_TTL] / 2 - 100;
        plan->param[P_NAMES] = 1;
        swarm->long_keep_pct = 0;
        swarm->rate[FAULT_STALL] = 3000;
        swarm->longest_ms[FAULT_STALL] = 20;
    }
    if (mutant == MUTANT_BASE_MOVED) {
        swarm->rate[FAULT_STALL] = 0;
        swarm->rate[FAULT_DRIFT] = 30;
        swarm->longest_ms[FAULT_DRIFT] = 28000;
    }
}

/* Masters' clocks that are set back. */
static void aim_backs(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    if (mutant == MUTANT_BACK_IGNORED || mutant == MUTANT_FROM_LOWERED) {
        swarm_calm(plan, swarm);
        plan->param[P_CLASS] = CLASS_CLOCK;
        plan->param[P_MAX_TTL] = 2000;
        masters(plan, 2);
        swarm->rate[FAULT_SET] = 50;
        swarm->rate[FAULT_CRASH_DAEMON] = 200;
        swarm->longest_ms[FAULT_SET] = 1;
        swarm->longest_ms[FAULT_CRASH_DAEMON] = 1000;
        return;
    }
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    plan->param[P_CLASS] = CLASS_CLOCK;
    swarm->long_keep_pct = 60;
    swarm->rate[FAULT_JUMP] = 300;
    swarm->longest_ms[FAULT_JUMP] = 1;
    if (mutant != MUTANT_LONG_KEYS_STAY)
        return;
    plan->param[P_MAX_TTL] = 2000;
    plan->param[P_MIN_TTL] = 1000;
    swarm->rate[FAULT_JUMP] = 0;
    swarm->rate[FAULT_SET] = 300;
    swarm->longest_ms[FAULT_SET] = 2000;
    swarm->abandon_pct = 50;
}

/* Only the time that passes shows them: sections are long, and retries come soon. */
static void aim_wakes(struct sim_plan *plan, struct swarm *swarm)
{
    plan->param[P_CLASS] = CLASS_TURNS;
    plan->param[P_DEAF] = DEAF_NONE;
    swarm_class(plan, swarm, CLASS_TURNS);
    plan->param[P_RETRY_MAX] = plan->param[P_RETRY_MIN] + 10;
}

/* Locks that are given back through other daemons while clients wait at the holder's. */
static void aim_letters(struct sim_plan *plan, struct swarm *swarm)
{
    aim_wakes(plan, swarm);
    swarm->via_pct = 40;
    swarm->clients = 2;
}

/* Locks that outlive their record: extended through another daemon. Messages are much faster than retries. */
static void aim_passes(struct sim_plan *plan, struct swarm *swarm)
{
    plan->param[P_DEAF] = DEAF_NONE;
    plan->param[P_DELAY] = 100;
    plan->param[P_JITTER] = 50;
    plan->param[P_RETRY_MIN] = 40;
    plan->param[P_RETRY_MAX] = 60;
    swarm->remote_pct = 50;
    swarm->lease_pct = swarm->extend_pct = swarm->via_pct = 80;
    swarm_calm(plan, swarm);
}

/* Locks that are handed on, and then settled, released or broken. */
static void aim_hands(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_hands(plan, swarm);
    masters(plan, 3);
    swarm->clients = 6;
    swarm->keep_ms = 20;
    swarm->lease_pct = swarm->via_pct = swarm->resume_pct = swarm->abandon_pct = 0;
    switch (mutant) {
    case MUTANT_RESET_HANDS_ON: swarm->abandon_pct = 50; break;
    case MUTANT_RELEASE_OF_ONE:
    case MUTANT_SETTLE_BLIND: swarm->keep_ms = 200; break;
    case MUTANT_HEAL_OF_SECRET:
        swarm->keep_ms = 200;
        swarm->long_keep_pct = 60;
        restarts(swarm, 200);
        break;
    case MUTANT_RESERVE_MOVES_CLOCK: /* clocks differ, and all masters forget */
        plan->param[P_MAX_TTL] = plan->param[P_MIN_TTL] = 2000;
        plan->param[P_DAEMONS] = 3;
        plan->param[P_NAMES] = 1;
        swarm->blackouts = 200;
        break;
    default: break;
    }
}

/* Readers and writers of one name. */
static void aim_readers(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    if (mutant == MUTANT_MARK_STAYS || mutant == MUTANT_MARK_UNSEEN) {
        aim_wakes(plan, swarm);
        plan->param[P_DAEMONS] = 4;
        plan->param[P_NAMES] = 1;
        swarm->clients = 5;
        swarm->shared_pct = 90;
        swarm->think_ms = 5;
        swarm->keep_ms = 60;
        swarm->give_up_pct = mutant == MUTANT_MARK_STAYS ? 90 : 0;
        if (mutant == MUTANT_MARK_UNSEEN) {
            swarm->apart = true;
            plan->param[P_DAEMONS] = 2;
            plan->param[P_MAX_TTL] = 5000;
            swarm->clients = 4;
        }
        return;
    }
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 3);
    plan->param[P_NAMES] = 1;
    plan->param[P_DAEMONS] = 2;
    swarm->shared_pct = 50;
    swarm->lease_pct = 0;
    swarm->long_keep_pct = 30;
    if (mutant == MUTANT_EXTEND_ADDS) {
        swarm->via_pct = 90;
        swarm->extend_pct = 90;
    }
}

/* More readers than have keys of their own. */
static void aim_joins(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    aim_readers(plan, swarm, mutant == MUTANT_JOIN_FOR_EVER ? MUTANT_MARK_UNSEEN : mutant);
    plan->param[P_JOIN_FROM] = 1;
    if (mutant == MUTANT_JOIN_FOR_EVER)
        return;
    swarm->clients = 6;
    swarm->shared_pct = 80;
    swarm->abandon_pct = 30;
}

static void aim_slots(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    plan->param[P_DEAF] = DEAF_NONE;
    if (mutant == MUTANT_SLOT_TOLD_LOST) {
        swarm_slots(plan, swarm);
        plan->param[P_RETRY_MAX] = plan->param[P_RETRY_MIN] + 10;
        return;
    }
    swarm_hands(plan, swarm);
    if (mutant == MUTANT_SLOT_GIVES_UP) { /* slots are free, and answers come in time */
        swarm_calm(plan, swarm);
        plan->param[P_NODE_TIMEOUT] = 50;
        swarm->clients = 2;
        swarm->think_ms = 100;
        swarm->wait_pct = 30;
    }
    plan->param[P_SLOTS] = 3;
    plan->param[P_NAMES] = 1;
    plan->param[P_DAEMONS] = 3;
}

/* Masters of two kinds, of which some refuse what they did before. */
static void aim_natives(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    if (mutant == MUTANT_NATIVE_WAKES_NOBODY)
        aim_wakes(plan, swarm);
    else if (mutant == MUTANT_NATIVE_MOVE_OF_TWO)
        aim_hands(plan, swarm, mutant);
    else
        aim_releases(plan, swarm, mutant);
    plan->param[P_NATIVES] = 0x6565656;
    if (mutant == MUTANT_NATIVE_MOVE_OF_TWO)
        swarm->resume_pct = 60;
    if (mutant == MUTANT_NATIVE_MOVE_OF_TWO || mutant == MUTANT_NATIVE_PLAIN ||
        mutant == MUTANT_NATIVE_WAKES_NOBODY)
        return;
    swarm->rate[FAULT_NATIVE] = 1000;
    swarm->longest_ms[FAULT_NATIVE] = 50;
    swarm->rate[FAULT_RESET] = 200;
}

/* Writers that become readers while others wait. */
static void aim_downs(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    aim_readers(plan, swarm, mutant);
    swarm->down_pct = 80;
    swarm->shared_pct = 40;
    if (mutant == MUTANT_DOWN_KEEPS_TOKEN) {
        swarm->resume_pct = 60;
        swarm->via_pct = 50;
    }
    if (mutant == MUTANT_DOWN_TAKEN_BACK || mutant == MUTANT_DOWN_ONCE || mutant == MUTANT_DOWN_BLIND) {
        swarm->rate[FAULT_CUT_UP] = swarm->rate[FAULT_CUT_DOWN] = 400;
        swarm->rate[FAULT_HANG] = 200;
        swarm->long_keep_pct = 60;
    }
}

/* Names that are kept, on masters that lose them: by BREAK, or since they are restarted one after the other. */
static void aim_keeps(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    swarm_calm(plan, swarm);
    swarm_crowd(plan, swarm);
    masters(plan, 5);
    plan->param[P_DEAF] = DEAF_NONE;
    plan->param[P_MAX_TTL] = 2000;
    swarm->kept_pct = 80;
    swarm->lease_pct = 20;
    if (mutant == MUTANT_KEPT_AT_ONCE) {
        swarm->rate[FAULT_HANG] = swarm->rate[FAULT_RESET] = 600;
        swarm->longest_ms[FAULT_HANG] = 100;
    }
    if (mutant == MUTANT_KEPT_HEALS_GONE) {
        swarm->rate[FAULT_BREAK] = 1000;
        swarm->longest_ms[FAULT_BREAK] = 1;
        swarm->rate[FAULT_RESET] = 300;
    }
    if (mutant == MUTANT_KEPT_FORGOTTEN) {
        plan->param[P_CLASS] = CLASS_ROLLING;
        swarm_class(plan, swarm, CLASS_ROLLING);
        masters(plan, 5);
        swarm->kept_pct = 80;
        swarm->wait_pct = 90;
        swarm->clients = 1;
        swarm->think_ms = 500;
    }
}

/* Sets that share few masters, under contention; daemons that sleep, are cut off or come late. */
static void aim_generation(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    int64_t *p = plan->param;
    p[P_CLASS] = CLASS_GENERATION;
    swarm_calm(plan, swarm);
    swarm_class(plan, swarm, CLASS_GENERATION);
    p[P_DAEMONS] = 3;
    p[P_NAMES] = 1;
    p[P_LISTED] = 0;
    p[P_MIN_TTL] = 500;
    p[P_MAX_TTL] = 3000;
    swarm->clients = 3;
    swarm->think_ms = 50;
    swarm->wait_pct = 80;
    swarm->long_keep_pct = 60;
    swarm->rate[FAULT_CRASH_DAEMON] = 60;
    swarm->longest_ms[FAULT_CRASH_DAEMON] = 8000;
    swarm->rate[FAULT_PAUSE] = 60;
    swarm->rate[FAULT_CUT_UP] = swarm->rate[FAULT_CUT_DOWN] = 60;
    swarm->longest_ms[FAULT_PAUSE] = 4000;
    swarm->longest_ms[FAULT_CUT_UP] = swarm->longest_ms[FAULT_CUT_DOWN] = 8000;
    bool early = mutant == MUTANT_STEP_WITHOUT_TTL || mutant == MUTANT_STEP_AT_ONCE;
    if (mutant == MUTANT_STEP_BY_MAJORITY || early)
        p[P_SET] = 31 | SET_LEAPS;
    if (early) {
        p[P_MAX_TTL] = 12000;
        p[P_MIN_TTL] = 5000;
    }
    if (mutant == MUTANT_MARKS_LEFT) {
        swarm_calm(plan, swarm);
        p[P_LISTED] = LISTED_SMOOTH;
        p[P_SET] = 7;
        p[P_NAMES] = 8;
        p[P_MAX_TTL] = 1000;
        p[P_MIN_TTL] = 300;
        p[P_FANOUT] = FANOUT_QUORUM;
        swarm->kept_pct = 80;
        swarm->clients = 8;
        swarm->think_ms = 20;
        swarm->wait_pct = 100;
    }
    if (mutant == MUTANT_BOUND_BY_SMALLER)
        swarm->rate[FAULT_CRASH_LOSE] = 60;
    if (mutant == MUTANT_NEW_COUNTS_UNASKED) {
        swarm->extend_pct = 100;
        swarm->rate[FAULT_CUT_UP] = 300;
        swarm->longest_ms[FAULT_CUT_UP] = 2000;
    }
    swarm->longest_ms[FAULT_CRASH_LOSE] = 500;
}

void swarm_aim(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant)
{
    if (mutant != MUTANT_NONE) {
        swarm->rate[FAULT_EAR] = 0;
        plan->param[P_DEAF] = DEAF_ALL; /* every waiter polls, as no wake shows these bugs */
        plan->param[P_FANOUT] = FANOUT_ALL;
    }
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
    case MUTANT_MAX_FORGOTTEN:
    case MUTANT_EXTEND_RESURRECTS: aim_extends(plan, swarm, mutant); return;
    case MUTANT_PLAIN_DEL:
    case MUTANT_RELEASE_ONLY_GRANTED:
    case MUTANT_DELETE_AT_DEADLINE:
    case MUTANT_NO_KILL:
    case MUTANT_UNGUARDED_NO_KILL:
    case MUTANT_KILL_ONCE:
    case MUTANT_NO_KILL_VOTES:
    case MUTANT_UNDO_FROM_T0:
    case MUTANT_UNDO_BY_RECORD:
    case MUTANT_UNDO_GRANTED: aim_releases(plan, swarm, mutant); return;
    case MUTANT_NATIVE_PLAIN:
    case MUTANT_NATIVE_ACKNOWLEDGES:
    case MUTANT_NATIVE_DROPPED:
    case MUTANT_NATIVE_MOVE_OF_TWO:
    case MUTANT_NATIVE_WAKES_NOBODY: aim_natives(plan, swarm, mutant); return;
    case MUTANT_HEAL_RELEASED:
    case MUTANT_HEAL_ACKNOWLEDGED:
    case MUTANT_HEAL_BY_PX:
    case MUTANT_UNCONFIRMED_EXTENDS: aim_heals(plan, swarm, mutant); return;
    case MUTANT_RESUME_KEEPS_TOKEN:
    case MUTANT_MOVE_NO_COMPARE:
    case MUTANT_RESUME_BELOW_QUORUM:
    case MUTANT_RESUME_OLD_FENCE:
    case MUTANT_RESUME_NO_SET_BACK:
    case MUTANT_RESUME_SET_BACK_ANSWERED:
    case MUTANT_RESUME_RELEASES: aim_resumes(plan, swarm, mutant); return;
    case MUTANT_REPEAT_NOT:
    case MUTANT_REPEAT_NOTHELD:
    case MUTANT_REPEAT_LATE:
    case MUTANT_REPEAT_CANCELLED: aim_repeats(plan, swarm); return;
    case MUTANT_STALL_BLAMES_MASTERS:
    case MUTANT_FIRST_ANSWER_BLAMED:
    case MUTANT_BASE_MOVED:
    case MUTANT_COMPARED_WITHIN_RUN:
    case MUTANT_QUARANTINE_SOONER:
    case MUTANT_BEHIND_TWICE:
    case MUTANT_NO_RAISE:
    case MUTANT_UNTIL_WITHOUT_BEHIND: aim_stalls(plan, swarm, mutant); return;
    case MUTANT_LONG_KEYS_STAY:
    case MUTANT_BACK_IGNORED:
    case MUTANT_FROM_LOWERED:
    case MUTANT_EXTEND_CUTS_NOT: aim_backs(plan, swarm, mutant); return;
    case MUTANT_UPTIME_WITHOUT_MARGIN:
    case MUTANT_FROM_IGNORED:
    case MUTANT_ABSENT_MARKER_KNOWN:
    case MUTANT_SET_IGNORED:
    case MUTANT_DISAGREEMENT_EACH:
    case MUTANT_DISAGREEMENT_GRANTS:
    case MUTANT_DISAGREEMENT_RENEWS:
    case MUTANT_DISAGREEMENT_TTL: aim_markers(plan, swarm, mutant); return;
    case MUTANT_SECRET_TOLD:
    case MUTANT_RESET_HANDS_ON:
    case MUTANT_HAND_LATE:
    case MUTANT_RESERVE_AT_ONCE:
    case MUTANT_RESERVE_MOVES_CLOCK:
    case MUTANT_RELEASE_OF_ONE:
    case MUTANT_SETTLE_BLIND:
    case MUTANT_HEAL_OF_SECRET: aim_hands(plan, swarm, mutant); return;
    case MUTANT_SHARE_OVER:
    case MUTANT_SHARE_PASSES:
    case MUTANT_LEAVE_ALL:
    case MUTANT_EXTEND_ADDS:
    case MUTANT_SHARE_NO_TTL:
    case MUTANT_SHARE_TTL_FIRST:
    case MUTANT_MARK_STAYS:
    case MUTANT_MARK_UNSEEN: aim_readers(plan, swarm, mutant); return;
    case MUTANT_JOIN_BEYOND:
    case MUTANT_JOIN_RELEASES:
    case MUTANT_JOIN_FOR_EVER: aim_joins(plan, swarm, mutant); return;
    case MUTANT_STEP_NOT_JOINT:
    case MUTANT_STEP_BY_MAJORITY:
    case MUTANT_STEP_AT_ONCE:
    case MUTANT_STEP_WITHOUT_TTL:
    case MUTANT_STEP_LOWERED:
    case MUTANT_MARKS_LEFT:
    case MUTANT_OUTDATED_EXTENDS:
    case MUTANT_OUTDATED_IGNORED:
    case MUTANT_NEW_COUNTS_UNASKED:
    case MUTANT_SETTLED_EARLY:
    case MUTANT_BOUND_BY_SMALLER:
    case MUTANT_BEGINS_AHEAD: aim_generation(plan, swarm, mutant); return;
    case MUTANT_WATCH_BACKWARDS:
    case MUTANT_WATCH_FREE:
    case MUTANT_WATCH_MOVED:
    case MUTANT_WATCH_ONE_WORD:
    case MUTANT_WATCH_RESTS: aim_watch(plan, swarm, mutant); return;
    case MUTANT_DATA_EARLY:
    case MUTANT_DATA_STALE:
    case MUTANT_ADOPT_BLIND: aim_data(plan, swarm); return;
    case MUTANT_DOWN_TAKEN_BACK:
    case MUTANT_DOWN_BLIND:
    case MUTANT_DOWN_NO_TTL:
    case MUTANT_DOWN_KEEPS_TOKEN:
    case MUTANT_DOWN_ONCE: aim_downs(plan, swarm, mutant); return;
    case MUTANT_PASS_BLIND: aim_passes(plan, swarm); return;
    case MUTANT_NO_LETTER:
    case MUTANT_LETTER_IGNORED: aim_letters(plan, swarm); return;
    case MUTANT_LETTER_HANDS_ON:
        aim_hands(plan, swarm, mutant);
        plan->param[P_DEAF] = DEAF_NONE;
        swarm->rate[FAULT_BREAK] = 3000;
        swarm->longest_ms[FAULT_BREAK] = 1;
        return;
    case MUTANT_WOKEN_SILENT:
    case MUTANT_PASS_FORGOTTEN:
    case MUTANT_ENQUEUE_SILENT:
    case MUTANT_TOLD_IS_WOKEN: aim_wakes(plan, swarm); return;
    case MUTANT_LIST_FENCE_OF_ONE:
    case MUTANT_LIST_SET_SOME:
    case MUTANT_LIST_RELEASE_ONE:
    case MUTANT_LIST_OVERTAKES:
    case MUTANT_LIST_FREEZES:
    case MUTANT_LIST_UNCHANGED: swarm_lists(plan, swarm); return;
    case MUTANT_SLOT_BY_LOOK:
    case MUTANT_SLOT_BEYOND:
    case MUTANT_SLOT_OF_ANOTHER:
    case MUTANT_SLOT_TOLD_LOST:
    case MUTANT_SLOT_GIVES_UP:
    case MUTANT_SLOTS_DIFFER:
    case MUTANT_LOOK_FOR_EVER: aim_slots(plan, swarm, mutant); return;
    case MUTANT_KEPT_LOCKS_TTL:
    case MUTANT_KEPT_AT_ONCE:
    case MUTANT_KEPT_OLD_TOKEN:
    case MUTANT_KEPT_HEALS_GONE:
    case MUTANT_KEPT_FORGOTTEN: aim_keeps(plan, swarm, mutant); return;
    case MUTANT_SCORE_ADOPTED:
        swarm_calm(plan, swarm);
        masters(plan, 3);
        swarm->rate[FAULT_SCORES] = 200;
        swarm->rate[FAULT_RESET] = 300;
        swarm->longest_ms[FAULT_SCORES] = 1;
        return;
    case MUTANT_PEER_UNLIMITED: swarm_flood(plan, swarm, FLOOD_ONE); return;
    case MUTANT_PLACES_UNCOUNTED: swarm_flood(plan, swarm, FLOOD_ALL); return;
    case MUTANT_LETTERS_UNBOUND: swarm_flood(plan, swarm, FLOOD_LETTERS); return;
    case MUTANT_WALL_TRUSTED: aim_fences(plan, swarm, mutant); return;
    case MUTANT_REQUESTS_CHEAP: swarm_flood(plan, swarm, FLOOD_ALL); return;
    case MUTANT_TRY_IGNORED:
    case MUTANT_PROBE_ERROR_GOOD:
    case MUTANT_FRESHNESS_IGNORED: aim_probes(plan, swarm, mutant); return;
    case MUTANT_FANOUT_COUNTS_HEAL:
        plan->param[P_FANOUT] = FANOUT_QUORUM;
        masters(plan, 5);
        return;
    default: aim_others(plan, swarm, mutant);
    }
}
