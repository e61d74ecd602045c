#include "daemon/coordinator/lease.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/fanout.h"
#include "daemon/coordinator/heal.h"
#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/names.h"
#include "daemon/coordinator/release.h"
#include "daemon/coordinator/resource.h"
#include "daemon/coordinator/round.h"
#include "daemon/coordinator/secret.h"
#include "daemon/coordinator/session.h"
#include "daemon/coordinator/shared.h"

/*   granted, hold=session --> bound -UNLOCK, FIN------------------------> given back (a release begins)
 *                              |  \--deadline, max=, gone, drain-------> lost (its client gets !LOST)
 *                              |   \--+LOCKED of a RESUME undelivered--> set back to the old token
 *                              |
 *                              | connection broke
 *                              v
 *   granted, hold=lease -----> not bound --UNLOCK with the token--> given back
 *                                        \--deadline--------------> forgotten (its keys expire)
 */
enum {
    THIRD = 3, /* parts of a TTL: from one renewal to the next */
    TENTH = 10,
    SOON = 30,      /* parts of a TTL: the pause after a renewal that failed */
    AWAY_MS = 1000, /* pause of settling while the masters that are left are away */
};

/* The time at which the holder is warned (!EXPIRING) that renewals fail. A deadline that max= has set gets no
 * warning. */
static int64_t warn_ms(const struct lease *lease)
{
    return lease->until_ms == lease->hold.ends_ms ? INT64_MAX : lease->until_ms - lease->ttl_ms / THIRD;
}

static void rearm(struct coordinator *c, struct lease *lease)
{
    int64_t at_ms = earlier_ms(lease->until_ms, fanout_spread_ms(lease));
    if (lease_is_bound(lease)) {
        if (!lease->renewing && lease->renew_ms < at_ms)
            at_ms = lease->renew_ms;
        if (!lease->hold.warned && warn_ms(lease) < at_ms)
            at_ms = warn_ms(lease);
        at_ms = earlier_ms(at_ms, secret_settle_ms(lease));
    } else if (!lease->renewing && secret_left(lease) != 0) {
        at_ms = earlier_ms(at_ms, lease->renew_ms);
    }
    heap_set(&c->deadlines, &lease->item, at_ms);
}

/* A renewal is due a third of the TTL after the last success. The time varies by a tenth of that, so that
 * leases which were taken together are not renewed together for ever. A lease that already runs to the end
 * of its max= is not renewed. Settling goes on all the same: at once until Q masters have acknowledged it,
 * and then for the others. */
static void plan_renewal(struct coordinator *c, struct lease *lease)
{
    int64_t third_ms = lease->ttl_ms / THIRD;
    lease->renew_ms = INT64_MAX;
    if (secret_is_open(lease))
        lease->renew_ms = c->now_ms;
    else if (lease_is_bound(lease) && lease->until_ms < lease->hold.ends_ms)
        lease->renew_ms = c->now_ms + random_between(c, third_ms - third_ms / 10, third_ms + third_ms / 10);
    else if (secret_left(lease) != 0)
        lease->renew_ms =
            c->now_ms + ((secret_left(lease) & c->extenders) != 0 ? c->config.node_timeout_ms : AWAY_MS);
    rearm(c, lease);
}

/* The pause is at most a tenth of the time that is left; otherwise one failure would lose the lock where
 * retry_max is not far below the TTL. The pause also has a lower bound, so that all locks near their
 * deadlines do not keep the daemon busy while no quorum is up. */
static void renew_soon(struct coordinator *c, struct lease *lease)
{
    int64_t soon_ms = lease->ttl_ms / SOON;
    int64_t pause_ms = soon_ms + random_between(c, c->config.retry_min_ms, c->config.retry_max_ms);
    int64_t most_ms = (lease->until_ms - c->now_ms) / TENTH, least_ms = soon_ms / TENTH + 1;
    if (most_ms < least_ms)
        most_ms = least_ms;
    lease->renew_ms = c->now_ms + (pause_ms < most_ms ? pause_ms : most_ms);
    rearm(c, lease);
}

