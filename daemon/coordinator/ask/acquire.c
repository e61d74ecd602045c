#include "daemon/coordinator/ask/acquire.h"

#include <assert.h>

#include "daemon/coordinator/ask/acquire_private.h"
#include "daemon/coordinator/ask/acquire_split.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/hand.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/master/wall.h"
#include "daemon/coordinator/mode/acquire_slots.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/fanout.h"
#include "daemon/coordinator/name/mark.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

/* ---- ends ---- */

struct resource *acquire_detach(struct coordinator *c, struct round *round)
{
    struct resource *resource = round->resource;
    round->resource = NULL;
    resource->queue->round = NULL;
    if (round->narrow)
        heap_remove(&c->deadlines, &resource->queue->item);
    c->acquiring--;
    admission_ends(c, round->peer);
    names_changed(c, resource);
    return resource;
}

/* The release goes to every master in service, even if it did not answer: there the release follows a delayed
 * SET on the same connection, and deletes its key. Masters that refused the SET do not owe it. */
static void acquire_undo(struct coordinator *c, struct round *round, bool wakes, bool stays)
{
    struct resource *resource = acquire_detach(c, round);
    struct queue *queue = resource->queue;
    if (round->phase <= ROUND_LOOKING) { /* no SET was sent */
        round_free(c, round);
        return;
    }
    struct release_order order = {.name = round->name, .token = &round->token, .ttl_ms = round->ttl_ms};
    order.may = masters_without(round->tally.asked, round_without_key(round));
    order.wakes = wakes && round->mode->wakes;
    order.sent = round->tally.asked;
    order.stays = order.wakes && stays;
    if (wakes)
        names_pass(c, resource, true);
    if (order.stays)
        queue->wake.queued |= c->releasers;
    c->stats.attempts_undone++;
    release_begin(c, &order);
    round_free(c, round);
}

static void acquire_fail(struct coordinator *c, struct round *round, enum reply_code code)
{
    struct resource *resource = round->resource;
    enum limit limit = code == REPLY_LIMIT ? LIMIT_FENCE : LIMIT_NONE;
    struct verdict verdict = {
        code, limit, fence_shown(c, round), round->split.in_vain, round->joined, resource->queue->wake.heard,
        0};
    const struct mode *mode = round->mode;
    /* Other daemons were refused by this attempt's keys, and may sleep. */
    masters_t granted = round->tally.granted;
    bool stops = mode->one_stops ? granted != 0 : quorum_has(&c->quorum, granted);
    bool wakes = stops && round->phase != ROUND_QUEUING;
    acquire_undo(c, round, wakes, resource->queue->head->patient);
    mode->refused(c, resource, &verdict);
}

void acquire_abandon(struct coordinator *c, struct resource *resource)
{
    /* The attempt may have got the name, or followed a wake: then another daemon is to have the name. */
    struct resource *asked = resource->queue->round->resource; /* the name's, or a slot's */
    acquire_undo(c, resource->queue->round, true, resource->queue->head->next != NULL);
    resource_rest(c, asked);
}

static void acquire_grant(struct coordinator *c, struct round *round)
{
    round->ready = trial_is_open(c);
    if (round->ready)
        return; /* the trial may show that less of the validity is left */
    int64_t until_ms = quorum_until_ms(round->t0_ms, round->ttl_ms);
    struct resource *resource = round->resource;
    if (until_ms - c->now_ms < c->config.min_validity_ms) {
        acquire_fail(c, round, REPLY_NOQUORUM);
    } else if (wait_is_over(c, resource->queue->head)) {
        resource_head_leaves(c, resource);
    } else if (!data_begins(c, round)) {
        acquire_detach(c, round);
        round->mode->granted(c, round, resource);
        struct lease *lease = round->mode->grant(c, resource, round, round->proposal, until_ms);
        round->lease = lease->id;
        hand_granted(c, lease, round);
        round_decided(c, round);
    }
}

static void acquire_send(struct coordinator *c, struct round *round, masters_t masters)
{
    round->mode->ask(c, round, masters);
    if (round->proposal != 0)
        fence_ask(c, round, masters);
}

/* The masters that were asked first do not all grant, or not at once, or a fence of one of them does not count: the
 * others are asked as well, and it is a round like any other from here on. Its validity counts from the same t0; the
 * others have node_timeout from now. */
