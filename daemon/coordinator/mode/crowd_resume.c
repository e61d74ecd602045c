#include "daemon/coordinator/mode/crowd.h"

#include "daemon/coordinator/ask/acquire.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/mode/shared.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/wait/resource.h"

/* In case that +LOCKED cannot be delivered. */
static bool keep_token(struct coordinator *c, struct lease *lease)
{
    if (lease->resume == NULL)
        lease->resume = pool_take(&c->resumes);
    if (lease->resume != NULL)
        lease->resume->old = lease->hold.token;
    return lease->resume != NULL;
}

static void leave(struct coordinator *c, struct lease *lease)
{
    rounds_end_extends(c, lease);
    if (lease_is_bound(lease)) {
        c->stats.lost++;
        action_notice(c, NOTICE_LOST, lease)->reason = LOST_MOVED;
        join_unbound(c, lease);
        session_unlink_hold(c, &lease->hold);
    }
    shared_remove(c, lease);
    intern_note_back(&c->intern, lease->hold.note);
    c->peer_locks[lease->hold.peer]--;
}

static void take(struct coordinator *c, struct session *session, uint64_t request, const struct request *what,
                 struct lease *lease)
{
    lease_hold(c, lease, session, request, what->max_ms >= 0 ? c->now_ms + what->max_ms : INT64_MAX);
    lease->hold.note = intern_note(&c->intern, &what->note);
    lease->hold.warned = false;
    lease->granted_ms = c->now_ms;
    lease->ttl_ms = (int32_t)(what->ttl_ms >= 0 ? what->ttl_ms : c->config.default_ttl_ms);
    if (lease->hold.ends_ms < lease->until_ms) { /* by the old token its client may believe for longer */
        join_lost(c, lease);
        lease->until_ms = lease->hold.ends_ms;
    }
    random_token(c, lease->resource, &lease->hold.token, c->modes[MODE_READER]);
    session_link_hold(c, session, &lease->hold);
    shared_add(c, lease);
    join_bound(c, lease);
}

static void refuse(struct coordinator *c, const struct session *session, uint64_t request,
                   const struct request *what)
{
    struct reply *reply = action_reply(c, session->key, request, REPLY_NOQUORUM, &what->name);
    action_noquorum(c, reply, NULL);
    action_retry(c, reply);
    c->stats.refused_noquorum++;
}

void crowd_resume(struct coordinator *c, struct session *session, uint64_t request,
                  const struct request *what, struct lease *lease)
{
    struct resource *resource = lease->resource;
    const struct round *attempt = resource->queue->round;
    c->stats.resumes++;
    const struct lease *common = join_of(c, lease);
    if (c->now_ms >= lease->until_ms || common == NULL) {
        action_reply(c, session->key, request, REPLY_NOTHELD, &what->name);
        return;
    }
    if (trial_is_open(c) || letter_doubts(c, common) ||
        lease->until_ms - c->now_ms < c->config.min_validity_ms || !keep_token(c, lease)) {
        refuse(c, session, request, what);
        return;
    }
    if (attempt != NULL && attempt->resource == resource)
        acquire_abandon(c, resource); /* resource_granted() answers the head, or lets it wait on */
    leave(c, lease);
    take(c, session, request, what, lease);
    c->stats.resumed++;
    struct reply *reply = action_reply(c, session->key, request, REPLY_LOCKED, &what->name);
    action_locked(c, reply, lease);
    resource_granted(c, resource);
}
