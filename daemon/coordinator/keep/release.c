#include "daemon/coordinator/keep/release_private.h"

#include <assert.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/master/master.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/turn.h"
#include "daemon/coordinator/name/wake.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/wait/resource.h"

static struct in_flight_list *list_of(struct coordinator *c, const struct release *release)
{
    return release->only_owed ? &c->releases_owed : &c->releases_pending;
}

static void release_free(struct coordinator *c, struct release *release)
{
    assert(release->answered && release->resource == NULL);
    c->setting_back -= release->sets_back;
    in_flight_remove(list_of(c, release), &release->in_flight);
    heap_remove(&c->deadlines, &release->item);
    intern_name_back(&c->intern, release->name);
    pool_give(&c->releases, release);
}

/* If the table is full, the oldest release that is only owed makes room: its key expires by itself. */
static struct release *release_take(struct coordinator *c)
{
    struct in_flight *oldest = c->releases_owed.first;
    if (c->releases.used == c->releases.capacity && oldest != NULL) {
        c->stats.undo_expired++;
        release_free(c, IN_FLIGHT_OWNER(release, oldest));
    }
    return pool_take(&c->releases);
}

/* ---- the answer ---- */

static void release_answer(struct coordinator *c, struct release *release, enum reply_code code)
{
    if (release->answered)
        return;
    release->answered = true;
    c->asking--;
    admission_ends(c, release->peer);
    struct reply *reply = action_reply(c, release->session, release->request, code, release->name);
    if (code == REPLY_UNLOCKED) {
        reply->confirmed = (uint8_t)quorum_count(&c->quorum, release->deleted | release->missing);
        reply->masters = (uint8_t)masters_count(c->quorum.of);
    }
    if (code == REPLY_NOTHELD && release->bound)
        reply->text = TEXT_LOST_BEFORE_RELEASE;
    if (code == REPLY_NOQUORUM) {
        struct tally tally = {release->asked, release->deleted, release->missing, 0};
        tally.failed =
            masters_without(release->asked, release->unanswered | release->deleted | release->missing);
        action_noquorum(c, reply, &tally);
    }
}

/* ---- the next head ---- */

/* Whether the head's SETs may follow at once. */
static bool release_may_be_followed(const struct coordinator *c, const struct resource *resource)
{
    if (resource->queue->head == NULL)
        return !resource->mode->is_contended(c, resource);
    return resource->mode->follows(c, resource);
}

/* Makes the next head wait for this release. In a young turn (turn.h) the head's SETs follow the release at
 * once: on each connection they run behind it and find the key gone. (With fanout: quorum, they may also go to
 * masters that were not sent the key.) */
static void let_follow(struct coordinator *c, struct release *release, struct resource *resource)
{
    if (resource->giving_back != NULL && release_is_awaited(resource))
        return;
    if (resource->giving_back != NULL)
        resource->giving_back->resource = NULL;
    resource->giving_back = release;
    release->resource = resource;
    bool follows = release_may_be_followed(c, resource);
    release->hands_over = release->known && follows && resource->mode->wakes && turn_is_young(c, resource);
    if (!release->hands_over)
        resource->mode->stands(resource, 1);
}

/* A release that the head's SETs follow wakes nobody: the turn is still this daemon's. */
static bool is_to_wake(const struct coordinator *c, const struct release *release)
{
    const struct resource *resource = release->resource;
    if (release->one_of_many)
        return !release->hands_over; /* the last one wakes whoever waits, and none knows who is the last */
    if (resource == NULL || release->hands_over || !resource->mode->wakes)
        return false;
    return resource->queue->head != NULL || resource->turn_goes_on ||
           resource->mode->is_contended(c, resource);
}

/* The release no longer stands before the next head. The head asks at once if a lock was really given back;
 * the release of a token that nobody held is no reason to. A head whose SETs followed the release has asked
 * already, unless a master did not run the release at first (NOSCRIPT): that master refused the SET, as the
 * key was still there. */
