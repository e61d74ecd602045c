#include <assert.h>

#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/master/fresh.h"
#include "daemon/coordinator/master/master_private.h"
#include "daemon/coordinator/master/native.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/master/wall.h"
#include "daemon/coordinator/round/round.h"

/*   DOWN --> HANDSHAKE --> KILLING --> UNDOING --> UP <--> SLOW
 *                                        \--> QUARANTINE --> UP or SLOW
 *
 *   HANDSHAKE --> UNDOING           there is no old connection of ours to kill
 *   UNDOING --> SLOW                it has commands to answer that are overdue
 *   REFUSED --> KILLING, UNDOING    a later handshake went well
 *   UP, SLOW --> QUARANTINE         it may have forgotten locks
 *   all but DOWN --> REFUSED        it cannot be used now
 *   all --> DOWN                    the connection is lost
 *
 * Lock commands are sent only after KILLING. Until our old connection is killed, its commands may still run:
 * a hung server reads them when it wakes up. A master with no_kill is not asked to kill it: there is no
 * KILLING, but a QUARANTINE after each connection that carried lock commands. */
enum {
    HANDSHAKE_MS = 1000,
    ASK_AGAIN_MS = 1000,
    LOOK_AGAIN_MS = 100,
    PROBE_MS = 1000,
    NOPERM_MS = 10000, /* longest pause for a master that allows the handshake, but not every lock command */
    SILENT_TIMEOUTS = 20, /* silence that closes a watched connection, in node_timeouts */
};

#define TO(state) (1u << MASTER_##state)

static const unsigned legal_moves[] = {
    [MASTER_DOWN] = TO(HANDSHAKE),
    [MASTER_HANDSHAKE] = TO(DOWN) | TO(REFUSED) | TO(KILLING) | TO(UNDOING),
    [MASTER_REFUSED] = TO(DOWN) | TO(KILLING) | TO(UNDOING),
    [MASTER_KILLING] = TO(DOWN) | TO(REFUSED) | TO(UNDOING),
    [MASTER_UNDOING] = TO(DOWN) | TO(REFUSED) | TO(QUARANTINE) | TO(UP) | TO(SLOW),
    [MASTER_QUARANTINE] = TO(DOWN) | TO(REFUSED) | TO(UP) | TO(SLOW),
    [MASTER_UP] = TO(DOWN) | TO(REFUSED) | TO(SLOW) | TO(QUARANTINE),
    [MASTER_SLOW] = TO(DOWN) | TO(REFUSED) | TO(UP) | TO(QUARANTINE),
};

static void set_member(masters_t *set, masters_t bit, bool member)
{
    *set = member ? (masters_t)(*set | bit) : masters_without(*set, bit);
}

/* Which sets the master is in. */
static void place(struct coordinator *c, struct master *m)
{
    masters_t bit = masters_bit(m->index);
    bool quarantine = m->state == MASTER_QUARANTINE, up = m->state == MASTER_UP;
    bool extends = generation_extends(c, m);
    set_member(&c->up, bit, up && extends);
    set_member(&c->renewers, bit, up && generation_votes(c, m));
    c->voters = agree_voters(c);
    set_member(&c->extenders, bit, (up || quarantine) && extends);
    set_member(&c->releasers, bit, up || quarantine || m->state == MASTER_SLOW || m->state == MASTER_UNDOING);
    if ((c->voters | c->extenders) & bit)
        fresh_begin(c, m);
    else
        fresh_end(c, m);
}

void master_move(struct coordinator *c, struct master *m, enum master_state to, enum master_why why)
{
    assert(legal_moves[m->state] & (1u << to));
    m->state = to;
    m->why = to == MASTER_UP && agree_holds(c) ? WHY_GROUP : why;
    m->since_ms = c->now_ms;
    m->changes++;
    masters_t bit = masters_bit(m->index);
    m->memory.trusted |= to == MASTER_UP;
    if (to == MASTER_UP)
        c->fast = masters_without(c->fast, bit);
    place(c, m);
    if (to != MASTER_DOWN && to != MASTER_HANDSHAKE && to != MASTER_KILLING)
        m->handshake.ended_once = true;
}