void lease_renewing(struct coordinator *c, struct lease *lease)
{
    lease->renewing = true;
    c->renewing++;
    rearm(c, lease);
}

void lease_renewed(struct coordinator *c, struct lease *lease)
{
    c->renewing -= lease->renewing;
    lease->renewing = false;
}

static void lease_leaves_readers(struct coordinator *c, struct lease *lease)
{
    shared_remove(c, lease);
    c->readers[lease->hold.kind]--;
}

static void lease_free(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    if (lease->hold.session != NULL)
        session_unlink_hold(c, &lease->hold);
    if (lease->shared)
        lease_leaves_readers(c, lease);
    else if (resource->lease == lease)
        resource->lease = NULL;
    lease_renewed(c, lease);
    heap_remove(&c->deadlines, &lease->item);
    secret_forget(c, lease);
    intern_note_back(&c->intern, lease->hold.note);
    if (lease->resume != NULL)
        pool_give(&c->resumes, lease->resume);
    c->peer_locks[lease->hold.peer]--;
    c->holds[lease->hold.kind]--;
    histogram_count(&c->times.held, (c->now_ms - lease->granted_ms) * 1000);
    pool_give(&c->leases, lease);
    names_changed(c, resource);
}

#ifdef MUTANTS
static void plant_undo(struct coordinator *c, const struct round *round, masters_t masters)
{
    struct release_order order = {.name = round->name, .token = &round->token, .ttl_ms = round->ttl_ms};
    masters_t releasers = c->releasers;
    c->releasers = 0; /* so that the entry is made, and nothing is sent */
    order.may = masters;
    release_begin(c, &order);
    c->releasers = releasers;
}
#endif

/* Makes the lease for a grant or a RESUME; lease_bind() gives it its deadline. */
static struct lease *lease_new(struct coordinator *c, struct resource *resource, const struct round *round,
                               const struct session *session, uint64_t request, int64_t max_ms)
{
    struct lease *lease = pool_take(&c->leases);
    assert(lease != NULL && (resource->lease == NULL || (round->shared && resource->lease->shared)));
    lease->hold.peer = session->peer;
    c->peer_locks[lease->hold.peer]++;
    lease->item.kind = ITEM_LEASE;
    lease->granted_ms = c->now_ms;
    lease->resource = resource;
    lease->shared = round->shared;
    if (!round->shared)
        resource->lease = lease;
    lease->token = round->token;
    lease->fence = round->proposal;
    lease->ttl_ms = lease->longest_ms = round->ttl_ms;
    lease->granted = round->tally.granted;
    lease->may = lease->sent = masters_without(round->tally.asked, round_without_key(round));
    lease->hold.request = request;
    lease->hold.depth = 1;
    lease->hold.ends_ms = max_ms >= 0 ? round->t0_ms + max_ms : INT64_MAX;
    return lease;
}

static void lease_bind(struct coordinator *c, struct lease *lease, const struct round *round,
                       struct session *session, int64_t until_ms)
{
    lease->until_ms = until_ms < lease->hold.ends_ms ? until_ms : lease->hold.ends_ms;
    session_link_hold(c, session, &lease->hold);
    c->holds[lease->hold.kind]++;
    if (lease->shared) {
        c->readers[lease->hold.kind]++;
        shared_add(c, lease);
    }
    plan_renewal(c, lease);
    heal_granted(c, lease, round);
}

