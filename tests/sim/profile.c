/* From a seed to a plan: each seed draws its own mix of faults and habits (a swarm), so
 * that no fault hides another. */
#include <string.h>

#include "tests/sim/sim.h"

struct draw {
    uint64_t seed, who, next;
};

static int64_t between(struct draw *draw, int64_t low, int64_t high)
{
    return low + chance_below(draw->seed, draw->who, draw->next++, CHANCE_PLAN, high - low + 1);
}

static bool percent(struct draw *draw, int64_t pct)
{
    return between(draw, 0, 99) < pct;
}

static void draw_params(struct sim_plan *plan, struct draw *draw, int64_t seconds)
{
    static const int64_t masters[] = {1, 2, 3, 3, 3, 4, 4, 5, 5, 5, 6, 7};
    static const int64_t max_ttl[] = {2000, 2000, 2500, 3000, 5000};
    static const int64_t timeout[] = {10, 20, 50};
    static const int64_t tail_ppm[] = {0, 0, 1000, 10000, 50000};
    int64_t *p = plan->param;
    p[P_MASTERS] = masters[between(draw, 0, 11)];
    p[P_DAEMONS] = between(draw, 1, 4);
    p[P_NAMES] = between(draw, 1, 4);
    p[P_HEAL] = seconds * 1000;
    p[P_MAX_TTL] = max_ttl[between(draw, 0, 4)];
    p[P_NODE_TIMEOUT] = timeout[between(draw, 0, 2)];
    p[P_MIN_TTL] = between(draw, 2 * p[P_NODE_TIMEOUT], 1000);
    p[P_MIN_VALIDITY] = percent(draw, 80) ? 1 : between(draw, 1, 50);
    int64_t left_ms =
        p[P_MIN_TTL] - (p[P_MIN_TTL] + 99) / 100 - 3; /* the daemon refuses a configuration with more */
    if (p[P_MIN_VALIDITY] > left_ms)
        p[P_MIN_VALIDITY] = left_ms;
    p[P_RETRY_MIN] = between(draw, 5, 40);
    p[P_RETRY_MAX] = percent(draw, 90) ? p[P_RETRY_MIN] + between(draw, 10, 200)
                                       : between(draw, p[P_RETRY_MIN], p[P_MAX_TTL]);
    p[P_DRAIN_TIMEOUT] = between(draw, 200, 3000);
    p[P_BACKLOG] = percent(draw, 70) ? 10000 : between(draw, 150, 300);
    p[P_MAX_LOCKS] = percent(draw, 85) ? 64 : between(draw, 1, 4);
    p[P_MAX_WAITERS] = percent(draw, 85) ? 128 : between(draw, 2, 8);
    p[P_MAX_UNDO] = percent(draw, 90) ? 16384 : between(draw, 1, 40);
    p[P_DELAY] = between(draw, 50, 1500);
    p[P_JITTER] = between(draw, 10, 3000);
    p[P_TAIL_PPM] = tail_ppm[between(draw, 0, 4)];
    p[P_TAIL] = between(draw, 5, 3 * p[P_MAX_TTL] / 2) * 1000;
    p[P_PPM] = percent(draw, 70) ? 100 : 0;
    p[P_WALL] = percent(draw, 70) ? between(draw, 0, p[P_MAX_TTL] / 2 - 100) : 0;
    p[P_UPTIME] = percent(draw, 80) ? 1000000 : between(draw, 0, p[P_MAX_TTL] + 5000);
    p[P_DEAF] = DEAF_NONE;
    p[P_STRAY] = percent(draw, 50) ? 0 : between(draw, 1, 3 * p[P_MAX_TTL] / 2) * 1000;
}

/* {probability that a seed has it, events per 1,000 s and target, longest in ms; 0: 4 TTL} */
static const struct {
    int64_t pct, low, high, longest_ms;
} MIX[FAULT_SWARM] = {
    [FAULT_RESET] = {50, 20, 600, 1},        [FAULT_CUT_UP] = {35, 10, 200, 0},
    [FAULT_CUT_DOWN] = {35, 10, 200, 0},     [FAULT_SLOW_UP] = {35, 10, 200, 0},
    [FAULT_SLOW_DOWN] = {35, 10, 200, 0},    [FAULT_HANG] = {40, 10, 200, 0},
    [FAULT_CRASH_KEEP] = {25, 5, 100, 0},    [FAULT_CRASH_LOSE] = {35, 5, 100, 0},
    [FAULT_CRASH_OLD] = {20, 5, 100, 0},     [FAULT_FLUSH_SCRIPTS] = {25, 10, 300, 1},
    [FAULT_ERROR] = {25, 10, 200, 0},        [FAULT_ZADD_ERROR] = {15, 10, 200, 0},
    [FAULT_REPLICA] = {15, 5, 50, 0},        [FAULT_PAUSE] = {40, 10, 300, 0},
    [FAULT_SLEEP] = {15, 10, 200, 0},        [FAULT_CRASH_DAEMON] = {35, 10, 150, 2000},
    [FAULT_DRAIN] = {15, 10, 100, 1},        [FAULT_WALL] = {35, 10, 500, 1},
    [FAULT_PAUSE_CLIENT] = {40, 10, 300, 0},
};

