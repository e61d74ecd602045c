/* This file judges what a master may have forgotten, and from when on it may vote.
 *
 * Redlock needs masters that remember: a master that lost a lock would grant it again. So a master that may
 * have forgotten locks gets its vote back only when all these locks are over (the delayed restart of the
 * Redlock page). All daemons keep it out for the same time, even daemons that start in between: the group's
 * key on the master says from when on the master may vote (from=). A daemon that doubts a master rewrites
 * the key there, with its own id (by=) and the reason (why=).
 *
 * A master is doubted
 *   - when its run_id changed: a restart, also with data from disk, or another server;
 *   - when the key is gone, or has another server's run_id: FLUSHALL, eviction, a promoted replica;
 *   - when its client ids went back: its machine was set back to a snapshot;
 *   - when its clock jumped forward, so that keys ended early (trial.c finds out);
 *   - after it was a replica.
 *
 * Only the group's key, a known run_id or a long uptime proves that the master remembers. The key proves
 * nothing if it lets the master vote sooner than something that this daemon saw amiss there allows. */
#include <string.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/master/fresh.h"
#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/round/round.h"

enum { BEYOND_MS = 1000 /* a clock may be set back by so much, unnoticed */ };

/* ---- from when on the master may vote ---- */

/* When the master may vote by its own clock. A from= that lies too far ahead, because that clock was set back, has
 * back= beside it: the time at which this was found. */
static int64_t vote_from_ms(const struct coordinator *c, int64_t from_ms, int64_t back_ms)
{
    bool sooner = back_ms != 0 && back_ms + c->full_ms < from_ms;
    return sooner ? back_ms + c->full_ms : from_ms;
}

/* Whether the key lets the master vote later than any quarantine that began by now would. */
static bool is_beyond(const struct coordinator *c, const struct master *m, const struct group *group)
{
    int64_t time_ms = m->clock.time_ms + (c->now_ms - m->clock.told_at_ms);
    return vote_from_ms(c, group->from_ms, group->back_ms) > time_ms + c->full_ms + BEYOND_MS;
}

/* The same on this daemon's clock, but no later than a full quarantine from now. */
static int64_t vote_at_ms(const struct coordinator *c, const struct master *m, int64_t from_ms,
                          int64_t back_ms)
{
    /* A TIME that was read at an unknown moment of a stall may have been read just now. */
    int64_t read_ms = m->clock.unsure ? c->now_ms : m->clock.told_at_ms;
    int64_t at_ms = read_ms + vote_from_ms(c, from_ms, back_ms) - m->clock.time_ms;
    return at_ms < c->now_ms + c->full_ms ? at_ms : c->now_ms + c->full_ms;
}

/* A quarantine that is under way ends no sooner: the master's clock may have jumped meanwhile, and commands of the
 * connection before may run, also where restart_guard is off. */
static void set_quarantine(struct coordinator *c, struct master *m, enum master_why why)
{
    int64_t until_ms = vote_at_ms(c, m, m->memory.from_ms, m->memory.back_ms);
    bool over = vote_from_ms(c, m->memory.from_ms, m->memory.back_ms) <= m->clock.time_ms;
    bool waits = !over && c->config.restart_guard;
    bool under_way = m->memory.quarantine_until_ms > c->now_ms;
    if (waits || !under_way)
        m->memory.quarantine_why = why;
    if (!under_way || (waits && until_ms > m->memory.quarantine_until_ms))
        m->memory.quarantine_until_ms = waits ? until_ms : 0;
}

/* Begins a new memory: what the master acknowledged before counts no more. After a jump of its clock alone
 * (and if it has voted since it lost its memory last), keys may have ended early, but the keys that are
 * still there were never gone; so that is no loss (memory.lost). */
static void forget(struct coordinator *c, struct master *m, enum master_why why)
{
    m->clock.jumped = false;
    m->memory.number = ++c->memories;
    if (why == WHY_CLOCK && m->memory.trusted)
        return;
    m->memory.lost = m->memory.number;
    m->memory.trusted = false;
}

/* The quarantine counts in full from now, not from the TIME that the master told: that may have been read
 * long before, in a handshake that waited for other masters. */
static void doubt(struct coordinator *c, struct master *m, enum master_why why)
{
    forget(c, m, why);
    m->memory.amiss_ms = 0; /* the quarantine covers it, since it counts from now */
    m->memory.another_key = false;
    master_group_id(&c->config.self, m->memory.by);
    m->memory.from_ms = m->clock.time_ms + (c->now_ms - m->clock.told_at_ms) + c->full_ms;
    m->memory.back_ms = 0;
    /* If the key shows a later time, other daemons may have waited for as long as they must already, so only a new
     * time tells them of this doubt. A time is never lowered: that would look like another key. */
    if (m->memory.from_ms < m->memory.key_ms)
        m->memory.from_ms = m->memory.key_ms + 1;
    set_quarantine(c, m, why);
}

