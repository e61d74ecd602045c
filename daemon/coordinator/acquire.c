#include "daemon/coordinator/acquire.h"

#include <assert.h>

#include "daemon/coordinator/lease.h"
#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/release.h"
#include "daemon/coordinator/resource.h"
#include "daemon/coordinator/round.h"

/* ---- proposals: a hybrid clock, so that a fence of today is above one of yesterday even
 * where masters forgot it, and above the fastest daemon's where they did not ---- */

static uint64_t propose(struct coordinator *c)
{
    uint64_t wall_us = c->event->wall_us > 0 ? (uint64_t)c->event->wall_us : 0;
    uint64_t proposal = wall_us + c->lead_us;
    if (proposal <= c->proposal)
        proposal = c->proposal + 1;
    if (proposal <= FENCE_MAX)
        c->proposal = proposal;
    return proposal;
}

/* Follow the fastest clock, but not beyond half of max_ttl: proposals must stay ahead of
 * what a master can forget, which a lead without end would not. */
static void follow(struct coordinator *c, uint64_t score)
{
    uint64_t wall_us = c->event->wall_us > 0 ? (uint64_t)c->event->wall_us : 0;
    uint64_t most_us = (uint64_t)c->config.max_ttl_ms * 1000 / 2;
    if (score <= wall_us + c->lead_us)
        return;
    uint64_t lead_us = score - wall_us;
    if (lead_us > most_us && !mutant(MUTANT_NO_LEAD_CAP))
        lead_us = most_us;
    if (lead_us > c->lead_us)
        c->lead_us = lead_us;
}

/* ---- ends ---- */

static struct resource *detach(struct coordinator *c, struct round *round)
{
    struct resource *resource = round->resource;
    round->resource = NULL;
    resource->round = NULL;
    c->acquiring--;
    return resource;
}

/* To all masters that got the SET, also those that refused or did not answer: behind it on
 * the same connection this undoes a late one. */
static void undo(struct coordinator *c, struct round *round)
{
    struct release_order order = {.name = &round->name, .token = &round->token, .ttl_ms = round->ttl_ms};
    order.may = masters_without(round->tally.asked, round->tally.refused);
    if (mutant(MUTANT_RELEASE_ONLY_GRANTED))
        order.may = round->tally.granted;
    c->stats.undone++;
    release_begin(c, &order);
    round_free(c, round);
}

static void fail(struct coordinator *c, struct round *round, enum reply_code code)
{
    struct resource *resource = detach(c, round);
    struct verdict verdict = {code, code == REPLY_LIMIT ? LIMIT_FENCE : LIMIT_NONE, round->tally};
    undo(c, round);
    resource_refused(c, resource, &verdict);
}

void acquire_abandon(struct coordinator *c, struct resource *resource)
{
    struct round *round = resource->round;
    detach(c, round);
    undo(c, round);
}

/* The client left, or its time ran out, while the masters were asked. */
static bool is_too_late(const struct coordinator *c, const struct wait *wait)
{
    return wait->session->state >= SESSION_RELEASING ||
           (wait->patient && wait->tried && c->now_ms >= wait->deadline_ms);
}

static void grant(struct coordinator *c, struct round *round, uint64_t fence)
{
    int64_t until_ms = quorum_until_ms(round->t0_ms, round->ttl_ms);
    bool valid = until_ms - c->now_ms >= c->config.min_validity_ms || mutant(MUTANT_NO_VALIDITY);
    if (!valid || is_too_late(c, round->resource->head)) {
        fail(c, round, valid ? REPLY_BUSY : REPLY_NOQUORUM);
        return;
    }
    struct resource *resource = detach(c, round);
    round->lease = lease_grant(c, resource, round, fence, until_ms);
    round_decided(c, round);
}

/* ---- phases ---- */

/* How many a quorum is here (for the planted bug only it is not). */
static unsigned needed(const struct coordinator *c)
{
    return mutant(MUTANT_QUORUM_MINUS_ONE) ? c->quorum - 1 : c->quorum;
}

/* Granted, and may still be asked: not a master that became slow, or was lost, in between. */
static masters_t granting(const struct coordinator *c, const struct round *round)
{
    return round->tally.granted & (mutant(MUTANT_QUARANTINED_FENCES) ? c->extenders : c->voters);
}

