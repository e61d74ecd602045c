#include "daemon/coordinator/master.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/mutant.h"
#include "daemon/coordinator/release.h"
#include "daemon/coordinator/round.h"

/*                 +--------------------------- any loss of the connection: DOWN
 *                 |
 *   DOWN -> HANDSHAKE -> KILLING -> UNDOING -> QUARANTINE -> UP <-> SLOW
 *                |   \----|---------^  ^            \--------------^
 *                v        v            |
 *             REFUSED -----------------+       (-READONLY and -NOPERM lead back here)
 *
 * Lock commands flow only after KILLING: our old connection's may still run before it
 * (a hung server reads them when it wakes up), none after it. */
enum {
    HANDSHAKE_MS = 1000,
    ASK_AGAIN_MS = 1000,
    NOPERM_MS = 10000,      /* longest pause of one that allows the handshake, but not the rest */
    UPTIME_ERROR_MS = 2000, /* uptime_in_seconds is by the wall clock, and a second wrong either way */
    SILENT_TIMEOUTS = 20,
    UNDO_SCAN = 256,   /* slots looked at in one step */
    UNDO_SEND = 8,     /* releases sent in one step ... */
    UNDO_FLIGHT = 128, /* ... and without reply at most */
    VERSION_6_2 = 0x060200,
};

#define TO(state) (1u << MASTER_##state)

static const unsigned legal_moves[] = {
    [MASTER_DOWN] = TO(HANDSHAKE),
    [MASTER_HANDSHAKE] = TO(DOWN) | TO(REFUSED) | TO(KILLING) | TO(UNDOING),
    [MASTER_REFUSED] = TO(DOWN) | TO(KILLING) | TO(UNDOING),
    [MASTER_KILLING] = TO(DOWN) | TO(REFUSED) | TO(UNDOING),
    [MASTER_UNDOING] = TO(DOWN) | TO(REFUSED) | TO(QUARANTINE) | TO(UP) | TO(SLOW),
    [MASTER_QUARANTINE] = TO(DOWN) | TO(REFUSED) | TO(UP) | TO(SLOW),
    [MASTER_UP] = TO(DOWN) | TO(REFUSED) | TO(SLOW),
    [MASTER_SLOW] = TO(DOWN) | TO(REFUSED) | TO(UP),
};

static void set_member(masters_t *set, masters_t bit, bool member)
{
    *set = member ? (masters_t)(*set | bit) : masters_without(*set, bit);
}

static bool votes_in(enum master_state state)
{
    return state == MASTER_UP;
}

static void master_move(struct coordinator *c, struct master *m, enum master_state to, enum master_why why)
{
    assert(legal_moves[m->state] & (1u << to));
    m->state = to;
    m->why = why;
    m->since_ms = c->now_ms;
    masters_t bit = masters_bit(m->index);
    bool quarantine = to == MASTER_QUARANTINE;
    set_member(&c->voters, bit, votes_in(to) || (quarantine && mutant(MUTANT_QUARANTINED_VOTES)));
    set_member(&c->extenders, bit, to == MASTER_UP || quarantine);
    set_member(&c->releasers, bit,
               to == MASTER_UP || quarantine || to == MASTER_SLOW || to == MASTER_UNDOING);
    if (to != MASTER_DOWN && to != MASTER_HANDSHAKE && to != MASTER_KILLING)
        m->settled = true;
}

/* Until a refused master is asked again. */
static int64_t pause_ms(const struct master *m)
{
    return m->why == WHY_NOPERM && m->pause_ms > ASK_AGAIN_MS ? m->pause_ms : ASK_AGAIN_MS;
}

static int64_t next_deadline(const struct coordinator *c, const struct master *m)
{
    int64_t at_ms = INT64_MAX;
    if (m->state == MASTER_HANDSHAKE || m->state == MASTER_KILLING)
        at_ms = m->asked_ms + HANDSHAKE_MS;
    if (m->state == MASTER_REFUSED)
        at_ms = m->asked_ms + (m->asked_info ? HANDSHAKE_MS : pause_ms(m));
    if (m->state == MASTER_QUARANTINE)
        at_ms = m->quarantine_ms;
    if (m->undoing && m->sent - m->heard < UNDO_FLIGHT && m->undo_cursor < c->releases.fresh)
        at_ms = c->now_ms;
    if (m->undo_again_ms < at_ms && (c->releasers & masters_bit(m->index)))
        at_ms = m->undo_again_ms;
    int64_t silent_ms = m->heard_ms + SILENT_TIMEOUTS * c->config.node_timeout_ms;
    if (m->heard < m->watched && silent_ms < at_ms)
        at_ms = silent_ms;
    return m->state == MASTER_DOWN ? INT64_MAX : at_ms;
}