/* The key's time is earlier than this daemon's own, so this daemon's is written there. But the key tells of
 * another daemon's doubt, whose quarantine may end later all the same: this daemon's own time may be too late
 * by a stall that it believed in, while its quarantine ends a full quarantine after its own doubt. */
static bool outlast(struct coordinator *c, struct master *m, const struct group *group)
{
    int64_t at_ms = vote_at_ms(c, m, group->from_ms, group->back_ms);
    if (vote_from_ms(c, group->from_ms, group->back_ms) <= m->clock.time_ms ||
        m->memory.quarantine_until_ms == 0 || m->memory.quarantine_until_ms >= at_ms)
        return false;
    m->memory.quarantine_until_ms = at_ms;
    return true;
}

/* Takes over the time that a sound key gives the master's vote: all daemons keep to the later of the times
 * in the key and in their own memory. Returns whether a new quarantine follows. If another daemon doubts
 * the master's clock, then keys of this daemon's locks may have ended early, too. */
static bool adopt_from(struct coordinator *c, struct master *m, const struct group *group,
                       enum master_why why)
{
    int64_t from_ms = group->from_ms;
    if (from_ms == m->memory.from_ms) {
        m->memory.back_ms = group->back_ms;
        return false;
    }
    if (from_ms < m->memory.from_ms && m->memory.from_ms > m->clock.time_ms) {
        agree_write(c, m, COMMAND_GROUP_SET); /* a key that is gone meanwhile is found by the next probe */
        return outlast(c, m, group);
    }
    m->memory.from_ms = from_ms;
    m->memory.back_ms = group->back_ms;
    if (vote_from_ms(c, from_ms, group->back_ms) <= m->clock.time_ms)
        return false;
    why = master_group_why(group->why, why);
    memcpy(m->memory.by, group->by, GROUP_WORD);
    if (why == WHY_CLOCK)
        forget(c, m, why);
    set_quarantine(c, m, why);
    return true;
}

/* Records the server that the handshake found. In another run than before, no connection of ours is left to
 * kill (client ids begin anew), and the memory is a new one. */
static void know(struct coordinator *c, struct master *m)
{
    if (!doubt_is_same_run(m)) {
        m->killing = 0;
        m->memory.from_ms = m->memory.back_ms = 0;
        m->memory.quarantine_until_ms = 0;
        forget(c, m, WHY_RESTART);
    }
    memcpy(m->run_id, m->handshake.info.run_id, RUN_ID_HEX);
    m->known = true;
    m->memory.was_replica = m->memory.strange = m->memory.unreadable = m->memory.another_key = false;
    m->memory.amiss_ms = 0;
    m->memory.serial_before = doubt_serial(c, m);
    m->memory.connection_before = m->connection;
    m->version = m->handshake.info.version;
    m->evicts = m->handshake.info.evicts;
    m->memory.good_ms = m->clock.time_ms;
    m->memory.good_at_ms = c->now_ms;
}

/* In quarantine the master still gets releases, extensions and heals, but has no vote. */
static void keep_out(struct coordinator *c, struct master *m)
{
    bool serves = m->state == MASTER_UP || m->state == MASTER_SLOW || m->state == MASTER_QUARANTINE;
    if (m->memory.quarantine_until_ms <= c->now_ms || !serves)
        return; /* master_enter_service() sees to a master that is not in service yet */
    if (m->state != MASTER_QUARANTINE)
        master_move(c, m, MASTER_QUARANTINE, m->memory.quarantine_why);
    else
        master_say_why(m, m->memory.quarantine_why);
    rounds_lost(c, m->index);
}

/* The master's clock is ahead of what this daemon last knew of it. If it jumped after another daemon had written
 * the quarantine that this daemon now reads, that quarantine would end too soon by as much. */
static void delay_vote(struct coordinator *c, struct master *m)
{
    int64_t until_ms = m->memory.quarantine_until_ms + m->clock.gained_ms;
    bool sooner = m->clock.gained_ms > 0 && m->memory.quarantine_until_ms > 0 && until_ms > c->now_ms;
    m->clock.gained_ms = 0;
    if (!sooner)
        return;
    m->memory.quarantine_until_ms = until_ms < c->now_ms + c->full_ms ? until_ms : c->now_ms + c->full_ms;
    keep_out(c, m);
}

/* The quarantine, or a new one for this reason, ends no sooner. */
static void prolong(struct coordinator *c, struct master *m, int64_t until_ms, enum master_why why)
{
    if (m->memory.quarantine_until_ms >= until_ms || until_ms <= c->now_ms)
        return;
    if (m->memory.quarantine_until_ms <= c->now_ms) { /* else another reason stands */
        m->memory.quarantine_why = why;
        master_group_id(&c->config.self, m->memory.by);
    }
    m->memory.quarantine_until_ms = until_ms;
}

