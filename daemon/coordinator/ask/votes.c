#include "daemon/coordinator/ask/votes.h"

#include <assert.h>

#include "daemon/coordinator/ask/acquire.h"
#include "daemon/coordinator/ask/acquire_split.h"
#include "daemon/coordinator/ask/resume.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/hand.h"
#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/kept.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/master/master.h"
#include "daemon/coordinator/mode/acquire_slots.h"
#include "daemon/coordinator/mode/downgrade.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/watch/watch.h"

static void votes_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->in_flight.stale)
        return; /* votes_look_stale() looks at it */
    round->ready = c->stale != 0;
    bool extends = round->phase == ROUND_CHECKING || round->phase == ROUND_EXTENDING;
    if (round->ready && round->phase != ROUND_DECIDED && !(extends && extend_is_held(c, round)))
        return; /* the masters that were not probed for long may have forgotten what they answer */
    if (round->phase == ROUND_DECIDED) {
        if (late || round_unheard(round) == 0)
            round_free(c, round);
        return;
    }
    switch ((enum round_purpose)round->purpose) {
    case ROUND_ACQUIRE: acquire_look(c, round, late); break;
    case ROUND_RESUME: resume_look(c, round, late); break;
    case ROUND_RESERVE: hand_look(c, round, late); break;
    case ROUND_TELL: data_look(c, round, late); break;
    case ROUND_SEE: watch_look(c, round, late); break;
    case ROUND_KEEP: kept_decide(c, round, late); break;
    case ROUND_RENEW:
    case ROUND_EXTEND:
    case ROUND_CHECK: extend_look(c, round, late); break;
    }
}

static bool is_fencing(enum command_verb verb)
{
    return verb == COMMAND_ZADD || verb == COMMAND_ZSCORE || verb == COMMAND_DATA;
}

/* An EXTEND without a lease asks CHECK and then EXTEND, and a RESUME asks MOVE and then EXTEND, in one
 * round. A late answer to the first question must not count as an answer to the second. */
static bool is_to_this_phase(const struct round *round, enum command_verb verb)
{
    if (verb == COMMAND_MOVE)
        return round->phase == ROUND_MOVING;
    return !(verb == COMMAND_CHECK && round->purpose == ROUND_EXTEND && round->phase != ROUND_CHECKING);
}

/* Whether a command that a master did not run (NOSCRIPT) is still to be run. A command for a lease is, as
 * long as the lease is held, which after a pause may be over before its own timer has run; any other, as long as the
 * round is open. */
static bool is_wanted(const struct coordinator *c, const struct round *round)
{
    const struct lease *lease = pool_find(&c->leases, round->lease);
    if (lease != NULL)
        return c->now_ms < lease->until_ms;
    return round->lease == 0 && round->phase != ROUND_DECIDED;
}

static void votes_count(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
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
    if (vote->kind == VOTE_NO && round->resource != NULL && round->phase == ROUND_ASKING)
        names_refused(c, round->resource, vote->number);
    if (vote->kind == VOTE_NO && round->resume != NULL)
        round->resume->may = masters_without(round->resume->may, bit);
    if (vote->kind == VOTE_NUMBER) {
        round->numbers[master] = vote->number;
        if (vote->number > round->told_ms)
            round->told_ms = vote->number < UINT32_MAX ? (uint32_t)vote->number : UINT32_MAX;
    }
    if (round->purpose == ROUND_KEEP)
        kept_voted(c, round, master, vote);
    struct lease *lease = pool_find(&c->leases, round->lease);
    if (lease == NULL)
        return;
    if (yes && round->purpose == ROUND_ACQUIRE) {
        secret_granted(lease, masters_without(bit, round->voided));
        data_again(c, lease, bit);
    }
    lease->copies.granted = yes ? lease->copies.granted | bit : masters_without(lease->copies.granted, bit);
    if (yes)
        lease->copies.may |= bit;
    else if (round_without_key(round) & bit)
        lease->copies.may = masters_without(lease->copies.may, bit);
    heal_told(c, lease, round, master, vote);
}

/* Returns the verb that was asked for; the lease made it a SETTLE, or a DOWN. */
static enum command_verb settle_vote(struct coordinator *c, const struct round *round, unsigned master,
                                     enum command_verb verb, const struct vote *vote)
{
    struct lease *lease = pool_find(&c->leases, round->lease);
    if (lease != NULL && vote->kind == VOTE_NUMBER) {
        heal_refresh(c, lease); /* otherwise it would take this answer back */
        if (verb == COMMAND_DOWN)
            downgrade_confirmed(c, lease, masters_bit(master));
        else if (!lease->mode->shares)
            secret_settled(c, lease, masters_bit(master));
    }
    return round->purpose == ROUND_CHECK ? COMMAND_CHECK : COMMAND_EXTEND;
}

/* The script is loaded by now. A proposal that was sent with the command has run before it. */
static void votes_again(struct coordinator *c, struct round *round, enum command_verb verb, masters_t bit)
{
    if (round->purpose == ROUND_KEEP) {
        kept_ask(c, round, bit);
        return;
    }
    uint64_t number = verb == COMMAND_EXTEND ? (uint64_t)round->ttl_ms : 0;
    if (verb == COMMAND_SET || verb == COMMAND_SHARE)
        fence_forget(round, bit);
    if (verb == COMMAND_SET || verb == COMMAND_SHARE)
        round->mode->ask(c, round, bit);
    else
        round_send(c, round, verb, bit, verb == COMMAND_DATA ? round->proposal : number);
}

void votes_told(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                const struct vote *vote)
{
    if (round->phase <= ROUND_LOOKING) {
        if (round->phase == ROUND_LOOKING)
            slots_told(c, round, master, vote);
        else
            wake_joined(c, round, master, vote);
        votes_look(c, round, false);
        return;
    }
    if (!is_to_this_phase(round, verb))
        return;
    if (verb == COMMAND_SETTLE || verb == COMMAND_DOWN)
        verb = settle_vote(c, round, master, verb, vote);
    if (vote->kind == VOTE_NOT_RUN && is_wanted(c, round)) {
        votes_again(c, round, verb, masters_bit(master));
        return;
    }
    if (verb == COMMAND_SEE)
        watch_told(c, round, master, vote);
    else if (is_fencing(verb))
        fence_vote(c, round, master, verb, vote);
    else if (verb == COMMAND_GET)
        acquire_split_vote(round, master, vote);
    else
        votes_count(c, round, master, vote);
    votes_look(c, round, false);
}

void votes_timeout(struct coordinator *c, struct in_flight *in_flight)
{
    struct round *round = IN_FLIGHT_OWNER(round, in_flight);
    assert(!in_flight->stale);
    if (c->stale != 0 || (round->ready && trial_is_open(c))) { /* that ends soon, and decides it */
        in_flight_remove(&c->rounds_pending, in_flight);
        round_wait(c, round);
        return;
    }
    masters_overdue(c, masters_without(round_unheard(round), round->split.fresh));
    votes_look(c, round, true);
}

bool votes_look_stale(struct coordinator *c)
{
    struct in_flight *in_flight = in_flight_take_stale(&c->rounds_pending);
    if (in_flight != NULL)
        votes_look(c, IN_FLIGHT_OWNER(round, in_flight), false);
    return in_flight != NULL;
}
