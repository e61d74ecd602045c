/* UNLOCK keep=: from the request to +KEPT. */
#include "daemon/coordinator/keep/kept.h"

#include <assert.h>

#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/master/fresh.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

/* ---- the request ---- */

static struct reply *refuse(struct coordinator *c, const struct coordinator_event *event,
                            enum reply_code code)
{
    return action_reply(c, event->session, event->request, code, &event->what.name);
}

/* A slot, several names, or a reader: the token tells, also where this daemon does not know the lock. */
static bool is_alone(const struct coordinator *c, const struct request *what, const struct lease *lease)
{
    const struct resource *resource = resource_find(c, &what->name);
    bool slots = what->name.slot || (resource != NULL && resource->queue->slots != NULL);
    bool shared = what->has_token && token_is_shared(&what->token);
    return what->name.more == 0 && !slots && !shared && (lease == NULL || !lease->mode->shares);
}

/* Nothing was done: the lock is held still. */
static bool is_refused(struct coordinator *c, const struct coordinator_event *event,
                       const struct lease *lease)
{
    enum limit limit = LIMIT_NONE;
    if (!is_alone(c, &event->what, lease)) {
        refuse(c, event, REPLY_BADARG)->text = TEXT_KEEP_ALONE;
        return true;
    }
    if (event->what.keep_ms > c->config.max_keep_ms) {
        struct reply *reply = refuse(c, event, REPLY_BADARG);
        reply->text = TEXT_KEEP_TOO_LONG;
        reply->limit_ms = c->config.max_keep_ms;
        return true;
    }
    if (c->kepts.used == c->kepts.capacity ||
        c->peer_marks[event->peer.number] >= c->config.max_marks_per_peer)
        limit = LIMIT_MAX_MARKS;
    else if (c->rounds.used == c->rounds.capacity)
        limit = LIMIT_MAX_ROUNDS;
    if (limit == LIMIT_NONE)
        return false;
    c->stats.refused_limit++;
    refuse(c, event, REPLY_LIMIT)->limit = limit;
    return true;
}

static struct kept *kept_new(struct coordinator *c, const struct coordinator_event *event)
{
    const struct request *what = &event->what;
    struct kept *kept = pool_take(&c->kepts);
    kept->peer = event->peer.number;
    c->peer_marks[kept->peer]++;
    kept->item.kind = ITEM_KEPT;
    kept->keep_ms = what->keep_ms;
    kept->memories = c->memories;
    kept->name = intern_name(&c->intern, &what->name);
    kept->hash = table_hash(c->config.hash_seed, kept->name->text, kept->name->len);
    random_mark(c, &kept->token);
    return kept;
}

/* The lock is over here, whatever the masters will say: its client gave it up. */
static void take_over(struct coordinator *c, struct kept *kept, struct lease *lease, bool own)
{
    struct resource *resource = lease->resource;
    kept->key = *secret_key(lease);
    kept->has_other = secret_other(lease) != NULL;
    if (kept->has_other)
        kept->other = *secret_other(lease);
    kept->gone = lease->copies.released_elsewhere;
    kept->had = masters_without(heal_had(c, lease), kept->gone);
    kept->sent = lease->copies.sent | lease->copies.may;
    if (lease_is_bound(lease) && !own)
        action_notice(c, NOTICE_LOST, lease)->reason = LOST_RELEASED;
    resume_given_back(resource, &lease->hold.token);
    rounds_end_extends(c, lease);
    lease_free(c, lease);
    queue_due(c, resource);
}

static struct round *round_of(struct coordinator *c, const struct kept *kept,
                              const struct coordinator_event *event)
{
    struct round *round = round_begin(c, ROUND_MOVING, kept->name, &kept->token, 0);
    assert(round != NULL); /* is_refused() looked */
    round->purpose = ROUND_KEEP;
    round->kept = kept->id;
    round->session = event->session;
    round->request = event->request;
    round->peer = event->peer.number;
    c->asking++;
    admission_begins(c, round->peer);
    return round;
}