/* The run that this daemon knew answered it until the connection ended, so what was forgotten may have been a lock
 * of that moment. The key may let the master vote sooner, if the master's clock jumped after another daemon had
 * written the key. */
static void outlive_run(struct coordinator *c, struct master *m)
{
    if (m->memory.gone_ms != 0 && c->config.restart_guard)
        prolong(c, m, m->memory.gone_ms + c->full_ms, WHY_RESTART);
}

/* A command of the lost connection that ran before the new handshake was answered may have left a key, which
 * lives for max_ttl at most. So the quarantine counts from now, not from the loss: a master that hung runs such
 * commands when it wakes up. Other daemons need not wait, as nobody else sends commands for these tokens. */
static void outlive_strays(struct coordinator *c, struct master *m)
{
    if (m->strays)
        prolong(c, m, c->now_ms + c->full_ms, WHY_RECONNECT);
    m->strays = false;
}

/* Lock commands may be sent only after our old connection to this run, if there is one, was killed. */
static void admit(struct coordinator *c, struct master *m)
{
    outlive_strays(c, m);
    if (m->killing == 0) {
        master_begin_service(c, m);
        return;
    }
    master_move(c, m, MASTER_KILLING, WHY_NONE);
    master_ask(c, m, &(struct command){.verb = COMMAND_KILL, .number = m->killing});
}

static bool is_judged(const struct master *m)
{
    return m->state != MASTER_HANDSHAKE && m->state != MASTER_REFUSED && m->state != MASTER_DOWN;
}

/* The doubt is written when the next probe, which is sent at once, has read the key. */
static void doubt_in_service(struct coordinator *c, struct master *m, enum master_why why)
{
    doubt(c, m, why);
    keep_out(c, m);
    m->liveness.probed_ms = INT64_MIN / 2;
    master_rearm(c, m);
}

/* Masters that are in service were judged before this one was read. */
static void doubt_young(struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (is_judged(m) && doubt_is_young(c, m))
            doubt_in_service(c, m, WHY_MEMORY);
    }
}

void memory_judge(struct coordinator *c, struct master *m, const struct vote *vote)
{
    doubt_note_amiss(c, m, vote);
    if (agree_judge(c, m, vote) != AGREED)
        return;
    bool there = vote->kind == VOTE_GROUP, unnamed = agree_is_unnamed(c, m, vote);
    m->handshake.waiting = (!there || unnamed) && !master_group_may_write(c);
    m->handshake.unnamed = unnamed;
    if (m->handshake.waiting)
        return;
    if (!there && !generation_may_write(c, m)) {
        master_exclude(c, m, WHY_GROUP);
        return;
    }
    if ((unnamed && m->handshake.read_back) || doubt_note_absence(c, m, vote)) {
        master_exclude(c, m, WHY_MEMORY);
        return;
    }
    enum master_why why = doubt_find(c, m, vote);
    bool another = m->known && !doubt_is_same_run(m);
    know(c, m);
    if (why != WHY_NONE)
        doubt(c, m, why);
    if (!there) {
        if (why == WHY_NONE) {
            m->memory.from_ms = m->clock.time_ms;
            m->memory.back_ms = 0;
            m->memory.good_ms = 0; /* until the key was read back */
        }
        m->memory.began = m->handshake.writing = true;
        agree_write(c, m, COMMAND_GROUP_NEW);
        return;
    }
    if (why == WHY_NONE)
        adopt_from(c, m, &vote->group, doubt_of_run(c, m));
    if (why != WHY_NONE || unnamed || is_beyond(c, m, &vote->group) || generation_is_late(c, m, &vote->group))
        agree_write(c, m, COMMAND_GROUP_SET);
    if (another)
        outlive_run(c, m);
    delay_vote(c, m);
    doubt_young(c);
    m->handshake.writing = unnamed;
    m->handshake.waiting = m->handshake.agreed = !unnamed && !agree_is_settled(c);
    if (unnamed)
        agree_read_back(c, m);
    else if (!m->handshake.waiting)
        admit(c, m);
}

/* Another daemon may have written the key first, so the key is read again. */
void memory_told_new(struct coordinator *c, struct master *m, const struct vote *vote)
{
    if (m->state != MASTER_HANDSHAKE && m->state != MASTER_REFUSED)
        return;
    if (vote->kind == VOTE_ERROR) {
        master_exclude(c, m, why_of_error(vote->error));
        return;
    }
    m->handshake.asking = true;
    master_ask(c, m, &(struct command){.verb = COMMAND_GROUP});
}

