#include <string.h>

#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/round/round.h"

static void own_set_back(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    struct token token = lease->hold.token, old = lease->resume->old;
    struct release_order order = {.name = resource->name,
                                  .token = &token,
                                  .back = &old,
                                  .ttl_ms = lease->copies.longest_ms,
                                  .may = lease->copies.sent};
    rounds_end_extends(c, lease);
    lease_free(c, lease);
    c->stats.attempts_undone++;
    release_begin(c, &order);
    queue_due(c, resource);
}

/* Every master that was sent the key owes the release, even if it reported since that the key is gone: a
 * restart from an old snapshot may bring the key back. */
void own_give_back(struct coordinator *c, struct lease *lease, uint64_t session, uint64_t request, bool bound)
{
    struct resource *resource = lease->resource;
    struct token shown[SECRET_TOKENS];
    unsigned tokens = secret_tokens(lease, shown);
    struct release_order order = {.name = resource->name,
                                  .token = &shown[0],
                                  .other = tokens > 1 ? &shown[1] : NULL,
                                  .third = tokens > 2 ? &shown[2] : NULL,
                                  .ttl_ms = c->longest_ttl_ms, /* any daemon may have extended it */
                                  .may = lease->copies.sent,
                                  .sent = lease->copies.sent | lease->copies.may | lease->copies.granted,
                                  .resource = resource,
                                  .one_of_many = lease->mode->shares,
                                  .session = session,
                                  .request = request,
                                  .bound = bound,
                                  .known = true};
    resume_given_back(resource, &lease->hold.token);
    resume_given_back(resource, lease_was(lease));
    rounds_end_extends(c, lease);
    lease_free(c, lease);
    resource->contended |= order.one_of_many; /* nobody is told who waits for readers to end */
    if (resource->lease != NULL && lease_is_bound(resource->lease))
        order.resource = NULL; /* other readers here have the name still */
    release_begin(c, &order);
}

static bool own_stands(const struct coordinator *c, const struct lease *lease)
{
    (void)c, (void)lease;
    return true;
}

static bool own_is_renewed(const struct coordinator *c, const struct lease *lease)
{
    (void)c;
    return lease_is_bound(lease);
}

static void own_extended(struct coordinator *c, struct lease *lease, const struct round *round)
{
    (void)c;
    if (round->purpose == ROUND_EXTEND)
        lease->ttl_ms = round->ttl_ms;
}

static int64_t own_looks_ms(const struct coordinator *c, const struct lease *lease)
{
    (void)c, (void)lease;
    return INT64_MAX;
}

static bool own_look(struct coordinator *c, struct lease *lease)
{
    (void)c, (void)lease;
    return false;
}

static bool own_run_out(struct coordinator *c, struct lease *lease)
{
    lease_free(c, lease);
    return false;
}

static void own_changes(struct coordinator *c, struct lease *lease)
{
    (void)c, (void)lease;
}

static void own_unbinds(struct coordinator *c, const struct lease *lease)
{
    (void)c, (void)lease;
}

const struct keeping keeping_own = {
    .told = true,
    .has_key = true,
    .stands = own_stands,
    .is_renewed = own_is_renewed,
    .renews = own_changes,
    .extended = own_extended,
    .looks_ms = own_looks_ms,
    .look = own_look,
    .extend = extend_begin,
    .give_back = own_give_back,
    .set_back = own_set_back,
    .run_out = own_run_out,
    .unbinds = own_unbinds,
    .parts = own_changes,
};
