/* What a master may have forgotten.
 *
 * Redlock needs masters that remember: one that lost a lock would grant it again. So one that may have forgotten votes
 * only when every lock that it may have forgotten is over (the Redlock page's delayed restart). All daemons keep it out
 * for the same time, also those that start in the middle: the group's key on the master itself says from when on it may
 * vote, and whoever doubts a master rewrites it, with its own id (by) and the reason (why).
 *
 * A master is doubted when its run_id changed (a restart, also from disk; another server), when the key is gone or
 * another's (FLUSHALL, eviction, a promoted replica), when its client ids go back (its machine was set back to a
 * snapshot), when its clock jumped forward (keys ended early; trial.c finds out), and after it was a replica. Nothing but
 * the key, a run_id that we know or a long uptime proves its memory, and not the key where it lets a master vote sooner
 * than what this daemon has seen amiss there allows.
 *
 * The key also holds N and max_ttl. Daemons that differ in them would have quorums without a master in common, so while
 * any master's key differs from ours none votes for us. */
#include <string.h>

#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/round.h"

enum {
    UPTIME_ERROR_MS = 2000, /* uptime_in_seconds is by the wall clock, and a second wrong either way */
    KEEP_MS = 600000,       /* the group's key outlives daemons by so much at least */
    KEEP_MARGIN_MS = 1000,
    ID_BYTES = 4,
};

int64_t memory_px_ms(const struct coordinator *c)
{
    int64_t twice_ms = 2 * c->config.max_ttl_ms;
    return twice_ms > KEEP_MS ? twice_ms : KEEP_MS;
}

static bool is_same_run(const struct master *m)
{
    return m->known && m->handshake.has_info && memcmp(m->run_id, m->handshake.info.run_id, RUN_ID_HEX) == 0;
}

/* ---- the group's key ---- */

static const char why_words[][GROUP_WORD] = {
    [WHY_RESTART] = "restart", [WHY_PROMOTED] = "promoted", [WHY_DEMOTED] = "demoted",
    [WHY_MEMORY] = "memory",   [WHY_CLOCK] = "clock",       [WHY_DOUBTED] = "",
};

static const char *why_word(enum master_why why)
{
    static const char none[GROUP_WORD];
    return why <= WHY_DOUBTED ? why_words[why] : none;
}

/* Another version may know other reasons. */
static enum master_why why_of_word(const char *word, enum master_why otherwise)
{
    for (unsigned i = 0; i < sizeof why_words / sizeof why_words[0]; i++)
        if (word[0] != '\0' && strcmp(word, why_words[i]) == 0)
            return (enum master_why)i;
    return otherwise;
}

static void write_group(struct coordinator *c, struct master *m, enum command_verb verb)
{
    struct command command = {.verb = verb, .number = (uint64_t)memory_px_ms(c)};
    command.group.masters = c->config.masters;
    command.group.max_ttl_ms = c->config.max_ttl_ms;
    command.group.from_ms = m->memory.from_ms;
    if (m->memory.from_ms > m->clock.time_ms) {
        memcpy(command.group.by, m->memory.by, GROUP_WORD);
        memcpy(command.group.why, why_word(m->memory.quarantine_why), GROUP_WORD);
    }
    memcpy(command.group.run_id, m->run_id, RUN_ID_HEX);
    master_ask(c, m, &command);
}

/* The key on the master is not one of this group. */
static bool is_strange(const struct coordinator *c, const struct vote *vote)
{
    const struct group *group = &vote->group;
    return vote->kind == VOTE_UNREADABLE ||
           (vote->kind == VOTE_GROUP &&
            (group->masters != c->config.masters || group->max_ttl_ms != c->config.max_ttl_ms));
}

/* None votes for us, nor do we write a key anywhere, until all agree: were each judged alone, a master that was
 * restarted could be won by either side, and make a quorum without a master of the other's. */
static void differ(struct coordinator *c, struct master *m, enum master_why why)
{
    c->differing |= masters_bit(m->index);
    m->memory.strange = true;
    master_refuse(c, m, why);
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *other = &c->masters[i];
        if (!(c->releasers & masters_bit(i)) || mutant(MUTANT_DISAGREEMENT_EACH))
            continue;
        master_refuse(c, other, WHY_GROUP);
        master_rearm(c, other);
    }
}