static void draw_swarm(const struct sim_plan *plan, struct draw *draw, struct swarm *swarm)
{
    for (unsigned i = 0; i < FAULT_SWARM; i++) {
        bool on = percent(draw, MIX[i].pct);
        int64_t rate = between(draw, MIX[i].low, MIX[i].high);
        int64_t longest_ms =
            MIX[i].longest_ms > 0 ? MIX[i].longest_ms : between(draw, 2, 4 * plan->param[P_MAX_TTL]);
        swarm->rate[i] = on ? rate : 0;
        swarm->longest_ms[i] = longest_ms;
    }
    swarm->blackouts = percent(draw, 10) ? between(draw, 20, 200) : 0;
    swarm->clients = between(draw, 1, 5);
    swarm->think_ms = between(draw, 1, 400);
    swarm->keep_ms = between(draw, 1, 300);
    swarm->lease_pct = between(draw, 0, 100);
    swarm->wait_pct = between(draw, 20, 100);
    swarm->give_up_pct = percent(draw, 50) ? between(draw, 1, 20) : 0;
    swarm->extend_pct = percent(draw, 60) ? between(draw, 10, 80) : 0;
    swarm->via_pct = percent(draw, 60) ? between(draw, 10, 60) : 0;
    swarm->long_keep_pct = percent(draw, 60) ? between(draw, 1, 30) : 0;
    swarm->remote_pct = percent(draw, 40) ? 50 : 0;
    swarm->abandon_pct = percent(draw, 70) ? between(draw, 1, 50) : 0;
    swarm->rate[FAULT_EAR] = percent(draw, 50) ? between(draw, 20, 600) : 0;
    swarm->longest_ms[FAULT_EAR] = between(draw, 2, 2 * plan->param[P_MAX_TTL]);
}

/* Drawn from a hash of its own: a plan without it is otherwise the same. */
static void draw_lacks(const struct sim_plan *plan, struct swarm *swarm)
{
    struct draw draw = {.seed = plan->seed, .who = 11};
    swarm->rate[FAULT_LACKS] = percent(&draw, 15) ? between(&draw, 5, 60) : 0;
    swarm->longest_ms[FAULT_LACKS] = between(&draw, 2, 4 * plan->param[P_MAX_TTL]);
    swarm->rate[FAULT_SCORES] = percent(&draw, 15) ? between(&draw, 5, 60) : 0;
    swarm->rate[FAULT_WRONG] = percent(&draw, 15) ? between(&draw, 5, 60) : 0;
    swarm->longest_ms[FAULT_SCORES] = swarm->longest_ms[FAULT_WRONG] = 1;
}

/* Fleets of one kind, or of several; the rights may be taken from the daemons at any time. */
static void draw_natives(struct sim_plan *plan, struct swarm *swarm)
{
    enum {
        NOTHING,
        REDIS_8_4 = 1 | 4 | 8,
        VALKEY_9_0 = 2 | 4,
        VALKEY_8_1 = 4,
        VALKEY_9_1 = 2 | 4 | 8,
        ALL = 15
    };
    static const int64_t kinds[] = {NOTHING,    REDIS_8_4,  REDIS_8_4,  VALKEY_9_1,
                                    VALKEY_9_1, VALKEY_9_0, VALKEY_8_1, ALL};
    struct draw draw = {.seed = plan->seed, .who = 31};
    bool any = percent(&draw, 70), one = percent(&draw, 40);
    int64_t kind = kinds[between(&draw, 1, 7)];
    if (plan->mutant != MUTANT_NONE) /* aim.c says where they show a planted bug */
        return;
    for (unsigned i = 0; i < SIM_MASTERS && any; i++)
        plan->param[P_NATIVES] |= (one ? kind : kinds[between(&draw, 0, 7)]) << (4 * i);
    swarm->rate[FAULT_NATIVE] = any && percent(&draw, 50) ? between(&draw, 10, 300) : 0;
    swarm->longest_ms[FAULT_NATIVE] = between(&draw, 1, 2 * plan->param[P_MAX_TTL]);
}

