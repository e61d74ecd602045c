#include "daemon/coordinator/keep/extend.h"

#include <assert.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/renewal.h"
#include "daemon/coordinator/master/fresh.h"
#include "daemon/coordinator/mode/downgrade.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/round/round.h"

enum { KEPT_MS = 1 }; /* lengthens no TTL: a lock of a broken session is only settled */

static void extend_ask(struct coordinator *c, struct round *round)
{
    bool checking = round->phase == ROUND_CHECKING;
    struct lease *lease = pool_find(&c->leases, round->lease);
    round->votes = heal_counted(c, lease);
    if (lease != NULL && lease->copies.spread != SPREAD_NOT)
        round->votes &= lease->copies.sent; /* that the others do not have the key proves nothing */
    round->tally = (struct tally){.asked = c->extenders};
    if (lease != NULL && round->ttl_ms > lease->copies.longest_ms)
        lease->copies.longest_ms = round->ttl_ms;
    round_send(c, round, checking ? COMMAND_CHECK : COMMAND_EXTEND, c->extenders,
               checking ? 0 : (uint64_t)round->ttl_ms);
}

static bool quorum_may_vote(struct coordinator *c, struct lease *lease)
{
    return quorum_has(&c->quorum, heal_counted(c, lease));
}

void extend_renew(struct coordinator *c, struct lease *lease)
{
    struct round *round = NULL;
    lease->keeping->renews(c, lease);
    if (quorum_may_vote(c, lease))
        round = round_begin(c, ROUND_EXTENDING, lease->resource->name, &lease->hold.token,
                            renewal_is_wanted(c, lease) ? lease->ttl_ms : KEPT_MS);
    if (round == NULL) {
        renewal_failed(c, lease, false);
        return;
    }
    c->stats.renewals++;
    round->purpose = ROUND_RENEW;
    round->lease = lease->id;
    renewal_begins(c, lease);
    extend_ask(c, round);
}

/* ---- requests ---- */

struct round *extend_begin(struct coordinator *c, uint64_t session, uint64_t request,
                           const struct request *what, struct lease *lease, int64_t ttl_ms)
{
    bool extends = what->verb != VERB_CHECK && lease != NULL;
    enum round_phase phase = extends ? ROUND_EXTENDING : ROUND_CHECKING;
    if (!quorum_may_vote(c, lease)) {
        c->stats.refused_noquorum++;
        struct reply *reply = action_reply(c, session, request, REPLY_NOQUORUM, &what->name);
        action_noquorum(c, reply, NULL);
        if (what->verb == VERB_LOCK)
            reply->text = TEXT_SHARED_NOW;
        return NULL;
    }
    const struct name *name = intern_name(&c->intern, &what->name);
    struct round *round = round_begin(c, phase, name, &what->token, ttl_ms);
    intern_name_back(&c->intern, name);
    if (round == NULL) {
        c->stats.refused_limit++;
        action_reply(c, session, request, REPLY_LIMIT, &what->name)->limit = LIMIT_MAX_ROUNDS;
        return NULL;
    }
    round->purpose = what->verb == VERB_CHECK ? ROUND_CHECK : ROUND_EXTEND;
    round->down = what->verb == VERB_LOCK;
    if (lease != NULL) {
        round->lease = lease->id;
        lease->extending++;
    }
    round->session = session;
    round->request = request;
    c->asking++;
    round->peer = c->event->peer.number;
    admission_begins(c, round->peer);
    return round;
}

/* Without a valid lease here, CHECK comes first and EXTEND only if Q masters hold the token. Else a client
 * that polls a dead token would keep its last keys alive. */
void extend_request(struct coordinator *c, uint64_t session, uint64_t request, const struct request *what,
                    struct lease *lease)
{
    int64_t known_ms = lease != NULL ? lease->ttl_ms : c->config.default_ttl_ms;
    int64_t ttl_ms = what->ttl_ms >= 0 ? what->ttl_ms : known_ms;
    struct round *round = lease != NULL ? lease->keeping->extend(c, session, request, what, lease, ttl_ms)
                                        : extend_begin(c, session, request, what, NULL, ttl_ms);
    if (round == NULL)
        return;
    c->stats.extends++;
    extend_ask(c, round);
}