static void let_go(struct coordinator *c, struct release *release)
{
    struct resource *resource = release->resource;
    if (resource == NULL)
        return;
    release->resource = NULL;
    resource->giving_back = NULL;
    names_changed(c, resource);
    names_pass(c, resource, false);
    if (!release->hands_over)
        resource->mode->stands(resource, -1);
    bool given_back = release->known || release->deleted != 0;
    bool has_asked = release->hands_over && release->repeated == 0;
    bool is_left = resource->lease == NULL && resource->queue->head == NULL;
    if (release->wakes && !release->one_of_many)
        resource->contended = resource->sought = false;
    else if (!release->wakes && resource->mode->is_contended(c, resource) && is_left)
        /* This daemon was told while the release was under way. */
        wake_pass(c, slots_base(resource)->name, release->asked);
    if (resource->queue->head != NULL)
        resource->queue->wake.hushed = release->hands_over;
    if (!release->hands_over && !release->wanted && quorum_has(&c->quorum, release->deleted))
        turn_unwanted(c, resource);
    if (release->wanted)
        resource_yield(c, resource, release->woke ? release->waited_ms : -1);
    else if (given_back && !has_asked)
        queue_freed(c, resource);
    else
        queue_due(c, resource);
}

static void move_to_owed(struct coordinator *c, struct release *release)
{
    in_flight_remove(&c->releases_pending, &release->in_flight);
    release->only_owed = true;
    in_flight_add(&c->releases_owed, &release->in_flight);
}

static bool release_decide(struct coordinator *c, struct release *release, bool late)
{
    masters_t deleted = release->deleted, gone = deleted | release->missing;
    bool over = late || release->unanswered == 0, enough = quorum_has(&c->quorum, gone);
    if (generation_denies(c, release->missing))
        release_answer(c, release, REPLY_NOTHELD);
    else if (release->bound ? enough || over : quorum_has(&c->quorum, deleted))
        release_answer(c, release, REPLY_UNLOCKED);
    else if (over)
        release_answer(c, release, REPLY_NOQUORUM);
    if (over || enough)
        let_go(c, release);
    return release->answered && release->resource == NULL;
}

/* A stale release is passed over: release_look_stale() comes to it. */
static void release_look(struct coordinator *c, struct release *release, bool late)
{
    if (release->in_flight.stale)
        return;
    bool decided = release_decide(c, release, late);
    if (!decided)
        return;
    if (release->owed == 0 && release->unanswered == 0) {
        release_free(c, release);
        return;
    }
    if (!release->only_owed && (late || release->unanswered == 0))
        move_to_owed(c, release);
    release_rearm(c, release);
}

/* ---- the life of a release ---- */

static void describe(struct release *release, const struct release_order *order)
{
    release->token = *order->token;
    release->sets_back = order->back != NULL;
    if (release->sets_back)
        release->to = *order->back;
    release->has_other = order->other != NULL;
    if (release->has_other)
        release->other = *order->other;
    release->has_third = order->third != NULL;
    if (release->has_third)
        release->third = *order->third;
}

/* Without a free slot the command still goes out, but nobody records its answers. */
static void release_uncounted(struct coordinator *c, const struct release_order *order)
{
    struct release release = {.name = order->name, .wakes = order->wakes && order->name->more == 0};
    describe(&release, order);
    release_send(c, &release, c->releasers);
    if (order->request != 0)
        action_reply(c, order->session, order->request, REPLY_LIMIT, order->name)->limit = LIMIT_MAX_ROUNDS;
    if (order->resource != NULL)
        queue_freed(c, order->resource);
}

/* The masters that get the release at once: every releaser. With fanout: quorum these are the masters that were
 * sent the key, unless the release is to wake others: their daemons wait on all masters. */
static masters_t at_once(const struct coordinator *c, const struct release *release, masters_t may,
                         masters_t sent)
{
    if (c->config.fanout_quorum && sent != 0 && !release->wakes && !release->sets_back)
        return c->releasers & (sent | may);
    return c->releasers;
}

