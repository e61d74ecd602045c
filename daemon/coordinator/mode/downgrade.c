#include "daemon/coordinator/mode/downgrade.h"

#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/secret.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/name/due.h"
#include "daemon/coordinator/name/mark.h"
#include "daemon/coordinator/wait/resource.h"

/* The client that shows the lease's token has read it, so there is no grant any more that may prove to be
 * undelivered. */
static void downgrade_begin(struct coordinator *c, struct lease *lease)
{
    struct resource *resource = lease->resource;
    secret_downgrade(c, lease);
    if (lease->resume != NULL)
        pool_give(&c->resumes, lease->resume);
    lease->resume = NULL;
    lease->mode = c->modes[MODE_READER];
    resource->lease = NULL;
    shared_add(c, lease);
    shared_count(c, lease, 1);
}

static struct reply *downgrade_reply(struct coordinator *c, const struct coordinator_event *event,
                                     enum reply_code code)
{
    return action_reply(c, event->session, event->request, code, &event->what.name);
}

void downgrade_answer(const struct coordinator *c, struct lease *lease, struct reply *reply)
{
    lease->secret->down_told = true;
    action_locked(c, reply, lease);
    reply->depth = lease->hold.depth;
}

/* The readers that wait here ask at once, and again when a quorum would let them in, which those of other daemons are
 * told then. */
static void downgrade_lets_in(struct coordinator *c, struct resource *resource)
{
    const struct wait *head = resource->queue->head;
    if (head != NULL && head->mode->shares)
        queue_freed(c, resource);
}

void downgrade_again(struct coordinator *c, struct lease *lease)
{
    lease_settle(c, lease);
}

/* Refuses a request for which nothing can be sent now; returns true if it did. A first request has changed nothing
 * then. A RESUME that is under way moves the same keys, and the client asks again when that is over. */
static bool downgrade_must_wait(struct coordinator *c, const struct coordinator_event *event,
                                const struct lease *lease)
{
    bool first = !lease->mode->shares, full = c->rounds.used == c->rounds.capacity;
    if (!full && !(first && lease_is_resumed(lease)))
        return false;
    if (first && full) {
        c->stats.refused_limit++;
        downgrade_reply(c, event, REPLY_LIMIT)->limit = LIMIT_MAX_ROUNDS;
        return true;
    }
    c->stats.refused_noquorum++;
    struct reply *reply = downgrade_reply(c, event, REPLY_NOQUORUM);
    action_noquorum(c, reply, NULL);
    reply->text = first ? TEXT_NONE : TEXT_SHARED_NOW;
    action_retry(c, reply);
    return true;
}

static void downgrade_request(struct coordinator *c, const struct coordinator_event *event,
                              struct lease *lease)
{
    bool first = !lease->mode->shares;
    if (slots_base(lease->resource) != lease->resource) {
        downgrade_reply(c, event, REPLY_BADARG)->text = TEXT_SLOT_ALONE;
        return;
    }
    if (first && lease->hold.depth > 1) {
        downgrade_reply(c, event, REPLY_MODE)->text = TEXT_ENTERED_TWICE;
        return;
    }
    if (!first && !secret_is_downgrading(lease)) {
        downgrade_answer(c, lease, downgrade_reply(c, event, REPLY_LOCKED));
        return;
    }
    if (downgrade_must_wait(c, event, lease))
        return;
    if (first)
        downgrade_begin(c, lease);
    uint32_t before = lease->extending;
    extend_request(c, event->session, event->request, &event->what, lease);
    if (lease->extending == before) /* no master may vote now */
        downgrade_again(c, lease);
    if (first)
        downgrade_lets_in(c, lease->resource);
}

bool downgrade_answers(struct coordinator *c, const struct coordinator_event *event, struct lease *lease)
{
    bool shared = event->what.shared;
    if (!shared && lease->mode->shares)
        downgrade_reply(c, event, REPLY_MODE)->text = TEXT_IS_SHARED;
    else if (shared && (!lease->mode->shares || lease_was_known_by(lease, &event->what.token)))
        downgrade_request(c, event, lease);
    else
        return false;
    return true;
}

void downgrade_confirmed(struct coordinator *c, struct lease *lease, masters_t bit)
{
    bool open = secret_is_downgrading(lease);
    secret_settled(c, lease, bit);
    if (!open || secret_is_downgrading(lease))
        return;
    mark_along(c, lease->resource->name, c->voters);
    downgrade_lets_in(c, lease->resource);
}
