#include "daemon/coordinator/round.h"

#include <assert.h>

#include "daemon/coordinator/acquire.h"
#include "daemon/coordinator/acquire_split.h"
#include "daemon/coordinator/extend.h"
#include "daemon/coordinator/fence.h"
#include "daemon/coordinator/heal.h"
#include "daemon/coordinator/master.h"
#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/resume.h"
#include "daemon/coordinator/trial.h"

static void fly(struct coordinator *c, struct round *round)
{
    round->flight.timeout_ms = c->now_ms + c->config.node_timeout_ms;
    flight_add(&c->rounds_live, &round->flight);
}

struct round *round_begin(struct coordinator *c, enum round_phase phase, const struct name *name,
                          const struct token *token, int64_t ttl_ms)
{
    assert(ttl_ms <= INT32_MAX);
    struct round *round = pool_take(&c->rounds);
    if (round == NULL)
        return NULL;
    c->stats.rounds++;
    round->phase = phase;
    round->t0_ms = c->now_ms;
    round->memories = c->memories;
    round->ttl_ms = (int32_t)ttl_ms;
    round->token = *token;
    round->name = keep_name_again(&c->keep, name);
    fly(c, round);
    return round;
}

static bool legal(enum round_phase from, enum round_phase to)
{
    static const unsigned moves[] = {
        [ROUND_ASKING] =
            1u << ROUND_REASKING | 1u << ROUND_FENCING | 1u << ROUND_READING | 1u << ROUND_DECIDED,
        [ROUND_REASKING] = 1u << ROUND_REASKING | 1u << ROUND_FENCING,
        [ROUND_FENCING] = 1u << ROUND_READING | 1u << ROUND_DECIDED,
        [ROUND_READING] = 1u << ROUND_RAISING | 1u << ROUND_DECIDED,
        [ROUND_RAISING] = 1u << ROUND_DECIDED,
        [ROUND_CHECKING] = 1u << ROUND_EXTENDING | 1u << ROUND_DECIDED,
        [ROUND_EXTENDING] = 1u << ROUND_DECIDED,
        [ROUND_MOVING] = 1u << ROUND_RESUMING,
        [ROUND_RESUMING] = 1u << ROUND_READING | 1u << ROUND_DECIDED,
        [ROUND_DECIDED] = 0,
    };
    if (mutant(MUTANT_REASK_COUNTS_FIRST_ZADD) && from == ROUND_REASKING && to == ROUND_DECIDED)
        return true;
    return (moves[from] & (1u << to)) != 0;
}

void round_move(struct coordinator *c, struct round *round, enum round_phase to)
{
    assert(legal(round->phase, to));
    round->phase = to;
    if (to == ROUND_DECIDED)
        return;
    flight_remove(&c->rounds_live, &round->flight);
    fly(c, round);
}

void round_free(struct coordinator *c, struct round *round)
{
    assert(round->resource == NULL && round->request == 0 && round->resume == NULL);
    flight_remove(&c->rounds_live, &round->flight);
    keep_name_back(&c->keep, round->name);
    pool_give(&c->rounds, round);
}

void round_send(struct coordinator *c, const struct round *round, enum command_verb verb, masters_t masters,
                uint64_t number)
{
    struct command command = {.verb = verb, .ref = round->id, .number = number, .token = round->token};
    if (verb == COMMAND_MOVE) {
        command.to = round->token;
        command.token = round->resume->old;
    }
    command.bucket = verb == COMMAND_ZADD || verb == COMMAND_ZSCORE ? quorum_bucket(round->name) : 0;
    name_copy(&command.name, round->name);
    action_send(c, masters, &command);
}

masters_t round_silent(const struct round *round)
{
    const struct tally *tally = &round->tally;
    return masters_without(tally->asked, tally->granted | tally->refused | tally->failed);
}

masters_t round_unheard(const struct round *round)
{
    return round_silent(round) | round->fence.pending | round->fence.reading | round->split.getting;
}

void round_decided(struct coordinator *c, struct round *round)
{
    round_move(c, round, ROUND_DECIDED);
    if (round_unheard(round) == 0 && !round->flight.stale)
        round_free(c, round);
}

