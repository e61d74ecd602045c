#include "daemon/coordinator/acquire.h"

#include <assert.h>

#include "daemon/coordinator/acquire_split.h"
#include "daemon/coordinator/fence.h"
#include "daemon/coordinator/lease.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/release.h"
#include "daemon/coordinator/resource.h"
#include "daemon/coordinator/round.h"

/* ---- ends ---- */

static struct resource *acquire_detach(struct coordinator *c, struct round *round)
{
    struct resource *resource = round->resource;
    round->resource = NULL;
    resource->queue->round = NULL;
    c->acquiring--;
    return resource;
}

/* The release goes to every master in service, even if it did not answer: there the release follows a delayed
 * SET on the same connection, and deletes its key. Masters that refused the SET do not owe it. */
static void acquire_undo(struct coordinator *c, struct round *round)
{
    struct release_order order = {.name = round->name, .token = &round->token, .ttl_ms = round->ttl_ms};
    order.may = masters_without(round->tally.asked, round_without_key(round));
    if (mutant(MUTANT_RELEASE_ONLY_GRANTED))
        order.may = round->tally.granted;
    c->stats.undone++;
    release_begin(c, &order);
    round_free(c, round);
}

static void acquire_fail(struct coordinator *c, struct round *round, enum reply_code code)
{
    struct resource *resource = acquire_detach(c, round);
    enum limit limit = code == REPLY_LIMIT ? LIMIT_FENCE : LIMIT_NONE;
    struct verdict verdict = {code, limit, fence_shown(round), round->split.in_vain};
    acquire_undo(c, round);
    resource_refused(c, resource, &verdict);
}

void acquire_abandon(struct coordinator *c, struct resource *resource)
{
    struct round *round = resource->queue->round;
    acquire_detach(c, round);
    acquire_undo(c, round);
}

static void acquire_grant(struct coordinator *c, struct round *round)
{
    round->ready = trial_is_open(c);
    if (round->ready)
        return; /* the trial may show that less of the validity is left */
    int64_t until_ms = quorum_until_ms(round->t0_ms, round->ttl_ms);
    struct resource *resource = round->resource;
    if (until_ms - c->now_ms < c->config.min_validity_ms && !mutant(MUTANT_NO_VALIDITY)) {
        acquire_fail(c, round, REPLY_NOQUORUM);
    } else if (wait_is_over(c, resource->queue->head)) {
        resource_head_leaves(c, resource);
    } else {
        acquire_detach(c, round);
        round->lease = lease_grant(c, resource, round, round->proposal, until_ms);
        round_decided(c, round);
    }
}

static void acquire_fenced(struct coordinator *c, struct round *round, enum fence_outcome outcome)
{
    switch (outcome) {
    case FENCE_OPEN: break;
    case FENCE_STANDS: acquire_grant(c, round); break;
    case FENCE_BEYOND: acquire_fail(c, round, REPLY_LIMIT); break;
    case FENCE_HOPELESS: acquire_fail(c, round, REPLY_NOQUORUM); break;
    }
}

static void acquire_was_split(struct coordinator *c, struct round *round, enum split_outcome outcome)
{
    switch (outcome) {
    case SPLIT_OPEN: break;
    /* The first proposal does not count: another client still had the key on some of these masters then. */
    case SPLIT_WON: acquire_fenced(c, round, fence_begin(c, round)); break;
    case SPLIT_BUSY: acquire_fail(c, round, REPLY_BUSY); break;
    case SPLIT_HOPELESS: acquire_fail(c, round, REPLY_NOQUORUM); break;
    }
}

/* ---- an attempt begins ---- */

/* A request's first attempt sends the proposal right behind the SET, to save a round trip. A retry sends
 * the SET alone: clients that poll a held lock write nothing to the masters. */
void acquire_begin(struct coordinator *c, struct resource *resource)
{
    const struct wait *wait = resource->queue->head;
    assert(resource->queue->round == NULL && wait != NULL);
    resource->queue->release_seen = false; /* also if the attempt cannot begin */
    resource->queue->asked = resource->queue->tail->id;
    if (masters_count(c->voters) < c->quorum) {
        resource_refused(c, resource, &(struct verdict){.code = REPLY_NOQUORUM});
        return;
    }
    if (c->token_drawn) { /* a step has random bytes for one token: begin in the next step */
        heap_set(&c->deadlines, &resource->queue->item, c->now_ms);
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
    resource->queue->round = round;
    c->acquiring++;
    round->proposal = wait->tried ? 0 : fence_propose(c);
    if (fence_is_beyond(round->proposal)) {
        acquire_fail(c, round, REPLY_LIMIT);
        return;
    }
    round->tally.asked = c->voters;
    round_send(c, round, COMMAND_SET, c->voters, (uint64_t)round->ttl_ms);
    if (!wait->tried)
        fence_ask(c, round, c->voters);
}

/* ---- decisions ---- */

/* A quorum of grants is out of reach, or the time-out has passed. If Q masters answered, and some refused,
 * another client has the lock or will get it (BUSY), unless the votes were split. With fewer answers that
 * is not known: if a master refused, the attempt waits for the rest, as long as Q masters can still answer,
 * until late. */
static void look_refused(struct coordinator *c, struct round *round, bool late)
{
    const struct tally *tally = &round->tally;
    unsigned answered = masters_count(tally->granted | tally->refused);
    unsigned silent = masters_count(round_silent(round));
    bool enough = masters_count(tally->granted) >= c->quorum; /* Q granted, but no fence was agreed in time */
    if (tally->refused != 0 && answered >= c->quorum && !enough && !round->resource->queue->head->patient)
        acquire_was_split(c, round, acquire_split(c, round, late));
    else if (tally->refused != 0 && answered >= c->quorum && !enough)
        acquire_fail(c, round, REPLY_BUSY); /* a waiting head tries again after a short random pause */
    else if (late || tally->refused == 0 || answered + silent < c->quorum)
        acquire_fail(c, round, REPLY_NOQUORUM);
}

static void look_asking(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t stand = fence_standing(c, round);
    masters_t can = stand | round_silent(round);
    if (fence->asked != 0)
        can &= fence->answered | fence->pending;
    if (late || masters_count(can) < c->quorum)
        look_refused(c, round, late);
    else if (masters_count(stand) < c->quorum)
        return;
    else if (fence->asked != 0)
        acquire_fenced(c, round, fence_decide(c, round));
    else
        acquire_fenced(c, round, fence_begin(c, round));
}

void acquire_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->phase == ROUND_ASKING)
        look_asking(c, round, late);
    else if (round->phase == ROUND_REASKING)
        acquire_was_split(c, round, acquire_split_look(c, round, late));
    else
        acquire_fenced(c, round, fence_look(c, round, late));
}

void acquire_timer(struct coordinator *c, struct round *round)
{
    acquire_was_split(c, round, acquire_split_timer(c, round));
}