static void ask_fence(struct coordinator *c, struct round *round, masters_t masters, uint64_t proposal)
{
    round->proposal = proposal;
    round->fencing = round->fence_pending = masters;
    round->answered = round->accepted = 0;
    round_send(c, round, COMMAND_ZADD, masters, proposal);
}

static bool above_fences(struct coordinator *c, struct round *round, uint64_t proposal)
{
    if (proposal <= FENCE_MAX)
        return false;
    fail(c, round, REPLY_LIMIT);
    return true;
}

/* A request's first attempt sends the proposal behind the SET. Retries send the SET alone:
 * losers who poll write nothing and raise nothing. */
void acquire_begin(struct coordinator *c, struct resource *resource)
{
    const struct wait *wait = resource->head;
    assert(resource->round == NULL && wait != NULL);
    resource->release_seen = false; /* used up, also by an attempt that cannot begin */
    if (masters_count(c->voters) < needed(c)) {
        resource_refused(c, resource, &(struct verdict){.code = REPLY_NOQUORUM});
        return;
    }
    if (c->token_drawn) { /* one token a step: it asks in the next */
        heap_set(&c->deadlines, &resource->item, c->now_ms);
        return;
    }
    struct token token;
    random_token(c, &token);
    struct round *round = NULL;
    if (c->leases.used + c->acquiring < c->config.max_locks)
        round = round_begin(c, ROUND_ASKING, &resource->name, &token, wait->ttl_ms);
    if (round == NULL) {
        resource_refused(c, resource, &(struct verdict){.code = REPLY_LIMIT, .limit = LIMIT_MAX_LOCKS});
        return;
    }
    round->resource = resource;
    resource->round = round;
    c->acquiring++;
    uint64_t proposal = wait->tried ? 0 : propose(c);
    if (above_fences(c, round, proposal))
        return;
    round->votes = c->voters;
    round->tally.asked = mutant(MUTANT_QUARANTINED_FENCES) ? c->extenders : c->voters;
    round_send(c, round, COMMAND_SET, round->tally.asked, (uint64_t)round->ttl_ms);
    if (!wait->tried)
        ask_fence(c, round, round->tally.asked, proposal);
    else if (mutant(MUTANT_RETRY_REUSES_PROPOSAL))
        round->proposal = c->proposal;
}

/* The raise: the proposal was not the highest everywhere. What Q granting masters say is
 * the highest that any grant before can have been told, because every grant's fence stands
 * on Q masters; a maximum over fewer is not. */
static void raise_begin(struct coordinator *c, struct round *round)
{
    c->stats.raises++;
    masters_t all = granting(c, round) & round->answered;
    masters_t ask = masters_without(all, round->accepted);
    round->scored = 0;
    round->fencing = all;
    round->fence_pending = ask;
    round_move(c, round, ROUND_READING);
    round_send(c, round, COMMAND_ZSCORE, ask, 0);
}

static uint64_t highest_score(const struct round *round)
{
    uint64_t highest = round->proposal;
    for (unsigned i = 0; i < MASTERS; i++)
        if ((round->scored & masters_bit(i)) && round->numbers[i] > highest)
            highest = round->numbers[i];
    return highest;
}

#ifdef MUTANTS
static void incr_each(struct coordinator *c, struct round *round, masters_t masters)
{
    uint64_t highest = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        masters_t bit = masters_bit(i);
        uint64_t mine = (round->scored & bit) ? round->numbers[i] + 1 : round->proposal;
        if (!(masters & bit))
            continue;
        round_send(c, round, COMMAND_ZADD, bit, mine);
        highest = mine > highest ? mine : highest;
    }
    round->proposal = highest;
    round->fencing = round->fence_pending = masters;
    round->answered = round->accepted = 0;
}
#endif

static void raise_write(struct coordinator *c, struct round *round)
{
    uint64_t highest = highest_score(round);
    follow(c, highest);
    if (above_fences(c, round, highest + 1))
        return;
    if (highest + 1 > c->proposal)
        c->proposal = highest + 1;
    round_move(c, round, ROUND_RAISING);
#ifdef MUTANTS
    if (mutant(MUTANT_FENCE_INCR_MAX)) {
        incr_each(c, round, round->fencing & granting(c, round));
        return;
    }
#endif
    ask_fence(c, round, round->fencing & granting(c, round), highest + 1);
}