/* Says whether it agrees with us, and so do all others. */
static bool agrees(struct coordinator *c, struct master *m, const struct vote *vote)
{
    const struct group *group = &vote->group;
    bool there = vote->kind == VOTE_GROUP;
    m->memory.heard_once = true;
    m->memory.marked = false;
    memset(&m->memory.theirs, 0, sizeof m->memory.theirs);
    if (vote->kind == VOTE_UNREADABLE) {
        differ(c, m, WHY_UNREADABLE);
        return false;
    }
    if (is_strange(c, vote)) {
        m->memory.theirs = *group;
        differ(c, m, WHY_GROUP);
        return false;
    }
    m->memory.marked = there && !m->memory.began;
    c->differing = masters_without(c->differing, masters_bit(m->index));
    if (c->differing == 0 || mutant(MUTANT_DISAGREEMENT_EACH))
        return true;
    master_refuse(c, m, WHY_GROUP);
    return false;
}

/* A key that is written before the others were read could be the first of a group that differs from theirs. */
bool memory_may_write(const struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if (!c->masters[i].memory.heard_once && !c->masters[i].handshake.ended_once)
            return false;
    return true;
}

/* ---- from when on it may vote ---- */

static void set_quarantine(struct coordinator *c, struct master *m, enum master_why why)
{
    int64_t left_ms = m->memory.from_ms - m->clock.time_ms;
    /* A reading that was made at an unknown time within a stall may be as late as now. */
    int64_t read_ms = m->clock.unsure ? c->now_ms : m->clock.told_at_ms;
    m->memory.quarantine_why = why;
    m->memory.quarantine_ms = read_ms + left_ms;
    if (m->memory.quarantine_ms >
        c->now_ms + c->full_ms) /* from now: its TIME may be that of a handshake that waited */
        m->memory.quarantine_ms = c->now_ms + c->full_ms;
    if (left_ms <= 0 || !c->config.restart_guard || mutant(MUTANT_NO_RESTART_GUARD))
        m->memory.quarantine_ms = 0;
}

/* A clock that jumped may have ended keys, but the keys that are still there were never gone. */
static void forget(struct coordinator *c, struct master *m, enum master_why why)
{
    m->clock.jumped = false;
    m->memory.number = ++c->memories;
    if (why == WHY_CLOCK && m->memory.trusted)
        return;
    m->memory.lost = m->memory.number;
    m->memory.trusted = false;
}

/* Other daemons are told the first bytes of a daemon's token, which is random, and no secret. */
static void memory_id_of(const struct token *self, char id[GROUP_WORD])
{
    static const char digits[] = "0123456789abcdef";
    memset(id, 0, GROUP_WORD);
    for (unsigned i = 0; i < ID_BYTES; i++) {
        id[2 * i] = digits[self->bytes[i] >> 4];
        id[2 * i + 1] = digits[self->bytes[i] & 15];
    }
}

/* In full from now: its TIME may be that of a handshake that waited. */
static void doubt(struct coordinator *c, struct master *m, enum master_why why)
{
    forget(c, m, why);
    m->memory.amiss_ms = 0; /* its time counts from now, which is later */
    m->memory.receded = false;
    memory_id_of(&c->config.self, m->memory.by);
    m->memory.from_ms = m->clock.time_ms + (c->now_ms - m->clock.told_at_ms) + c->full_ms;
    set_quarantine(c, m, why);
}

/* Its key is sound. The later of its time and ours is what all keep to; says whether that is news. Where only its clock
 * jumped, that is evidence for this daemon's locks, too: their keys may have ended early. */
