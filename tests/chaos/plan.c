#include "tests/chaos/plan.h"

#include <string.h>

#include "tests/chaos/history.h"

/* In an epoch all faults of masters and their links (but for majority-kill and rolling) fall on two of the
 * five, so that a majority is there for most of the time; in one epoch of six they fall on all. */
enum { EPOCH_US = 4000000, OPEN_EPOCHS = 6, GAP_US = 130000, LONGEST_BITS = 12 };

/* Where masters change, the masters of a step spare one: it comes back before another one has faults. A daemon that was
 * killed is waited for as long as the list of daemons has it. */
enum { SPARE_EPOCH_US = 12000000, SPARE_OPEN_US = 4000000, KILLS_APART_US = 90000000 };

enum what {
    WHAT_GAP,
    WHAT_KIND,
    WHAT_MASTER,
    WHAT_DAEMON,
    WHAT_ALL,
    WHAT_CLIENT,
    WHAT_BITS,
    WHAT_FOR,
    WHAT_VALUE
};
enum whose { WHOSE_FAULT = 1, WHOSE_EPOCH };

static const char *const names[] = {
#define FAULT_NAME(id, name, weight) name,
    FAULT_LIST(FAULT_NAME)
#undef FAULT_NAME
};

static const unsigned weights[] = {
#define FAULT_WEIGHT(id, name, weight) weight,
    FAULT_LIST(FAULT_WEIGHT)
#undef FAULT_WEIGHT
};

const char *fault_name(enum fault_kind kind)
{
    return names[kind];
}

enum fault_kind fault_named(const char *name)
{
    unsigned kind = 0;
    while (kind < FAULT_KINDS && strcmp(names[kind], name) != 0)
        kind++;
    return (enum fault_kind)kind;
}

static unsigned pick(uint64_t seed, unsigned number, enum what what, uint64_t below)
{
    return (unsigned)(draw(seed, WHOSE_FAULT, number, what) % below);
}

static enum fault_kind pick_kind(uint64_t seed, unsigned number, uint32_t kinds)
{
    unsigned sum = 0;
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        sum += kinds & (1u << kind) ? weights[kind] : 0;
    unsigned left = pick(seed, number, WHAT_KIND, sum);
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++) {
        unsigned weight = kinds & (1u << kind) ? weights[kind] : 0;
        if (left < weight)
            return (enum fault_kind)kind;
        left -= weight;
    }
    return FAULT_DELAY;
}

static unsigned pick_master(uint64_t seed, unsigned number, int64_t at_us, bool spare)
{
    uint64_t epoch = (uint64_t)(at_us / (spare ? SPARE_EPOCH_US : EPOCH_US));
    uint64_t weak = draw(seed, WHOSE_EPOCH, epoch, 0);
    unsigned first = (unsigned)(weak % MASTERS), second = (unsigned)(weak / MASTERS % (MASTERS - 1));
    if (spare)
        return first;
    if (draw(seed, WHOSE_EPOCH, epoch, 1) % OPEN_EPOCHS == 0)
        return pick(seed, number, WHAT_MASTER, MASTERS);
    return pick(seed, number, WHAT_MASTER, 2) == 0 ? first : (first + 1 + second) % MASTERS;
}

/* Between 1 ms << from and 1 ms << to, each power of two as likely. */
static int64_t pick_us(uint64_t seed, unsigned number, enum what what, unsigned from, unsigned to)
{
    uint64_t drawn = draw(seed, WHOSE_FAULT, number, what);
    int64_t least_us = INT64_C(1000) << (from + drawn % (to - from));
    return least_us + (int64_t)(draw(seed, WHOSE_FAULT, number, what + 100u) % (uint64_t)least_us);
}

static void fault_fill(struct fault *fault, uint64_t seed, unsigned number, unsigned daemons,
                       unsigned clients, bool spare)
{
    bool all = pick(seed, number, WHAT_ALL, 3) == 0;
    bool link = fault->kind <= FAULT_ORPHAN;
    fault->master = pick_master(seed, number, fault->at_us, spare);
    fault->daemon = link && all ? ALL_DAEMONS : pick(seed, number, WHAT_DAEMON, daemons);
    fault->client = pick(seed, number, WHAT_CLIENT, clients);
    fault->for_us = pick_us(seed, number, WHAT_FOR, 3, LONGEST_BITS); /* 8 ms .. 4 s */
    if (fault->for_us > 3000000)
        fault->for_us = 3000000;
    if (fault->kind >= FAULT_MASTER_KILL && fault->kind <= FAULT_ROLLING && fault->for_us > 1000000)
        fault->for_us = 1000000; /* the master is started again then, empty */
    if (fault->kind == FAULT_DAEMON_KILL && fault->for_us > 1000000)
        fault->for_us = 1000000;
    fault->value = fault->kind == FAULT_THROTTLE ? 200 + pick(seed, number, WHAT_VALUE, 20000)
                                                 : pick_us(seed, number, WHAT_VALUE, 0, 11);
    if (fault->kind == FAULT_BREAK)
        fault->value = pick(seed, number, WHAT_VALUE, CHAOS_NAMES);
}

static bool is_spared(enum fault_kind kind, int64_t at_us, int64_t *killed_us)
{
    if (kind <= FAULT_ROLLING)
        return kind == FAULT_MAJORITY_KILL || kind == FAULT_ROLLING ||
               at_us % SPARE_EPOCH_US >= SPARE_OPEN_US;
    if (kind != FAULT_DAEMON_KILL)
        return false;
    if (at_us - *killed_us < KILLS_APART_US)
        return true;
    *killed_us = at_us;
    return false;
}

unsigned plan_make(struct fault *list, uint64_t seed, int64_t length_us, uint32_t kinds, unsigned daemons,
                   unsigned clients, bool spare)
{
    unsigned count = 0;
    int64_t at_us = 0, killed_us = -KILLS_APART_US;
    for (unsigned drawn = 0; kinds != 0 && count < FAULTS_PLANNED; drawn++) {
        at_us += pick(seed, drawn, WHAT_GAP, 2 * GAP_US);
        if (at_us >= length_us)
            break;
        struct fault *fault = &list[count];
        *fault = (struct fault){.at_us = at_us, .kind = pick_kind(seed, drawn, kinds)};
        fault_fill(fault, seed, drawn, daemons, clients, spare);
        count += !spare || !is_spared(fault->kind, at_us, &killed_us);
    }
    return count;
}
