#include "daemon/coordinator/mode/join.h"

#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/keep/renewal.h"
#include "daemon/coordinator/mode/shared.h"

enum { JOIN_MS = 5, SIXTH = 6, TENTH = 10 };

/* ---- who relies on whom ---- */

static struct lease *join_common(const struct coordinator *c, const struct lease *lease)
{
    return lease->keeping->has_key ? NULL : pool_find(&c->leases, shared_of(c, lease)->joins);
}

struct lease *join_of(const struct coordinator *c, const struct lease *lease)
{
    struct lease *common = join_common(c, lease);
    return common != NULL && c->now_ms < common->until_ms ? common : NULL;
}

/* A reader names its TTL when it joins, and each time it looks at the common lease, so before a third of that is over. */
static bool join_says(struct coordinator *c, const struct lease *lease, struct lease *common)
{
    struct shared *shared = shared_of(c, common);
    bool longer = lease->ttl_ms > common->ttl_ms;
    if (lease->ttl_ms > shared->said_ms)
        shared->said_ms = lease->ttl_ms;
    if (longer)
        common->ttl_ms = lease->ttl_ms;
    return longer;
}

/* In two thirds of the TTL each reader has named its own. */
void join_renews(struct coordinator *c, struct lease *common)
{
    struct shared *shared = shared_of(c, common);
    if (shared->said_ms == 0 || c->now_ms < shared->said_since_ms + common->ttl_ms - common->ttl_ms / THIRD)
        return;
    common->ttl_ms = shared->said_ms;
    shared->said_ms = 0;
    shared->said_since_ms = c->now_ms;
}

static void join_hasten(struct coordinator *c, struct lease *common)
{
    common->renew_ms = c->now_ms;
    renewal_rearm(c, common);
}

/* A lease that nobody kept may be near its end, and its next renewal is to ask for the longest TTL of its readers. */
static void join_keeps(struct coordinator *c, const struct lease *lease, struct lease *common)
{
    bool longer = join_says(c, lease, common);
    if (!lease_is_bound(lease))
        return;
    bool first = shared_of(c, common)->bound++ == 0;
    if (first)
        renewal_plan(c, common);
    if ((!first && !longer) || common->until_ms - c->now_ms >= common->ttl_ms - common->ttl_ms / THIRD)
        return;
    join_hasten(c, common);
}

void join_unbound(struct coordinator *c, const struct lease *lease)
{
    struct lease *common = join_common(c, lease);
    if (common != NULL && lease_is_bound(lease))
        shared_of(c, common)->bound--;
}

void join_parts(struct coordinator *c, struct lease *lease)
{
    struct lease *common = join_common(c, lease);
    join_unbound(c, lease);
    if (common != NULL)
        shared_of(c, common)->readers--;
}

static void join_take(struct coordinator *c, struct lease *lease, struct lease *common)
{
    shared_of(c, lease)->joins = common->id;
    shared_of(c, common)->readers++;
    join_keeps(c, lease, common);
}

/* ---- a lease to join ---- */

bool join_is_wanted(const struct coordinator *c, const struct resource *resource)
{
    const struct wait *head = resource->queue->head;
    bool others = head->next != NULL && head->next->mode->shares;
    uint64_t readers = (uint64_t)crowd_of(c, resource)->readers + (others ? resource->queue->waiters : 1);
    bool room = (uint64_t)c->leases.used + c->acquiring + 2 <= c->config.max_locks;
    return head->hold == HOLD_SESSION && resource->name->more == 0 && readers > c->config.join_from && room;
}

/* A reader can go over when the home was renewed since the reader's own lease was granted. */
static void join_hurry(struct coordinator *c, struct lease *home, const struct lease *lease)
{
    int64_t soon_ms = c->now_ms + lease->ttl_ms / SIXTH;
    if (home->ttl_ms <= lease->ttl_ms || home->renew_ms <= soon_ms)
        return;
    home->renew_ms = soon_ms;
    renewal_rearm(c, home);
}

void join_make(struct coordinator *c, struct lease *lease, const struct round *round)
{
    struct shared *common = shared_of(c, lease);
    common->shown_ms = round->t0_ms;
    common->kept_ms = 0;
    common->memories = c->memories;
    common->readers = common->bound = 0;
    common->said_ms = 0;
    common->said_since_ms = c->now_ms;
    struct crowd *crowd = crowd_of(c, lease->resource);
    crowd->latest = lease;
    if (crowd->home == NULL || lease->ttl_ms > crowd->home->ttl_ms || shared_of(c, crowd->home)->bound == 0)
        crowd->home = lease;
    join_hurry(c, crowd->home, lease);
    c->commons++;
}

/* The masters said just now that no writer waits, and have not lost their memory since. */
static bool join_is_fresh(const struct coordinator *c, const struct lease *common, const struct wait *wait)
{
    int64_t left_ms = common->until_ms - c->now_ms;
    bool fresh = c->now_ms - common->granted_ms <= JOIN_MS;
    return fresh && !letter_doubts(c, common) && shared_of(c, common)->memories == c->memories &&
           left_ms >= c->config.min_validity_ms && left_ms >= wait->ttl_ms - wait->ttl_ms / THIRD;
}

struct lease *join_found(const struct coordinator *c, const struct resource *resource)
{
    const struct wait *wait = resource->queue->head;
    if (wait->hold != HOLD_SESSION || c->differing != 0 || trial_is_open(c))
        return NULL;
    struct lease *common = crowd_of(c, resource)->latest;
    if (common == NULL || resource->queue->wake.woken != 0 || wait_is_over(c, wait))
        return NULL;
    return join_is_fresh(c, common, wait) ? common : NULL;
}