/* Whether the master's answers count is judged anew. */
static void told_step(struct coordinator *c, struct master *m)
{
    bool voted = (c->renewers | c->extenders) & masters_bit(m->index);
    place(c, m);
    if (voted && !((c->renewers | c->extenders) & masters_bit(m->index)))
        rounds_lost(c, m->index);
}

void master_follow_step(struct coordinator *c)
{
    struct generation *g = &c->generation;
    masters_t moved = g->moved, gone = g->gone;
    g->moved = g->gone = 0;
    if (gone != 0)
        releases_leave(c, gone);
    for (unsigned i = 0; moved != 0 && i < c->config.masters; i++)
        if (moved & masters_bit(i))
            told_step(c, &c->masters[i]);
}

/* The pause before a refused master is asked again. It is short for WHY_MEMORY, where another daemon may be
 * about to write the group's key. */
static int64_t pause_ms(const struct master *m)
{
    if (m->why == WHY_MEMORY)
        return LOOK_AGAIN_MS;
    return m->why == WHY_NOPERM && m->handshake.pause_ms > ASK_AGAIN_MS ? m->handshake.pause_ms
                                                                        : ASK_AGAIN_MS;
}

static bool is_served(const struct coordinator *c, const struct master *m)
{
    return c->releasers & masters_bit(m->index);
}

static bool is_probe_late(const struct master *m)
{
    return m->liveness.probing && m->liveness.overdue < m->liveness.probe_sent;
}

static int64_t probe_deadline(const struct coordinator *c, const struct master *m)
{
    if (is_probe_late(m))
        return m->liveness.probed_ms + c->config.node_timeout_ms;
    return m->liveness.probing || !is_served(c, m) ? INT64_MAX : m->liveness.probed_ms + PROBE_MS;
}

static bool may_go_on(const struct coordinator *c, const struct master *m)
{
    return m->handshake.agreed ? agree_is_settled(c) : master_group_may_write(c);
}

static int64_t handshake_deadline(const struct coordinator *c, const struct master *m)
{
    if (m->handshake.waiting)
        return may_go_on(c, m) ? c->now_ms : INT64_MAX;
    if (m->state == MASTER_HANDSHAKE || m->state == MASTER_KILLING)
        return m->handshake.asked_ms + HANDSHAKE_MS;
    if (m->state == MASTER_REFUSED && !m->liveness.probing)
        return m->handshake.asked_ms + (m->handshake.asking ? HANDSHAKE_MS : pause_ms(m));
    return INT64_MAX;
}

static int64_t next_deadline(const struct coordinator *c, const struct master *m)
{
    if (m->state == MASTER_DOWN)
        return INT64_MAX;
    int64_t at_ms = earlier_ms(handshake_deadline(c, m), probe_deadline(c, m));
    if (m->state == MASTER_QUARANTINE)
        at_ms = earlier_ms(at_ms, m->memory.quarantine_until_ms);
    if (m->undo.under_way && m->sent - m->heard < UNDO_IN_FLIGHT && m->undo.cursor < c->releases.fresh)
        at_ms = c->now_ms;
    if (is_served(c, m))
        at_ms = earlier_ms(at_ms, m->undo.again_ms);
    if (m->heard < m->liveness.watched)
        at_ms = earlier_ms(at_ms, m->liveness.heard_ms + SILENT_TIMEOUTS * c->config.node_timeout_ms);
    return at_ms;
}

void master_rearm(struct coordinator *c, struct master *m)
{
    heap_set(&c->deadlines, &m->item, next_deadline(c, m));
}

/* Masters may wait until every other master was heard; so each answer may let them go on. */
static void rearm_waiting(struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        if (c->masters[i].handshake.waiting)
            master_rearm(c, &c->masters[i]);
}

void master_init(struct coordinator *c, unsigned index)
{
    struct master *m = &c->masters[index];
    m->item.kind = ITEM_MASTER;
    m->index = index;
    m->state = MASTER_DOWN;
    m->undo.again_ms = INT64_MAX;
}