/* Fences may fall after masters forgot them, if a daemon's clock is behind all others by more than their window. */
static bool swarm_forgets(const struct swarm *swarm)
{
    static const enum fault_kind kinds[] = {FAULT_CRASH_LOSE, FAULT_CRASH_OLD, FAULT_REPLICA, FAULT_FLUSH,
                                            FAULT_PROMOTE};
    for (unsigned i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (swarm->rate[kinds[i]] != 0)
            return true;
    return swarm->blackouts != 0 || swarm->rollbacks != 0;
}

/* In a class of its own kind no lock may be lost, and in a split nobody else may touch the name. */
static void draw_breaks(const struct sim_plan *plan, struct swarm *swarm)
{
    struct draw draw = {.seed = plan->seed, .who = 17};
    int64_t class = plan->param[P_CLASS];
    bool may = class != CLASS_ROLLING && class != CLASS_SPLIT && plan->mutant == MUTANT_NONE;
    if (percent(&draw, class >= CLASS_TURNS ? 30 : 15) && may)
        swarm->rate[FAULT_BREAK] = between(&draw, 10, 600);
    swarm->longest_ms[FAULT_BREAK] = 1;
}

/* ---- faults ---- */

/* A name, or a slot of it. */
static int64_t draw_broken(const struct sim_plan *plan, struct draw *draw)
{
    unsigned name = (unsigned)between(draw, 0, plan->param[P_NAMES] - 1), slots = plan_slots(plan, name);
    return slots == 0 ? name : key_of_slot(name, (unsigned)between(draw, 0, slots - 1));
}

/* The clock is set back by 1 s to 9 hours, as where a machine keeps local time and is corrected later. Where it is set
 * ahead by 50 years, that is a minority: a daemon would take more for a stall of its own. */
static void draw_set(const int64_t *p, struct draw *draw, struct sim_record *fault)
{
    int64_t minority = (p[P_MASTERS] - 1) / 2, by_ms = INT64_C(1000) << between(draw, 0, 15);
    bool ahead = percent(draw, 30) && minority > 0;
    fault->field[F_ARG] = ahead ? INT64_C(1577880000000) : -by_ms;
    if (ahead)
        fault->field[F_TARGET] = between(draw, 0, minority - 1);
}

static void draw_fault(struct sim_plan *plan, struct draw *draw, const struct swarm *swarm,
                       enum fault_kind kind, int64_t at_us)
{
    static const int64_t errors[] = {ERROR_OTHER,      ERROR_OOM,     ERROR_MISCONF,
                                     ERROR_NOREPLICAS, ERROR_LOADING, ERROR_BUSY};
    const int64_t *p = plan->param;
    struct sim_record *fault = &plan->fault[plan->faults];
    int64_t longest_ms = percent(draw, 50) ? swarm->longest_ms[kind] : swarm->longest_ms[kind] / 8 + 1;
    int64_t for_us = between(draw, 1, longest_ms) * 1000;
    if (at_us + for_us >= p[P_HEAL] * 1000)
        return;
    fault->id = plan->faults++;
    fault->field[F_KIND] = kind;
    fault->field[F_AT] = at_us & ~INT64_C(1);
    fault->field[F_FOR] = for_us;
    bool link = fault_target(kind) == TARGET_LINK;
    bool daemon = fault_target(kind) == TARGET_DAEMON;
    int64_t targets = link || daemon ? p[P_DAEMONS] : p[P_MASTERS];
    if (fault_target(kind) == TARGET_CLIENT)
        targets = plan->clients;
    fault->field[F_TARGET] = between(draw, 0, targets - 1);
    fault->field[F_OTHER] = link ? between(draw, 0, p[P_MASTERS] - 1) : 0;
    fault->field[F_ARG] = 0;
    if (kind == FAULT_SLOW_UP || kind == FAULT_SLOW_DOWN)
        fault->field[F_ARG] = between(draw, 1, 3 * p[P_MAX_TTL] / 2) * 1000;
    if (kind == FAULT_CRASH_OLD)
        fault->field[F_ARG] = between(draw, 0, 4000000);
    if (kind == FAULT_ERROR)
        fault->field[F_ARG] = errors[between(draw, 0, 5)];
    if (kind == FAULT_EAR)
        fault->field[F_ARG] = percent(draw, 50) ? 0 : between(draw, 1, p[P_MAX_TTL]) * 1000;
    if (kind == FAULT_WALL)
        fault->field[F_ARG] = between(draw, 0, p[P_WALL]) - p[P_WALL] / 2;
    if (kind == FAULT_PROMOTE)
        fault->field[F_ARG] = percent(draw, 40) ? -1 : between(draw, 0, 4000000);
    if (kind == FAULT_REPLICA && p[P_CLASS] == CLASS_MEMORY)
        fault->field[F_ARG] = between(draw, 0, 4);
    if (kind == FAULT_JUMP) /* a drift below the noise of its measurement is not looked for */
        fault->field[F_ARG] = (percent(draw, 70) ? 1 : -1) * between(draw, 60, 2 * p[P_MAX_TTL]);
    if (kind == FAULT_SET)
        draw_set(p, draw, fault);
    if (kind == FAULT_STALL)
        fault->field[F_ARG] = between(draw, 0, 1);
    if (kind == FAULT_DRIFT) {
        int64_t minority = (p[P_MASTERS] - 1) / 2;
        fault->field[F_TARGET] = minority > 0 ? between(draw, 0, minority - 1) : 0;
        fault->field[F_ARG] = minority > 0 ? (percent(draw, 80) ? 1 : -1) * between(draw, 5000, 50000) : 0;
    }
    if (kind == FAULT_SCORES) { /* of a minority: beyond that it is real */
        int64_t minority = (p[P_MASTERS] - 1) / 2;
        fault->field[F_TARGET] = minority > 0 ? between(draw, 0, minority - 1) : 0;
        fault->field[F_ARG] = between(draw, 1, 1000000);
        plan->faults -= minority == 0;
    }
    /* What a clock that is an hour ahead has put into fences leaves with the masters that had them. */
    if (kind == FAULT_WRONG && p[P_SET] != 0)
        plan->faults--;
    else if (kind == FAULT_WRONG)
        fault->field[F_ARG] = 3600000 * (swarm_forgets(swarm) || percent(draw, 70) ? 1 : -1);
    if (kind == FAULT_LACKS)
        fault->field[F_ARG] = between(draw, 0, LACKS - 1);
    if (kind == FAULT_NATIVE)
        fault->field[F_ARG] = percent(draw, 50) ? ERROR_NOPERM : ERROR_OTHER;
    if (kind == FAULT_DENY)
        fault->field[F_ARG] = between(draw, 0, DENIALS - 1);
    if (kind == FAULT_RELOAD)
        fault->field[F_ARG] = between(draw, 1, RELOADS);
    if (kind == FAULT_RUBBISH)
        fault->field[F_ARG] = between(draw, 0, RUBBISHES - 1);
    if (kind == FAULT_BREAK || kind == FAULT_FORGE)
        fault->field[F_ARG] = draw_broken(plan, draw);
    if (kind == FAULT_FLOOD) {
        bool one = p[P_FLOOD] == FLOOD_ONE;
        fault->field[F_TARGET] = one ? 0 : fault->field[F_TARGET];
        fault->field[F_ARG] = one ? between(draw, 100, 400) : between(draw, 40, 100);
        fault->field[F_AT] -= one ? 0 : fault->field[F_AT] % 2000000; /* many at once */
    }
}

static void draw_faults(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    const int64_t *p = plan->param;
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        struct draw draw = {.seed = seed, .who = 100 + kind};
        const int64_t many[] = {[TARGET_LINK] = p[P_DAEMONS] * p[P_MASTERS],
                                [TARGET_MASTER] = p[P_MASTERS],
                                [TARGET_DAEMON] = p[P_DAEMONS],
                                [TARGET_CLIENT] = plan->clients};
        int64_t targets = many[fault_target((enum fault_kind)kind)];
        int64_t per_1000_s = swarm->rate[kind] * targets;
        if (per_1000_s == 0)
            continue;
        int64_t mean_us = INT64_C(1000000000) / per_1000_s;
        int64_t at_us = 0;
        for (;;) {
            at_us += between(&draw, 1, 2 * mean_us);
            if (at_us >= p[P_HEAL] * 1000 || plan->faults == PLAN_FAULTS)
                break;
            draw_fault(plan, &draw, swarm, (enum fault_kind)kind, at_us);
        }
    }
}