/* ---- the deadline of a reader ---- */

/* A reader's deadline grows with the common lease's. */
static bool join_grows(const struct coordinator *c, struct lease *lease, const struct lease *common)
{
    int64_t until_ms = quorum_until_ms(c->now_ms, lease->ttl_ms);
    until_ms = earlier_ms(until_ms, common->until_ms);
    until_ms = earlier_ms(until_ms, lease->hold.ends_ms);
    if (until_ms <= lease->until_ms)
        return false;
    lease->until_ms = until_ms;
    lease->hold.warned = false;
    return true;
}

/* Plans the next look at the common lease: in the middle of the time before this lease's holder would be warned. When
 * the common lease itself is renewed is not known here. */
static void join_plan(struct coordinator *c, struct lease *lease)
{
    int64_t spare_ms = lease->until_ms - c->now_ms - lease->ttl_ms / THIRD;
    bool grows = lease->until_ms < lease->hold.ends_ms;
    if (grows && spare_ms < lease->ttl_ms / TENTH + TENTH) {
        renewal_soon(c, lease);
        return;
    }
    lease->renew_ms = INT64_MAX;
    if (grows)
        lease->renew_ms = c->now_ms + random_between(c, spare_ms / 2 - spare_ms / TENTH, spare_ms / 2);
    renewal_rearm(c, lease);
}

void join_enter(struct coordinator *c, struct lease *lease, struct lease *common)
{
    join_grows(c, lease, common);
    join_take(c, lease, common);
    join_plan(c, lease);
}

void join_bound(struct coordinator *c, struct lease *lease)
{
    struct lease *common = join_of(c, lease);
    join_keeps(c, lease, common);
    join_grows(c, lease, common);
    lease->hold.warned =
        lease->until_ms - c->now_ms < lease->ttl_ms / THIRD; /* its client is told that now */
    join_plan(c, lease);
}

/* A reader goes over to the lease that is the crowd's home if the masters had both keys at one moment: so the name was
 * held all the time. */
static bool join_goes_over(const struct coordinator *c, const struct lease *lease, const struct lease *own,
                           const struct lease *home)
{
    if (home == own || lease->extending > 0 || home->until_ms < lease->until_ms || letter_doubts(c, home))
        return false;
    return shared_of(c, own)->shown_ms >= home->granted_ms && shared_of(c, home)->shown_ms >= own->granted_ms;
}

struct lease *join_look(struct coordinator *c, struct lease *lease)
{
    struct crowd *crowd = crowd_of(c, lease->resource);
    struct lease *own = join_of(c, lease);
    if (crowd->home == NULL)
        crowd->home = own;
    struct lease *home = crowd->home;
    bool goes_over = join_goes_over(c, lease, own, home);
    if (goes_over) {
        join_parts(c, lease);
        join_take(c, lease, home);
    }
    if (!goes_over && join_says(c, lease, own))
        join_hasten(c, own);
    if (join_grows(c, lease, goes_over ? home : own))
        renewal_tell(c, lease);
    join_plan(c, lease);
    return goes_over ? own : NULL;
}

int64_t join_extended(struct coordinator *c, const struct round *round)
{
    struct lease *lease = pool_find(&c->leases, round->reader);
    struct lease *common = lease != NULL ? join_of(c, lease) : NULL;
    if (common == NULL || c->now_ms >= lease->until_ms)
        return 0;
    lease->ttl_ms = round->reader_ttl_ms;
    if (lease->ttl_ms > lease->copies.longest_ms)
        lease->copies.longest_ms = lease->ttl_ms;
    join_says(c, lease, common);
    join_grows(c, lease, common);
    join_plan(c, lease);
    renewal_tell(c, lease);
    return lease->until_ms;
}

/* ---- ends ---- */

struct lease *join_lost(struct coordinator *c, const struct lease *lease)
{
    struct lease *common = join_common(c, lease);
    int64_t until_ms = lease->until_ms + quorum_drift_ms(lease->ttl_ms);
    if (common != NULL && until_ms > shared_of(c, common)->kept_ms)
        shared_of(c, common)->kept_ms = until_ms;
    return common;
}

/* Until when a reader that left may believe in it: a clock that stood still tells it so much later. */
static int64_t join_believed_ms(const struct coordinator *c, const struct lease *common)
{
    return shared_of(c, common)->kept_ms + stall_lately_ms(c);
}

bool join_is_over(const struct coordinator *c, const struct lease *common)
{
    const struct shared *shared = shared_of(c, common);
    return shared->readers == 0 && c->now_ms >= join_believed_ms(c, common);
}

int64_t join_kept_ms(const struct coordinator *c, const struct lease *common)
{
    bool kept = shared_of(c, common)->readers == 0 && !join_is_over(c, common);
    return kept ? join_believed_ms(c, common) : INT64_MAX;
}

/* All that joined the lease look for it at once. */
static void join_gone(struct coordinator *c, const struct lease *common)
{
    struct lease *lease = shared_of(c, common)->readers > 0 ? common->resource->lease : NULL;
    for (; lease != NULL; lease = shared_next(c, lease)) {
        if (join_common(c, lease) != common || !lease_is_bound(lease))
            continue;
        lease->renew_ms = c->now_ms;
        renewal_rearm(c, lease);
    }
}

void join_ends(struct coordinator *c, struct lease *common)
{
    struct crowd *crowd = crowd_of(c, common->resource);
    join_gone(c, common);
    if (crowd->latest == common)
        crowd->latest = NULL;
    if (crowd->home == common)
        crowd->home = crowd->latest;
    c->commons--;
}