static void look(struct coordinator *c, struct round *round, bool late)
{
    if (round->flight.stale)
        return; /* in its turn */
    if (round->phase == ROUND_CHECKING || round->phase == ROUND_EXTENDING)
        extend_look(c, round, late);
    else if (round->phase == ROUND_MOVING || round->phase == ROUND_RESUMING)
        resume_look(c, round, late);
    else if (round->phase != ROUND_DECIDED)
        acquire_look(c, round, late);
    else if (late || round_unheard(round) == 0)
        round_free(c, round);
}

static bool is_fencing(enum command_verb verb)
{
    return verb == COMMAND_ZADD || verb == COMMAND_ZSCORE;
}

/* CHECK and EXTEND are two questions of one round, and MOVE and EXTEND: the first's late answers are none
 * to the second. */
static bool is_to_this_phase(const struct round *round, enum command_verb verb)
{
    if (verb == COMMAND_MOVE)
        return round->phase == ROUND_MOVING;
    return !(verb == COMMAND_CHECK && round->purpose == ROUND_EXTEND && round->phase != ROUND_CHECKING);
}

/* A renewal of a lease that was given back is not, nor a question that was answered. */
static bool is_wanted(const struct coordinator *c, const struct round *round)
{
    bool held = pool_find(&c->leases, round->lease) != NULL;
    return held || (round->lease == 0 && round->phase != ROUND_DECIDED);
}

static void count(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    bool yes = vote->kind == VOTE_YES || vote->kind == VOTE_NUMBER;
    if (!(round_silent(round) & bit))
        return;
    if (yes)
        round->tally.granted |= bit;
    else if (vote->kind == VOTE_NO)
        round->tally.refused |= bit;
    else
        round->tally.failed |= bit;
    if (vote->kind == VOTE_NO && round->resume != NULL)
        round->resume->may = masters_without(round->resume->may, bit);
    if (vote->kind == VOTE_NUMBER)
        round->numbers[master] = vote->number;
    struct lease *lease = pool_find(&c->leases, round->lease);
    if (lease == NULL)
        return;
    lease->granted = yes ? lease->granted | bit : masters_without(lease->granted, bit);
    if (yes)
        lease->may |= bit;
    else if (vote->kind == VOTE_NO)
        lease->may = masters_without(lease->may, bit);
    heal_told(c, lease, round, master, vote);
}

void round_vote(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                const struct vote *vote)
{
    if (!is_to_this_phase(round, verb))
        return;
    if (vote->kind == VOTE_NOT_RUN && is_wanted(c, round)) {
        round_send(c, round, verb, masters_bit(master), verb == COMMAND_EXTEND ? (uint64_t)round->ttl_ms : 0);
        return;
    }
    if (is_fencing(verb))
        fence_vote(round, master, verb, vote);
    else if (verb == COMMAND_GET)
        acquire_split_vote(round, master, vote);
    else
        count(c, round, master, vote);
    look(c, round, false);
}

void round_timeout(struct coordinator *c, struct flight *flight)
{
    struct round *round = FLIGHT_OWNER(round, flight);
    assert(!flight->stale);
    if (round->ready && trial_is_open(c)) { /* which is over soon */
        flight_remove(&c->rounds_live, flight);
        fly(c, round);
        return;
    }
    masters_overdue(c, masters_without(round_unheard(round), round->split.fresh));
    look(c, round, true);
}

/* An attempt needs the master again, for the fence, and it may come back without its memory: what it
 * granted counts no more. */
void rounds_lost(struct coordinator *c, unsigned master)
{
    masters_t bit = masters_bit(master);
    for (struct flight *flight = c->rounds_live.first; flight != NULL; flight = flight->next) {
        struct round *round = FLIGHT_OWNER(round, flight);
        masters_t lost = round_unheard(round) | round->tally.granted;
        if (!(lost & bit))
            continue;
        if (round_silent(round) & bit)
            round->tally.failed |= bit;
        round->voided |= bit;
        round->fence.pending = masters_without(round->fence.pending, bit);
        round->fence.reading = masters_without(round->fence.reading, bit);
        round->split.getting = masters_without(round->split.getting, bit);
        flight_make_stale(&c->rounds_live, flight);
    }
}

bool round_look_stale(struct coordinator *c)
{
    struct flight *flight = flight_take_stale(&c->rounds_live);
    if (flight != NULL)
        look(c, FLIGHT_OWNER(round, flight), false);
    return flight != NULL;
}