void master_ask(struct coordinator *c, struct master *m, const struct command *command)
{
    action_send(c, masters_bit(m->index), command);
    m->handshake.asked_ms = c->now_ms;
    if (command->verb == COMMAND_GROUP || command_is_probe(command->verb))
        m->liveness.asked_ms = c->now_ms;
}

void master_watch(struct coordinator *c, struct master *m)
{
    if (m->heard >= m->liveness.watched)
        m->liveness.heard_ms = c->now_ms;
    m->liveness.watched = m->sent;
}

/* ---- the connection ---- */

void master_connected(struct coordinator *c, struct master *m, uint32_t connection)
{
    if (m->state != MASTER_DOWN)
        master_lost(c, m);
    m->connection = connection;
    m->client_id = 0;
    m->carried = false;
    m->places = 0;
    m->sent = m->heard = m->liveness.overdue = m->liveness.watched = 0;
    m->clock.times_told = m->clock.times_asked;
    master_move(c, m, MASTER_HANDSHAKE, WHY_NONE);
    handshake_begin(c, m);
    master_rearm(c, m);
}

static void down(struct coordinator *c, struct master *m, enum master_why why)
{
    if (m->carried && master_is_unkillable(c, m))
        m->strays = true;
    else if (m->carried)
        m->killing = m->client_id;
    m->carried = false;
    native_forget(c, m);
    if (m->state != MASTER_HANDSHAKE)
        m->memory.gone_ms = earlier_ms(c->now_ms, m->liveness.heard_ms + PROBE_MS);
    m->undo.under_way = m->handshake.asking = m->liveness.probing = m->handshake.waiting =
        m->handshake.agreed = m->handshake.writing = false;
    m->handshake.ended_once = true;
    master_move(c, m, MASTER_DOWN, why);
    trial_lost(c, m);
    master_rearm(c, m);
    rearm_waiting(c);
    rounds_lost(c, m->index);
    releases_lost(c, m->index);
}

void master_lost(struct coordinator *c, struct master *m)
{
    if (m->state != MASTER_DOWN)
        down(c, m, WHY_NONE);
    m->handshake.ended_once = true;
    rearm_waiting(c);
}

static void close_connection(struct coordinator *c, struct master *m, enum close_why close,
                             enum master_why why)
{
    struct action *action = action_push(c, ACTION_CLOSE_MASTER);
    action->master = (uint8_t)m->index;
    action->why = close;
    down(c, m, why);
}

void master_backlog(struct coordinator *c, struct master *m)
{
    if (m->state != MASTER_DOWN)
        close_connection(c, m, CLOSE_BACKLOG, WHY_BACKLOG);
}

/* ---- into service, and out of it ---- */

/* A master whose last probe is old is slow until it has answered a new one. */
static void serve(struct coordinator *c, struct master *m)
{
    bool slow = m->heard < m->liveness.overdue;
    master_move(c, m, slow || !fresh_is(c, m) ? MASTER_SLOW : MASTER_UP, WHY_NONE);
    if (!slow)
        master_catch_up(c, m);
}

void master_enter_service(struct coordinator *c, struct master *m)
{
    if (m->memory.quarantine_until_ms > c->now_ms)
        master_move(c, m, MASTER_QUARANTINE, m->memory.quarantine_why);
    else
        serve(c, m);
}

void master_catch_up(struct coordinator *c, struct master *m)
{
    if (m->state != MASTER_SLOW || m->heard < m->liveness.overdue)
        return;
    if (fresh_is(c, m)) {
        master_enter_service(c, m);
        return;
    }
    if (!m->liveness.probing)
        probe_send(c, m);
    m->liveness.overdue = m->liveness.probe_sent;
}

void master_begin_service(struct coordinator *c, struct master *m)
{
    if (agree_holds(c)) {
        master_exclude(c, m, WHY_GROUP);
        return;
    }
    m->old_connection_gone_ms = c->now_ms;
    m->carried = true;
    m->liveness.good_ms = m->liveness.asked_ms;
    master_move(c, m, MASTER_UNDOING, WHY_NONE);
    undo_begin(c, m);
    probe_send(c, m);
    undo_look(c, m);
}

