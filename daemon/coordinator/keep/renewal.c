#include "daemon/coordinator/keep/renewal.h"

#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/name/fanout.h"

enum {
    TENTH = 10,
    SOON = 30,      /* parts of a TTL: the pause after a renewal that failed */
    AWAY_MS = 1000, /* pause of settling while the masters that are left are away */
};

bool renewal_is_wanted(const struct coordinator *c, const struct lease *lease)
{
    return lease->keeping->is_renewed(c, lease);
}

int64_t renewal_warns_ms(const struct lease *lease)
{
    return lease->until_ms == lease->hold.ends_ms ? INT64_MAX : lease->until_ms - lease->ttl_ms / THIRD;
}

void renewal_rearm(struct coordinator *c, struct lease *lease)
{
    int64_t at_ms = earlier_ms(lease->until_ms, fanout_spread_ms(lease));
    if (renewal_is_wanted(c, lease)) {
        if (!lease->renewing && lease->renew_ms < at_ms)
            at_ms = lease->renew_ms;
        if (lease_is_bound(lease) && !lease->hold.warned && renewal_warns_ms(lease) < at_ms)
            at_ms = renewal_warns_ms(lease);
        at_ms = earlier_ms(at_ms, secret_settle_ms(lease));
    } else if (!lease->renewing && secret_left(lease) != 0) {
        at_ms = earlier_ms(at_ms, lease->renew_ms);
    }
    heap_set(&c->deadlines, &lease->item, earlier_ms(at_ms, lease->keeping->looks_ms(c, lease)));
}

/* A renewal is due a third of the TTL after the last success. The time varies by a tenth of that, so that
 * leases which were taken together are not renewed together for ever. A lease that already runs to the end
 * of its max= is not renewed. Settling goes on all the same: at once until Q masters have acknowledged it,
 * and then for the others. */
void renewal_plan(struct coordinator *c, struct lease *lease)
{
    int64_t third_ms = lease->ttl_ms / THIRD;
    lease->renew_ms = INT64_MAX;
    if (secret_is_open(lease))
        lease->renew_ms = c->now_ms;
    else if (renewal_is_wanted(c, lease) && lease->until_ms < lease->hold.ends_ms)
        lease->renew_ms = c->now_ms + random_between(c, third_ms - third_ms / 10, third_ms + third_ms / 10);
    else if (secret_left(lease) != 0)
        lease->renew_ms =
            c->now_ms + ((secret_left(lease) & c->extenders) != 0 ? c->config.node_timeout_ms : AWAY_MS);
    renewal_rearm(c, lease);
}

/* The pause is at most a tenth of the time that is left; otherwise one failure would lose the lock where
 * retry_max is not far below the TTL. The pause also has a lower bound, so that all locks near their
 * deadlines do not keep the daemon busy while no quorum is up. */
void renewal_soon(struct coordinator *c, struct lease *lease)
{
    int64_t soon_ms = lease->ttl_ms / SOON;
    int64_t pause_ms = soon_ms + random_between(c, c->config.retry_min_ms, c->config.retry_max_ms);
    int64_t most_ms = (lease->until_ms - c->now_ms) / TENTH, least_ms = soon_ms / TENTH + 1;
    if (most_ms < least_ms)
        most_ms = least_ms;
    lease->renew_ms = c->now_ms + (pause_ms < most_ms ? pause_ms : most_ms);
    renewal_rearm(c, lease);
}

void renewal_begins(struct coordinator *c, struct lease *lease)
{
    lease->renewing = true;
    c->renewing++;
    renewal_rearm(c, lease);
}

void renewal_ends(struct coordinator *c, struct lease *lease)
{
    c->renewing -= lease->renewing;
    c->lettered -= lease->lettered;
    lease->renewing = lease->lettered = false;
}

void renewal_tell(struct coordinator *c, const struct lease *lease)
{
    if (!lease_is_bound(lease))
        return;
    struct notice *notice = action_notice(c, NOTICE_RENEWED, lease);
    notice->until_ms = lease->until_ms;
    notice->valid_ms = lease->until_ms - c->now_ms;
}

int64_t renewal_extended(struct coordinator *c, struct lease *lease, const struct round *round,
                         int64_t until_ms)
{
    if (until_ms > lease->hold.ends_ms)
        until_ms = lease->hold.ends_ms;
    if (round->purpose == ROUND_RENEW) {
        c->stats.renewals_done++;
        histogram_count(&c->times.renewal_left, (lease->until_ms - c->now_ms) * 1000);
    }
    bool settles_only = round->purpose == ROUND_RENEW && !renewal_is_wanted(c, lease);
    if (until_ms > lease->until_ms && !settles_only) {
        heal_until(c, lease, until_ms);
        lease->hold.warned = false;
    }
    lease->keeping->extended(c, lease, round);
    renewal_plan(c, lease);
    renewal_tell(c, lease);
    return lease->until_ms;
}

void renewal_failed(struct coordinator *c, struct lease *lease, bool at_once)
{
    c->stats.renewals_failed++;
    renewal_soon(c, lease);
    if (!at_once)
        return;
    lease->renew_ms = c->now_ms;
    renewal_rearm(c, lease);
}

/* Limits the renewals that are under way at once: more would only queue up at the masters, until all are
 * late together. A lease that comes near its !EXPIRING may go as long as there are fewer than twice as
 * many, and a lease that would reach its deadline before the next try goes in any case. Renewals because of letters
 * are in nobody's way. */
bool renewal_must_wait(const struct coordinator *c, const struct lease *lease)
{
    int64_t pause_ms = earlier_ms(c->config.retry_max_ms, lease->ttl_ms / TENTH) + lease->ttl_ms / SOON;
    bool hurries = c->now_ms + pause_ms >= renewal_warns_ms(lease);
    if (c->now_ms + pause_ms >= lease->until_ms)
        return false;
    return c->renewing - c->lettered >= (hurries ? 2 : 1) * c->config.max_renewals;
}