static bool take_from(struct coordinator *c, struct master *m, const struct group *group, enum master_why why)
{
    int64_t from_ms = group->from_ms;
    if (from_ms == m->memory.from_ms)
        return false;
    if (from_ms < m->memory.from_ms && m->memory.from_ms > m->clock.time_ms) {
        write_group(c, m, COMMAND_GROUP_SET); /* if it is gone since, that is a doubt of its own */
        return false;
    }
    m->memory.from_ms = from_ms;
    if (from_ms <= m->clock.time_ms || mutant(MUTANT_FROM_IGNORED))
        return false;
    why = why_of_word(group->why, why);
    memcpy(m->memory.by, group->by, GROUP_WORD);
    if (why == WHY_CLOCK)
        forget(c, m, why);
    int64_t before_ms =
        m->memory.quarantine_ms; /* by a clock that may have jumped since: it ends no sooner */
    set_quarantine(c, m, why);
    if (m->memory.quarantine_ms < before_ms)
        m->memory.quarantine_ms = before_ms;
    return true;
}

static bool is_up_for_long(const struct coordinator *c, const struct master *m)
{
    int64_t margin_ms = mutant(MUTANT_UPTIME_WITHOUT_MARGIN) ? 0 : UPTIME_ERROR_MS;
    return 1000 * m->handshake.info.uptime_s >= c->full_ms + margin_ms;
}

static enum master_why why_doubted(const struct coordinator *c, const struct master *m)
{
    if (m->memory.was_replica)
        return is_same_run(m) ? WHY_DEMOTED : WHY_PROMOTED;
    return is_up_for_long(c, m) ? WHY_DOUBTED : WHY_RESTART;
}

/* We knew this master lately: what we kept there cannot have run out. */
static bool is_remembered(const struct coordinator *c, const struct master *m)
{
    return m->known && m->memory.good_ms != 0 &&
           c->now_ms - m->memory.good_at_ms < memory_px_ms(c) - KEEP_MARGIN_MS;
}

/* The key says that it may vote, by a time or of a run that is news to us. A doubt of another daemon's would have shown
 * while that time lay ahead, had we not been away for so long: so the key was gone, or another server answers, and a
 * daemon that has just started, and cannot know that, wrote it anew. */
static bool is_papered(const struct coordinator *c, const struct master *m, const struct group *group)
{
    bool over = m->memory.from_ms <= m->clock.time_ms; /* else it may be one that we have not rewritten yet */
    bool news = group->from_ms != m->memory.from_ms && (over || group->from_ms > m->memory.good_ms);
    bool lately =
        m->memory.good_ms != 0 && c->now_ms - m->memory.good_at_ms < c->full_ms && !m->memory.strange;
    return lately && group->from_ms <= m->clock.time_ms && (news || !is_same_run(m));
}

/* Within one run the time in the key only grows: an earlier one is of another server's data, or of long ago. */
static void note_time(const struct coordinator *c, struct master *m, const struct vote *vote)
{
    if (vote->kind != VOTE_GROUP || is_strange(c, vote))
        return;
    if (is_same_run(m) && vote->group.from_ms < m->memory.shown_ms)
        m->memory.receded = true;
    m->memory.shown_ms = vote->group.from_ms;
}

/* A daemon that knew this master sees that it is another run, or that the group's key is gone or strange. It may have to
 * wait before it can write what follows from that, and meanwhile a daemon that knew nothing may write a key. So the
 * master's TIME of the first such sight is remembered until the master is judged. */
static void note_amiss(const struct coordinator *c, struct master *m, const struct vote *vote)
{
    bool gone = vote->kind == VOTE_NO && is_remembered(c, m);
    if (m->known && m->memory.amiss_ms == 0 && (!is_same_run(m) || gone || is_strange(c, vote)))
        m->memory.amiss_ms = m->clock.time_ms;
    note_time(c, m, vote);
}

/* The key lets it vote too early: what was forgotten when this daemon saw it amiss may not be over yet. */
static bool is_too_early(const struct coordinator *c, const struct master *m, const struct group *group)
{
    return m->memory.amiss_ms != 0 && group->from_ms <= m->clock.time_ms &&
           group->from_ms < m->memory.amiss_ms + c->full_ms;
}

/* The group's key stands on another master, and not because this daemon began it there: so it stood here too, and went
 * while no daemon looked. */
static bool is_marked_elsewhere(const struct coordinator *c, const struct master *m)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if (&c->masters[i] != m && c->masters[i].memory.marked)
            return true;
    return false;
}

/* Daemons that start together write the key on all masters at about the same time. So the first time that it is absent
 * here and there elsewhere, the master is asked again a little later. */