void master_say_why(struct master *m, enum master_why why)
{
    m->changes += m->why != why;
    m->why = why;
}

void master_exclude(struct coordinator *c, struct master *m, enum master_why why)
{
    bool served = is_served(c, m);
    m->undo.under_way = m->handshake.waiting = m->handshake.agreed = m->handshake.writing = false;
    m->handshake.asked_ms = c->now_ms;
    if (m->state != MASTER_REFUSED)
        master_move(c, m, MASTER_REFUSED, why);
    else
        master_say_why(m, why);
    if (served)
        rounds_lost(c, m->index);
}

static void killed(struct coordinator *c, struct master *m, const struct vote *vote)
{
    if (m->state != MASTER_KILLING)
        return;
    if (vote->kind == VOTE_ERROR) {
        master_exclude(c, m, why_of_error(vote->error));
        return;
    }
    m->killing = 0;
    master_begin_service(c, m);
}

/* The memory of the master was full when it was tried first. */
static void tried(struct coordinator *c, struct master *m, const struct vote *vote)
{
    enum master_why why = try_told(m, vote);
    if (why != WHY_NONE && is_served(c, m))
        master_exclude(c, m, why);
}

void master_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    if (command_is_question(verb))
        native_told(c, m, verb, vote);
    if (verb == COMMAND_INFO && is_served(c, m))
        policy_told(m, vote);
    if (verb == COMMAND_TIME) {
        trial_told_time(c, m, vote);
        wall_told(c);
    }
    if (verb == COMMAND_TRY && !m->handshake.asking) {
        tried(c, m, vote);
    } else if (verb == COMMAND_KILL) {
        killed(c, m, vote);
    } else if (verb == COMMAND_GROUP_NEW) {
        memory_told_new(c, m, vote);
    } else if (m->liveness.probing) {
        if (command_is_probe(verb))
            probe_told(c, m, vote);
        master_catch_up(c, m);
    } else if (m->handshake.asking && !command_is_question(verb)) {
        handshake_told(c, m, verb, vote);
    }
    rearm_waiting(c);
    master_rearm(c, m);
}

/* ---- service ---- */

void master_heard(struct coordinator *c, struct master *m)
{
    bool armed = m->heard < m->liveness.watched || m->undo.under_way;
    m->heard++;
    m->liveness.heard_ms = c->now_ms;
    master_catch_up(c, m);
    if (m->undo.under_way)
        undo_look(c, m);
    if (armed)
        master_rearm(c, m);
}

/* The handshake cannot show that a lock command is not allowed. Each time that the master comes back into
 * service only to refuse a command soon after, the pause doubles. */
static void pause_longer(const struct coordinator *c, struct master *m)
{
    bool soon = c->now_ms - m->since_ms < NOPERM_MS;
    m->handshake.pause_ms = soon && m->handshake.pause_ms != 0 ? 2 * m->handshake.pause_ms : ASK_AGAIN_MS;
    if (m->handshake.pause_ms > NOPERM_MS)
        m->handshake.pause_ms = NOPERM_MS;
}

/* -READONLY means that the server is a replica now. It then knows of our locks only what its own master
 * knows, so it comes back through quarantine. A release that was refused is still owed. An error to the probe,
 * whichever it is, leaves open whether the master remembers its locks; a master that refuses another command
 * may still serve the rest, and no lock needs the INFO that is asked for in service. */
