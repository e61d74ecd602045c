/* Invariant 9: which masters' votes a daemon may count.
 *
 * A master may vote when every lock that it may have forgotten is over: a full quarantine after the last
 * command before the loss that a daemon may count on. (No daemon knows when that was, so daemons count from
 * the loss.) A restart shows by itself (a new run_id, a short uptime), so a vote that is counted too early
 * after a restart is always a violation. Other losses do not show by themselves: FLUSHALL, a replica's data,
 * a jump of the clock. Until a daemon has heard an answer that tells of such a loss, it is "blind" and
 * excused. If the group's key told a daemon to keep a master out, then the daemon must, whatever the truth
 * is. */
#include <string.h>

#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum {
    FROM_SLACK_US = 10000, /* TIME is in ms, and clocks drift apart while a quarantine lasts */
    JUMP_SEEN_US = 90000,  /* a jump up to this may not be seen, even where round trips are short */
    TRIAL_US = 420000,     /* the longest trial, with the question that confirms */
    HIDDEN_US = 210000,
};

static struct sim_node *node_of(const struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    return &d->node[w->conn[msg->conn].master];
}

/* The longest jump that the round trips of any master hide; no master is blamed for so little. */
static int64_t hidden_us(const struct sim_daemon *d)
{
    int64_t most_us = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        if (most_us < 2 * d->node[i].rtt_most_us)
            most_us = 2 * d->node[i].rtt_most_us;
    return most_us < HIDDEN_US ? most_us : HIDDEN_US;
}

/* A daemon may take a master's jump for a stall of its own, if no other master says otherwise. Then its
 * holders' deadlines end as early as the keys, and the master goes on voting. The daemon has decided when
 * its trial is over. */
static void settle_suspect(const struct sim_daemon *d, struct sim_node *node, int64_t now_us)
{
    int64_t since_us = node->suspect_us > d->paused_until_us ? node->suspect_us : d->paused_until_us;
    if (node->suspect_us == 0 || now_us < since_us + TRIAL_US)
        return;
    bool hidden = node->suspect_beyond_us <= hidden_us(d); /* by answers that came later */
    if (d->running && !hidden && coordinator_behind_ms(d->core) == node->suspect_behind_ms)
        node->blind = node->unaware = false;
    node->suspect_us = 0;
}

bool oracle_is_blind(const struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg)
{
    const struct sim_master *m = &w->master[w->conn[msg->conn].master];
    const struct sim_node *node = &d->node[m->index];
    bool before = msg->losses + 1 == m->losses; /* an answer from before the last loss, told since */
    return msg->unseen && msg->ran_us < msg->lost_us + d->full_us &&
           (before ? node->blind_before : node->blind);
}

bool oracle_may_vote(const struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg)
{
    const struct sim_node *node = &d->node[w->conn[msg->conn].master];
    bool keeps_out = w->plan->param[P_UNGUARDED] == 0 && msg->ran_us < node->from_us - FROM_SLACK_US;
    if (keeps_out)
        return false;
    return msg->ran_us >= msg->forgot_us + d->full_us || oracle_is_blind(w, d, msg);
}

/* Whether the clocks of more than a minority jumped within a quarantine. A daemon cannot tell such jumps from
 * stalls of its own. */
static bool many_jumped(const struct sim_world *w, const struct sim_daemon *d)
{
    unsigned jumped = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        jumped += w->master[i].jumped_us > w->now_us - d->full_us;
    return jumped > d->masters - d->first - d->quorum;
}

/* Whether this answer to TIME shows that the master's clock jumped. If the daemon has believed in a stall
 * of its own since the last reading, the jump hides behind that. */
static bool heard_time(const struct sim_world *w, const struct sim_daemon *d, struct sim_node *node,
                       const struct sim_msg *msg)
{
    int64_t behind_ms = coordinator_behind_ms(d->core);
    int64_t rtt_us = w->now_us - msg->sent_us;
    int64_t jumped_us = (msg->jumps_ms - node->time_jumps_ms) * 1000;
    bool same = node->time_rtt_us > 0 && node->time_epoch == msg->epoch && node->knew_epoch == msg->epoch;
    int64_t own_us = rtt_us + node->time_rtt_us;
    int64_t beyond_us = jumped_us - JUMP_SEEN_US - own_us;
    bool seen = same && beyond_us > (own_us < HIDDEN_US ? own_us : HIDDEN_US) && beyond_us > hidden_us(d);
    if (seen)
        node->suspect_beyond_us = beyond_us;
    seen = seen && !many_jumped(w, d) && behind_ms == node->time_behind_ms;
    node->time_behind_ms = msg->sent_us < d->stall.believed_us ? -1 : behind_ms;
    node->time_rtt_us = rtt_us;
    node->time_jumps_ms = msg->jumps_ms;
    node->time_epoch = msg->epoch;
    return seen;
}

static bool is_same_run(const struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    char run_id[RUN_ID_HEX];
    master_run_id(w, m->index, msg->epoch, run_id);
    return memcmp(run_id, msg->vote.group.run_id, RUN_ID_HEX) == 0;
}

int64_t oracle_votes_from_ms(const struct sim_daemon *d, const struct group *group)
{
    int64_t back_ms = group->back_ms + d->full_us / 1000;
    return group->back_ms != 0 && back_ms < group->from_ms ? back_ms : group->from_ms;
}

/* The daemon read the group's key. Returns whether it learned of a loss: the key is of another run, or its
 * time says that the master may not vote yet. */
