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

/* Follow the fastest clock, but not beyond half of max_ttl: proposals must stay ahead of what a master can
 * forget, which a lead without end would not, nor one bucket's score carry all others along. */
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

/* ---- who counts ---- */

/* How many a quorum is here (for the planted bug only it is not). */
static unsigned needed(const struct coordinator *c)
{
    return mutant(MUTANT_QUORUM_MINUS_ONE) ? c->quorum - 1 : c->quorum;
}

/* Granted it, took part in the fence without an error, and may still be asked: not a master that became slow,
 * or was lost, in between. */
static masters_t standing(const struct coordinator *c, const struct round *round)
{
    return masters_without(round->tally.granted, round->voided) & c->voters;
}

/* Those whose answers to the fence count: the ones that stand. */
static masters_t fencing(const struct coordinator *c, const struct round *round)
{
    masters_t set = standing(c, round);
    if (mutant(MUTANT_QUARANTINED_FENCES))
        set |= masters_without(c->extenders, c->voters);
    return set;
}

/* What -NOQUORUM shows: a master that granted and then said nothing of the fence is a silent one. */
static struct tally shown(const struct round *round)
{
    const struct fence *fence = &round->fence;
    struct tally tally = round->tally;
    tally.failed |= round->voided;
    tally.granted = masters_without(tally.granted, round->voided);
    if (round->phase == ROUND_READING)
        tally.granted &= fence->accepted | fence->scored;
    else if (fence->asked != 0)
        tally.granted &= fence->answered;
    return tally;
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

/* To all masters that got the SET, also those that refused or did not answer: behind it on the same connection
 * this undoes a late one. */
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
    struct verdict verdict = {code, code == REPLY_LIMIT ? LIMIT_FENCE : LIMIT_NONE, shown(round)};
    undo(c, round);
    resource_refused(c, resource, &verdict);
}

void acquire_abandon(struct coordinator *c, struct resource *resource)
{
    struct round *round = resource->round;
    detach(c, round);
    undo(c, round);
}

static void grant(struct coordinator *c, struct round *round, uint64_t fence)
{
    int64_t until_ms = quorum_until_ms(round->t0_ms, round->ttl_ms);
    struct resource *resource = round->resource;
    if (until_ms - c->now_ms < c->config.min_validity_ms && !mutant(MUTANT_NO_VALIDITY)) {
        fail(c, round, REPLY_NOQUORUM);
    } else if (wait_is_over(c, resource->head)) {
        resource_head_leaves(c, resource);
    } else {
        detach(c, round);
        round->lease = lease_grant(c, resource, round, fence, until_ms);
        round_decided(c, round);
    }
}

static bool above_fences(struct coordinator *c, struct round *round, uint64_t proposal)
{
    if (proposal <= FENCE_MAX)
        return false;
    fail(c, round, REPLY_LIMIT);
    return true;
}

/* ---- the fence: a proposal, and where that is not the highest, the raise ---- */

static void ask_fence(struct coordinator *c, struct round *round, masters_t masters)
{
    round->fence.asked |= masters;
    round->fence.pending |= masters;
    round_send(c, round, COMMAND_ZADD, masters, round->proposal);
}

/* A new proposal: what was said to the one before counts no more. A master that has not answered that yet is
 * asked once it has. */
static void ask_anew(struct coordinator *c, struct round *round, enum round_phase phase, uint64_t proposal)
{
    round_move(c, round, phase);
    round->proposal = proposal;
    round->fence.asked = round->fence.answered = round->fence.accepted = round->fence.scored = 0;
    ask_fence(c, round, masters_without(fencing(c, round), round->fence.pending));
}

/* Those that granted late, or answered the proposal before late, join. */
static void ask_late(struct coordinator *c, struct round *round)
{
    ask_fence(c, round, masters_without(fencing(c, round), round->fence.asked | round->fence.pending));
}

