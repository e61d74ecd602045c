#include "daemon/coordinator/round/fence.h"

#include "daemon/coordinator/master/wall.h"
#include "daemon/coordinator/round/round.h"

/* ---- proposals ----
 *
 * A proposal is made from a hybrid clock: this host's wall clock in us, plus its lead, and at least one
 * more than the proposal before. So today's fences are above yesterday's even if masters forgot these, and
 * the lead lets the daemon with the slowest wall clock follow the fastest. The masters' clocks bound all of
 * that (wall.h). */

uint64_t fence_propose(struct coordinator *c, struct resource *resource)
{
    uint64_t proposal = wall_proposal_us(c), bound = wall_bound_us(c);
    if (proposal <= c->proposal)
        proposal = c->proposal + 1;
    if (proposal > bound)
        return FENCE_MAX + 1;
    c->proposal = proposal;
    if (resource->reserved < proposal)
        return proposal;
    if (resource->reserved >= bound)
        return FENCE_MAX + 1;
    return ++resource->reserved;
}

/* Raises the lead so that proposals are no lower than this score, but not beyond half of max_ttl. A master
 * that forgot its fences is kept out for max_ttl, and by then every wall clock must be past the fences that
 * it forgot. Nor may a score far in the future carry the fences of all other names along. */
static void follow_score(struct coordinator *c, uint64_t score)
{
    uint64_t wall_us = c->event->wall_us > 0 ? (uint64_t)c->event->wall_us : 0;
    uint64_t most_us = (uint64_t)c->longest_ttl_ms * 1000 / 2;
    if (score <= wall_us + c->lead_us)
        return;
    uint64_t lead_us = score - wall_us;
    if (lead_us > most_us)
        lead_us = most_us;
    if (lead_us > c->lead_us)
        c->lead_us = lead_us;
}

/* ---- masters that count ---- */

masters_t fence_standing(const struct coordinator *c, const struct round *round)
{
    return masters_without(round->tally.granted, round->voided) & c->voters;
}

struct tally fence_shown(const struct coordinator *c, const struct round *round)
{
    const struct fence *fence = &round->fence;
    struct tally tally = round->tally;
    tally.failed |= round->voided;
    tally.granted = fence_standing(c, round);
    if (round->phase == ROUND_READING)
        tally.granted &= fence->accepted | fence->scored;
    else if (fence->asked != 0)
        tally.granted &= round->phase == ROUND_TELLING ? fence->accepted : fence->answered;
    return tally;
}

/* ---- the proposal, and the raise ---- */

bool fence_is_beyond(uint64_t proposal)
{
    return proposal > FENCE_MAX;
}

void fence_ask(struct coordinator *c, struct round *round, masters_t masters)
{
    round->fence.asked |= masters;
    round->fence.pending |= masters;
    enum command_verb verb = round->phase == ROUND_TELLING ? COMMAND_DATA : COMMAND_ZADD;
    round_send(c, round, verb, masters, round->proposal);
}

/* Sends a new proposal. Answers to the one before count no more, so a master that still owes such an
 * answer is asked only after it has come (ask_late): answers do not say which proposal they belong to. */
static void ask_anew(struct coordinator *c, struct round *round, enum round_phase phase, uint64_t proposal)
{
    round_move(c, round, phase);
    round->proposal = proposal;
    round->fence.asked = round->fence.answered = round->fence.accepted = round->fence.scored = 0;
    fence_ask(c, round, masters_without(fence_standing(c, round), round->fence.pending));
}

enum fence_outcome fence_begin(struct coordinator *c, struct round *round)
{
    uint64_t proposal = fence_propose(c, round->resource);
    if (fence_is_beyond(proposal))
        return FENCE_BEYOND;
    ask_anew(c, round, ROUND_FENCING, proposal);
    return FENCE_OPEN;
}

void fence_tell(struct coordinator *c, struct round *round)
{
    ask_anew(c, round, ROUND_TELLING, round->proposal);
}

/* Sends the proposal to masters that granted, or answered the proposal before, since it was first sent. */
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

/* Reads the highest scores. Every fence that was ever granted is stored on a quorum, so the maximum over
 * any Q masters is no lower than the highest fence granted; a maximum over fewer may be. */
static void raise_begin(struct coordinator *c, struct round *round)
{
    c->stats.fence_raises++;
    round_move(c, round, ROUND_READING);
    ask_scores(c, round);
}

/* The masters whose score is one that no clock explains: somebody else wrote it, or it came from a backup. */
static masters_t scored_beyond(const struct coordinator *c, const struct round *round)
{
    uint64_t bound = wall_bound_us(c);
    masters_t set = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        if ((round->fence.scored & masters_bit(i)) && round->numbers[i] >= bound)
            set |= masters_bit(i);
    return set;
}

static uint64_t highest_score(const struct round *round, masters_t scored)
{
    uint64_t highest = round->proposal;
    for (unsigned i = 0; i < MASTERS; i++)
        if ((scored & masters_bit(i)) && round->numbers[i] > highest)
            highest = round->numbers[i];
    return highest;
}

static enum fence_outcome raise_write(struct coordinator *c, struct round *round, masters_t scored)
{
    uint64_t highest = highest_score(round, scored);
    follow_score(c, highest);
    if (fence_is_beyond(highest + 1))
        return FENCE_BEYOND;
    ask_anew(c, round, ROUND_RAISING, highest + 1);
    return FENCE_OPEN;
}