void master_answered_error(struct coordinator *c, struct master *m, enum command_verb verb,
                           enum vote_error error)
{
    bool probe = command_is_probe(verb) || verb == COMMAND_TIME;
    if (error == ERROR_READONLY) /* noted even if the master is not in service any more */
        m->memory.was_replica = true;
    if (is_served(c, m) && error == ERROR_READONLY) {
        master_exclude(c, m, WHY_REPLICA);
    } else if (is_served(c, m) && error == ERROR_NOPERM && verb != COMMAND_INFO) {
        pause_longer(c, m);
        m->handshake.lacks = probe ? handshake_lacking(verb) : LACKING_NOTHING;
        master_exclude(c, m, WHY_NOPERM);
    } else if (is_served(c, m) && probe) {
        m->handshake.lacks = handshake_lacking(verb);
        master_exclude(c, m, why_of_error(error));
    } else if ((verb == COMMAND_RELEASE || verb == COMMAND_MOVE) && m->undo.again_ms == INT64_MAX) {
        m->undo.again_ms = c->now_ms + ASK_AGAIN_MS;
    }
    master_rearm(c, m);
}

static void delay(int64_t *at_ms, int64_t by_ms)
{
    if (*at_ms != 0 && *at_ms != INT64_MAX)
        *at_ms += by_ms;
}

/* A quarantine does not end sooner for the stall: what is left of it stays the same, in case that the
 * master's clock was wrong after all. */
void master_stood_still(struct coordinator *c, struct master *m, int64_t stall_ms)
{
    delay(&m->handshake.asked_ms, stall_ms);
    delay(&m->liveness.probed_ms, stall_ms);
    delay(&m->liveness.heard_ms, stall_ms);
    delay(&m->undo.again_ms, stall_ms);
    delay(&m->memory.good_at_ms, stall_ms);
    delay(&m->memory.gone_ms, stall_ms);
    if (m->memory.quarantine_until_ms > c->now_ms - stall_ms)
        m->memory.quarantine_until_ms += stall_ms;
    master_rearm(c, m);
}

void masters_reconfigured(struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        master_rearm(c, &c->masters[i]);
}

void masters_overdue(struct coordinator *c, masters_t masters)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (!(masters & masters_bit(i)) || m->state == MASTER_DOWN || m->heard == m->sent)
            continue;
        master_watch(c, m);
        m->liveness.overdue = m->sent;
        if (m->state == MASTER_UP || (c->stale & masters_bit(i)))
            master_move(c, m, MASTER_SLOW, WHY_SILENT);
        master_rearm(c, m);
    }
}

static bool asked_in_vain(const struct coordinator *c, const struct master *m)
{
    bool asks = m->state == MASTER_HANDSHAKE || m->state == MASTER_KILLING ||
                (m->state == MASTER_REFUSED && m->handshake.asking);
    return asks && !m->handshake.waiting && c->now_ms >= m->handshake.asked_ms + HANDSHAKE_MS;
}

static void timer_in_service(struct coordinator *c, struct master *m)
{
    if (c->now_ms >= m->undo.again_ms)
        undo_begin(c, m);
    if (m->undo.under_way) {
        undo_step(c, m);
        undo_look(c, m);
    }
    if (is_probe_late(m) && c->now_ms >= m->liveness.probed_ms + c->config.node_timeout_ms)
        masters_overdue(c, masters_bit(m->index));
    else if (is_served(c, m) && !m->liveness.probing && c->now_ms >= m->liveness.probed_ms + PROBE_MS)
        probe_send(c, m);
}

void master_timer(struct coordinator *c, struct master *m)
{
    int64_t silent_ms = m->liveness.heard_ms + SILENT_TIMEOUTS * c->config.node_timeout_ms;
    if (m->heard < m->liveness.watched && c->now_ms >= silent_ms)
        close_connection(c, m, CLOSE_SILENT, WHY_SILENT);
    else if (m->handshake.waiting)
        memory_go_on(c, m);
    else if (asked_in_vain(c, m))
        close_connection(c, m, CLOSE_HANDSHAKE, WHY_TIMEOUT);
    else if (m->state == MASTER_REFUSED && !m->handshake.asking && !m->liveness.probing &&
             c->now_ms >= m->handshake.asked_ms + pause_ms(m))
        handshake_begin(c, m);
    else if (m->state == MASTER_QUARANTINE && c->now_ms >= m->memory.quarantine_until_ms)
        serve(c, m);
    else
        timer_in_service(c, m);
    master_rearm(c, m);
}