static void rearm(struct coordinator *c, struct master *m)
{
    heap_set(&c->deadlines, &m->item, next_deadline(c, m));
}

void master_init(struct coordinator *c, unsigned index)
{
    struct master *m = &c->masters[index];
    m->item.kind = ITEM_MASTER;
    m->index = index;
    m->state = MASTER_DOWN;
    m->undo_again_ms = INT64_MAX;
}

static void ask(struct coordinator *c, struct master *m, enum command_verb verb, uint64_t number)
{
    struct command command = {.verb = verb, .number = number};
    action_send(c, masters_bit(m->index), &command);
    m->asked_ms = c->now_ms;
}

/* Until all that was sent so far is answered, long silence closes the connection. */
static void watch(struct coordinator *c, struct master *m)
{
    if (m->heard >= m->watched)
        m->heard_ms = c->now_ms;
    m->watched = m->sent;
}

/* ---- the connection ---- */

void master_connected(struct coordinator *c, struct master *m, uint32_t connection)
{
    if (m->state != MASTER_DOWN)
        master_lost(c, m);
    m->connection = connection;
    m->client_id = 0;
    m->carried = false;
    m->sent = m->heard = m->overdue = m->watched = 0;
    master_move(c, m, MASTER_HANDSHAKE, WHY_NONE);
    ask(c, m, COMMAND_CLIENT_ID, 0);
    ask(c, m, COMMAND_INFO, 0);
    m->asked_info = true;
    rearm(c, m);
}

static void down(struct coordinator *c, struct master *m, enum master_why why)
{
    if (m->carried)
        m->killing = mutant(MUTANT_NO_KILL) ? 0 : m->client_id;
    m->carried = false;
    m->undoing = false;
    m->asked_info = false;
    m->settled = true;
    master_move(c, m, MASTER_DOWN, why);
    rearm(c, m);
    rounds_lost(c, m->index);
    releases_lost(c, m->index);
}

void master_lost(struct coordinator *c, struct master *m)
{
    if (m->state != MASTER_DOWN)
        down(c, m, WHY_NONE);
    m->settled = true;
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

/* ---- the undo list: before lock commands on a new connection, and again where a
 * master refused ---- */

static void undo_begin(struct coordinator *c, struct master *m)
{
    m->undoing = true;
    m->undo_cursor = 0;
    m->undo_again_ms = INT64_MAX;
    m->undo_sent = m->sent;
    watch(c, m);
}

static void undo_step(struct coordinator *c, struct master *m)
{
    unsigned sent = 0;
    for (unsigned i = 0; i < UNDO_SCAN && m->undo_cursor < c->releases.fresh && sent < UNDO_SEND; i++) {
        struct release *release = pool_at(&c->releases, m->undo_cursor++);
        if (release != NULL && release_again(c, release, m->index))
            sent++;
    }
    if (sent == 0)
        return;
    m->undo_sent = m->sent;
    watch(c, m);
}

static void enter_service(struct coordinator *c, struct master *m)
{
    if (m->quarantine_ms > c->now_ms)
        master_move(c, m, MASTER_QUARANTINE, m->was_replica ? WHY_DEMOTED : WHY_RESTART);
    else
        master_move(c, m, m->heard < m->overdue ? MASTER_SLOW : MASTER_UP, WHY_NONE);
    m->was_replica = false;
}

/* The pass is over once each release of it was answered: a master that hangs in it
 * must not get lock commands. */
static void undo_look(struct coordinator *c, struct master *m)
{
    if (m->undo_cursor < c->releases.fresh)
        return;
    if (m->state != MASTER_UNDOING)
        m->undoing = false;
    else if (m->heard >= m->undo_sent) {
        m->undoing = false;
        enter_service(c, m);
    }
}

static void begin_service(struct coordinator *c, struct master *m)
{
    m->fenced_ms = c->now_ms;
    m->carried = true;
    master_move(c, m, MASTER_UNDOING, WHY_NONE);
    undo_begin(c, m);
    undo_look(c, m);
}

/* ---- the handshake ---- */

static bool is_twin(const struct coordinator *c, const struct master *m, const struct master_info *info)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *other = &c->masters[i];
        if (other != m && other->known &&
            (other->state == MASTER_KILLING || (c->releasers & masters_bit(i))) &&
            memcmp(other->run_id, info->run_id, RUN_ID_HEX) == 0)
            return true;
    }
    return false;
}