static void draw_blackout(struct sim_plan *plan, struct draw *draw, enum fault_kind kind, int64_t targets,
                          int64_t at_us)
{
    for (int64_t i = 0; i < targets && plan->faults < PLAN_FAULTS; i++) {
        struct sim_record *fault = &plan->fault[plan->faults];
        int64_t for_us = between(draw, 10000, 400000);
        fault->id = plan->faults++;
        fault->field[F_KIND] = kind;
        fault->field[F_AT] = at_us + between(draw, 0, 20000);
        fault->field[F_FOR] = for_us;
        fault->field[F_TARGET] = i;
    }
}

/* A majority comes back with its data of a while ago. */
static void draw_rollbacks(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 201};
    const int64_t *p = plan->param;
    if (swarm->rollbacks == 0)
        return;
    int64_t mean_us = INT64_C(1000000000) / swarm->rollbacks;
    for (int64_t at_us = between(&draw, 1, 2 * mean_us); at_us + 500000 < p[P_HEAL] * 1000;
         at_us += between(&draw, 1, 2 * mean_us)) {
        unsigned first = plan->faults;
        draw_blackout(plan, &draw, FAULT_CRASH_OLD, p[P_MASTERS] / 2 + 1, at_us);
        int64_t from = between(&draw, 0, p[P_MASTERS] - 1), old_us = between(&draw, 0, 4000000);
        for (unsigned i = first; i < plan->faults; i++) {
            plan->fault[i].field[F_TARGET] = (plan->fault[i].field[F_TARGET] + from) % p[P_MASTERS];
            plan->fault[i].field[F_ARG] = old_us;
        }
    }
}

static void draw_blackouts(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 200};
    const int64_t *p = plan->param;
    if (swarm->blackouts == 0)
        return;
    int64_t mean_us = INT64_C(1000000000) / swarm->blackouts;
    for (int64_t at_us = between(&draw, 1, 2 * mean_us); at_us + 500000 < p[P_HEAL] * 1000;
         at_us += between(&draw, 1, 2 * mean_us)) {
        enum fault_kind kind = percent(&draw, 70) ? FAULT_CRASH_LOSE : FAULT_CRASH_KEEP;
        draw_blackout(plan, &draw, kind, p[P_MASTERS], at_us);
        draw_blackout(plan, &draw, FAULT_CRASH_DAEMON, p[P_DAEMONS], at_us);
    }
}

/* ---- clients ---- */

static int64_t draw_end(struct draw *draw, const struct swarm *swarm, bool lease, bool via)
{
    static const int64_t abandons[] = {END_RESET, END_CRASH, END_LEAVE};
    static const int64_t ends[] = {END_UNLOCK, END_UNLOCK, END_UNLOCK, END_UNLOCK_TOKEN, END_FIN};
    if (via && percent(draw, 50))
        return END_UNLOCK_VIA;
    if (percent(draw, swarm->abandon_pct))
        return lease ? END_LEAVE : abandons[between(draw, 0, 2)];
    return lease ? END_UNLOCK_TOKEN - (int64_t)percent(draw, 50) : ends[between(draw, 0, 4)];
}

static int64_t draw_op(const struct sim_plan *plan, struct draw *draw, const struct swarm *swarm,
                       int64_t *field)
{
    const int64_t *p = plan->param;
    static const int64_t hows[] = {END_CANCEL, END_CANCEL, END_FIN, END_RESET, END_CRASH, END_UNDELIVERED};
    bool lease = percent(draw, swarm->lease_pct);
    bool via = percent(draw, swarm->via_pct);
    field[O_THINK] = between(draw, 0, swarm->think_ms);
    field[O_NAME] = between(draw, 0, p[P_NAMES] - 1);
    field[O_LEASE] = lease;
    field[O_TTL] = between(draw, p[P_MIN_TTL], p[P_MAX_TTL]);
    field[O_WAIT] = percent(draw, swarm->wait_pct) ? between(draw, 1, 2 * p[P_MAX_TTL]) : 0;
    field[O_MAX] = !lease && percent(draw, 15) ? field[O_TTL] + between(draw, 0, p[P_MAX_TTL]) : -1;
    field[O_KEEP] = between(draw, 0, swarm->keep_ms);
    if (percent(draw, swarm->long_keep_pct))
        field[O_KEEP] = between(draw, 0, percent(draw, 30) ? 4 * field[O_TTL] : field[O_TTL]);
    field[O_VIA] = via ? between(draw, 0, p[P_DAEMONS] - 1) : 0;
    field[O_END] = draw_end(draw, swarm, lease, via);
    bool extends = percent(draw, swarm->extend_pct);
    field[O_EXTENDS] = extends ? between(draw, 1, 4) : 0;
    field[O_EXTEND_TTL] = percent(draw, 40) ? -1 : between(draw, p[P_MIN_TTL], p[P_MAX_TTL]);
    field[O_CHECKS] = extends && percent(draw, 30) ? between(draw, 1, 2) : 0;
    field[O_REENTER] = !lease && percent(draw, 10) ? between(draw, 1, 2) : 0;
    bool gives_up = percent(draw, swarm->give_up_pct);
    field[O_GIVE_UP] = gives_up ? between(draw, 0, percent(draw, 50) ? 5 : field[O_WAIT] + 5) : -1;
    field[O_HOW] = hows[between(draw, 0, 5)];
    return field[O_THINK] + field[O_KEEP];
}