void acquire_fence_vote(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                        const struct vote *vote)
{
    (void)c;
    masters_t bit = masters_bit(master);
    bool reading = round->phase == ROUND_READING;
    if (reading != (verb == COMMAND_ZSCORE) || !(round->fence_pending & bit))
        return;
    round->fence_pending = masters_without(round->fence_pending, bit);
    if (vote->kind == VOTE_ERROR && !mutant(MUTANT_ZADD_ERROR_KEEPS_VOTE)) {
        /* No fence stands there: as if it had not granted. (Its key is taken back or kept
         * with the others, since it was asked.) */
        round->tally.granted = masters_without(round->tally.granted, bit);
        round->tally.failed |= bit;
    } else if (reading) {
        round->scored |= bit;
        round->numbers[master] = vote->number;
    } else {
        round->answered |= bit;
        if (vote->kind != VOTE_NO)
            round->accepted |= bit;
    }
}

/* ---- decisions ---- */

/* Not a quorum any more. Whether another has the lock is known when Q masters said so or
 * would have granted; until then, or until it is late, the rest may still tell. */
static void look_refused(struct coordinator *c, struct round *round, bool late)
{
    const struct tally *tally = &round->tally;
    unsigned answered = masters_count(tally->granted | tally->refused);
    unsigned silent = masters_count(round_silent(round));
    bool enough = masters_count(tally->granted) >= c->quorum; /* but no fence in time */
    if (tally->refused != 0 && answered >= c->quorum && !enough)
        fail(c, round, REPLY_BUSY);
    else if (late || tally->refused == 0 || answered + silent < c->quorum)
        fail(c, round, REPLY_NOQUORUM);
}

static void look_asking(struct coordinator *c, struct round *round, bool late)
{
    masters_t granted = granting(c, round);
    masters_t can = granted | round_silent(round);
    if (round->fencing != 0)
        can &= round->answered | round->fence_pending;
    if (masters_count(can & round->votes) < needed(c) || late)
        look_refused(c, round, late);
    else if (masters_count(granted & round->votes) < needed(c))
        return;
    else if (round->fencing == 0 && mutant(MUTANT_RETRY_REUSES_PROPOSAL))
        grant(c, round, round->proposal);
    else if (round->fencing == 0) {
        uint64_t proposal = propose(c);
        if (above_fences(c, round, proposal))
            return;
        round_move(c, round, ROUND_FENCING);
        ask_fence(c, round, granted, proposal);
    } else if (masters_count(granted & round->accepted) >= needed(c))
        grant(c, round, round->proposal);
    else if (masters_count(granted & round->answered) >= needed(c))
        raise_begin(c, round);
}

static void look_fencing(struct coordinator *c, struct round *round, bool late)
{
    masters_t answered = granting(c, round) & round->answered;
    masters_t can = granting(c, round) & (round->answered | round->fence_pending);
    if (masters_count(answered & round->accepted) >= needed(c))
        grant(c, round, round->proposal);
    else if (masters_count(answered) >= needed(c))
        raise_begin(c, round);
    else if (late || masters_count(can) < needed(c))
        fail(c, round, REPLY_NOQUORUM);
}

static void look_reading(struct coordinator *c, struct round *round, bool late)
{
    masters_t known = granting(c, round) & (round->accepted | round->scored);
    masters_t can = granting(c, round) & (known | round->fence_pending);
    unsigned enough = mutant(MUTANT_RAISE_FEW_SCORES) ? 1 : needed(c);
    if (masters_count(known) >= enough)
        raise_write(c, round);
    else if (late || masters_count(can) < needed(c))
        fail(c, round, REPLY_NOQUORUM);
}

static void look_raising(struct coordinator *c, struct round *round, bool late)
{
    masters_t answered = granting(c, round) & round->answered;
    masters_t can = granting(c, round) & (round->answered | round->fence_pending);
    unsigned enough = mutant(MUTANT_RAISE_FEW_ACKS) ? 1 : needed(c);
    if (masters_count(answered) >= enough)
        grant(c, round, round->proposal);
    else if (late || masters_count(can) < needed(c))
        fail(c, round, REPLY_NOQUORUM);
}

void acquire_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->phase == ROUND_ASKING)
        look_asking(c, round, late);
    else if (round->phase == ROUND_FENCING)
        look_fencing(c, round, late);
    else if (round->phase == ROUND_READING)
        look_reading(c, round, late);
    else
        look_raising(c, round, late);
}