static enum master_why why_refused(const struct coordinator *c, const struct master *m,
                                   const struct master_info *info)
{
    if (m->client_id == 0) /* without it the connection could not be killed later */
        return WHY_NOPERM;
    if (info->replica)
        return WHY_REPLICA;
    if (info->cluster)
        return WHY_CLUSTER;
    if (info->version < VERSION_6_2)
        return WHY_VERSION;
    if (info->loading)
        return WHY_LOADING;
    return is_twin(c, m, info) ? WHY_TWIN : WHY_NONE;
}

/* Redlock's delayed restart: a master that may have forgotten a lock votes only after every
 * lock that it may have forgotten is over. Nothing but a known run_id or a long uptime
 * proves its memory. */
static int64_t quarantine_left_ms(const struct coordinator *c, const struct master *m,
                                  const struct master_info *info)
{
    bool same = m->known && memcmp(m->run_id, info->run_id, RUN_ID_HEX) == 0;
    if (!c->config.restart_guard || mutant(MUTANT_NO_RESTART_GUARD))
        return 0;
    if (m->was_replica || (m->known && !same))
        return c->full_ms;
    if (same)
        return 0;
    int64_t margin_ms = mutant(MUTANT_UPTIME_WITHOUT_MARGIN) ? 0 : UPTIME_ERROR_MS;
    int64_t left_ms = c->full_ms + margin_ms - 1000 * (info->uptime_s > 0 ? info->uptime_s : 0);
    if (left_ms > c->full_ms)
        left_ms = c->full_ms;
    return left_ms > 0 ? left_ms : 0;
}

static void admit(struct coordinator *c, struct master *m, const struct master_info *info)
{
    bool same = m->known && memcmp(m->run_id, info->run_id, RUN_ID_HEX) == 0;
    int64_t ends_ms = c->now_ms + quarantine_left_ms(c, m, info);
    if (ends_ms > m->quarantine_ms)
        m->quarantine_ms = ends_ms;
    /* Another run deals the same client ids again, and nothing of ours is left in it. */
    if (!same)
        m->killing = 0;
    memcpy(m->run_id, info->run_id, RUN_ID_HEX);
    m->known = true;
    m->version = info->version;
    m->evicts = info->evicts;
    if (m->killing == 0) {
        begin_service(c, m);
        return;
    }
    master_move(c, m, MASTER_KILLING, WHY_NONE);
    ask(c, m, COMMAND_KILL, m->killing);
    if (mutant(MUTANT_KILL_ONCE))
        m->killing = 0;
}

/* Not used; the connection stays, and it is asked again. */
static void refuse(struct coordinator *c, struct master *m, enum master_why why)
{
    m->undoing = false;
    m->asked_ms = c->now_ms;
    if (m->state == MASTER_REFUSED)
        m->why = why;
    else
        master_move(c, m, MASTER_REFUSED, why);
}

static void told_info(struct coordinator *c, struct master *m, const struct master_info *info)
{
    enum master_why why = why_refused(c, m, info);
    if (why == WHY_REPLICA)
        m->was_replica = true;
    if (why == WHY_NONE)
        admit(c, m, info);
    else
        refuse(c, m, why);
}

