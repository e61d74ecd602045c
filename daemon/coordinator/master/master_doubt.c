/* The evidence that a master may have forgotten locks. master_memory.c explains the rules, and acts on
 * them. */
#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/master/master_private.h"

enum {
    UPTIME_ERROR_MS = 2000, /* uptime_in_seconds comes from the wall clock in whole seconds, at both ends */
    KEEP_MARGIN_MS = 1000,  /* a key that is so close to its expiry may be gone */
};

bool doubt_is_same_run(const struct master *m)
{
    return m->known && m->handshake.has_info && memcmp(m->run_id, m->handshake.info.run_id, RUN_ID_HEX) == 0;
}

static bool is_up_for_long(const struct coordinator *c, const struct master *m)
{
    return 1000 * m->handshake.info.uptime_s >= c->full_ms + UPTIME_ERROR_MS;
}

enum master_why doubt_of_run(const struct coordinator *c, const struct master *m)
{
    if (m->memory.was_replica)
        return doubt_is_same_run(m) ? WHY_DEMOTED : WHY_PROMOTED;
    return is_up_for_long(c, m) ? WHY_DOUBTED : WHY_RESTART;
}

/* Whether this daemon saw the group's key there so lately that the key cannot have expired. */
static bool is_remembered(const struct coordinator *c, const struct master *m)
{
    return m->known && m->memory.good_ms != 0 &&
           c->now_ms - m->memory.good_at_ms < master_group_px_ms(c) - KEEP_MARGIN_MS;
}

/* The same of a master that this daemon does not know, since the handshake that read the key was refused, or cut off. */
static bool was_shown(const struct coordinator *c, const struct master *m)
{
    return m->memory.shown_run_id[0] != 0 &&
           c->now_ms - m->memory.shown_at_ms < master_group_px_ms(c) - KEEP_MARGIN_MS;
}

static bool is_run_shown(const struct master *m)
{
    return memcmp(m->memory.shown_run_id, master_run(m), RUN_ID_HEX) == 0;
}

/* The key lets the master vote, and shows a time (from=) or belongs to a run that this daemon has not seen
 * yet. If another daemon had doubted the master, this daemon would have seen that while the time lay ahead,
 * since it looked here within a full quarantine. So the key was gone, or another server answers, and a
 * daemon that had just started, and could not know that, wrote the key anew. */
bool doubt_is_papered_over(const struct coordinator *c, const struct master *m, const struct group *group)
{
    bool over = m->memory.from_ms <= m->clock.time_ms; /* else our own rewriting may still be under way */
    bool news = group->from_ms != m->memory.from_ms && (over || group->from_ms > m->memory.good_ms);
    bool lately =
        m->memory.good_ms != 0 && c->now_ms - m->memory.good_at_ms < c->full_ms && !m->memory.strange;
    return lately && group->from_ms <= m->clock.time_ms && (news || !doubt_is_same_run(m));
}

static bool is_shown_lately(const struct coordinator *c, const struct master *m)
{
    return m->memory.shown_run_id[0] != 0 && c->now_ms - m->memory.shown_at_ms < c->full_ms;
}

/* A key that tells of a doubt was there when the doubt began at the latest: a full quarantine before its time. */
static void note_age(const struct coordinator *c, struct master *m, const struct group *group)
{
    m->memory.doubted = group->why[0] != 0 || group->by[0] != 0;
    m->memory.since_ms = m->clock.told_at_ms - m->clock.time_ms + group->from_ms;
    if (m->memory.doubted)
        m->memory.since_ms -= c->full_ms;
}

/* The group is older than this master's key, which tells of no doubt. So a daemon that had just started, and could not
 * reach the other masters, took the master for a new one; but the master may have lost its key, and locks with it. After
 * a full quarantine these locks are over. */
bool doubt_is_young(const struct coordinator *c, const struct master *m)
{
    int64_t age_ms = c->now_ms - m->memory.since_ms;
    if (m->memory.doubted || !is_shown_lately(c, m) || age_ms >= c->full_ms)
        return false;
    /* The clock was set back since the key was written. That harms nothing, and says nothing about the key. */
    if (m->clock.backs > 0 || age_ms < -c->config.node_timeout_ms)
        return false;
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *other = &c->masters[i];
        if (other->memory.marked && is_shown_lately(c, other) &&
            other->memory.since_ms + c->full_ms < m->memory.since_ms)
            return true;
    }
    return false;
}

/* Within one run the time in the key only grows, and this daemon, if it looked there within a full quarantine, sees a
 * later time while that lies ahead. If the key shows an earlier time, the data is another server's, or came back from
 * a snapshot; if it shows a later one that is over, the key was gone, and was written anew. That counts for what a
 * handshake read that could not be judged, too. */
