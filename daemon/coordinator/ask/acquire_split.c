#include "daemon/coordinator/ask/acquire_split.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"

enum { REASKS = 8 };

/* Pauses before each re-ask. The losers' releases reach the masters about as soon as the deciding master's
 * answer reached this daemon, so the first pause is the shortest that a clock of milliseconds can measure.
 * A pause of 0 would race these releases. */
static const int64_t pauses_ms[REASKS] = {1, 1, 2, 4, 8, 16, 32, 64};

/* ---- the master that decides ---- */

/* Masters that can grant: asked, up, and not voided. */
static masters_t in_service(const struct coordinator *c, const struct round *round)
{
    return masters_without(round->tally.asked & c->voters, round->voided);
}

/* The first master of the set in order of run_id; 0 for an empty set. */
static masters_t first_of(const struct coordinator *c, masters_t set)
{
    const struct master *first = NULL;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        if ((set & masters_bit(i)) && (first == NULL || memcmp(m->run_id, first->run_id, RUN_ID_HEX) < 0))
            first = m;
    }
    return first != NULL ? masters_bit(first->index) : 0;
}

enum election { ELECTION_OPEN, ELECTION_WON, ELECTION_LOST };

/* Whether the deciding master granted this attempt. A master that answered an error is passed over. So is
 * a master that was silent for node_timeout: it is slow then, and the next master decides. */
static enum election elect(const struct coordinator *c, struct round *round)
{
    masters_t first = first_of(c, masters_without(in_service(c, round), round->tally.failed));
    if (first & round_silent(round))
        return ELECTION_OPEN;
    round->split.decider = first;
    return (first & round->tally.granted) ? ELECTION_WON : ELECTION_LOST;
}

/* ---- asking again ---- */

/* Masters to ask again: in service, did not grant, and owe this round no answer. */
static masters_t to_ask(const struct coordinator *c, const struct round *round)
{
    masters_t busy = round->tally.granted | round_silent(round) | round->split.getting;
    return masters_without(in_service(c, round), busy);
}

/* Plans the next re-ask, unless one is planned. The queue's deadline serves for this: when votes are split,
 * all masters have been asked (acquire_widen()), and the head plans nothing else during its attempt. Masters
 * that answered are asked again even while another still owes its answer. */
static void plan_reask(struct coordinator *c, struct round *round)
{
    struct heap_item *item = &round->resource->queue->item;
    if (item->place == 0 && round->split.reasks < REASKS && to_ask(c, round) != 0)
        heap_set(&c->deadlines, item, c->now_ms + pauses_ms[round->split.reasks]);
}

/* The time-out has passed: silent masters count as failed, unless they were asked again during the phase.
 * A silent master may have set the key all the same, and counts again once it is up and answers a re-ask. */
static void give_up_silent(struct round *round)
{
    masters_t fresh = round->split.fresh;
    round->tally.failed |= masters_without(round_silent(round), fresh);
    round->fence.pending &= fresh;
    round->split.getting &= fresh;
    round->split.fresh = 0;
}

enum split_outcome acquire_split(struct coordinator *c, struct round *round, bool late)
{
    enum election election = elect(c, round);
    if (election != ELECTION_WON)
        return election == ELECTION_LOST ? SPLIT_BUSY : SPLIT_OPEN;
    if (late)
        give_up_silent(round);
    round_move(c, round, ROUND_REASKING);
    plan_reask(c, round);
    return SPLIT_OPEN;
}

static void ask_again(struct coordinator *c, struct round *round, masters_t masters)
{
    if (round_unheard(round) == 0)
        round_move(c, round, ROUND_REASKING); /* starts a new time-out */
    else
        round->split.fresh |= masters;
    round->split.reasks++;
    round->split.getting |= masters;
    round->split.held = masters_without(round->split.held, masters);
    round->tally.refused = masters_without(round->tally.refused, masters);
    round->tally.failed = masters_without(round->tally.failed, masters);
    round_send(c, round, COMMAND_SET, masters, (uint64_t)round->ttl_ms);
    round_send(c, round, COMMAND_GET, masters, 0);
}

static bool is_expired(const struct coordinator *c, const struct round *round)
{
    return quorum_until_ms(round->t0_ms, round->ttl_ms) - c->now_ms < c->config.min_validity_ms;
}

enum split_outcome acquire_split_timer(struct coordinator *c, struct round *round)
{
    assert(round->phase == ROUND_REASKING);
    heap_remove(&c->deadlines, &round->resource->queue->item);
    masters_t masters = to_ask(c, round);
    if (masters == 0 || is_expired(c, round))
        return acquire_split_look(c, round, false);
    ask_again(c, round, masters);
    return SPLIT_OPEN;
}

/* The bytes before these are the same in all tokens of a daemon. */
static uint64_t random_part(const struct token *token)
{
    uint64_t bytes;
    memcpy(&bytes, token->bytes + TOKEN_RANDOM_AT, sizeof bytes);
    return bytes;
}

/* A master that shows this attempt's own token applied an earlier SET of it, whose answer came too late or
 * not at all: that is a grant. */
void acquire_split_vote(struct round *round, unsigned master, const struct vote *vote)
{
    masters_t bit = masters_bit(master);
    if (!(round->split.getting & bit))
        return;
    round->split.getting = masters_without(round->split.getting, bit);
    if (vote->kind != VOTE_TOKEN || !(round->tally.refused & bit))
        return;
    bool ours = memcmp(vote->token.bytes, round->token.bytes, TOKEN_BYTES) == 0;
    if (ours)
        round->tally.refused = masters_without(round->tally.refused, bit);
    if (round->phase != ROUND_REASKING)
        return;
    if (ours) {
        round->tally.granted |= bit;
        return;
    }
    round->split.held |= bit;
    round->numbers[master] = random_part(&vote->token);
}

/* ---- decisions ---- */

static bool another_has_it(const struct coordinator *c, const struct round *round)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        unsigned same = 0;
        for (unsigned k = 0; k < c->config.masters; k++)
            same +=
                (round->split.held & c->quorum.of & masters_bit(k)) && round->numbers[k] == round->numbers[i];
        if ((round->split.held & masters_bit(i)) && same >= c->quorum.needed)
            return true;
    }
    return false;
}

/* All re-asks were in vain. If Q masters answered, no client got the lock (BUSY); with fewer answers it is
 * not known who has the lock. */
static enum split_outcome end_in_vain(const struct coordinator *c, struct round *round)
{
    round->split.in_vain = quorum_has(&c->quorum, round->tally.granted | round->tally.refused);
    return round->split.in_vain ? SPLIT_BUSY : SPLIT_HOPELESS;
}

enum split_outcome acquire_split_look(struct coordinator *c, struct round *round, bool late)
{
    if (late) {
        give_up_silent(round);
        round_move(c, round, ROUND_REASKING);
    }
    masters_t stand = fence_standing(c, round);
    bool decided = round->split.decider & stand; /* lost or slow meanwhile: elect again */
    enum election election = decided ? ELECTION_WON : elect(c, round);
    if (quorum_has(&c->quorum, stand)) {
        heap_remove(&c->deadlines, &round->resource->queue->item);
        return SPLIT_WON;
    }
    if (!quorum_has(&c->quorum, in_service(c, round)) || is_expired(c, round))
        return SPLIT_HOPELESS;
    if (election == ELECTION_LOST || another_has_it(c, round))
        return SPLIT_BUSY;
    if (round->split.reasks == REASKS && (round_silent(round) | round->split.getting) == 0)
        return end_in_vain(c, round);
    plan_reask(c, round);
    return SPLIT_OPEN;
}