/* Drawn from a hash of its own: a plan without it is otherwise the same. */
static void draw_resumes(struct draw *draw, const struct swarm *swarm, int64_t *field)
{
    bool resumes = percent(draw, swarm->resume_pct);
    field[O_SYNC] = swarm->sync_ms;
    field[O_RESUME_HOW] = between(draw, 0, RESUME_HOWS - 1);
    field[O_RESUMES] = resumes ? between(draw, 1, 3) : 0;
    if (resumes && field[O_VIA] == 0)
        field[O_VIA] = between(draw, 0, 3);
}

/* Drawn from a hash of its own, too: a plan without readers is the same as ever. */
static void draw_readers(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 9};
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field;
        field[O_SHARED] = percent(&draw, swarm->shared_pct);
        if (swarm->apart)
            field[O_SHARED] = plan->client[field[O_CLIENT]].field[C_DAEMON] != 0;
    }
}

/* Writers that become readers, drawn from a hash of its own, too. */
static void draw_downs(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 10};
    int64_t pct = swarm->down_pct;
    if (plan->param[P_CLASS] == CLASS_MODES)
        pct = percent(&draw, 75) ? between(&draw, 10, 100) : 0;
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field;
        bool may = !field[O_LEASE] && !field[O_SHARED] && field[O_NAMES] == 0;
        may = may && plan_slots(plan, (unsigned)field[O_NAME]) == 0;
        if (percent(&draw, pct) && may)
            field[O_DOWN] = between(&draw, 1, 4);
    }
}

/* Holders that tell others something, in some worlds; not where it is judged how long waiters wait. */
static void draw_data(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 26};
    const int64_t *p = plan->param;
    bool may = p[P_CALM] == CALM_NOT && p[P_CLASS] != CLASS_TURNS && p[P_CLASS] != CLASS_SPLIT;
    int64_t pct = percent(&draw, 30) && may && plan->mutant == MUTANT_NONE ? between(&draw, 10, 100) : 0;
    if (swarm->data_pct > pct)
        pct = swarm->data_pct;
    for (unsigned i = 0; i < plan->ops; i++)
        if (percent(&draw, pct))
            plan->op[i].field[O_DATA] = between(&draw, 1, 2);
}

/* Watchers, in as many worlds. */
static void draw_watchers(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 27};
    const int64_t *p = plan->param;
    bool may = p[P_CALM] == CALM_NOT && p[P_CLASS] != CLASS_TURNS && p[P_CLASS] != CLASS_SPLIT;
    int64_t pct = percent(&draw, 30) && may && plan->mutant == MUTANT_NONE ? between(&draw, 1, 50) : 0;
    if (swarm->watch_pct > pct)
        pct = swarm->watch_pct;
    for (unsigned i = 0; i < plan->ops; i++)
        plan->op[i].field[O_WATCH] = percent(&draw, pct);
    if (percent(&draw, pct) && p[P_MASTERS] > 2)
        plan->param[P_LIAR] = between(&draw, 1, p[P_MASTERS]);
}

/* Marks live through several restarts, or steps, where there are any. */
static int64_t longest_keep_ms(const int64_t *p)
{
    switch (p[P_CLASS]) {
    case CLASS_ROLLING: return 8 * p[P_MAX_TTL];
    case CLASS_GENERATION: return 20 * p[P_MAX_TTL];
    default: return 3 * p[P_MAX_TTL];
    }
}

/* Names that are kept after the lock was given back: in every fourth world, and in most where masters are changed; not
 * where it is judged how long waiters wait, nor where clocks are set back by hours, since no daemon cuts a mark. */
static void draw_keeps(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 21};
    const int64_t *p = plan->param;
    bool may = p[P_CLASS] != CLASS_DISAGREE && p[P_CLASS] != CLASS_TURNS && p[P_CLASS] != CLASS_SPLIT;
    may = may && p[P_CALM] == CALM_NOT && p[P_FLOOD] == FLOOD_NONE && swarm->rate[FAULT_SET] == 0;
    int64_t worlds_pct = p[P_CLASS] == CLASS_GENERATION ? 75 : 25;
    int64_t pct =
        percent(&draw, worlds_pct) && may && plan->mutant == MUTANT_NONE ? between(&draw, 5, 80) : 0;
    pct = swarm->kept_pct != 0 ? swarm->kept_pct : pct;
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field;
        bool brief = percent(&draw, 50) && plan->mutant == MUTANT_NONE;
        int64_t kept_ms = between(&draw, 1, brief ? 200 : longest_keep_ms(p));
        if (percent(&draw, pct))
            field[O_KEPT] = kept_ms;
    }
}