static bool is_looked_at_again(const struct coordinator *c, struct master *m, const struct vote *vote)
{
    bool absent = vote->kind == VOTE_NO && !is_remembered(c, m) && is_marked_elsewhere(c, m);
    bool first = absent && !m->memory.absent;
    m->memory.absent = absent;
    return first && is_up_for_long(c, m);
}

/* Within one run a server deals client ids that grow: a smaller one is of a machine that was set back to a snapshot. */
static bool is_set_back(const struct master *m)
{
    bool again = m->client_id == m->memory.client_id_before && m->connection != m->memory.connection_before;
    return is_same_run(m) && (m->client_id < m->memory.client_id_before || again);
}

/* WHY_NONE: what it holds is what it knew. */
static enum master_why find_doubt(const struct coordinator *c, const struct master *m,
                                  const struct vote *vote)
{
    bool same = is_same_run(m);
    if (m->memory.was_replica)
        return why_doubted(c, m);
    if (is_set_back(m))
        return WHY_MEMORY;
    if (same &&
        m->clock.jumped) /* far enough, it ended the key too, and shows us a time when it would be over */
        return WHY_CLOCK;
    if (vote->kind == VOTE_GROUP) {
        if (memcmp(vote->group.run_id, m->handshake.info.run_id, RUN_ID_HEX) != 0)
            return is_up_for_long(c, m) ? WHY_PROMOTED : WHY_RESTART;
        if (is_too_early(c, m, &vote->group) || is_papered(c, m, &vote->group) || m->memory.receded)
            return same ? WHY_MEMORY : WHY_PROMOTED;
        return WHY_NONE;
    }
    if (mutant(MUTANT_ABSENT_MARKER_KNOWN))
        return WHY_NONE;
    if (is_remembered(c, m))
        return same ? WHY_MEMORY : WHY_RESTART;
    if (!is_up_for_long(c, m))
        return WHY_RESTART;
    return is_marked_elsewhere(c, m) ? WHY_MEMORY : WHY_NONE;
}

/* Who it is, is known now. Another run deals the same client ids again, and nothing of ours is left in it. */
static void know(struct coordinator *c, struct master *m)
{
    if (!is_same_run(m)) {
        m->killing = 0;
        m->memory.from_ms = 0;
        m->memory.quarantine_ms = 0;
        forget(c, m, WHY_RESTART);
    }
    memcpy(m->run_id, m->handshake.info.run_id, RUN_ID_HEX);
    m->known = true;
    m->memory.was_replica = m->memory.strange = m->memory.receded = false;
    m->memory.amiss_ms = 0;
    m->memory.client_id_before = m->client_id;
    m->memory.connection_before = m->connection;
    m->version = m->handshake.info.version;
    m->evicts = m->handshake.info.evicts;
    m->memory.good_ms = m->clock.time_ms;
    m->memory.good_at_ms = c->now_ms;
}

/* Before lock commands flow, our old connection there must be gone. */
static void admit(struct coordinator *c, struct master *m)
{
    if (m->killing == 0) {
        master_begin_service(c, m);
        return;
    }
    master_move(c, m, MASTER_KILLING, WHY_NONE);
    master_ask(c, m, &(struct command){.verb = COMMAND_KILL, .number = m->killing});
    if (mutant(MUTANT_KILL_ONCE))
        m->killing = 0;
}

void memory_judge(struct coordinator *c, struct master *m, const struct vote *vote)
{
    note_amiss(c, m, vote);
    if (!agrees(c, m, vote))
        return;
    bool there = vote->kind == VOTE_GROUP;
    m->handshake.waiting = !there && !memory_may_write(c);
    if (m->handshake.waiting)
        return;
    if (is_looked_at_again(c, m, vote)) {
        master_refuse(c, m, WHY_MEMORY);
        return;
    }
    enum master_why why = find_doubt(c, m, vote);
    know(c, m);
    if (why != WHY_NONE)
        doubt(c, m, why);
    if (!there) {
        if (why == WHY_NONE) {
            m->memory.from_ms = m->clock.time_ms;
            m->memory.good_ms = 0; /* until the key is seen there */
        }
        m->memory.began = true;
        write_group(c, m, COMMAND_GROUP_NEW);
        return;
    }
    if (why != WHY_NONE)
        write_group(c, m, COMMAND_GROUP_SET);
    else
        take_from(c, m, &vote->group, why_doubted(c, m));
    admit(c, m);
}