void master_told(struct coordinator *c, struct master *m, enum command_verb verb, const struct vote *vote)
{
    bool error = vote->kind == VOTE_ERROR;
    if (verb == COMMAND_INFO)
        m->asked_info = false;
    if (verb == COMMAND_CLIENT_ID && !error)
        m->client_id = vote->number;
    else if (error && verb != COMMAND_CLIENT_ID) /* INFO says it for both */
        refuse(c, m, vote->error == ERROR_LOADING ? WHY_LOADING : WHY_NOPERM);
    else if (verb == COMMAND_INFO && vote->kind == VOTE_INFO)
        told_info(c, m, &vote->info);
    else if (verb == COMMAND_KILL && m->state == MASTER_KILLING) {
        m->killing = 0;
        begin_service(c, m);
    }
    rearm(c, m);
}

/* ---- service ---- */

void master_heard(struct coordinator *c, struct master *m)
{
    bool armed = m->heard < m->watched || m->undoing;
    m->heard++;
    m->heard_ms = c->now_ms;
    if (m->state == MASTER_SLOW && m->heard >= m->overdue)
        master_move(c, m, MASTER_UP, WHY_NONE);
    if (m->undoing)
        undo_look(c, m);
    if (armed)
        rearm(c, m);
}

/* The handshake does not show what is not allowed: each time that it comes back only to say so again, the pause
 * doubles. */
static void pause_longer(const struct coordinator *c, struct master *m)
{
    bool soon = c->now_ms - m->since_ms < NOPERM_MS;
    m->pause_ms = soon && m->pause_ms != 0 ? 2 * m->pause_ms : ASK_AGAIN_MS;
    if (m->pause_ms > NOPERM_MS)
        m->pause_ms = NOPERM_MS;
}

/* -READONLY: it is a replica now. What it knew of our locks is its master's memory, so it
 * comes back through quarantine. A release that was refused is owed still. */
void master_refused(struct coordinator *c, struct master *m, enum command_verb verb, enum vote_error error)
{
    bool served = c->releasers & masters_bit(m->index);
    if (served && error == ERROR_READONLY) {
        m->was_replica = true;
        refuse(c, m, WHY_REPLICA);
        rounds_lost(c, m->index);
    } else if (served && error == ERROR_NOPERM) {
        pause_longer(c, m);
        refuse(c, m, WHY_NOPERM);
        rounds_lost(c, m->index);
    } else if (verb == COMMAND_RELEASE && m->undo_again_ms == INT64_MAX) {
        m->undo_again_ms = c->now_ms + ASK_AGAIN_MS;
    }
    rearm(c, m);
}

void masters_reconfigured(struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++)
        rearm(c, &c->masters[i]);
}

void masters_overdue(struct coordinator *c, masters_t masters)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        struct master *m = &c->masters[i];
        if (!(masters & masters_bit(i)) || m->state == MASTER_DOWN || m->heard == m->sent)
            continue;
        watch(c, m);
        m->overdue = m->sent;
        if (m->state == MASTER_UP)
            master_move(c, m, MASTER_SLOW, WHY_SILENT);
        rearm(c, m);
    }
}

void master_timer(struct coordinator *c, struct master *m)
{
    int64_t silent_ms = m->heard_ms + SILENT_TIMEOUTS * c->config.node_timeout_ms;
    bool asked_in_vain = c->now_ms >= m->asked_ms + HANDSHAKE_MS;
    if (m->heard < m->watched && c->now_ms >= silent_ms) {
        close_connection(c, m, CLOSE_SILENT, WHY_SILENT);
    } else if (asked_in_vain && (m->state == MASTER_HANDSHAKE || m->state == MASTER_KILLING ||
                                 (m->state == MASTER_REFUSED && m->asked_info))) {
        close_connection(c, m, CLOSE_HANDSHAKE, WHY_TIMEOUT);
    } else if (m->state == MASTER_REFUSED && !m->asked_info && c->now_ms >= m->asked_ms + pause_ms(m)) {
        if (m->client_id == 0)
            ask(c, m, COMMAND_CLIENT_ID, 0);
        ask(c, m, COMMAND_INFO, 0);
        m->asked_info = true;
    } else if (m->state == MASTER_QUARANTINE && c->now_ms >= m->quarantine_ms) {
        master_move(c, m, m->heard < m->overdue ? MASTER_SLOW : MASTER_UP, WHY_NONE);
    } else {
        if (c->now_ms >= m->undo_again_ms)
            undo_begin(c, m);
        if (m->undoing) {
            undo_step(c, m);
            undo_look(c, m);
        }
    }
    rearm(c, m);
}