struct lease *lease_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence, int64_t until_ms)
{
    struct wait *wait = resource->queue->head;
    /* leases that nobody renews here, and whose keys are gone */
    while (resource->lease != NULL && !(round->shared && resource->lease->shared)) {
        assert(!lease_is_bound(resource->lease));
        lease_free(c, resource->lease);
    }
    struct lease *lease = lease_new(c, resource, round, wait->session, wait->request, wait->max_ms);
    lease->fence = fence;
    lease->spread = round->narrow ? SPREAD_SOON : SPREAD_NOT;
    lease->hold.kind = wait->hold;
    lease->hold.note = wait->note;
    wait->note = NULL;
    if (resource->name->more != 0)
        names_list(resource)->order = wait->order;
    if (secret_is_wanted(c, wait) && !c->token_drawn)
        secret_make(c, lease);
    lease_bind(c, lease, round, wait->session, until_ms);
#ifdef MUTANTS
    if (mutant(MUTANT_UNDO_GRANTED))
        plant_undo(c, round, masters_without(round->tally.asked, round->tally.granted));
#endif
    c->stats.grants++;
    struct reply *reply = resource_answer_head(c, resource, REPLY_LOCKED);
    reply->token = lease->token;
    reply->fence = fence;
    reply->until_ms = lease->until_ms;
    reply->valid_ms = lease->until_ms - c->now_ms;
    resource_granted(c, resource);
    return lease;
}

/* The RESUME has a quorum, so the lease that is known here has none any more. If that lease is still bound to
 * a session, its holder is told: its own token was moved, or another daemon's client got the lock since. */
static void lease_replace(struct coordinator *c, struct lease *lease, const struct token *by_resume_of)
{
    bool moved = memcmp(lease->token.bytes, by_resume_of->bytes, TOKEN_BYTES) == 0;
    rounds_end_extends(c, lease);
    if (lease_is_bound(lease)) {
        c->stats.lost++;
        action_notice(c, NOTICE_LOST, lease)->reason = moved ? LOST_MOVED : LOST_GONE;
    }
    lease_free(c, lease);
}

/* A reader's RESUME ends no lease of other readers. */
static void lease_make_way(struct coordinator *c, const struct round *round)
{
    struct resource *resource = round->resource;
    const struct token *old = &round->resume->old;
    if (round->shared && resource->lease != NULL && resource->lease->shared) {
        struct lease *lease = resource_lease(c, resource, old);
        if (lease != NULL)
            lease_replace(c, lease, old);
        return;
    }
    while (resource->lease != NULL)
        lease_replace(c, resource->lease, old);
}

struct lease *lease_resume(struct coordinator *c, const struct round *round, struct session *session,
                           int64_t until_ms)
{
    struct resource *resource = round->resource;
    lease_make_way(c, round);
    struct lease *lease = lease_new(c, resource, round, session, round->request, round->resume->max_ms);
    /* A master that moved the key and did not extend it keeps the old token's TTL, which may be the
     * longest. */
    lease->longest_ms = (int32_t)c->config.max_ttl_ms;
    lease->may = lease->sent = round->resume->may;
    lease->hold.kind = HOLD_SESSION;
    lease->hold.note = round->resume->note;
    if (resource->name->more != 0)
        names_list(resource)->order = round->resume->order;
    lease_bind(c, lease, round, session, until_ms);
    names_contended(resource); /* another daemon may have been told who waits */
    return lease;
}

void lease_set_back(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    struct token token = lease->token, old = lease->resume->old;
    struct release_order order = {.name = resource->name,
                                  .token = &token,
                                  .back = &old,
                                  .ttl_ms = lease->longest_ms,
                                  .may =
                                      mutant(MUTANT_RESUME_SET_BACK_ANSWERED) ? lease->granted : lease->sent};
    rounds_end_extends(c, lease);
    lease_free(c, lease);
    c->stats.undone++;
    if (!mutant(MUTANT_RESUME_NO_SET_BACK))
        release_begin(c, &order);
    resource_advance(c, resource);
}

/* Every master that was sent the key owes the release, even if it reported since that the key is gone: a
 * restart from an old snapshot may bring the key back. */