static bool heard_group(const struct sim_world *w, const struct sim_daemon *d, const struct sim_master *m,
                        struct sim_node *node, const struct sim_msg *msg)
{
    const struct group *group = &msg->vote.group;
    node->group_us = msg->ran_us;
    int64_t ahead_us = (oracle_votes_from_ms(d, group) - msg->clock_ms) * 1000;
    if (!is_same_run(w, m, msg))
        return true;
    if (ahead_us <= 0 || m->set_back)
        return false; /* once the master's clock was set back, a time that was over lies ahead again */
    if (ahead_us > d->full_us)
        ahead_us = d->full_us;
    /* A whole quarantine is enough, even if the key says more: the daemon that wrote the key took another
     * master's jump for a stall of its own. */
    bool known = node->from_ms == group->from_ms;
    node->from_ms = group->from_ms;
    if (!known && node->from_us < msg->ran_us + ahead_us)
        node->from_us = msg->ran_us + ahead_us;
    /* An earlier time is an earlier doubt's, and a time that the daemon knows is no news. */
    int64_t old_us = master_young_us(m, d->full_us);
    return !known && old_us != NEVER && msg->ran_us + ahead_us >= old_us - FROM_SLACK_US;
}

void oracle_learns(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg)
{
    const struct sim_master *m = &w->master[w->conn[msg->conn].master];
    struct sim_node *node = node_of(w, d, msg);
    const struct vote *vote = &msg->vote;
    bool asks = msg->verb == COMMAND_GROUP || command_is_probe((enum command_verb)msg->verb);
    bool learns = vote->kind == VOTE_ERROR && vote->error == ERROR_READONLY;
    oracle_probed(node, msg);
    oracle_marker_heard(d, w, msg);
    settle_suspect(d, node, w->now_us);
    if (vote->kind == VOTE_INFO)
        learns =
            vote->info.replica; /* another run_id alone is not enough: the key may be of that run already */
    else if (vote->kind == VOTE_GROUP)
        learns = heard_group(w, d, m, node, msg);
    else if (asks && vote->kind == VOTE_NO)
        learns = node->knew && !w->rubbish;
    if (msg->verb == COMMAND_TIME && vote->kind == VOTE_NUMBER) {
        oracle_stall_shows(w, d, msg);
        if (heard_time(w, d, node, msg) && msg->epoch == m->epoch && msg->ran_us >= m->lost_us) {
            node->suspect_us = w->now_us;
            node->suspect_behind_ms = coordinator_behind_ms(d->core);
        }
    }
    if (learns && msg->losses + 1 == m->losses)
        node->blind_before = false;
    if (!learns || msg->epoch != m->epoch || msg->ran_us < m->lost_us)
        return;
    node->blind = false;
    node->unaware = node->unaware && vote->kind == VOTE_GROUP && is_same_run(w, m, msg);
}

/* Whether the daemon had every chance to notice: it was connected and awake all the time, and nothing else
 * was wrong with the link or the master. */
static bool could_notice(const struct sim_world *w, const struct sim_daemon *d, const struct sim_master *m)
{
    const struct sim_node *node = &d->node[m->index];
    const struct sim_link *link = &w->link[d->index][m->index];
    if (!d->running || d->draining || m->index < d->first || m->index >= d->masters || node->conn == 0 ||
        !node->settled)
        return false;
    const struct sim_conn *conn = &w->conn[node->conn - 1];
    bool troubled = m->rubbish_us > m->lost_us - d->full_us || m->hung_until_us > m->lost_us ||
                    m->error_until_us > m->lost_us || m->replica_until_us > m->lost_us ||
                    d->paused_until_us > m->lost_us;
    /* A message that was sent while the link was slow may arrive later, and all others arrive behind it. */
    for (int way = UP; way <= DOWN; way++)
        troubled |=
            link->cut_until_us[way] > m->lost_us || link->slow_until_us[way] > m->lost_us - node->rtt_most_us;
    return !troubled && w->plan->param[P_TAIL_PPM] == 0 && conn->born_us < m->lost_us - 2000000 &&
           node->settled_us < m->lost_us && node->group_before_us > m->lost_us - ORACLE_NOTICE_US;
}

void oracle_noticed_loss(struct sim_world *w, const struct sim_master *m, uint32_t loss)
{
    bool jumped = m->jumped_us >= m->lost_us;
    if (loss != m->losses || !m->running || m->replica_until_us > m->lost_us)
        return;
    if (jumped && (m->jumped_us != m->lost_us || m->jumped_ms * 1000 < 4 * JUMP_SEEN_US))
        return; /* the jump is too short, or was set back since ... */
    if (jumped && m->jumped_before_us > m->lost_us - ORACLE_NOTICE_US)
        return; /* ... or another one came shortly before */
    for (unsigned i = 0; i < w->daemons; i++) {
        struct sim_daemon *d = &w->daemon[i];
        /* While a master is kept out, another daemon's doubt may arrive late, and hide a second loss. No
         * lock depends on a master that is kept out. */
        if (!could_notice(w, d, m) || d->node[m->index].loss_in_quarantine)
            continue;
        if (jumped && m->jumped_ms * 1000 < 4 * JUMP_SEEN_US + d->node[m->index].loss_rtt_us)
            continue; /* a slow base hides the jump */
        bool taken_for_ours = jumped && coordinator_behind_ms(d->core) != d->node[m->index].loss_behind_ms;
        if (daemon_master_state(d, m->index) == MASTER_UP && !taken_for_ours)
            violation(w, 9, "d%u did not notice within %.2f s that m%u %s", i, ORACLE_NOTICE_US / 1e6,
                      m->index, jumped ? "had its clock set forward" : "was flushed");
    }
}
