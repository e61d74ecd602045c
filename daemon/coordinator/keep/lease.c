#include "daemon/coordinator/keep/lease.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/keep/renewal.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/fanout.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"
#include "daemon/coordinator/watch/witness.h"

/*   granted, hold=session --> bound -UNLOCK, FIN------------------------> given back (a release begins)
 *                              |  \--deadline, max=, gone, drain-------> lost (its client gets !LOST)
 *                              |   \--+LOCKED of a RESUME undelivered--> set back to the old token
 *                              |
 *                              | connection broke
 *                              v
 *   granted, hold=lease -----> not bound --UNLOCK with the token--> given back
 *                                        \--deadline--------------> forgotten (its keys expire)
 */
static void lease_uncount(struct coordinator *c, const struct lease *lease)
{
    c->peer_locks[lease->hold.peer]--;
    c->holds[lease->hold.kind]--;
    lease->mode->count(c, lease, -1);
    histogram_count(&c->times.held, (c->now_ms - lease->granted_ms) * 1000);
}

void lease_free(struct coordinator *c, struct lease *lease)
{
    const struct resource *resource = lease->resource;
    bool held = lease->keeping->told;
    lease->keeping->parts(c, lease);
    witness_touch(c, resource->name);
    if (lease->hold.session != NULL)
        session_unlink_hold(c, &lease->hold);
    lease->mode->leave(c, lease);
    renewal_ends(c, lease);
    heap_remove(&c->deadlines, &lease->item);
    secret_forget(c, lease);
    intern_note_back(&c->intern, lease->hold.note);
    if (lease->resume != NULL)
        pool_give(&c->resumes, lease->resume);
    if (held)
        lease_uncount(c, lease);
    pool_give(&c->leases, lease);
    names_changed(c, resource);
}

struct lease *lease_new(struct coordinator *c, struct resource *resource)
{
    struct lease *lease = pool_take(&c->leases);
    assert(lease != NULL);
    lease->item.kind = ITEM_LEASE;
    lease->granted_ms = c->now_ms;
    lease->resource = resource;
    lease->hold.depth = 1;
    lease->hold.ends_ms = INT64_MAX;
    return lease;
}

/* Makes the lease for a grant or a RESUME; lease_bind() gives it its deadline. */
static struct lease *lease_of_round(struct coordinator *c, struct resource *resource,
                                    const struct round *round)
{
    assert(resource->lease == NULL || round->mode->beside(resource->lease));
    struct lease *lease = lease_new(c, resource);
    if (resource->lease == NULL)
        letter_forget(c, resource, round->t0_ms);
    lease->mode = round->mode;
    lease->keeping = round->mode->keeping;
    lease->hold.token = round->token;
    lease->hold.fence = round->proposal;
    lease->ttl_ms = lease->copies.longest_ms = round->ttl_ms;
    lease->copies.granted = round->tally.granted;
    lease->copies.may = lease->copies.sent = masters_without(round->tally.asked, round_without_key(round));
    data_none(c, lease);
    return lease;
}

void lease_hold(struct coordinator *c, struct lease *lease, const struct session *session, uint64_t request,
                int64_t ends_ms)
{
    lease->hold.peer = session->peer;
    c->peer_locks[lease->hold.peer]++;
    lease->hold.request = request;
    lease->hold.depth = 1;
    lease->hold.ends_ms = ends_ms;
}

/* session: NULL for a lease that readers join. */
void lease_bind(struct coordinator *c, struct lease *lease, const struct round *round,
                struct session *session, int64_t until_ms)
{
    lease->until_ms = until_ms < lease->hold.ends_ms ? until_ms : lease->hold.ends_ms;
    if (session != NULL) {
        session_link_hold(c, session, &lease->hold);
        c->holds[lease->hold.kind]++;
        lease->mode->count(c, lease, 1);
    }
    lease->mode->enter(c, lease);
    renewal_plan(c, lease);
    heal_granted(c, lease, round);
    witness_touch(c, lease->resource->name);
}

static int64_t lease_ends_ms(const struct round *round, int64_t max_ms)
{
    return max_ms >= 0 ? round->t0_ms + max_ms : INT64_MAX;
}

/* The lease becomes the head's. */
static void lease_take(struct coordinator *c, struct lease *lease, const struct round *round,
                       int64_t until_ms)
{
    struct resource *resource = lease->resource;
    struct wait *wait = resource->queue->head;
    lease_hold(c, lease, wait->session, wait->request, lease_ends_ms(round, wait->max_ms));
    lease->hold.kind = wait->hold;
    lease->hold.note = wait->note;
    wait->note = NULL;
    data_taken(c, lease, wait);
    if (secret_is_wanted(c, wait) && !resource->lettered) /* else it may be gone */
        secret_make(c, lease);
    lease_bind(c, lease, round, wait->session, until_ms);
}

void lease_granted(struct coordinator *c, struct resource *resource, const struct lease *lease)
{
    const struct wait *head = resource->queue->head;
    c->stats.grants++;
    names_granted(c, resource, head->session, head->id, head->order);
    struct reply *reply = resource_answer_head(c, resource, REPLY_LOCKED);
    action_locked(c, reply, lease);
    resource_granted(c, resource);
}

struct lease *lease_begin(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence)
{
    /* leases that nobody renews here, and whose keys are gone */
    while (resource->lease != NULL && !round->mode->beside(resource->lease)) {
        assert(!lease_is_bound(resource->lease));
        lease_free(c, resource->lease);
    }
    struct lease *lease = lease_of_round(c, resource, round);
    lease->hold.fence = fence;
    lease->copies.spread = round->narrow ? SPREAD_SOON : SPREAD_NOT;
    return lease;
}