/* Some clients of some worlds name a wrong number of slots; not where it is judged how long waiters wait. */
static void draw_slots_off(struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 20};
    const int64_t *p = plan->param;
    bool may = p[P_CALM] == CALM_NOT && p[P_CLASS] != CLASS_TURNS && p[P_CLASS] != CLASS_SPLIT;
    may = may && (plan->mutant == MUTANT_NONE || plan->mutant == MUTANT_SLOTS_DIFFER);
    int64_t pct = percent(&draw, 25) && may ? between(&draw, 1, 50) : 0;
    for (unsigned i = 0; i < plan->ops; i++)
        if (percent(&draw, pct))
            plan->op[i].field[O_SLOTS_OFF] = between(&draw, 1, SIM_SLOTS - 1);
}

/* Drawn from a hash of its own, too. */
static void draw_list(const struct sim_plan *plan, struct draw *draw, const struct swarm *swarm,
                      int64_t *field)
{
    int64_t names = plan->param[P_NAMES] - __builtin_popcountll((uint64_t)plan->param[P_SLOTTED]);
    int64_t most = names < 4 || names > SIM_SLOTTED ? names : 4; /* the names with slots are the last ones */
    if (names < 2 || !percent(draw, swarm->list_pct))
        return;
    for (int64_t left = between(draw, 2, most); left > 0;) {
        int64_t bit = INT64_C(1) << between(draw, 0, names - 1);
        left -= (field[O_NAMES] & bit) == 0;
        field[O_NAMES] |= bit;
    }
}

/* Second locks of the clients, drawn from a hash of its own, too. */
/* The daemon repeats some RESUMEs and downgrades. */
static void draw_repeats(struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 21};
    int64_t pct = percent(&draw, 50) && !plan_old ? between(&draw, 20, 100) : 0;
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field;
        field[O_REPEAT] = percent(&draw, pct) ? between(&draw, 1, 2 * plan->param[P_MAX_TTL]) : 0;
        bool ends = percent(&draw, 20);
        int64_t end_ms = between(&draw, 1, percent(&draw, 50) ? 10 : 200);
        field[O_REPEAT_END] = ends && field[O_REPEAT] != 0 ? end_ms : 0;
    }
}

static void draw_besides(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 13};
    const int64_t *p = plan->param;
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field, names[O_COUNT] = {0};
        if (!percent(&draw, swarm->beside_pct))
            continue;
        draw_list(plan, &draw, swarm, names);
        int64_t single = between(&draw, 0, p[P_NAMES] - 1);
        field[O_BESIDE] = between(&draw, 1, 3);
        field[O_BESIDE_WHEN] = between(&draw, BESIDE_AT_ONCE, BESIDE_WHILE_HELD);
        field[O_BESIDE_NAME] = names[O_NAMES] != 0 ? SIM_LIST | names[O_NAMES] : single;
        field[O_BESIDE_WAIT] = percent(&draw, swarm->wait_pct) ? between(&draw, 1, 2 * p[P_MAX_TTL]) : 0;
        field[O_BESIDE_KEEP] = between(&draw, 0, swarm->keep_ms);
    }
}

/* In every fourth world; not where it is judged whose turn it is, nor where a daemon is of an old version. */
static int64_t beside_pct(const struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 14};
    const int64_t *p = plan->param;
    bool may = p[P_CLASS] <= CLASS_CLOCK || (p[P_CLASS] >= CLASS_MODES && p[P_CLASS] <= CLASS_SLOTS);
    may = may && plan->mutant == MUTANT_NONE && p[P_DEAF] != DEAF_FIRST && !plan_old &&
          p[P_FLOOD] == FLOOD_NONE;
    return percent(&draw, 25) && may && p[P_CALM] != CALM_TURNS ? between(&draw, 5, 80) : 0;
}

/* Rights that are taken away, and reloads with other limits: in some worlds, and never where it is judged how long
 * waiters wait. */
static void draw_rights(const struct sim_plan *plan, uint64_t seed, struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 15};
    const int64_t *p = plan->param;
    bool may = p[P_CLASS] <= CLASS_CLOCK || (p[P_CLASS] >= CLASS_MODES && p[P_CLASS] <= CLASS_SLOTS);
    if (!may || plan->mutant != MUTANT_NONE || p[P_CALM] != CALM_NOT || p[P_FLOOD] != FLOOD_NONE)
        return;
    swarm->rate[FAULT_DENY] = percent(&draw, 15) ? between(&draw, 10, 300) : 0;
    swarm->rate[FAULT_RELOAD] = percent(&draw, 15) ? between(&draw, 10, 300) : 0;
    swarm->longest_ms[FAULT_DENY] = swarm->longest_ms[FAULT_RELOAD] = 1;
}

/* Forged letters, beside other faults. After one, a real letter of the same second raises no doubt: so locks are not
 * broken there. Some ordinary worlds have floods and nothing else. */
static void draw_floods(struct sim_plan *plan, uint64_t seed, struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 18};
    const int64_t *p = plan->param;
    bool may = p[P_CLASS] <= CLASS_CLOCK || (p[P_CLASS] >= CLASS_MODES && p[P_CLASS] <= CLASS_SLOTS);
    if (!may || plan->mutant != MUTANT_NONE || p[P_CALM] != CALM_NOT)
        return;
    if (percent(&draw, 10) && swarm->rate[FAULT_BREAK] == 0) {
        swarm->rate[FAULT_FORGE] = between(&draw, 10, 100);
        swarm->longest_ms[FAULT_FORGE] = 2000;
    }
    if (p[P_CLASS] == CLASS_ORDINARY && percent(&draw, 5) && !plan_old)
        swarm_flood(plan, swarm, (enum flood)between(&draw, FLOOD_ONE, FLOOD_LETTERS));
}