void kept_request(struct coordinator *c, const struct coordinator_event *event, struct lease *lease, bool own)
{
    if (is_refused(c, event, lease))
        return;
    masters_t votes = heal_counted(c, lease);
    struct kept *kept = kept_new(c, event);
    struct round *round = round_of(c, kept, event);
    if (lease != NULL)
        take_over(c, kept, lease, own);
    else
        kept->key = event->what.token;
    round->votes = votes;
    round->tally.asked = c->extenders;
    kept->sent |= c->extenders;
    kept_ask(c, round, c->extenders);
    kept_decide(c, round, false);
}

/* ---- commands ---- */

void kept_lengthen(struct coordinator *c, const struct kept *kept, const struct round *round,
                   masters_t masters)
{
    int64_t left_ms = kept->ends_ms - c->now_ms;
    if (masters == 0 || left_ms <= 0)
        return;
    struct command *command = action_command(c, masters, COMMAND_EXTEND, kept->name);
    command->ref = round->id;
    command->token = kept->token;
    command->number = (uint64_t)left_ms;
}

void kept_ask(struct coordinator *c, const struct round *round, masters_t masters)
{
    enum { LENGTHENS_NO_TTL_MS = 1 };
    const struct kept *kept = pool_find(&c->kepts, round->kept);
    if (kept == NULL || masters == 0)
        return;
    bool moves = round->phase == ROUND_MOVING;
    struct command *command = action_command(c, masters, moves ? COMMAND_MOVE : COMMAND_EXTEND, kept->name);
    command->ref = round->id;
    command->token = moves ? kept->key : kept->token;
    command->to = moves ? kept->token : command->to;
    command->has_other = moves && kept->has_other;
    command->other = kept->other;
    if (moves)
        return;
    bool looks = round->phase != ROUND_EXTENDING;
    command->number = looks ? LENGTHENS_NO_TTL_MS : (uint64_t)kept->keep_ms;
    command->most_ms = looks ? 0 : (uint64_t)kept->keep_ms; /* the lock may have had more than that left */
}

/* ---- decisions ---- */

masters_t kept_yes(const struct coordinator *c, const struct round *round)
{
    masters_t yes = masters_without(round->tally.granted & round->votes, round->voided);
    return masters_without(fresh_of(c, yes), c->differing);
}

static struct reply *kept_answer(struct coordinator *c, struct round *round, enum reply_code code)
{
    struct reply *reply = action_reply(c, round->session, round->request, code, round->name);
    round->request = 0;
    c->asking--;
    admission_ends(c, round->peer);
    if (code != REPLY_NOQUORUM)
        return reply;
    struct tally tally = round->tally;
    tally.granted = fresh_of(c, tally.granted);
    c->stats.refused_noquorum++;
    action_noquorum(c, reply, &tally);
    return reply;
}

static void kept_fail(struct coordinator *c, struct kept *kept, struct round *round, enum reply_code code,
                      bool releases)
{
    struct reply *reply = kept_answer(c, round, code);
    if (code == REPLY_NOTHELD)
        reply->text = TEXT_LOST_BEFORE_RELEASE;
    round_decided(c, round);
    if (releases)
        kept_drop(c, kept);
    else
        kept_free(c, kept);
}

/* A master that did not move it has nothing to extend; one that is silent may yet move it, and then extends behind that. */
static void extend(struct coordinator *c, struct kept *kept, struct round *round)
{
    struct tally *tally = &round->tally;
    masters_t asked = c->extenders & (tally->granted | round_silent(round));
    letter_send(c, kept->name, &kept->key);
    round_move(c, round, ROUND_EXTENDING);
    round->t0_ms = c->now_ms;
    kept->ends_ms = c->now_ms + kept->keep_ms;
    tally->asked = asked | tally->refused | tally->failed;
    tally->granted = 0;
    kept_ask(c, round, asked);
}

static void is_kept(struct coordinator *c, struct kept *kept, struct round *round)
{
    struct reply *reply = kept_answer(c, round, REPLY_KEPT);
    reply->until_ms = quorum_until_ms(round->t0_ms, kept->keep_ms);
    reply->confirmed = (uint8_t)quorum_count(&c->quorum, round->tally.granted);
    reply->masters = (uint8_t)masters_count(c->quorum.of);
    c->stats.keeps++;
    masters_t without =
        round->tally.refused | round->tally.failed | masters_without(c->extenders, round->tally.asked);
    kept->confirmed = round->tally.granted;
    kept->had = 0; /* of the others the lock's key is known, and no mark */
    /* Elsewhere it was missing for a while, since a RESUME had moved it, and set it back. */
    kept->gone &= round->tally.refused;
    kept_is_at(kept, kept->confirmed);
    kept_begins(c, kept);
    kept_heal(c, kept, masters_without(without, kept->gone));
    round_decided(c, round);
}