/* The masters alone know of a lease, unless it settles: then only this daemon knows both tokens. */
void check_request(struct coordinator *c, uint64_t session, uint64_t request, const struct request *what,
                   struct lease *lease)
{
    bool settles = lease != NULL && lease->secret != NULL;
    struct round *round = extend_begin(c, session, request, what, settles ? lease : NULL, 0);
    if (round == NULL)
        return;
    c->stats.checks++;
    extend_ask(c, round);
}

/* ---- ends ---- */

static struct reply *extend_answer(struct coordinator *c, struct round *round, enum reply_code code)
{
    struct reply *reply = action_reply(c, round->session, round->request, code, round->name);
    round->request = 0;
    c->asking--;
    admission_ends(c, round->peer);
    return reply;
}

/* Ends the round's part in its lease and returns the lease; NULL if there was none, or it is over. A lease
 * that is bound to a session is over at its deadline, even if its timer has not run yet and whatever the
 * masters say: another client may have had the lock since. */
static struct lease *take_lease(struct coordinator *c, struct round *round)
{
    struct lease *lease = pool_find(&c->leases, round->lease);
    struct lease *joined = pool_find(&c->leases, round->reader);
    if (joined != NULL && !round->over && joined->extending > 0)
        joined->extending--;
    if (lease == NULL)
        return NULL;
    if (round->purpose == ROUND_RENEW)
        renewal_ends(c, lease);
    else if (lease->extending > 0)
        lease->extending--;
    return lease_is_bound(lease) && c->now_ms >= lease->until_ms ? NULL : lease;
}

/* N-Q+1 masters do not have the key: a quorum cannot have it. */
static void end_gone(struct coordinator *c, struct round *round)
{
    struct lease *lease = take_lease(c, round);
    if (round->request != 0)
        extend_answer(c, round, REPLY_NOTHELD);
    round_decided(c, round);
    if (lease != NULL)
        lease_lost(c, lease, LOST_GONE);
}

/* Whether a stall of this host was found since the round began, so that the answers may merely seem late. */
static bool is_late_by_a_stall(const struct coordinator *c, const struct round *round)
{
    return c->stall_ms != 0 && round->t0_ms < c->stall_seen_ms;
}

static void extend_answer_noquorum(struct coordinator *c, struct round *round)
{
    struct reply *reply = extend_answer(c, round, REPLY_NOQUORUM);
    struct tally tally = round->tally;
    tally.granted = fresh_of(c, tally.granted); /* the others are as good as silent */
    c->stats.refused_noquorum++;
    action_noquorum(c, reply, &tally);
    if (round->down)
        reply->text = TEXT_SHARED_NOW;
    if (is_late_by_a_stall(c, round))
        action_retry(c, reply);
}

/* The lock was granted just before this step, whose quorum may lack it still. */
static bool is_held_by_step_before(const struct coordinator *c, const struct round *round)
{
    masters_t have = masters_without(fresh_of(c, round->tally.granted), c->differing);
    return round->phase == ROUND_EXTENDING && generation_held_before(c, have);
}

static void end_unknown(struct coordinator *c, struct round *round)
{
    struct lease *lease = take_lease(c, round);
    bool renewal = round->purpose == ROUND_RENEW, at_once = is_late_by_a_stall(c, round);
    bool down = round->down, over = down && (lease == NULL || round->over);
    if (lease != NULL && is_held_by_step_before(c, round))
        heal_refused(c, lease, round);
    if (round->request != 0 && over)
        extend_answer(c, round, REPLY_NOTHELD);
    else if (round->request != 0)
        extend_answer_noquorum(c, round);
    round_decided(c, round);
    if (renewal && lease != NULL)
        renewal_failed(c, lease, at_once);
    else if (down && lease != NULL)
        downgrade_again(c, lease);
}

/* The lock is over although Q masters hold it: its holder gave it back, was told that it is lost, or is
 * about to be told. A lease without a session that ran out here, and was extended all the same, is held. */
static bool extend_is_over(const struct coordinator *c, const struct round *round)
{
    const struct lease *lease = pool_find(&c->leases, round->lease);
    return round->over || (lease != NULL && lease_is_bound(lease) && c->now_ms >= lease->until_ms);
}