/* Without restart_guard all is promised where masters keep their memory. */
static void draw_unguarded(struct sim_plan *plan, uint64_t seed, struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 19};
    int64_t *p = plan->param;
    bool may = p[P_CLASS] == CLASS_ORDINARY || (p[P_CLASS] >= CLASS_MODES && p[P_CLASS] <= CLASS_SLOTS);
    if (!may || plan->mutant != MUTANT_NONE || plan_old || !percent(&draw, 5))
        return;
    p[P_UNGUARDED] = 1;
    p[P_UPTIME] = 1000000;
    swarm->rate[FAULT_CRASH_LOSE] = swarm->rate[FAULT_CRASH_OLD] = 0;
    swarm->blackouts = swarm->rollbacks = 0;
}

/* What is due comes after the events that the loop has read together. */
static void draw_turn(struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 21};
    if (plan->mutant == MUTANT_NONE && percent(&draw, 50))
        plan->param[P_TURN] = between(&draw, 2, 600);
}

static void draw_clients(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    const int64_t *p = plan->param;
    plan->clients = (unsigned)(swarm->clients * p[P_DAEMONS]);
    for (unsigned i = 0; i < plan->clients; i++) {
        struct draw draw = {.seed = seed, .who = 1000 + i};
        struct draw resumes = {.seed = seed, .who = 3000 + i};
        struct draw lists = {.seed = seed, .who = 5000 + i};
        plan->client[i].id = i;
        plan->client[i].field[C_DAEMON] = (int64_t)i % p[P_DAEMONS];
        plan->client[i].field[C_REMOTE] = percent(&draw, swarm->remote_pct);
        int64_t busy_ms = 0;
        unsigned most = PLAN_OPS / plan->clients;
        for (unsigned k = 0; k < most && busy_ms < p[P_HEAL]; k++) {
            struct sim_record *op = &plan->op[plan->ops];
            op->id = plan->ops++;
            op->field[O_CLIENT] = i;
            busy_ms += draw_op(plan, &draw, swarm, op->field) + 2 + swarm->sync_ms;
            draw_resumes(&resumes, swarm, op->field);
            if (p[P_CLASS] == CLASS_TURNS) /* others leave keys behind which nobody gives back */
                op->field[O_RESUME_HOW] %= RESUME_AND_FIN;
            draw_list(plan, &lists, swarm, op->field);
        }
    }
}

int plan_class_drawn = CLASSES;
bool plan_readers, plan_old;

/* The first daemon of some worlds is of the version before the queue, and is upgraded and set back. Its clients ask
 * for what that version knew. A daemon of today hands a lock on without the masters where others wait in a session;
 * so only one client of that daemon has sessions. */
static void draw_old(struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 11};
    int64_t *p = plan->param;
    bool may = plan->mutant == MUTANT_NONE && p[P_CLASS] <= CLASS_CLOCK;
    bool drawn = percent(&draw, 50) && p[P_DEAF] == DEAF_FIRST;
    if (!may || !(drawn || plan_old))
        return;
    p[P_DEAF] = DEAF_OLD;
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field;
        if (plan->client[field[O_CLIENT]].field[C_DAEMON] != 0)
            continue;
        field[O_SHARED] = field[O_NAMES] = field[O_DOWN] = 0;
        field[O_LEASE] = field[O_CLIENT] != 0 || field[O_LEASE];
    }
    for (int64_t left = between(&draw, 1, 4); left > 0 && plan->faults < PLAN_FAULTS; left--) {
        struct sim_record *fault = &plan->fault[plan->faults];
        fault->id = plan->faults++;
        fault->field[F_KIND] = FAULT_DRAIN;
        fault->field[F_AT] = between(&draw, 1, p[P_HEAL] * 500) * 2;
        fault->field[F_FOR] = 1000;
    }
}

/* How many of the LOCKs are of readers, in percent; mostly none. */
static void draw_modes(struct sim_plan *plan, uint64_t seed, struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 8};
    bool any = percent(&draw, 5);
    bool all = plan->param[P_CLASS] == CLASS_MODES || plan_readers;
    bool none = plan->param[P_CLASS] == CLASS_SPLIT || plan->param[P_CALM] == CALM_LISTS;
    if (plan->mutant != MUTANT_NONE || none || !(any || all))
        return;
    swarm->shared_pct = percent(&draw, 50) ? between(&draw, 40, 60) : between(&draw, 5, 98);
    swarm->apart = percent(&draw, 20);
    if (all && percent(&draw, 75))
        plan->param[P_JOIN_FROM] = between(&draw, 1, 3);
}

static enum plan_class draw_class(struct draw *draw)
{
    static const int64_t pct[CLASSES] = {
        [CLASS_MEMORY] = 12, [CLASS_CLOCK] = 8, [CLASS_ROLLING] = 6, [CLASS_DISAGREE] = 6, [CLASS_TURNS] = 3,
        [CLASS_SPLIT] = 3,   [CLASS_MODES] = 3, [CLASS_LISTS] = 3,   [CLASS_SLOTS] = 3};
    int64_t drawn = between(draw, 0, 99);
    if (plan_class_drawn != CLASSES)
        return (enum plan_class)plan_class_drawn;
    for (int class = CLASS_MEMORY; class < CLASSES; class ++) {
        if (drawn < pct[class])
            return (enum plan_class) class;
        drawn -= pct[class];
    }
    return CLASS_ORDINARY;
}

/* A max_ttl of hours or weeks, for the arithmetic: the run does not wait for its end (see heal.c), and
 * all else happens at the usual pace. */
