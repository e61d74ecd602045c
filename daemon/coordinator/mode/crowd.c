#include "daemon/coordinator/mode/crowd.h"

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/renewal.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/round/round.h"

void crowd_join(struct coordinator *c, struct resource *resource, struct lease *common)
{
    struct wait *wait = resource->queue->head;
    struct lease *lease = lease_new(c, resource);
    lease->mode = c->modes[MODE_READER];
    lease->keeping = &keeping_joined;
    random_token(c, resource, &lease->hold.token, c->modes[MODE_READER]);
    lease->hold.fence = common->hold.fence;
    lease->ttl_ms = lease->copies.longest_ms = (int32_t)wait->ttl_ms;
    lease_hold(c, lease, wait->session, wait->request,
               wait->max_ms >= 0 ? c->now_ms + wait->max_ms : INT64_MAX);
    lease->hold.note = wait->note;
    wait->note = NULL;
    session_link_hold(c, wait->session, &lease->hold);
    c->holds[HOLD_SESSION]++;
    shared_count(c, lease, 1);
    shared_add(c, lease);
    join_enter(c, lease, common);
    lease_granted(c, resource, lease);
}

struct lease *crowd_grant(struct coordinator *c, struct resource *resource, const struct round *round,
                          uint64_t fence, int64_t until_ms)
{
    struct lease *common = lease_begin(c, resource, round, fence);
    common->keeping = &keeping_common;
    join_make(c, common, round);
    lease_bind(c, common, round, NULL, until_ms);
    crowd_join(c, resource, common);
    return common;
}

/* Gives back the lease that readers joined (NULL: none), as give_back() does, or plans when, if none is left.
 * Returns whether it was given back. */
static bool leave(struct coordinator *c, struct lease *common, uint64_t session, uint64_t request, bool bound)
{
    bool over = common != NULL && join_is_over(c, common);
    if (over)
        own_give_back(c, common, session, request, bound);
    else if (common != NULL)
        renewal_rearm(c, common);
    return over;
}

/* ---- a lease that others joined ---- */

static bool common_stands(const struct coordinator *c, const struct lease *common)
{
    (void)c, (void)common;
    return true;
}

static bool common_is_renewed(const struct coordinator *c, const struct lease *common)
{
    return shared_of(c, common)->bound > 0;
}

/* A common lease's TTL is the longest of its readers', and EXTENDs are not answered in order. */
static void common_extended(struct coordinator *c, struct lease *common, const struct round *round)
{
    shared_of(c, common)->shown_ms = round->t0_ms;
    if (round->purpose == ROUND_EXTEND && round->ttl_ms > common->ttl_ms)
        common->ttl_ms = round->ttl_ms;
}

static bool common_look(struct coordinator *c, struct lease *common)
{
    return shared_of(c, common)->readers == 0 && leave(c, common, 0, 0, true);
}

static bool common_run_out(struct coordinator *c, struct lease *common)
{
    lease_free(c, common);
    return false;
}

static void common_unbinds(struct coordinator *c, const struct lease *common)
{
    (void)c, (void)common;
}

/* No client knows its token: so nobody can EXTEND, RESUME or UNLOCK it. */
const struct keeping keeping_common = {
    .has_key = true,
    .stands = common_stands,
    .is_renewed = common_is_renewed,
    .renews = join_renews,
    .extended = common_extended,
    .looks_ms = join_kept_ms,
    .look = common_look,
    .give_back = own_give_back,
    .run_out = common_run_out,
    .unbinds = common_unbinds,
    .parts = join_ends,
};

/* ---- a reader's lease that joined ---- */

static bool joined_stands(const struct coordinator *c, const struct lease *lease)
{
    return join_of(c, lease) != NULL;
}

static bool joined_is_renewed(const struct coordinator *c, const struct lease *lease)
{
    (void)c;
    return lease_is_bound(lease);
}

static int64_t joined_looks_ms(const struct coordinator *c, const struct lease *lease)
{
    (void)c, (void)lease;
    return INT64_MAX;
}

/* In place of a renewal it looks at the common lease. */
static bool joined_look(struct coordinator *c, struct lease *lease)
{
    if (!lease_is_bound(lease) || c->now_ms < lease->renew_ms)
        return false;
    if (join_of(c, lease) == NULL)
        lease_lost(c, lease, LOST_GONE);
    else
        leave(c, join_look(c, lease), 0, 0, true);
    return true;
}

/* The common lease is extended, for no less than its own TTL. */
static struct round *joined_extend(struct coordinator *c, uint64_t session, uint64_t request,
                                   const struct request *what, struct lease *lease, int64_t ttl_ms)
{
    struct lease *common = join_of(c, lease);
    if (common == NULL) {
        action_reply(c, session, request, REPLY_NOTHELD, &what->name);
        return NULL;
    }
    int64_t longer_ms = ttl_ms > common->ttl_ms ? ttl_ms : common->ttl_ms;
    struct round *round = extend_begin(c, session, request, what, common, longer_ms);
    if (round == NULL)
        return NULL;
    round->token = common->hold.token;
    round->reader = lease->id;
    round->reader_ttl_ms = (int32_t)ttl_ms;
    lease->extending++;
    return round;
}

/* The last reader's UNLOCK is answered when the masters have answered, any other one at once. */
static void joined_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request,
                             bool bound)
{
    struct resource *resource = lease->resource;
    struct lease *common = join_of(c, lease);
    rounds_end_extends(c, lease);
    lease_free(c, lease);
    if (leave(c, common, session, request, bound))
        return;
    if (common != NULL)
        action_handed(c, session, request, resource->name);
    else if (request != 0)
        action_reply(c, session, request, REPLY_NOTHELD, resource->name)->text = TEXT_LOST_BEFORE_RELEASE;
    queue_due(c, resource);
}

/* The token of its RESUME is known here alone. */
static void joined_set_back(struct coordinator *c, struct lease *lease)
{
    lease->hold.token = lease->resume->old;
    pool_give(&c->resumes, lease->resume);
    lease->resume = NULL;
    c->stats.attempts_undone++;
    lease_unbind(c, lease);
}

static bool joined_run_out(struct coordinator *c, struct lease *lease)
{
    struct lease *common = join_lost(c, lease);
    lease_free(c, lease);
    return leave(c, common, 0, 0, true);
}

const struct keeping keeping_joined = {
    .told = true,
    .stands = joined_stands,
    .is_renewed = joined_is_renewed,
    .looks_ms = joined_looks_ms,
    .look = joined_look,
    .extend = joined_extend,
    .resume = crowd_resume,
    .give_back = joined_give_back,
    .set_back = joined_set_back,
    .run_out = joined_run_out,
    .unbinds = join_unbound,
    .parts = join_parts,
};
