/* Invariant 9, the rest: a vote counts only while the last good probe of its master is not old, since only that
 * shows that the master has not forgotten other locks. */
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum { LEAST_MS = 3000, SLACK_US = 50000 };

/* A host that stood still, uncounted by its clock, takes a probe for a fresh one. */
static bool is_judged(const struct sim_daemon *d)
{
    return d->clock.stopped_us == 0;
}

uint16_t oracle_fresh(const struct sim_world *w, const struct sim_daemon *d, uint16_t masters)
{
    int64_t limit_ms = 1000 + 2 * w->plan->param[P_NODE_TIMEOUT];
    int64_t limit_us = (limit_ms > LEAST_MS ? limit_ms : LEAST_MS) * 1000 + SLACK_US;
    uint16_t fresh = masters;
    for (unsigned i = d->first; i < d->masters && is_judged(d); i++)
        if (d->node[i].probed_us < w->now_us - limit_us)
            fresh &= (uint16_t)~oracle_bit(i);
    return fresh;
}

void oracle_probed(struct sim_node *node, const struct sim_msg *msg)
{
    bool probe = msg->verb == COMMAND_GROUP || command_is_probe((enum command_verb)msg->verb);
    if (probe && msg->vote.kind != VOTE_ERROR)
        node->probed_us = msg->ran_us;
}