static void draw_long(struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 5};
    int64_t *p = plan->param;
    if (plan->mutant != MUTANT_NONE || p[P_CLASS] > CLASS_CLOCK || !percent(&draw, 2))
        return;
    if (p[P_UNGUARDED] != 0) /* masters that started lately may not vote */
        return;
    p[P_MAX_TTL] = between(&draw, PLAN_LONG_TTL_MS, percent(&draw, 50) ? INT64_C(86400000) : INT32_MAX);
    bool old = percent(&draw, 80) || p[P_FLOOD] != FLOOD_NONE; /* there masters vote at once */
    p[P_UPTIME] = old ? 2 * p[P_MAX_TTL] : p[P_UPTIME];
    p[P_WALL] = percent(&draw, 50) ? between(&draw, 0, p[P_MAX_TTL] / 2 - 100) : p[P_WALL];
    int64_t long_pct = percent(&draw, 50) ? between(&draw, 1, 100) : 0;
    for (unsigned i = 0; i < plan->ops; i++) {
        int64_t *field = plan->op[i].field;
        if (percent(&draw, long_pct))
            field[O_TTL] = between(&draw, p[P_MIN_TTL], p[P_MAX_TTL]);
        if (field[O_MAX] >= 0 && field[O_MAX] < field[O_TTL])
            field[O_MAX] = field[O_TTL];
        if (percent(&draw, long_pct))
            field[O_EXTEND_TTL] = between(&draw, p[P_MIN_TTL], p[P_MAX_TTL]);
    }
}

/* Some names of some worlds have numbered slots. Lists are not of such names. */
static void draw_slots(struct sim_plan *plan, uint64_t seed, const struct swarm *swarm)
{
    struct draw draw = {.seed = seed, .who = 10};
    int64_t *p = plan->param;
    if (plan->mutant == MUTANT_NONE && p[P_CLASS] <= CLASS_CLOCK && swarm->list_pct == 0 &&
        percent(&draw, 6) && p[P_DEAF] != DEAF_OLD && p[P_SLOTS] == 0)
        p[P_SLOTS] = between(&draw, 1, SIM_SLOTS);
}

/* Some masters allow no CLIENT KILL. Runs whose max_ttl is longer than a run would keep them out for ever. */
static void draw_no_kill(struct sim_plan *plan, uint64_t seed)
{
    struct draw draw = {.seed = seed, .who = 7};
    int64_t *p = plan->param;
    if (plan->mutant == MUTANT_NONE && p[P_MAX_TTL] < PLAN_LONG_TTL_MS && percent(&draw, 15))
        p[P_NO_KILL] = between(&draw, 1, (INT64_C(1) << p[P_MASTERS]) - 1);
}

void plan_draw(struct sim_plan *plan, uint64_t seed, int64_t seconds, enum mutant mutant)
{
    struct swarm swarm;
    struct draw params = {.seed = seed, .who = 1};
    struct draw habits = {.seed = seed, .who = 2};
    struct draw class = {.seed = seed, .who = 3};
    plan_clear(plan);
    memset(&swarm, 0, sizeof(swarm));
    plan->seed = seed;
    plan->mutant = mutant;
    draw_params(plan, &params, seconds);
    draw_swarm(plan, &habits, &swarm);
    draw_lacks(plan, &swarm);
    draw_natives(plan, &swarm);
    plan->param[P_CLASS] = mutant == MUTANT_NONE ? draw_class(&class) : CLASS_ORDINARY;
    draw_breaks(plan, &swarm);
    swarm.resume_pct = percent(&class, 50) ? between(&class, 5, 60) : 0;
    swarm.rollbacks = percent(&class, 10) ? between(&class, 20, 200) : 0;
    plan->param[P_DEAF] = percent(&class, 75) ? DEAF_NONE : percent(&class, 50) ? DEAF_ALL : DEAF_FIRST;
    struct draw fanout = {.seed = seed, .who = 6};
    plan->param[P_FANOUT] = percent(&fanout, 80) ? FANOUT_ALL : between(&fanout, FANOUT_QUORUM, FANOUT_MIXED);
    struct draw lists = {.seed = seed, .who = 8};
    if (mutant == MUTANT_NONE && plan->param[P_CLASS] <= CLASS_CLOCK && percent(&lists, 10))
        swarm.list_pct = between(&lists, 5, 60);
    swarm_class(plan, &swarm, (enum plan_class)plan->param[P_CLASS]);
    bool hands = percent(&class, 20);
    bool modes = plan->param[P_CLASS] == CLASS_MODES;
    if (hands && mutant == MUTANT_NONE && (plan->param[P_CLASS] <= CLASS_CLOCK || modes))
        swarm_hands(plan, &swarm);
    draw_modes(plan, seed, &swarm);
    swarm_mixture(plan, &swarm);
    draw_floods(plan, seed, &swarm);
    draw_unguarded(plan, seed, &swarm);
    draw_turn(plan, seed);
    swarm_aim(plan, &swarm, mutant);
    draw_clients(plan, seed, &swarm);
    draw_readers(plan, seed, &swarm);
    swarm.beside_pct = beside_pct(plan, seed);
    draw_besides(plan, seed, &swarm);
    draw_downs(plan, seed, &swarm);
    draw_data(plan, seed, &swarm);
    draw_watchers(plan, seed, &swarm);
    draw_repeats(plan, seed);
    draw_slots_off(plan, seed);
    draw_keeps(plan, seed, &swarm);
    draw_rights(plan, seed, &swarm);
    draw_faults(plan, seed, &swarm);
    draw_blackouts(plan, seed, &swarm);
    draw_rollbacks(plan, seed, &swarm);
    draw_old(plan, seed);
    plan_class(plan);
    draw_long(plan, seed);
    draw_no_kill(plan, seed);
    draw_slots(plan, seed, &swarm);
}
