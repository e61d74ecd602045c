#include "daemon/coordinator/ask/resume.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/ask/acquire.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/master/native.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

/* ---- a RESUME joins its name, and leaves it ---- */

static void attach(struct coordinator *c, struct round *round, struct resource *resource,
                   struct session *session)
{
    struct resume *resume = round->resume;
    round->resource = resource;
    resume->next = resource->resumes;
    if (resource->resumes != NULL)
        resource->resumes->prev = resume;
    resource->resumes = resume;
    session->resumes++;
    c->acquiring++;
    c->asking++;
    round->peer = c->event->peer.number;
    admission_begins(c, round->peer);
}

static struct resource *resume_detach(struct coordinator *c, struct round *round)
{
    struct resource *resource = round->resource;
    struct session *session = session_find(c, round->session);
    struct resume *next = round->resume->next, *prev = round->resume->prev;
    *(prev ? &prev->next : &resource->resumes) = next;
    if (next != NULL)
        next->prev = prev;
    if (session != NULL)
        session->resumes--;
    round->resource = NULL;
    round->request = 0;
    c->acquiring--;
    c->asking--;
    admission_ends(c, round->peer);
    return resource;
}

/* ---- the beginning ---- */

static struct resume *resume_new(struct coordinator *c, const struct request *what, const struct token *old)
{
    struct resume *resume = pool_take(&c->resumes);
    assert(resume != NULL); /* the pool has one for each possible lease */
    resume->old = *old;
    resume->max_ms = what->max_ms;
    resume->order = what->order;
    resume->note = intern_note(&c->intern, &what->note);
    return resume;
}

/* The RESUME replaces whichever token it finds. */
static void resume_settle(struct coordinator *c, struct resource *resource, struct resume *resume)
{
    struct lease *lease = resource->lease;
    if (lease == NULL || lease->secret == NULL || lease->secret->down ||
        memcmp(lease->hold.token.bytes, resume->old.bytes, TOKEN_BYTES) != 0)
        return;
    lease_settle(c, lease);
    resume->key = *secret_key(lease);
    resume->has_key = true;
}

static struct reply *resume_refuse(struct coordinator *c, const struct session *session, uint64_t request,
                                   const struct request *what, enum limit limit)
{
    c->stats.refused_noquorum += limit == LIMIT_NONE;
    c->stats.refused_limit += limit != LIMIT_NONE;
    enum reply_code code = limit == LIMIT_NONE ? REPLY_NOQUORUM : REPLY_LIMIT;
    struct reply *reply = action_reply(c, session->key, request, code, &what->name);
    reply->limit = limit;
    return reply;
}

/* Readers have no key of their own, a list has several, and where the key may have either of two values a master can
 * only compare one without a script. */
static void move(struct coordinator *c, struct round *round)
{
    round->tally.asked = round->resume->may = c->extenders;
    round->votes = c->voters;
    round->voided =
        masters_without(c->extenders, c->voters); /* a master in quarantine moves, without a vote */
    bool plain = !round->resume->has_key && round->name->more == 0 && !token_is_shared(&round->resume->old);
    masters_t natively = plain ? native_of(c, COMMAND_MOVE_IFEQ, c->extenders) : 0;
    round_send(c, round, COMMAND_MOVE_IFEQ, natively, 0);
    round_send(c, round, COMMAND_MOVE, masters_without(c->extenders, natively), 0);
}

void resume_request(struct coordinator *c, struct session *session, uint64_t request,
                    const struct request *what)
{
    if (!quorum_has(&c->quorum, c->voters)) {
        action_noquorum(c, resume_refuse(c, session, request, what, LIMIT_NONE), NULL);
        return;
    }
    if (c->rounds.used == c->rounds.capacity) {
        resume_refuse(c, session, request, what, LIMIT_MAX_ROUNDS);
        return;
    }
    struct resource *resource = NULL;
    if (c->leases.used + c->acquiring < c->config.max_locks)
        resource = resource_find_or_make(c, &what->name);
    if (resource == NULL) {
        resume_refuse(c, session, request, what, LIMIT_MAX_LOCKS);
        return;
    }
    struct lease *lease = resource_lease(c, resource, &what->token);
    if (lease != NULL && !lease->keeping->has_key) {
        lease->keeping->resume(c, session, request, what, lease);
        return;
    }
    if (lease != NULL && secret_is_downgrading(lease)) { /* the key is there by several tokens */
        struct reply *reply = resume_refuse(c, session, request, what, LIMIT_NONE);
        action_noquorum(c, reply, NULL);
        action_retry(c, reply);
        return;
    }
    const struct token *old = lease != NULL ? &lease->hold.token : &what->token;
    struct token token = *old;
    const struct mode *mode = mode_of_token(c, resource, old);
    random_token(c, resource, &token, mode);
    int64_t ttl_ms = what->ttl_ms >= 0 ? what->ttl_ms : c->config.default_ttl_ms;
    struct round *round = round_begin(c, ROUND_MOVING, resource->name, &token, ttl_ms);
    c->stats.resumes++;
    round->purpose = ROUND_RESUME;
    round->mode = mode;
    round->session = session->key;
    round->request = request;
    round->resume = resume_new(c, what, old);
    resume_settle(c, resource, round->resume);
    attach(c, round, resource, session);
    move(c, round);
}

