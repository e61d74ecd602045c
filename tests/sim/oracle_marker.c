/* The markers on the masters (<prefix>,group), and what handshakes find there. Invariants 2, 7 and 9. */
#include <string.h>

#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

enum { SLACK_US = 100000 /* until the daemon's timer runs */ };

/* ---- markers that differ ---- */

void oracle_marker_heard(struct sim_daemon *d, const struct sim_world *w, const struct sim_msg *msg)
{
    struct sim_node *node = &d->node[w->conn[msg->conn].master];
    const struct group *group = &msg->vote.group;
    if (msg->verb == COMMAND_TRY)
        node->lacks = msg->vote.kind != VOTE_YES;
    if ((msg->verb != COMMAND_GROUP && !command_is_probe((enum command_verb)msg->verb)) ||
        msg->vote.kind == VOTE_ERROR)
        return;
    /* A master that cannot be used is not believed either: its marker may be another server's. */
    if (msg->vote.kind == VOTE_GROUP && !node->lacks && group->step > d->shown_step)
        d->shown_step = group->step;
    if (generation_class(w)) /* which set a key is of is a matter of steps */
        return;
    struct coordinator_config config = daemon_config(w, d);
    bool other_set = group->set != 0 && config.set.hash != 0 && group->set != config.set.hash;
    node->differs = msg->vote.kind == VOTE_GROUP && !node->lacks &&
                    (group->masters != config.masters || group->max_ttl_ms != config.max_ttl_ms || other_set);
    node->theirs_ms = group->max_ttl_ms;
}

uint16_t oracle_differing(const struct sim_daemon *d)
{
    uint16_t differing = 0;
    for (unsigned i = d->first; i < d->masters; i++)
        differing |= d->node[i].differs ? oracle_bit(i) : 0;
    return differing;
}

void oracle_marker_granted(struct sim_world *w, const struct sim_daemon *d, unsigned name)
{
    if (oracle_differing(d) != 0)
        violation(w, 9, "d%u grants n%u, though the markers of %#x have another N, max_ttl or set", d->index,
                  name, oracle_differing(d));
}

/* Daemons with a smaller max_ttl wait for no longer than that; and a daemon that others have left two steps behind renews
 * nothing, as they grant what it holds. */
void oracle_marker_extends(struct sim_world *w, const struct sim_daemon *d, const struct action *action,
                           uint32_t tok)
{
    const struct command *command = &action->u.command;
    if (command_for_one(command->verb) != COMMAND_EXTEND || oracle_is_mark(w, tok))
        return; /* a mark lasts as long as was asked, whatever max_ttl is */
    uint32_t step = coordinator_step_number(d->core);
    if (generation_class(w) && d->shown_step > step + 1)
        violation(w, 2, "d%u extends T%u at step %u, though a master has shown it step %u", d->index, tok,
                  step, d->shown_step);
    for (unsigned i = d->first; i < d->masters; i++)
        if (d->node[i].differs && command->number > (uint64_t)d->node[i].theirs_ms)
            violation(w, 2, "d%u extends T%u by %llu ms, though m%u's marker has max_ttl=%lld", d->index, tok,
                      (unsigned long long)command->number, i, (long long)d->node[i].theirs_ms);
}

/* ---- from when on a master may vote ---- */

/* Daemons that run take a lower time for lost memory. */
void oracle_marker_ran(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg)
{
    const struct store_group *before = &w->oracle.group_before, *after = &m->store.group;
    if (msg->verb != COMMAND_GROUP_SET || before->kind != STORE_GROUP_OURS || after->kind != STORE_GROUP_OURS)
        return;
    if (after->group.step < before->group.step)
        violation(w, 9, "d%u lowers the step of m%u's marker from %u to %u", w->conn[msg->conn].daemon,
                  m->index, before->group.step, after->group.step);
    if (memcmp(before->group.run_id, after->group.run_id, RUN_ID_HEX) != 0)
        return;
    if (after->group.from_ms < before->group.from_ms)
        violation(w, 7, "d%u lowers the from= of m%u's marker by %lld ms", w->conn[msg->conn].daemon,
                  m->index, (long long)(before->group.from_ms - after->group.from_ms));
}

/* No master has forgotten anything, so each is kept out until its marker's time at most. A daemon counts from the
 * arrival of a TIME, which the master may have read a round trip before. A daemon that starts after a clock was set back
 * cannot tell a marker that seems young from a marker that was written anew. */
void oracle_kept_out(struct sim_world *w, const struct sim_daemon *d, unsigned master, enum master_why why)
{
    const struct sim_master *m = &w->master[master];
    const struct store_group *marker = &m->store.group;
    bool reconnects = why == WHY_RECONNECT || w->plan->param[P_NO_KILL] != 0;
    if (!w->only_backs || reconnects || marker->kind != STORE_GROUP_OURS)
        return;
    int64_t over_us = clock_us(&m->clock, w->now_us) - oracle_votes_from_ms(d, &marker->group) * 1000;
    int64_t age_us = clock_us(&m->clock, w->now_us) - marker->group.from_ms * 1000;
    bool seems_young = why == WHY_MEMORY && m->set_back && age_us < d->full_us;
    if (over_us > SLACK_US + d->node[m->index].rtt_most_us && !seems_young)
        violation(w, 9, "d%u keeps m%u out (why %d), whose marker lets it vote since %.3f s", d->index,
                  m->index, why, (double)over_us / 1e6);
}

/* Only a full memory, a replica and the like hide from a handshake that the master lacks a command. */
void oracle_lacking(struct sim_world *w, const struct sim_daemon *d, unsigned master, enum master_state state)
{
    const struct sim_master *m = &w->master[master];
    if (w->now_us >= m->lacks_until_us)
        return;
    int64_t born_us = w->conn[d->node[m->index].conn - 1].born_us;
    bool lacks = m->lacks_us < born_us;
    bool hidden = m->error_until_us > born_us || m->replica_until_us > born_us;
    if (lacks && !hidden && (state == MASTER_UP || state == MASTER_QUARANTINE))
        violation(w, 9, "d%u uses m%u, which lacks a command of the scripts since %.3f s", d->index, m->index,
                  (double)(w->now_us - m->lacks_us) / 1e6);
}