/* The key was absent, or without set=, when it was asked for. If that was long ago, another daemon may have written it
 * since, and the master may have forgotten it: so all is asked again. */
void memory_go_on(struct coordinator *c, struct master *m)
{
    if (m->handshake.unnamed || c->now_ms - m->handshake.asked_ms > c->config.node_timeout_ms) {
        handshake_begin(c, m);
        return;
    }
    if (m->handshake.agreed) {
        m->handshake.waiting = m->handshake.agreed = false;
        admit(c, m);
        return;
    }
    memory_judge(c, m, &(struct vote){.kind = VOTE_NO});
}

/* ---- the probe ---- */

void probe_send(struct coordinator *c, struct master *m)
{
    struct command probe = {.verb = COMMAND_PROBE, .number = (uint64_t)master_group_px_ms(c)};
    if (generation_lasts(c, m))
        probe = (struct command){.verb = COMMAND_PROBE_LASTING};
    m->liveness.probing = true;
    m->liveness.probed_ms = c->now_ms;
    if (m->handshake.untried)
        try_ask(c, m);
    policy_ask(c, m);
    trial_ask_time(c, m);
    master_ask(c, m, &probe);
    m->liveness.probe_sent = m->sent;
}

/* Why the master's memory is doubted; WHY_NONE if it is not. */
static enum master_why probe_doubt(const struct coordinator *c, const struct master *m,
                                   const struct vote *vote)
{
    bool refused = vote->kind == VOTE_ERROR; /* an error tells nothing about the key */
    bool ours = vote->kind == VOTE_GROUP && memcmp(vote->group.run_id, m->run_id, RUN_ID_HEX) == 0 &&
                !generation_forgot(c, m, &vote->group);
    if (refused)
        return WHY_NONE;
    return ours && !doubt_is_papered_over(c, m, &vote->group) && !m->memory.another_key ? WHY_NONE
                                                                                        : WHY_MEMORY;
}

void probe_told(struct coordinator *c, struct master *m, const struct vote *vote)
{
    m->liveness.probing = false;
    if (vote->kind != VOTE_ERROR)
        fresh_told(c, m);
    doubt_note_amiss(c, m, vote);
    enum agreed agreed = vote->kind != VOTE_ERROR ? agree_judge(c, m, vote) : AGREED;
    if (agreed == AGREED_NOT)
        return;
    enum master_why why = probe_doubt(c, m, vote);
    if (agreed == AGREED_HELD && (why != WHY_NONE || vote->group.from_ms != m->memory.from_ms)) {
        master_exclude(c, m, WHY_GROUP); /* no key is written now */
        return;
    }
    if (why != WHY_NONE && vote->kind == VOTE_NO && !generation_may_write(c, m)) {
        master_exclude(c, m, WHY_GROUP);
        return;
    }
    if (why != WHY_NONE) {
        doubt(c, m, why);
        agree_write(c, m, vote->kind == VOTE_GROUP ? COMMAND_GROUP_SET : COMMAND_GROUP_NEW);
        keep_out(c, m);
        return;
    }
    if (vote->kind == VOTE_ERROR)
        return;
    m->memory.good_ms = m->clock.time_ms;
    m->memory.good_at_ms = c->now_ms;
    if (adopt_from(c, m, &vote->group, WHY_DOUBTED))
        keep_out(c, m);
    /* A daemon that knows no set= rewrote the key, or the clock was set back. */
    if (agreed == AGREED &&
        (agree_is_unnamed(c, m, vote) || is_beyond(c, m, &vote->group) ||
         generation_is_late(c, m, &vote->group) || generation_is_unsettled(c, &vote->group)))
        agree_write(c, m, COMMAND_GROUP_SET);
}

/* ---- a clock that jumped ---- */

void memory_clock_gained(struct coordinator *c, struct master *m, int64_t gained_ms)
{
    bool same = memcmp(m->clock.base.run_id, master_run(m), RUN_ID_HEX) == 0, judged = is_judged(m);
    if (same && judged)
        return; /* its quarantine counts by this daemon's clock already */
    m->clock.gained_ms = gained_ms;
    if (!judged)
        return;
    delay_vote(c, m);
    master_rearm(c, m);
}

/* Out of service, the next handshake judges the master. */
void memory_clock_jumped(struct coordinator *c, struct master *m)
{
    if (!is_judged(m)) {
        m->clock.jumped = true;
        return;
    }
    bool again = m->clock.jumped_ms != 0 && c->now_ms - m->clock.jumped_ms < c->full_ms;
    m->clock.jumped_ms = c->now_ms;
    if (again)
        c->fast |= masters_bit(m->index);
    doubt_in_service(c, m, WHY_CLOCK);
}