void lease_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                     bool bound)
{
    struct resource *resource = lease->resource;
    struct token told = lease->token, key = *secret_key(lease), was = *lease_was(lease);
    bool both = secret_other(lease) != NULL && !mutant(MUTANT_RELEASE_OF_ONE);
    const struct token *token = lease->shared ? &told : &key;
    struct release_order order = {.name = resource->name,
                                  .token = token,
                                  .other = both ? (lease->shared ? &key : &told) : NULL,
                                  .third = both && lease->shared ? &was : NULL,
                                  .ttl_ms = c->config.max_ttl_ms, /* any daemon may have extended it */
                                  .may = lease->sent,
                                  .sent = lease->sent | lease->may | lease->granted,
                                  .resource = resource,
                                  .shared = lease->shared,
                                  .session = session,
                                  .request = request,
                                  .bound = bound,
                                  .known = true};
#ifdef MUTANTS
    int64_t until_ms = lease->until_ms;
#endif
    resume_given_back(resource, &told);
    if (lease->shared)
        resume_given_back(resource, &was); /* before a downgrade */
    rounds_end_extends(c, lease);
    lease_free(c, lease);
    if (order.shared)
        resource->contended = true; /* nobody is told who waits for readers to end */
    if (order.shared && resource->lease != NULL && lease_is_bound(resource->lease))
        order.resource = NULL; /* other readers here have the name still */
    release_begin(c, &order);
#ifdef MUTANTS
    if (mutant(MUTANT_HEAL_RELEASED))
        heal_plant(c, order.name, token, until_ms);
#endif
}

/* max= also ends a lock whose connection broke. The token is refused for as long as a key of it can live:
 * the longest TTL that was sent for it, from now. */
static void end_by_max(struct coordinator *c, struct lease *lease)
{
    int64_t ttl_ms = lease->longest_ms;
    if (mutant(MUTANT_MAX_FORGOTTEN))
        return;
    rounds_end_extends(c, lease);
    ended_note(&c->ended, lease_told(lease), c->now_ms, c->now_ms + ttl_ms + quorum_drift_ms(ttl_ms));
}

void lease_lost(struct coordinator *c, struct lease *lease, enum lost_reason reason)
{
    struct resource *resource = lease->resource;
    if (reason == LOST_GONE && lease_is_resumed(lease)) {
        renew_soon(c, lease); /* the RESUME moved the key, and may yet set it back */
        return;
    }
    if (reason == LOST_MAX)
        end_by_max(c, lease);
    if (lease_is_bound(lease)) {
        c->stats.lost++;
        rounds_end_extends(c, lease);
        action_notice(c, NOTICE_LOST, lease)->reason = reason;
    }
    if (mutant(MUTANT_DELETE_AT_DEADLINE)) {
        lease_give_back(c, lease, 0, 0, true);
        return;
    }
    lease_free(c, lease);
    resource_advance(c, resource);
}

void lease_unbind(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    session_unlink_hold(c, &lease->hold);
    if (lease->shared) { /* it goes behind the bound ones */
        shared_remove(c, lease);
        shared_add(c, lease);
    }
    secret_settle(lease);
    lease->renew_ms = c->now_ms;
    rearm(c, lease);
    names_changed(c, resource);
    resource_advance(c, resource);
}

void lease_settle(struct coordinator *c, struct lease *lease)
{
    secret_settle(lease);
    if (secret_is_open(lease))
        lease->renew_ms = c->now_ms;
    rearm(c, lease);
}

void lease_pass(struct coordinator *c, struct lease *lease, struct wait *wait)
{
    struct hold *hold = &lease->hold;
    int64_t next_ms = c->now_ms + wait->ttl_ms / THIRD;
    assert(lease->resume == NULL && lease->extending == 0);
    histogram_count(&c->times.held, (c->now_ms - lease->granted_ms) * 1000);
    session_unlink_hold(c, hold);
    intern_note_back(&c->intern, hold->note);
    c->peer_locks[hold->peer]--;
    *hold = (struct hold){.kind = HOLD_SESSION,
                          .request = wait->request,
                          .ends_ms = wait->max_ms >= 0 ? c->now_ms + wait->max_ms : INT64_MAX,
                          .depth = 1,
                          .peer = wait->session->peer,
                          .note = wait->note};
    wait->note = NULL;
    c->peer_locks[hold->peer]++;
    session_link_hold(c, wait->session, hold);
    random_token(c, lease->resource, &lease->token, TOKEN_EXCLUSIVE);
    lease->granted_ms = c->now_ms;
    lease->ttl_ms = (int32_t)wait->ttl_ms;
    if (mutant(MUTANT_HAND_LATE))
        heal_until(c, lease, c->now_ms + wait->ttl_ms);
    if (lease->renew_ms > next_ms && lease->until_ms < hold->ends_ms)
        lease->renew_ms = next_ms;
    rearm(c, lease);
}