static void ask_scores(struct coordinator *c, struct round *round)
{
    struct fence *fence = &round->fence;
    masters_t known = fence->accepted | fence->scored | fence->reading;
    masters_t ask = masters_without(fencing(c, round) & fence->answered, known);
    fence->reading |= ask;
    round_send(c, round, COMMAND_ZSCORE, ask, 0);
}

/* What Q granting masters say is the highest that any grant before can have been told, because every grant's
 * fence stands on Q masters; a maximum over fewer is not. */
static void raise_begin(struct coordinator *c, struct round *round)
{
    c->stats.raises++;
    round_move(c, round, ROUND_READING);
    ask_scores(c, round);
}

static uint64_t highest_score(const struct round *round)
{
    uint64_t highest = round->proposal;
    for (unsigned i = 0; i < MASTERS; i++)
        if ((round->fence.scored & masters_bit(i)) && round->numbers[i] > highest)
            highest = round->numbers[i];
    return highest;
}

#ifdef MUTANTS
static void incr_each(struct coordinator *c, struct round *round)
{
    masters_t scored = round->fence.scored;
    uint64_t highest = 0, proposal = round->proposal;
    round_move(c, round, ROUND_RAISING);
    round->fence.asked = round->fence.answered = round->fence.accepted = round->fence.scored = 0;
    for (unsigned i = 0; i < MASTERS; i++) {
        masters_t bit = masters_bit(i);
        if (!(masters_without(standing(c, round), round->fence.pending) & bit))
            continue;
        round->proposal = (scored & bit) ? round->numbers[i] + 1 : proposal;
        ask_fence(c, round, bit);
        highest = round->proposal > highest ? round->proposal : highest;
    }
    round->proposal = highest;
}
#endif

static void raise_write(struct coordinator *c, struct round *round)
{
    uint64_t highest = highest_score(round);
    follow(c, highest);
#ifdef MUTANTS
    if (mutant(MUTANT_FENCE_INCR_MAX)) {
        incr_each(c, round);
        return;
    }
#endif
    if (!above_fences(c, round, highest + 1))
        ask_anew(c, round, ROUND_RAISING, highest + 1);
}

static void score_vote(struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round->fence.reading & bit))
        return;
    round->fence.reading = masters_without(round->fence.reading, bit);
    if (round->phase != ROUND_READING)
        return;
    if (vote->kind == VOTE_ERROR)
        round->voided |= bit;
    else
        round->fence.scored |= bit;
    round->numbers[master] = vote->number;
}

static void proposal_vote(struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round->fence.pending & bit))
        return;
    round->fence.pending = masters_without(round->fence.pending, bit);
    if (!(round->fence.asked & bit))
        return; /* to the proposal before */
    if (vote->kind == VOTE_ERROR && !mutant(MUTANT_ZADD_ERROR_KEEPS_VOTE)) {
        round->voided |= bit;
        return;
    }
    round->fence.answered |= bit;
    if (vote->kind != VOTE_NO)
        round->fence.accepted |= bit;
}

void acquire_fence_vote(struct round *round, unsigned master, enum command_verb verb, const struct vote *vote)
{
    if (verb == COMMAND_ZSCORE)
        score_vote(round, master, vote);
    else
        proposal_vote(round, master, vote);
}

/* ---- the head asks ---- */

/* A request's first attempt sends the proposal behind the SET. Retries send the SET alone: losers who poll
 * write nothing and raise nothing. */