static void note_score(struct coordinator *c, unsigned master, uint64_t score)
{
    struct master *m = &c->masters[master];
    if (score < wall_bound_us(c))
        return;
    m->changes += m->clock.beyond_ms == 0 || c->now_ms - m->clock.beyond_ms >= FENCE_SHOWN_MS;
    m->clock.beyond_ms = c->now_ms;
    m->clock.beyond = score;
}

static void score_vote(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round->fence.reading & bit))
        return;
    round->fence.reading = masters_without(round->fence.reading, bit);
    if (round->phase != ROUND_READING)
        return;
    /* The master answered that its score is no lower than the proposal. If it is lower now, the master
     * forgot it. */
    bool forgot = vote->number < round->proposal;
    if (vote->kind == VOTE_ERROR || forgot)
        round->voided |= bit;
    else
        round->fence.scored |= bit;
    round->numbers[master] = vote->number;
    if (round->fence.scored & bit)
        note_score(c, master, vote->number);
}

/* The fence of a list is above those of all its names. */
static bool is_accepted(const struct round *round, const struct vote *vote)
{
    uint32_t buckets[LIST_NAMES];
    if (round->name->more == 0)
        return vote->kind != VOTE_NO;
    return vote->number == quorum_buckets(round->name, buckets);
}

static void proposal_vote(struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round->fence.pending & bit))
        return;
    round->fence.pending = masters_without(round->fence.pending, bit);
    if (!(round->fence.asked & bit))
        return; /* the answer is to the proposal before */
    if (vote->kind == VOTE_ERROR) {
        round->voided |= bit;
        return;
    }
    round->fence.answered |= bit;
    if (is_accepted(round, vote))
        round->fence.accepted |= bit;
}

void fence_vote(struct coordinator *c, struct round *round, unsigned master, enum command_verb verb,
                const struct vote *vote)
{
    if (verb == COMMAND_ZSCORE)
        score_vote(c, round, master, vote);
    else
        proposal_vote(round, master, vote);
}

void fence_forget(struct round *round, masters_t bit)
{
    struct fence *fence = &round->fence;
    bool asking = round->phase == ROUND_ASKING; /* then all masters are asked anew, when Q have granted */
    masters_t kept = asking ? 0 : (masters_t)~bit;
    fence->asked &= kept;
    fence->answered &= kept;
    fence->accepted &= kept;
    fence->scored &= kept;
    if (asking)
        round->proposal = 0;
}

/* ---- decisions ---- */

enum fence_outcome fence_decide(struct coordinator *c, struct round *round)
{
    if (quorum_has(&c->quorum, fence_standing(c, round) & round->fence.accepted))
        return FENCE_STANDS;
    if (!quorum_has(&c->quorum, fence_standing(c, round) & round->fence.answered))
        return FENCE_OPEN;
    raise_begin(c, round);
    return FENCE_OPEN;
}

/* Hopeless means that fewer than Q masters can still take part. A master can if its grant counts and its
 * answer of this phase is known or can come, or if it has not answered at all. */
static bool is_hopeless(const struct coordinator *c, const struct round *round, masters_t known)
{
    masters_t coming = round->fence.pending | round->fence.reading;
    masters_t silent = masters_without(round_silent(round), round->voided);
    masters_t can = (fence_standing(c, round) & (known | coming)) | silent;
    return !quorum_has(&c->quorum, can);
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

/* A score beyond the bound voids its master's vote; only if Q masters show one, such a fence was granted. Scores
 * of both kinds together are no quorum. */
static enum fence_outcome look_scores(struct coordinator *c, struct round *round, masters_t known, bool late)
{
    masters_t wrong = scored_beyond(c, round); /* also on masters that grant no more */
    masters_t beyond = known & wrong, plain = masters_without(known, beyond);
    if (quorum_has(&c->quorum, plain)) {
        round->voided |= beyond;
        return raise_write(c, round, masters_without(round->fence.scored, wrong));
    }
    if (quorum_has(&c->quorum, beyond))
        return raise_write(c, round, round->fence.scored);
    ask_scores(c, round);
    masters_t more = quorum_count(&c->quorum, plain) >= quorum_count(&c->quorum, beyond) ? plain : beyond;
    masters_t coming = round->fence.pending | round->fence.reading;
    return open_or_hopeless(c, round, more | masters_without(coming, known), late);
}

static enum fence_outcome look_reading(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t known = fence_standing(c, round) & (fence->accepted | fence->scored);
    if (quorum_has(&c->quorum, fence_standing(c, round) & fence->accepted))
        return FENCE_STANDS; /* late answers: the proposal was the highest after all */
    return look_scores(c, round, known, late);
}

static enum fence_outcome look_raising(struct coordinator *c, struct round *round, bool late)
{
    if (quorum_has(&c->quorum, fence_standing(c, round) & round->fence.answered))
        return FENCE_STANDS;
    ask_late(c, round);
    return open_or_hopeless(c, round, round->fence.answered, late);
}

static enum fence_outcome look_telling(struct coordinator *c, struct round *round, bool late)
{
    if (quorum_has(&c->quorum, fence_standing(c, round) & round->fence.accepted))
        return FENCE_STANDS;
    ask_late(c, round);
    return open_or_hopeless(c, round, round->fence.accepted, late);
}

enum fence_outcome fence_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->phase == ROUND_FENCING)
        return look_fencing(c, round, late);
    if (round->phase == ROUND_READING)
        return look_reading(c, round, late);
    if (round->phase == ROUND_TELLING)
        return look_telling(c, round, late);
    return look_raising(c, round, late);
}