static void note_time(const struct coordinator *c, struct master *m, const struct vote *vote)
{
    int64_t from_ms = vote->group.from_ms;
    if (vote->kind != VOTE_GROUP || master_group_is_strange(c, vote))
        return;
    /* The key may have been written after TIME was answered. */
    bool over = from_ms <= m->clock.time_ms + c->config.node_timeout_ms;
    bool same = is_run_shown(m);
    bool lately = c->now_ms - m->memory.shown_at_ms < c->full_ms - c->config.node_timeout_ms;
    bool later = from_ms > m->memory.shown_ms && lately;
    if (same && (from_ms < m->memory.shown_ms || (later && over)))
        m->memory.another_key = true;
    m->memory.shown_ms = from_ms;
    m->memory.shown_at_ms = m->clock.asked_at_ms;
    memcpy(m->memory.shown_run_id, master_run(m), RUN_ID_HEX);
    note_age(c, m, &vote->group);
}

/* A daemon that sees a known master in another run, or without its key, may have to wait before it can
 * write its doubt there. Meanwhile a daemon that does not know the master may write a key that lets it
 * vote. So the master's TIME when something was first amiss is kept until the master is judged. */
void doubt_note_amiss(const struct coordinator *c, struct master *m, const struct vote *vote)
{
    bool gone = vote->kind == VOTE_NO && is_remembered(c, m), same = doubt_is_same_run(m);
    const char *run = master_run(m);
    bool another = !same && memcmp(m->memory.amiss_run_id, run, RUN_ID_HEX) != 0; /* forgot once more */
    if (m->known && (m->memory.amiss_ms == 0 || another) &&
        (!same || gone || master_group_is_strange(c, vote))) {
        m->memory.amiss_ms = m->clock.time_ms;
        memcpy(m->memory.amiss_run_id, run, RUN_ID_HEX);
    }
    note_time(c, m, vote);
}

/* Whether the key lets the master vote less than a full quarantine after this daemon saw something amiss. */
static bool is_too_early(const struct coordinator *c, const struct master *m, const struct group *group)
{
    return m->memory.amiss_ms != 0 && group->from_ms <= m->clock.time_ms &&
           group->from_ms < m->memory.amiss_ms + c->full_ms;
}

/* Whether another master has the group's key, and not because this daemon has just written the first one
 * there. If so, the key was on this master too, and went while no daemon looked. */
static bool is_marked_elsewhere(const struct coordinator *c, const struct master *m)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if (&c->masters[i] != m && c->masters[i].memory.marked)
            return true;
    return false;
}

/* Daemons that start together write the key on all masters at about the same time. So if the key is present
 * on another master and absent here for the first time, the master is asked again a little later. */
bool doubt_note_absence(const struct coordinator *c, struct master *m, const struct vote *vote)
{
    bool absent = vote->kind == VOTE_NO && !is_remembered(c, m) && is_marked_elsewhere(c, m);
    bool first = absent && !m->memory.absent;
    m->memory.absent = absent;
    return first && is_up_for_long(c, m);
}

uint64_t doubt_serial(const struct coordinator *c, const struct master *m)
{
    return master_is_unkillable(c, m) ? m->handshake.info.connections : m->client_id;
}

/* A smaller number than in the handshake before, or the same one on a new connection, means that the machine
 * was set back to a snapshot. A server that does not tell the number (0) is taken for such a machine each time,
 * since nothing shows that it is none. */
static bool is_set_back(const struct coordinator *c, const struct master *m)
{
    uint64_t serial = doubt_serial(c, m);
    bool again = serial == m->memory.serial_before && m->connection != m->memory.connection_before;
    return doubt_is_same_run(m) && (serial < m->memory.serial_before || again);
}

enum master_why doubt_find(const struct coordinator *c, const struct master *m, const struct vote *vote)
{
    bool same = doubt_is_same_run(m);
    if (m->memory.was_replica)
        return doubt_of_run(c, m);
    if (is_set_back(c, m))
        return WHY_MEMORY;
    /* The clock comes before the key: a long jump ends the key, too, or shows a time at which a doubt would
     * be over. */
    if (same && m->clock.jumped)
        return WHY_CLOCK;
    if (vote->kind == VOTE_GROUP) {
        if (memcmp(vote->group.run_id, m->handshake.info.run_id, RUN_ID_HEX) != 0)
            return is_up_for_long(c, m) ? WHY_PROMOTED : WHY_RESTART;
        /* Nobody kept it out since its unreadable key is gone. */
        if (m->memory.unreadable && vote->group.from_ms <= m->clock.time_ms)
            return WHY_MEMORY;
        if (is_too_early(c, m, &vote->group) || doubt_is_papered_over(c, m, &vote->group) ||
            m->memory.another_key)
            return same ? WHY_MEMORY : WHY_PROMOTED;
        if (generation_forgot(c, m, &vote->group))
            return WHY_MEMORY;
        return doubt_is_young(c, m) ? WHY_MEMORY : WHY_NONE;
    }
    if (m->memory.unreadable || generation_is_under_way(c))
        return WHY_MEMORY;
    if (is_remembered(c, m) || was_shown(c, m))
        return same || is_run_shown(m) ? WHY_MEMORY : WHY_RESTART;
    if (!is_up_for_long(c, m))
        return WHY_RESTART;
    return is_marked_elsewhere(c, m) ? WHY_MEMORY : WHY_NONE;
}