/* ---- ends ---- */

/* The session of the RESUME; NULL if it is gone or ends. */
static struct session *session_of(const struct coordinator *c, const struct round *round)
{
    struct session *session = session_find(c, round->session);
    return session != NULL && session->state < SESSION_RELEASING ? session : NULL;
}

static struct reply *resume_answer(struct coordinator *c, const struct round *round, enum reply_code code)
{
    return action_reply(c, round->session, round->request, code, round->name);
}

/* Two RESUMEs of one token at once may take masters from each other, so that both fail. Each client is told
 * to ask again after a random time. */
static void resume_answer_noquorum(struct coordinator *c, const struct round *round)
{
    struct tally tally = fence_shown(c, round);
    bool moved = round->phase != ROUND_MOVING || round->tally.granted != 0;
    struct reply *reply = resume_answer(c, round, REPLY_NOQUORUM);
    action_noquorum(c, reply, &tally);
    if (moved)
        action_retry(c, reply);
}

/* Sets the key back to the old token on all masters. A master that answered that it does not have the old
 * token owes nothing; a master that did not answer may still run the MOVE. If the old token was given back
 * meanwhile, the new one is released instead. */
static void set_back(struct coordinator *c, const struct round *round)
{
    struct release_order order = {.name = round->name,
                                  .token = &round->token,
                                  .back = &round->resume->old,
                                  .ttl_ms = c->longest_ttl_ms, /* the old token's may have been any */
                                  .may = round->resume->may};
    if (round->resume->given_back) {
        order.back = NULL;
        order.resource = round->resource;
        order.known = true;
    }
    c->stats.attempts_undone++;
    release_begin(c, &order);
    if (round->resume->given_back)
        letter_send(c, round->name, &round->resume->old);
}

static void resume_fail(struct coordinator *c, struct round *round, enum reply_code code)
{
    bool gone = session_of(c, round) == NULL; /* no client is left to be answered */
    c->stats.refused_noquorum += code == REPLY_NOQUORUM;
    c->stats.refused_limit += code == REPLY_LIMIT;
    set_back(c, round);
    if (!gone && code == REPLY_NOQUORUM)
        resume_answer_noquorum(c, round);
    else if (!gone)
        resume_answer(c, round, code)->limit = code == REPLY_LIMIT ? LIMIT_FENCE : LIMIT_NONE;
    struct resource *resource = resume_detach(c, round);
    intern_note_back(&c->intern, round->resume->note);
    pool_give(&c->resumes, round->resume);
    round->resume = NULL;
    round_free(c, round);
    queue_due(c, resource);
}

/* Hands the resume over to the lease, which needs the old token in case that +LOCKED cannot be delivered.
 * If the old token was given back meanwhile, there is nothing to go back to. */
static void pass_on(struct coordinator *c, struct round *round, struct lease *lease)
{
    struct resume *resume = round->resume;
    round->resume = NULL;
    if (resume->given_back)
        pool_give(&c->resumes, resume);
    else
        lease->resume = resume;
}

static void bind(struct coordinator *c, struct round *round, int64_t until_ms)
{
    const struct round *attempt = round->resource->queue->round;
    if (attempt != NULL && attempt->resource == round->resource)
        acquire_abandon(c, round->resource); /* resource_granted() answers the head, or lets it wait on */
    struct lease *lease = lease_resume(c, round, session_of(c, round), until_ms);
    struct reply *reply = resume_answer(c, round, REPLY_LOCKED);
    action_locked(c, reply, lease);
    letter_send(c, round->name, &round->resume->old);
    data_adopt(c, lease, &round->resume->old);
    round->lease = lease->id;
    c->stats.resumed++;
    struct resource *resource = resume_detach(c, round);
    pass_on(c, round, lease);
    resource_granted(c, resource);
    round_decided(c, round);
}

/* The masters say that readers here have lost the name, but these do not know yet: their next renewals will tell
 * them. */