int64_t lease_extended(struct coordinator *c, struct lease *lease, const struct round *round,
                       int64_t until_ms)
{
    if (until_ms > lease->hold.ends_ms)
        until_ms = lease->hold.ends_ms;
    if (round->purpose == ROUND_RENEW) {
        c->stats.renewals_done++;
        histogram_count(&c->times.renewal_left, (lease->until_ms - c->now_ms) * 1000);
    }
    bool settles_only = round->purpose == ROUND_RENEW && !lease_is_bound(lease);
    if (until_ms > lease->until_ms && !settles_only) {
        heal_until(c, lease, until_ms);
        lease->hold.warned = false;
    }
    if (round->purpose == ROUND_EXTEND)
        lease->ttl_ms = round->ttl_ms;
    plan_renewal(c, lease);
    if (lease_is_bound(lease)) {
        struct notice *notice = action_notice(c, NOTICE_RENEWED, lease);
        notice->until_ms = lease->until_ms;
        notice->valid_ms = lease->until_ms - c->now_ms;
    }
    return lease->until_ms;
}

void lease_not_renewed(struct coordinator *c, struct lease *lease, bool at_once)
{
    c->stats.renewals_failed++;
    renew_soon(c, lease);
    if (!at_once)
        return;
    lease->renew_ms = c->now_ms;
    rearm(c, lease);
}

/* Limits the renewals that are under way at once: more would only queue up at the masters, until all are
 * late together. A lease that comes near its !EXPIRING may go as long as there are fewer than twice as
 * many, and a lease that would reach its deadline before the next try goes in any case. */
static bool renewal_must_wait(const struct coordinator *c, const struct lease *lease)
{
    int64_t tenth_ms = lease->ttl_ms / TENTH, retry_ms = c->config.retry_max_ms;
    int64_t pause_ms = (retry_ms < tenth_ms ? retry_ms : tenth_ms) + lease->ttl_ms / SOON;
    bool hurries = c->now_ms + pause_ms >= warn_ms(lease);
    if (c->now_ms + pause_ms >= lease->until_ms)
        return false;
    return c->renewing >= (hurries ? 2 : 1) * c->config.max_renewals;
}

bool lease_timer(struct coordinator *c, struct lease *lease)
{
    if (c->now_ms >= lease->until_ms) {
        lease_lost(c, lease, c->now_ms >= lease->hold.ends_ms ? LOST_MAX : LOST_EXPIRED);
        return false;
    }
    if (c->now_ms >= fanout_spread_ms(lease)) {
        heal_spread(c, lease);
        lease->spread = lease->spread == SPREAD_SOON ? SPREAD_AGAIN : SPREAD_DONE;
    }
    if (c->now_ms >= secret_settle_ms(lease))
        lease_settle(c, lease);
    if (lease_is_bound(lease) && !lease->hold.warned && c->now_ms >= warn_ms(lease)) {
        lease->hold.warned = true;
        action_notice(c, NOTICE_EXPIRING, lease)->valid_ms = lease->until_ms - c->now_ms;
    }
    bool asked = lease_is_bound(lease) || secret_left(lease) != 0;
    bool due = asked && !lease->renewing && c->now_ms >= lease->renew_ms;
    bool waits = due && (lease_is_resumed(lease) || renewal_must_wait(c, lease));
    if (waits)
        renew_soon(c, lease);
    else if (!due)
        rearm(c, lease);
    return due && !waits;
}