void release_begin(struct coordinator *c, const struct release_order *order)
{
    assert(order->back == NULL || (order->resource == NULL && !order->wakes));
    struct release *release = release_take(c);
    c->stats.releases++;
    if (release == NULL) {
        release_uncounted(c, order);
        return;
    }
    release->item.kind = ITEM_RELEASE;
    release->name = intern_name_again(&c->intern, order->name);
    describe(release, order);
    c->setting_back += release->sets_back;
    release->ttl_ms = order->ttl_ms;
    release->owed = order->may;
    release->bound = order->bound;
    release->known = order->known;
    release->one_of_many = order->one_of_many;
    release->session = order->session;
    release->request = order->request;
    release->answered = order->request == 0;
    if (!release->answered) {
        c->asking++;
        release->peer = c->event->peer.number;
        admission_begins(c, release->peer);
    }
    release->until_ms = c->now_ms;
    release->in_flight.timeout_ms = c->now_ms + c->config.node_timeout_ms;
    if (order->resource != NULL)
        let_follow(c, release, order->resource);
    if (order->resource != NULL)
        names_pass(c, order->resource, order->wakes);
    release->wakes = (order->wakes && release->name->more == 0) || is_to_wake(c, release);
    release->asked = release->unanswered = at_once(c, release, order->may, order->sent);
    bool waits = release->resource != NULL && release->resource->queue->head != NULL;
    release->stays = order->stays || (release->wakes && waits);
    if (release->wakes && waits)
        release->resource->queue->wake.queued |= release->asked;
    in_flight_add(&c->releases_pending, &release->in_flight);
    release_send_first(c, release);
    if (release->asked == 0)
        release_look(c, release, false);
    else if (release->hands_over)
        queue_freed(c, order->resource);
}

void release_vote(struct coordinator *c, struct release *release, unsigned master, const struct vote *vote,
                  bool natively)
{
    masters_t bit = masters_bit(master);
    if (!(release->unanswered & bit))
        return;
    if (vote->kind == VOTE_NOT_RUN && (natively || !(release->scripted & bit))) {
        release->repeated |= bit;
        release->scripted |= natively ? 0 : bit;
        release_send(c, release, bit);
        return;
    }
    release->unanswered = masters_without(release->unanswered, bit);
    bool wanted = vote->kind == VOTE_HEARD || vote->kind == VOTE_UNHEARD;
    release->wanted |= wanted;
    if (vote->kind == VOTE_HEARD) {
        int64_t waited_ms = vote->number < (uint64_t)INT32_MAX ? (int64_t)vote->number : INT32_MAX;
        release->woke = true;
        release->waited_ms = waited_ms > release->waited_ms ? waited_ms : release->waited_ms;
    }
    if (vote->kind == VOTE_YES || wanted)
        release->deleted |= bit;
    else if (vote->kind == VOTE_NO)
        release->missing |= bit;
    else
        release_caught_up(release, bit, c->now_ms);
    if ((release->deleted | release->missing) & bit)
        release->owed = masters_without(release->owed, bit);
    release_look(c, release, false);
}

void release_timeout(struct coordinator *c, struct in_flight *in_flight)
{
    struct release *release = IN_FLIGHT_OWNER(release, in_flight);
    assert(!in_flight->stale && !release->only_owed);
    if (c->stale != 0) { /* this daemon paused: the answers may have come long ago */
        in_flight_remove(&c->releases_pending, in_flight);
        in_flight->timeout_ms = c->now_ms + c->config.node_timeout_ms;
        in_flight_add(&c->releases_pending, in_flight);
        return;
    }
    masters_overdue(c, release->unanswered);
    release_look(c, release, true);
}

void release_timer(struct coordinator *c, struct release *release)
{
    assert(release->only_owed && !release->in_flight.stale);
    c->stats.undo_expired += release->owed != 0;
    release_free(c, release);
}

bool release_look_stale(struct coordinator *c)
{
    struct in_flight *in_flight = in_flight_take_stale(&c->releases_pending);
    if (in_flight == NULL)
        in_flight = in_flight_take_stale(&c->releases_owed);
    if (in_flight != NULL)
        release_look(c, IN_FLIGHT_OWNER(release, in_flight), false);
    return in_flight != NULL;
}