static bool resume_meets_readers(const struct round *round)
{
    const struct lease *lease = round->resource->lease;
    return !round->mode->shares && lease != NULL && lease->mode->shares && lease_is_bound(lease);
}

/* A lock was granted here since the moved keys were extended: so masters lost these again, by a BREAK for example. */
static bool resume_came_late(const struct round *round)
{
    const struct lease *lease = round->resource->lease;
    if (lease == NULL || lease->mode->shares)
        return false;
    int64_t set_ms = lease->secret != NULL ? lease->secret->set_ms : lease->granted_ms;
    return set_ms > round->t0_ms;
}

static void resume_grant(struct coordinator *c, struct round *round)
{
    round->ready = trial_is_open(c);
    if (round->ready)
        return;
    int64_t until_ms = quorum_until_ms(round->t0_ms, round->ttl_ms);
    if (session_of(c, round) == NULL)
        resume_fail(c, round, REPLY_CANCELLED);
    else if (c->draining)
        resume_fail(c, round, REPLY_DRAINING);
    else if (until_ms - c->now_ms < c->config.min_validity_ms || resume_meets_readers(round) ||
             resume_came_late(round))
        resume_fail(c, round, REPLY_NOQUORUM);
    else
        bind(c, round, until_ms);
}

static void resume_fenced(struct coordinator *c, struct round *round, enum fence_outcome outcome)
{
    switch (outcome) {
    case FENCE_OPEN: break;
    case FENCE_STANDS: resume_grant(c, round); break;
    case FENCE_BEYOND: resume_fail(c, round, REPLY_LIMIT); break;
    case FENCE_HOPELESS: resume_fail(c, round, REPLY_NOQUORUM); break;
    }
}

/* ---- decisions ---- */

/* Extends the new token on the same connections, so behind the MOVE. A master that answered no or with an
 * error has nothing to extend. */
static void resume_extend(struct coordinator *c, struct round *round)
{
    struct tally *tally = &round->tally;
    masters_t asked = c->extenders & (tally->granted | round_silent(round));
    uint64_t proposal = fence_propose(c, round->resource);
    if (fence_is_beyond(proposal)) {
        resume_fail(c, round, REPLY_LIMIT);
        return;
    }
    round_move(c, round, ROUND_RESUMING);
    round->t0_ms = c->now_ms;
    round->proposal = proposal;
    tally->asked = asked | tally->refused | tally->failed;
    tally->granted = 0;
    round_send(c, round, COMMAND_EXTEND, asked, (uint64_t)round->ttl_ms);
    fence_ask(c, round, masters_without(asked & c->voters, round->voided));
}

/* Decides whether Q masters moved the key. -NOTHELD needs N-Q+1 masters without the old token, and none
 * that moved it: if another RESUME of the token is under way, then masters that it reached first have no
 * old token either, but get it back. So the answers of all masters are awaited before the lock is reported
 * as not held. */
static void look_moving(struct coordinator *c, struct round *round, bool late)
{
    const struct tally *tally = &round->tally;
    masters_t moved = fence_standing(c, round), silent = round_silent(round);
    masters_t can_move = moved | (masters_without(silent, round->voided) & c->voters);
    masters_t gone = tally->refused & round->votes, can_be_gone = gone | (silent & round->votes);
    bool none_moved = tally->granted == 0;
    if (quorum_has(&c->quorum, moved))
        resume_extend(c, round);
    else if (none_moved && generation_denies(c, gone) && (late || silent == 0))
        resume_fail(c, round, REPLY_NOTHELD);
    else if (late ||
             (!quorum_has(&c->quorum, can_move) && !(none_moved && generation_denies(c, can_be_gone))))
        resume_fail(c, round, REPLY_NOQUORUM);
}

static void look_resuming(struct coordinator *c, struct round *round, bool late)
{
    masters_t stand = fence_standing(c, round);
    masters_t can = stand | (masters_without(round_silent(round), round->voided) & c->voters);
    if (late || !quorum_has(&c->quorum, can))
        resume_fail(c, round, REPLY_NOQUORUM);
    else if (quorum_has(&c->quorum, stand))
        resume_fenced(c, round, fence_decide(c, round));
}

void resume_look(struct coordinator *c, struct round *round, bool late)
{
    if (round->phase == ROUND_MOVING)
        look_moving(c, round, late);
    else if (round->phase == ROUND_RESUMING)
        look_resuming(c, round, late);
    else
        resume_fenced(c, round, fence_look(c, round, late));
}

void resume_cancel(struct coordinator *c, uint64_t session, uint64_t request)
{
    struct round *round = round_of_request(c, session, request);
    assert(round != NULL && round->resume != NULL);
    resume_fail(c, round, REPLY_CANCELLED);
}