static void acquire_widen(struct coordinator *c, struct round *round)
{
    masters_t others = masters_without(c->voters, round->tally.asked);
    round->narrow = false;
    heap_remove(&c->deadlines, &round->resource->queue->item);
    round->tally.asked |= others;
    in_flight_remove(&c->rounds_pending, &round->in_flight);
    round_wait(c, round);
    c->stats.attempts_widened++;
    acquire_send(c, round, others);
}

static void acquire_fenced(struct coordinator *c, struct round *round, enum fence_outcome outcome)
{
    switch (outcome) {
    case FENCE_OPEN: break;
    case FENCE_STANDS: acquire_grant(c, round); break;
    case FENCE_BEYOND: acquire_fail(c, round, REPLY_LIMIT); break;
    case FENCE_HOPELESS:
        if (round->narrow)
            acquire_widen(c, round);
        else
            acquire_fail(c, round, REPLY_NOQUORUM);
        break;
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

struct round *acquire_round(struct coordinator *c, struct resource *resource, enum round_phase phase,
                            const struct token *token)
{
    struct round *round = round_begin(c, phase, resource->name, token, resource->queue->head->ttl_ms);
    round->resource = resource;
    resource->queue->round = round;
    resource->queue->attempt.reserve = 0;
    round->mode = resource->queue->head->mode;
    round->mode->forget(resource->queue, phase == ROUND_LOOKING);
    round->tally.asked = c->voters;
    c->acquiring++;
    round->peer = resource->queue->head->session->peer;
    admission_begins(c, round->peer);
    return round;
}

void acquire_queue(struct coordinator *c, struct resource *resource)
{
    static const struct token none;
    struct round *round = acquire_round(c, resource, ROUND_QUEUING, &none);
    round->joined = true;
    wake_join(c, resource, round->id);
}

/* The proposal goes right behind the SET, which saves a round trip if the name is free. Where a head polls,
 * the SET goes alone: clients that poll a held lock write nothing to the masters. */
void acquire_set(struct coordinator *c, struct resource *resource)
{
    struct queue *queue = resource->queue;
    bool woken = queue->wake.woken != 0,
         likely = !queue->head->tried || woken || queue->attempt.looked == LOOKED_FREE;
    const struct mode *mode = queue->head->mode;
    likely = (likely || mode->proposes) && wall_is_known(c); /* else a wrong clock would enter the fence */
    struct token token;
    random_token(c, resource, &token, mode);
    struct round *round = acquire_round(c, resource, ROUND_ASKING, &token);
    round->woken = woken;
    round->joined = queue->attempt.looked == LOOKED_UNSURE;
    queue->attempt.looked = LOOKED_NOT;
    queue->attempt.release_seen = false;
    round->proposal = likely ? fence_propose(c, resource) : 0;
    if (fence_is_beyond(round->proposal)) {
        round->tally.asked = 0;
        acquire_fail(c, round, REPLY_LIMIT);
        return;
    }
    if (mode->fans_out)
        round->tally.asked = fanout_first(c);
    round->narrow = round->tally.asked != c->voters;
    if (round->narrow)
        heap_set(&c->deadlines, &queue->item, fanout_late_ms(c, round->tally.asked));
    acquire_send(c, round, round->tally.asked);
    if (likely)
        hand_asked(c, resource, round);
}

/* The driver holds back requests, and so the first attempt of each. Those that follow must not take all places, or the
 * peer's own UNLOCK would find none. */
static bool acquire_is_held_back(const struct coordinator *c, const struct wait *wait)
{
    return coordinator_admits(c, wait->session->peer, VERB_LOCK) != ADMISSION_NOW;
}

void acquire_begin(struct coordinator *c, struct resource *resource)
{
    const struct wait *wait = resource->queue->head;
    assert(resource->queue->round == NULL && wait != NULL);
    if (wait->tried && acquire_is_held_back(c, wait)) {
        int64_t pause_ms = random_between(c, c->config.retry_min_ms, c->config.retry_max_ms);
        heap_set(&c->deadlines, &resource->queue->item, c->now_ms + pause_ms);
        return;
    }
    resource->queue->attempt.asked = resource->queue->tail->id;
    resource->queue->attempt.asked_alone = !wait->mode->shares;
    names_asked(resource);
    if (!quorum_has(&c->quorum, c->voters)) {
        resource->queue->attempt.release_seen = false;
        resource_refused(c, resource, &(struct verdict){.code = REPLY_NOQUORUM});
        return;
    }
    if (c->leases.used + c->acquiring >= c->config.max_locks || c->rounds.used == c->rounds.capacity) {
        bool locks = c->rounds.used < c->rounds.capacity;
        enum limit limit = locks ? LIMIT_MAX_LOCKS : LIMIT_MAX_ROUNDS;
        resource->queue->attempt.release_seen = false;
        resource_refused(c, resource, &(struct verdict){.code = REPLY_LIMIT, .limit = limit});
        return;
    }
    wait->mode->begin(c, resource);
}

/* ---- decisions ---- */

/* A quorum of grants is out of reach, or the time-out has passed. If Q masters answered, and some refused,
 * another client has the lock or will get it (BUSY), unless the votes were split. With fewer answers that
 * is not known: if a master refused, the attempt waits for the rest, as long as Q masters can still answer,
 * until late. */
static void look_refused(struct coordinator *c, struct round *round, bool late)
{
    const struct tally *tally = &round->tally;
    masters_t answered = tally->granted | tally->refused;
    bool enough_answered = quorum_has(&c->quorum, answered);
    bool enough = quorum_has(&c->quorum, tally->granted); /* Q granted, but no fence was agreed in time */
    bool retries = !round->mode->splits || (round->resource->queue->head->patient && !wake_may_come(c));
    if (round->mode->once)
        round->split.in_vain = tally->granted != 0;
    if (tally->refused != 0 && enough_answered && !enough && !retries)
        acquire_was_split(c, round, acquire_split(c, round, late));
    else if (tally->refused != 0 && enough_answered && !enough)
        acquire_fail(c, round, REPLY_BUSY); /* a waiting head tries again after a short random pause */
    else if (late || tally->refused == 0 || !quorum_has(&c->quorum, answered | round_silent(round)))
        acquire_fail(c, round, REPLY_NOQUORUM);
}

/* The answers to ENQUEUE: refused means that a key is there, granted that none is. Where Q masters have one,
 * the head waits until it is known whether Q of them told the holder, since only then it may sleep. */
static void look_queuing(struct coordinator *c, struct round *round, bool late)
{
    struct resource *resource = round->resource;
    masters_t silent = late ? 0 : round_silent(round), heard = resource->queue->wake.heard;
    bool told = quorum_has(&c->quorum, heard) || !quorum_has(&c->quorum, heard | silent);
    bool held = quorum_has(&c->quorum, round->tally.refused);
    if (held && told)
        acquire_fail(c, round, REPLY_BUSY);
    if (held || quorum_has(&c->quorum, round->tally.refused | silent))
        return;
    bool is_free = quorum_has(&c->quorum, round->tally.granted);
    resource->queue->attempt.looked = is_free ? LOOKED_FREE : LOOKED_UNSURE;
    acquire_detach(c, round);
    round_free(c, round);
    queue_due(c, resource);
}

static void look_asking(struct coordinator *c, struct round *round, bool late)
{
    const struct fence *fence = &round->fence;
    masters_t stand = fence_standing(c, round);
    masters_t can = stand | round_silent(round);
    if (fence->asked != 0)
        can &= fence->answered | fence->pending;
    if (round->narrow && !quorum_has(&c->quorum, can)) {
        acquire_widen(c, round);
        can |= round_silent(round);
    }
    if (late || !quorum_has(&c->quorum, can))
        look_refused(c, round, late);
    else if (!quorum_has(&c->quorum, stand))
        return;
    else if (fence->asked != 0)
        acquire_fenced(c, round, fence_decide(c, round));
    else
        acquire_fenced(c, round, fence_begin(c, round));
}

void acquire_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->phase == ROUND_QUEUING)
        look_queuing(c, round, late);
    else if (round->phase == ROUND_LOOKING)
        slots_look(c, round, late);
    else if (round->phase == ROUND_ASKING)
        look_asking(c, round, late);
    else if (round->phase == ROUND_REASKING)
        acquire_was_split(c, round, acquire_split_look(c, round, late));
    else
        acquire_fenced(c, round, fence_look(c, round, late));
}

void acquire_timer(struct coordinator *c, struct round *round)
{
    if (round->phase == ROUND_ASKING) {
        acquire_widen(c, round);
        return;
    }
    if (round->phase != ROUND_REASKING) { /* a quorum granted, and only the fence is open */
        heap_remove(&c->deadlines, &round->resource->queue->item);
        return;
    }
    acquire_was_split(c, round, acquire_split_timer(c, round));
}
