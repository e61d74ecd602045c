/* Planted bugs that replace whole functions of the coordinator, for its build with planted bugs. There sim.mk
 * renames each function below to function_rule() in the file that defines it, so that callers in other files
 * come here first. A planted bug that is a single condition is a mutant() in planted.patch instead. */
#include "daemon/coordinator/ask/acquire.h"
#include "daemon/coordinator/ask/resume.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"
#include "tests/sim/mutant.h"

const bool mutants_linked = true;

/* The functions as the coordinator has them. */
void acquire_begin_rule(struct coordinator *c, struct resource *resource);
void acquire_look_rule(struct coordinator *c, struct round *round, bool late);
void acquire_timer_rule(struct coordinator *c, struct round *round);
void resume_look_rule(struct coordinator *c, struct round *round, bool late);
void fence_ask_rule(struct coordinator *c, struct round *round, masters_t masters);
enum fence_outcome fence_begin_rule(struct coordinator *c, struct round *round);
enum fence_outcome fence_decide_rule(struct coordinator *c, struct round *round);
enum fence_outcome fence_look_rule(struct coordinator *c, struct round *round, bool late);

/* ---- a quorum of one master less: QUORUM_MINUS_ONE, FANOUT_COUNTS_HEAL, RESUME_BELOW_QUORUM ---- */

/* Returns the quorum to put back afterwards. */
static struct quorum lower_quorum(struct coordinator *c, bool lower)
{
    struct quorum quorum = c->quorum;
    if (lower)
        c->quorum.needed = (uint8_t)(quorum_of(c->config.masters) - 1);
    return quorum;
}

void acquire_begin(struct coordinator *c, struct resource *resource)
{
    struct quorum quorum = lower_quorum(c, mutant(MUTANT_QUORUM_MINUS_ONE));
    acquire_begin_rule(c, resource);
    c->quorum = quorum;
}

void acquire_look(struct coordinator *c, struct round *round, bool late)
{
    bool heals = mutant(MUTANT_FANOUT_COUNTS_HEAL) && round->narrow;
    struct quorum quorum = lower_quorum(c, mutant(MUTANT_QUORUM_MINUS_ONE) || heals);
    acquire_look_rule(c, round, late);
    c->quorum = quorum;
}

void acquire_timer(struct coordinator *c, struct round *round)
{
    struct quorum quorum = lower_quorum(c, mutant(MUTANT_QUORUM_MINUS_ONE));
    acquire_timer_rule(c, round);
    c->quorum = quorum;
}

void resume_look(struct coordinator *c, struct round *round, bool late)
{
    struct quorum quorum = lower_quorum(c, mutant(MUTANT_RESUME_BELOW_QUORUM));
    resume_look_rule(c, round, late);
    c->quorum = quorum;
}

/* ---- masters in quarantine count for fences: QUARANTINED_FENCES ---- */

struct counted {
    masters_t granted, voters;
};

static struct counted count_quarantined(struct coordinator *c, struct round *round)
{
    struct counted before = {.granted = round->tally.granted, .voters = c->voters};
    if (mutant(MUTANT_QUARANTINED_FENCES)) {
        round->tally.granted |= masters_without(c->extenders, c->voters);
        c->voters |= c->extenders;
    }
    return before;
}

static void count_as_before(struct coordinator *c, struct round *round, const struct counted *before)
{
    round->tally.granted = before->granted;
    c->voters = before->voters;
}

void fence_ask(struct coordinator *c, struct round *round, masters_t masters)
{
    if (mutant(MUTANT_QUARANTINED_FENCES) && round->purpose == ROUND_ACQUIRE)
        masters |= c->extenders;
    fence_ask_rule(c, round, masters);
}

enum fence_outcome fence_decide(struct coordinator *c, struct round *round)
{
    struct counted before = count_quarantined(c, round);
    enum fence_outcome outcome = fence_decide_rule(c, round);
    count_as_before(c, round, &before);
    return outcome;
}

/* ---- REASK_COUNTS_FIRST_ZADD, RETRY_REUSES_PROPOSAL ---- */

enum fence_outcome fence_begin(struct coordinator *c, struct round *round)
{
    unsigned accepted = masters_count(fence_standing(c, round) & round->fence.accepted);
    if (mutant(MUTANT_REASK_COUNTS_FIRST_ZADD) && round->phase == ROUND_REASKING &&
        accepted >= c->quorum.needed) {
        round->phase = ROUND_FENCING;
        return FENCE_STANDS;
    }
    if (mutant(MUTANT_RETRY_REUSES_PROPOSAL) && round->phase == ROUND_ASKING) {
        round->proposal = c->proposal;
        return FENCE_STANDS;
    }
    struct counted before = count_quarantined(c, round);
    enum fence_outcome outcome = fence_begin_rule(c, round);
    count_as_before(c, round, &before);
    return outcome;
}

/* ---- FENCE_INCR_MAX ---- */

/* Each master gets one more than its own score, instead of all the same number. */
static void incr_each(struct coordinator *c, struct round *round)
{
    masters_t scored = round->fence.scored;
    uint64_t highest = 0, proposal = round->proposal;
    round_move(c, round, ROUND_RAISING);
    round->fence.asked = round->fence.answered = round->fence.accepted = round->fence.scored = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        masters_t bit = masters_bit(i);
        if (!(masters_without(fence_standing(c, round), round->fence.pending) & bit))
            continue;
        round->proposal = (scored & bit) ? round->numbers[i] + 1 : proposal;
        fence_ask_rule(c, round, bit);
        highest = round->proposal > highest ? round->proposal : highest;
    }
    round->proposal = highest;
}

static bool may_incr(const struct coordinator *c, const struct round *round)
{
    masters_t stand = fence_standing(c, round), accepted = round->fence.accepted;
    return round->phase == ROUND_READING && masters_count(stand & accepted) < c->quorum.needed &&
           masters_count(stand & (accepted | round->fence.scored)) >= c->quorum.needed;
}

enum fence_outcome fence_look(struct coordinator *c, struct round *round, bool late)
{
    if (mutant(MUTANT_FENCE_INCR_MAX) && may_incr(c, round)) {
        incr_each(c, round);
        return FENCE_OPEN;
    }
    struct counted before = count_quarantined(c, round);
    enum fence_outcome outcome = fence_look_rule(c, round, late);
    count_as_before(c, round, &before);
    return outcome;
}