struct lease *lease_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence, int64_t until_ms)
{
    struct lease *lease = lease_begin(c, resource, round, fence);
    lease_take(c, lease, round, until_ms);
    lease_granted(c, resource, lease);
    return lease;
}

/* The RESUME has a quorum, so the lease that is known here has none any more. If that lease is still bound to
 * a session, its holder is told: its own token was moved, or another daemon's client got the lock since. */
static void lease_replace(struct coordinator *c, struct lease *lease, const struct token *by_resume_of)
{
    bool moved = memcmp(lease->hold.token.bytes, by_resume_of->bytes, TOKEN_BYTES) == 0;
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
    if (resource->lease != NULL && round->mode->beside(resource->lease)) {
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
    struct lease *lease = lease_of_round(c, resource, round);
    lease_hold(c, lease, session, round->request, lease_ends_ms(round, round->resume->max_ms));
    /* A master that moved the key and did not extend it keeps the old token's TTL, which may be the
     * longest. */
    lease->copies.longest_ms = (int32_t)c->longest_ttl_ms;
    lease->copies.may = lease->copies.sent = round->resume->may;
    lease->hold.kind = HOLD_SESSION;
    lease->hold.note = round->resume->note;
    lease_bind(c, lease, round, session, until_ms);
    names_granted(c, resource, session, 0, round->resume->order);
    names_contended(resource); /* another daemon may have been told who waits */
    return lease;
}

/* max= also ends a lock whose connection broke. The token is refused for as long as a key of it can live:
 * the longest TTL that was sent for it, from now. */
static void end_by_max(struct coordinator *c, struct lease *lease)
{
    int64_t ttl_ms = lease->copies.longest_ms;
    rounds_end_extends(c, lease);
    ended_note(&c->ended, lease_told(lease), c->now_ms - stall_lately_ms(c),
               c->now_ms + ttl_ms + quorum_drift_ms(ttl_ms));
}

void lease_lost(struct coordinator *c, struct lease *lease, enum lost_reason reason)
{
    struct resource *resource = lease->resource;
    if (reason == LOST_GONE && lease_is_resumed(lease)) {
        renewal_soon(c, lease); /* the RESUME moved the key, and may yet set it back */
        return;
    }
    if (reason == LOST_MAX)
        end_by_max(c, lease);
    if (lease_is_bound(lease)) {
        c->stats.lost++;
        rounds_end_extends(c, lease);
        action_notice(c, NOTICE_LOST, lease)->reason = reason;
    }
    if (lease->keeping->run_out(c, lease))
        return;
    if (reason == LOST_GONE) /* somebody gave it back elsewhere */
        queue_freed(c, resource);
    else
        queue_due(c, resource);
}

void lease_unbind(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    lease->keeping->unbinds(c, lease);
    session_unlink_hold(c, &lease->hold);
    lease->mode->leave(c, lease); /* it goes behind the bound ones */
    lease->mode->enter(c, lease);
    secret_settle(lease);
    lease->renew_ms = c->now_ms;
    renewal_rearm(c, lease);
    names_changed(c, resource);
    queue_due(c, resource);
}

void lease_settle(struct coordinator *c, struct lease *lease)
{
    secret_settle(lease);
    if (secret_is_open(lease))
        lease->renew_ms = c->now_ms;
    renewal_rearm(c, lease);
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
                          .fence = hold->fence,
                          .depth = 1,
                          .peer = wait->session->peer,
                          .note = wait->note};
    wait->note = NULL;
    c->peer_locks[hold->peer]++;
    session_link_hold(c, wait->session, hold);
    random_token(c, lease->resource, &lease->hold.token, lease->mode);
    lease->granted_ms = c->now_ms;
    lease->ttl_ms = (int32_t)wait->ttl_ms;
    if (lease->renew_ms > next_ms && lease->until_ms < hold->ends_ms)
        lease->renew_ms = next_ms;
    renewal_rearm(c, lease);
}

bool lease_timer(struct coordinator *c, struct lease *lease)
{
    if (c->now_ms >= lease->until_ms) {
        lease_lost(c, lease, c->now_ms >= lease->hold.ends_ms ? LOST_MAX : LOST_EXPIRED);
        return false;
    }
    if (lease->keeping->look(c, lease))
        return false;
    if (c->now_ms >= fanout_spread_ms(lease)) {
        heal_spread(c, lease);
        lease->copies.spread = lease->copies.spread == SPREAD_SOON ? SPREAD_AGAIN : SPREAD_DONE;
    }
    if (c->now_ms >= secret_settle_ms(lease))
        lease_settle(c, lease);
    if (lease_is_bound(lease) && !lease->hold.warned && c->now_ms >= renewal_warns_ms(lease)) {
        lease->hold.warned = true;
        action_notice(c, NOTICE_EXPIRING, lease)->valid_ms = lease->until_ms - c->now_ms;
    }
    bool asked = renewal_is_wanted(c, lease) || secret_left(lease) != 0;
    bool due = asked && !lease->renewing && c->now_ms >= lease->renew_ms;
    bool waits = due && (lease_is_resumed(lease) || renewal_must_wait(c, lease));
    if (waits)
        renewal_soon(c, lease);
    else if (!due)
        renewal_rearm(c, lease);
    return due && !waits;
}
