#include "daemon/coordinator/fence.h"

#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/round.h"

/* ---- proposals: a hybrid clock, so that a fence of today is above one of yesterday even
 * where masters forgot it, and above the fastest daemon's where they did not ---- */

uint64_t fence_propose(struct coordinator *c)
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

masters_t fence_standing(const struct coordinator *c, const struct round *round)
{
    return masters_without(round->tally.granted, round->voided) & c->voters;
}

struct tally fence_shown(const struct round *round)
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

/* ---- the fence: a proposal, and where that is not the highest, the raise ---- */

bool fence_is_beyond(uint64_t proposal)
{
    return proposal > FENCE_MAX;
}

void fence_ask(struct coordinator *c, struct round *round, masters_t masters)
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
    fence_ask(c, round, masters_without(fence_standing(c, round), round->fence.pending));
}

enum fence_outcome fence_begin(struct coordinator *c, struct round *round)
{
    uint64_t proposal = fence_propose(c);
    if (fence_is_beyond(proposal))
        return FENCE_BEYOND;
    ask_anew(c, round, ROUND_FENCING, proposal);
    return FENCE_OPEN;
}

/* Those that granted late, or answered the proposal before late, join. */
static void ask_late(struct coordinator *c, struct round *round)
{
    fence_ask(c, round, masters_without(fence_standing(c, round), round->fence.asked | round->fence.pending));
}

static void ask_scores(struct coordinator *c, struct round *round)
{
    struct fence *fence = &round->fence;
    masters_t known = fence->accepted | fence->scored | fence->reading;
    masters_t ask = masters_without(fence_standing(c, round) & fence->answered, known);
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

static enum fence_outcome raise_write(struct coordinator *c, struct round *round)
{
    uint64_t highest = highest_score(round);
    follow(c, highest);
    if (fence_is_beyond(highest + 1))
        return FENCE_BEYOND;
    ask_anew(c, round, ROUND_RAISING, highest + 1);
    return FENCE_OPEN;
}

static void score_vote(struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round->fence.reading & bit))
        return;
    round->fence.reading = masters_without(round->fence.reading, bit);
    if (round->phase != ROUND_READING)
        return;
    /* It refused the proposal, so its score was no lower: else it forgot that since. */
    bool forgot = vote->number < round->proposal;
    if (vote->kind == VOTE_ERROR || forgot)
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

void fence_vote(struct round *round, unsigned master, enum command_verb verb, const struct vote *vote)
{
    if (verb == COMMAND_ZSCORE)
        score_vote(round, master, vote);
    else
        proposal_vote(round, master, vote);
}

/* ---- decisions ---- */

/* Q granted; the proposal is the fence where it was the highest on Q of them. */
enum fence_outcome fence_decide(struct coordinator *c, struct round *round)
{
    if (masters_count(fence_standing(c, round) & round->fence.accepted) >= c->quorum)
        return FENCE_STANDS;
    if (masters_count(fence_standing(c, round) & round->fence.answered) >= c->quorum)
        raise_begin(c, round);
    return FENCE_OPEN;
}

/* Of the masters that can still stand, those whose answer of this phase is there or can come. */
static bool is_hopeless(const struct coordinator *c, const struct round *round, masters_t known)
{
    masters_t coming = round->fence.pending | round->fence.reading;
    masters_t silent = masters_without(round_silent(round), round->voided);
    masters_t can = (fence_standing(c, round) & (known | coming)) | silent;
    return masters_count(can) < c->quorum;
}

static enum fence_outcome open_or_hopeless(const struct coordinator *c, const struct round *round,
                                           masters_t known, bool late)
{
    return late || is_hopeless(c, round, known) ? FENCE_HOPELESS : FENCE_OPEN;
}

static enum fence_outcome look_fencing(struct coordinator *c, struct round *round, bool late)
{
    enum fence_outcome outcome = fence_decide(c, round);
    if (outcome != FENCE_OPEN || round->phase == ROUND_READING)
        return outcome;
    ask_late(c, round);
    return open_or_hopeless(c, round, round->fence.answered, late);
}

static enum fence_outcome look_reading(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t known = fence_standing(c, round) & (fence->accepted | fence->scored);
    if (masters_count(fence_standing(c, round) & fence->accepted) >= c->quorum)
        return FENCE_STANDS; /* it was the highest after all */
    if (masters_count(known) >= (mutant(MUTANT_RAISE_FEW_SCORES) ? 1 : c->quorum))
        return raise_write(c, round);
    ask_scores(c, round);
    return open_or_hopeless(c, round, known, late);
}

static enum fence_outcome look_raising(struct coordinator *c, struct round *round, bool late)
{
    unsigned answered = masters_count(fence_standing(c, round) & round->fence.answered);
    if (answered >= (mutant(MUTANT_RAISE_FEW_ACKS) ? 1 : c->quorum))
        return FENCE_STANDS;
    ask_late(c, round);
    return open_or_hopeless(c, round, round->fence.answered, late);
}

enum fence_outcome fence_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->phase == ROUND_FENCING)
        return look_fencing(c, round, late);
    if (round->phase == ROUND_READING)
        return look_reading(c, round, late);
    return look_raising(c, round, late);
}