/* Another daemon may have been first: what stands there now is read again. */
void memory_told_new(struct coordinator *c, struct master *m, const struct vote *vote)
{
    if (m->state != MASTER_HANDSHAKE && m->state != MASTER_REFUSED)
        return;
    if (vote->kind == VOTE_ERROR) {
        master_refuse(c, m, why_of_error(vote->error));
        return;
    }
    m->handshake.asking = true;
    master_ask(c, m, &(struct command){.verb = COMMAND_GROUP});
}

void memory_go_on(struct coordinator *c, struct master *m)
{
    memory_judge(c, m, &(struct vote){.kind = VOTE_NO});
}

/* ---- the probe ---- */

void probe_send(struct coordinator *c, struct master *m)
{
    struct command probe = {.verb = COMMAND_PROBE, .number = (uint64_t)memory_px_ms(c)};
    m->liveness.probing = true;
    m->liveness.probed_ms = c->now_ms;
    trial_ask_time(c, m);
    master_ask(c, m, &probe);
    m->liveness.probe_sent = m->sent;
}

/* It goes on serving what it is allowed to, but has no vote. */
static void keep_out(struct coordinator *c, struct master *m)
{
    bool serves = m->state == MASTER_UP || m->state == MASTER_SLOW || m->state == MASTER_QUARANTINE;
    if (m->memory.quarantine_ms <= c->now_ms || !serves)
        return; /* ... or it comes there when its undo list was sent */
    if (m->state != MASTER_QUARANTINE)
        master_move(c, m, MASTER_QUARANTINE, m->memory.quarantine_why);
    else
        master_say_why(m, m->memory.quarantine_why);
    rounds_lost(c, m->index);
}

/* WHY_NONE: its memory is as it was. */
static enum master_why probe_doubt(const struct coordinator *c, const struct master *m,
                                   const struct vote *vote)
{
    bool refused = vote->kind == VOTE_ERROR; /* TIME was answered all the same */
    bool ours = vote->kind == VOTE_GROUP && memcmp(vote->group.run_id, m->run_id, RUN_ID_HEX) == 0;
    if (refused)
        return WHY_NONE;
    return ours && !is_papered(c, m, &vote->group) && !m->memory.receded ? WHY_NONE : WHY_MEMORY;
}

void probe_told(struct coordinator *c, struct master *m, const struct vote *vote)
{
    m->liveness.probing = false;
    note_amiss(c, m, vote);
    if (vote->kind != VOTE_ERROR && !agrees(c, m, vote))
        return;
    enum master_why why = probe_doubt(c, m, vote);
    if (why != WHY_NONE) {
        doubt(c, m, why);
        write_group(c, m, vote->kind == VOTE_GROUP ? COMMAND_GROUP_SET : COMMAND_GROUP_NEW);
        keep_out(c, m);
        return;
    }
    if (vote->kind == VOTE_ERROR)
        return;
    m->memory.good_ms = m->clock.time_ms;
    m->memory.good_at_ms = c->now_ms;
    if (take_from(c, m, &vote->group, WHY_DOUBTED))
        keep_out(c, m);
}

/* ---- its clock ---- */

/* What stands in its key is overwritten when the next probe has read it. Without service, the next handshake judges it by its key. */
void memory_clock_jumped(struct coordinator *c, struct master *m)
{
    if (m->state == MASTER_HANDSHAKE || m->state == MASTER_REFUSED || m->state == MASTER_DOWN) {
        m->clock.jumped = true;
        return;
    }
    bool again = m->clock.jumped_ms != 0 && c->now_ms - m->clock.jumped_ms < c->full_ms;
    m->clock.jumped_ms = c->now_ms;
    if (again)
        c->fast |= masters_bit(m->index);
    doubt(c, m, WHY_CLOCK);
    keep_out(c, m);
    m->liveness.probed_ms = INT64_MIN / 2;
    master_rearm(c, m);
}