static void end_held(struct coordinator *c, struct round *round, int64_t until_ms)
{
    struct lease *lease = take_lease(c, round);
    bool extended = round->phase == ROUND_EXTENDING;
    if (lease != NULL && extended) {
        until_ms = renewal_extended(c, lease, round, until_ms);
        heal_extended(c, lease, round);
        data_again(c, lease, c->extenders);
    }
    if (round->reader != 0)
        until_ms = round->over ? 0 : join_extended(c, round); /* else another session has the lease since */
    if (round->request != 0 &&
        (extend_is_over(c, round) || until_ms == 0 || (round->down && lease == NULL))) {
        extend_answer(c, round, REPLY_NOTHELD);
    } else if (round->request != 0 && round->down) {
        downgrade_answer(c, lease, extend_answer(c, round, REPLY_LOCKED));
    } else if (round->request != 0) {
        struct reply *reply = extend_answer(c, round, extended ? REPLY_EXTENDED : REPLY_HELD);
        reply->until_ms = until_ms;
        reply->valid_ms = until_ms - c->now_ms;
    }
    round_decided(c, round);
}

/* Q masters hold the lock, but less than min_validity is left of it. */
static void end_expiring(struct coordinator *c, struct round *round)
{
    if (round->purpose == ROUND_RENEW || round->down || is_late_by_a_stall(c, round)) {
        end_unknown(c, round);
        return;
    }
    take_lease(c, round);
    extend_answer(c, round, REPLY_NOTHELD)->text = TEXT_EXPIRING;
    round_decided(c, round);
}

static void quorum_holds(struct coordinator *c, struct round *round, masters_t yes)
{
    if (round->phase == ROUND_CHECKING && round->purpose == ROUND_EXTEND) {
        round_move(c, round, ROUND_EXTENDING);
        round->t0_ms = c->now_ms;
        extend_ask(c, round);
        return;
    }
    uint64_t ttl_ms = quorum_nth_largest(round->numbers, yes & c->quorum.of, c->quorum.needed);
    /* No daemon sends a TTL above max_ttl: another program set this one, and no client is told to rely on
     * it. */
    if (ttl_ms > (uint64_t)c->longest_ttl_ms)
        ttl_ms = (uint64_t)c->longest_ttl_ms;
    int64_t until_ms = quorum_until_ms(round->t0_ms, (int64_t)ttl_ms);
    if (until_ms - c->now_ms < c->config.min_validity_ms)
        end_expiring(c, round);
    else
        end_held(c, round, until_ms);
}

/* No LOCK is answered to a session that has ended. */
static void extend_forget_request(struct coordinator *c, struct round *round)
{
    if (!round->down || round->request == 0 || session_find(c, round->session) != NULL)
        return;
    round->request = 0;
    c->asking--;
    admission_ends(c, round->peer);
}

/* A master that is slow by now, whose probe is not waited for, may have answered before it forgot; and where another
 * group's marker stands by now, others may grant. */
static masters_t extend_yes(const struct coordinator *c, const struct round *round)
{
    return masters_without(fresh_of(c, round->tally.granted & round->votes), c->differing);
}

bool extend_is_held(const struct coordinator *c, const struct round *round)
{
    return quorum_has(&c->quorum, extend_yes(c, round));
}

void extend_look(struct coordinator *c, struct round *round, bool late)
{
    extend_forget_request(c, round);
    masters_t yes = extend_yes(c, round);
    masters_t silent = round_silent(round);
    masters_t missing = heal_known_missing(c, round, pool_find(&c->leases, round->lease));
    bool can_hold = quorum_has(&c->quorum, yes | (silent & round->votes));
    bool can_be_gone = generation_denies(c, missing | silent);
    if (quorum_has(&c->quorum, yes))
        quorum_holds(c, round, yes);
    else if (generation_denies(c, missing))
        end_gone(c, round);
    else if (late || (!can_hold && !can_be_gone))
        end_unknown(c, round);
}

void extend_cancel(struct coordinator *c, uint64_t session, uint64_t request)
{
    struct round *round = round_of_request(c, session, request);
    assert(round != NULL && round->down);
    extend_answer(c, round, REPLY_CANCELLED);
}