/* Masters whose answer that they have neither token proves that the lock was lost there. */
static masters_t missing(const struct coordinator *c, const struct kept *kept, const struct round *round)
{
    masters_t votes = masters_without(round->votes, masters_clock_doubted(c));
    return round->tally.refused & (votes | kept->gone);
}

static void look_moving(struct coordinator *c, struct kept *kept, struct round *round, bool late)
{
    masters_t yes = kept_yes(c, round), silent = round_silent(round);
    masters_t gone = missing(c, kept, round);
    bool can_move = quorum_has(&c->quorum, yes | (silent & round->votes));
    if (quorum_has(&c->quorum, yes))
        extend(c, kept, round);
    else if (generation_denies(c, gone))
        kept_fail(c, kept, round, REPLY_NOTHELD, true);
    else if (late || (!can_move && !generation_denies(c, gone | silent)))
        kept_fail(c, kept, round, REPLY_NOQUORUM, false);
}

static void look_extending(struct coordinator *c, struct kept *kept, struct round *round, bool late)
{
    masters_t yes = kept_yes(c, round), silent = round_silent(round);
    if (quorum_has(&c->quorum, yes))
        is_kept(c, kept, round);
    else if (late || !quorum_has(&c->quorum, yes | (silent & round->votes)))
        kept_fail(c, kept, round, REPLY_NOQUORUM, true);
}

void kept_decide(struct coordinator *c, struct round *round, bool late)
{
    struct kept *kept = pool_find(&c->kepts, round->kept);
    if (kept == NULL) { /* it ended while it was looked for */
        c->keeps.asking--;
        round_decided(c, round);
    } else if (round->phase == ROUND_MOVING)
        look_moving(c, kept, round, late);
    else if (round->phase == ROUND_EXTENDING)
        look_extending(c, kept, round, late);
    else
        kept_looked(c, kept, round, late);
}

/* ---- votes ---- */

/* The master moved the token to the mark, but was not heard to extend it: the mark ends there with the lock's TTL. */
static bool kept_is_brief(const struct coordinator *c, const struct kept *kept, uint64_t left_ms)
{
    enum { CLOCKS_MS = 100 };
    int64_t least_ms = kept->ends_ms - c->now_ms - CLOCKS_MS;
    return kept->told && least_ms > 0 && left_ms < (uint64_t)least_ms; /* left_ms is whatever a master says */
}

/* A clock that jumped may have ended a key early, so that a missing one proves no release there; nor does one that has the
 * lock's TTL still. */
static void kept_missed(const struct coordinator *c, struct kept *kept, masters_t bit)
{
    kept->confirmed = masters_without(kept->confirmed, bit);
    if (kept->told && (kept->had & bit) && !(masters_clock_doubted(c) & bit))
        kept->gone |= bit;
    kept->had = masters_without(kept->had, bit);
}

void kept_voted(struct coordinator *c, const struct round *round, unsigned master, const struct vote *vote)
{
    struct kept *kept = pool_find(&c->kepts, round->kept);
    masters_t bit = masters_bit(master);
    if (kept == NULL || (round->voided & bit))
        return;
    kept_refresh(c, kept);
    kept->brief = masters_without(kept->brief, bit);
    if (vote->kind == VOTE_NUMBER && kept_is_brief(c, kept, vote->number))
        kept->brief |= bit;
    if (vote->kind == VOTE_NO)
        kept_missed(c, kept, bit);
    else if (vote->kind == VOTE_YES || vote->kind == VOTE_NUMBER)
        kept_is_at(kept, bit);
    if (vote->kind == VOTE_NUMBER && kept->told && (round->votes & bit))
        kept->confirmed |= bit;
    if (vote->kind == VOTE_NO && kept->told && round->phase == ROUND_DECIDED)
        kept_doubt(c, kept); /* that came too late to be healed in the round */
}