void acquire_begin(struct coordinator *c, struct resource *resource)
{
    const struct wait *wait = resource->head;
    assert(resource->round == NULL && wait != NULL);
    resource->release_seen = false; /* used up, also by an attempt that cannot begin */
    resource->asked_ticket = resource->next_ticket;
    if (masters_count(c->voters) < needed(c)) {
        resource_refused(c, resource, &(struct verdict){.code = REPLY_NOQUORUM});
        return;
    }
    if (c->token_drawn) { /* one token a step: it asks in the next */
        heap_set(&c->deadlines, &resource->item, c->now_ms);
        return;
    }
    if (c->leases.used + c->acquiring >= c->config.max_locks || c->rounds.used == c->rounds.capacity) {
        bool locks = c->rounds.used < c->rounds.capacity;
        enum limit limit = locks ? LIMIT_MAX_LOCKS : LIMIT_MAX_ROUNDS;
        resource_refused(c, resource, &(struct verdict){.code = REPLY_LIMIT, .limit = limit});
        return;
    }
    struct token token;
    random_token(c, &token);
    struct round *round = round_begin(c, ROUND_ASKING, resource->name, &token, wait->ttl_ms);
    round->resource = resource;
    resource->round = round;
    c->acquiring++;
    round->proposal = wait->tried ? (mutant(MUTANT_RETRY_REUSES_PROPOSAL) ? c->proposal : 0) : propose(c);
    if (above_fences(c, round, round->proposal))
        return;
    round->tally.asked = c->voters;
    round_send(c, round, COMMAND_SET, c->voters, (uint64_t)round->ttl_ms);
    if (!wait->tried)
        ask_fence(c, round, mutant(MUTANT_QUARANTINED_FENCES) ? c->extenders : c->voters);
}

/* ---- decisions ---- */

/* Not a quorum any more. Whether another has the lock is known when Q masters said so or would have granted;
 * until then, or until it is late, the rest may still tell. */
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

/* Q granted; the proposal is the fence where it was the highest on Q of them. */
static bool look_fence(struct coordinator *c, struct round *round)
{
    if (masters_count(fencing(c, round) & round->fence.accepted) >= needed(c))
        grant(c, round, round->proposal);
    else if (masters_count(fencing(c, round) & round->fence.answered) >= needed(c))
        raise_begin(c, round);
    else
        return false;
    return true;
}

static void look_asking(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t stand = standing(c, round);
    masters_t can = stand | round_silent(round);
    if (fence->asked != 0)
        can &= fence->answered | fence->pending;
    if (late || masters_count(can) < needed(c))
        look_refused(c, round, late);
    else if (masters_count(stand) < needed(c))
        return;
    else if (fence->asked != 0)
        look_fence(c, round);
    else if (mutant(MUTANT_RETRY_REUSES_PROPOSAL))
        grant(c, round, round->proposal);
    else {
        uint64_t proposal = propose(c);
        if (!above_fences(c, round, proposal))
            ask_anew(c, round, ROUND_FENCING, proposal);
    }
}

/* Of the masters that can still stand, those whose answer of this phase is there or can come. */
static bool is_hopeless(const struct coordinator *c, const struct round *round, masters_t known)
{
    masters_t coming = round->fence.pending | round->fence.reading;
    masters_t can = (standing(c, round) & (known | coming)) | round_silent(round);
    return masters_count(can) < needed(c);
}

static void look_fencing(struct coordinator *c, struct round *round, bool late)
{
    if (look_fence(c, round))
        return;
    ask_late(c, round);
    if (late || is_hopeless(c, round, round->fence.answered))
        fail(c, round, REPLY_NOQUORUM);
}

static void look_reading(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t known = fencing(c, round) & (fence->accepted | fence->scored);
    if (masters_count(fencing(c, round) & fence->accepted) >= needed(c))
        grant(c, round, round->proposal); /* it was the highest after all */
    else if (masters_count(known) >= (mutant(MUTANT_RAISE_FEW_SCORES) ? 1 : needed(c)))
        raise_write(c, round);
    else {
        ask_scores(c, round);
        if (late || is_hopeless(c, round, known))
            fail(c, round, REPLY_NOQUORUM);
    }
}

static void look_raising(struct coordinator *c, struct round *round, bool late)
{
    unsigned answered = masters_count(fencing(c, round) & round->fence.answered);
    if (answered >= (mutant(MUTANT_RAISE_FEW_ACKS) ? 1 : needed(c))) {
        grant(c, round, round->proposal);
        return;
    }
    ask_late(c, round);
    if (late || is_hopeless(c, round, round->fence.answered))
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
