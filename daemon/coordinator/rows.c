/* The rows that SHOW tells of the coordinator. Nothing here changes the coordinator. */
#include <string.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/data/state.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/master/wall.h"
#include "daemon/coordinator/mode/join.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/round/fence.h"
#include "daemon/coordinator/session/repeat.h"
#include "proto/slot.h"

static char key_sign(const struct coordinator *c, masters_t granted, masters_t may, unsigned master)
{
    masters_t bit = masters_bit(master);
    if (!(c->releasers & bit))
        return '!';
    if (c->masters[master].state == MASTER_QUARANTINE)
        return '~';
    if (granted & bit)
        return '+';
    return (may & bit) ? '?' : '-';
}

static char lock_sign(const struct coordinator *c, const struct lease *lease, unsigned master)
{
    return key_sign(c, lease->copies.granted, lease->copies.may, master);
}

static void lock_row_of(const struct coordinator *c, int64_t now_ms, const struct lease *lease,
                        struct lock_row *row)
{
    memset(row, 0, sizeof *row);
    row->slot = (uint16_t)(slot_base(&row->name, lease->resource->name) + 1);
    row->hold = lease->hold.kind;
    row->shared = lease->mode->shares;
    row->session = lease->hold.session != NULL ? lease->hold.session->key : 0;
    row->peer = lease->hold.peer;
    row->token = lease->hold.token;
    row->fence = lease->hold.fence;
    row->valid_ms = lease->until_ms > now_ms ? lease->until_ms - now_ms : 0;
    row->held_ms = now_ms > lease->granted_ms ? now_ms - lease->granted_ms : 0;
    row->depth = lease->hold.depth;
    row->waiters = lease->resource->queue->waiters;
    const struct word *note = lease->hold.note;
    if (note != NULL) {
        row->note.len = note->len;
        memcpy(row->note.text, note->text, note->len);
    }
    const struct told *told = told_of_lease(c, lease);
    if (told != NULL)
        data_copy(&row->data, &told->data);
    const struct lease *common = join_of(c, lease);
    for (unsigned i = 0; i < c->config.masters; i++)
        row->nodes[i] = lock_sign(c, common != NULL ? common : lease, i);
}

bool coordinator_lock_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                          struct lock_row *row)
{
    const struct lease *lease = NULL;
    while ((lease == NULL || !lease->keeping->told) && cursor->slot < c->leases.fresh)
        lease = pool_at(&c->leases, (uint32_t)cursor->slot++);
    if (lease == NULL || !lease->keeping->told)
        return false;
    lock_row_of(c, now_ms + c->behind_ms, lease, row);
    return true;
}

bool coordinator_kept_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                          struct kept_row *row)
{
    const struct kept *kept = NULL;
    while ((kept == NULL || !kept->told) && cursor->slot < c->kepts.fresh)
        kept = pool_at(&c->kepts, (uint32_t)cursor->slot++);
    if (kept == NULL || !kept->told)
        return false;
    now_ms += c->behind_ms;
    *row = (struct kept_row){.token = kept->token,
                             .left_ms = kept->ends_ms > now_ms ? kept->ends_ms - now_ms : 0};
    name_copy(&row->name, kept->name);
    for (unsigned i = 0; i < c->config.masters; i++)
        row->nodes[i] = key_sign(c, kept->had, masters_without(kept->sent, kept->gone), i);
    return true;
}

/* The object after the cursor's, in the order in which they were taken; NULL: none, or the cursor's is gone. */
static const void *next_by_age(const struct pool *pool, struct cursor *cursor)
{
    const void *last = pool_find(pool, cursor->id);
    if (cursor->id != 0 && last == NULL)
        return NULL;
    const uint64_t *next = last != NULL ? pool_newer(pool, last) : pool_oldest(pool);
    if (next != NULL)
        cursor->id = *next;
    return next;
}

bool coordinator_oldest_lock(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                             struct lock_row *row)
{
    const struct lease *lease = next_by_age(&c->leases, cursor);
    while (lease != NULL && !lease->keeping->told)
        lease = next_by_age(&c->leases, cursor);
    if (lease == NULL)
        return false;
    lock_row_of(c, now_ms + c->behind_ms, lease, row);
    return true;
}

/* The wait behind the cursor's wait. If the cursor's wait has left the queue, the first wait that came later.
 * */
static const struct wait *next_wait(const struct coordinator *c, struct cursor *cursor)
{
    const struct wait *last = pool_find(&c->waits, cursor->id);
    if (last != NULL && last->resource->id == cursor->slot)
        return last->next;
    const struct resource *resource = pool_find(&c->resources, cursor->slot);
    const struct wait *wait = resource != NULL ? resource->queue->head : NULL;
    while (wait != NULL && wait->id <= cursor->id)
        wait = wait->next;
    return wait;
}

static const struct resource *next_resource(const struct coordinator *c, const struct cursor *cursor)
{
    uint64_t mask = ((uint64_t)1 << POOL_SLOT_BITS) - 1;
    uint32_t slot = cursor->slot == 0 ? 0 : (uint32_t)(cursor->slot & mask) + 1;
    for (; slot < c->resources.fresh; slot++) {
        const struct resource *resource = pool_at(&c->resources, slot);
        if (resource != NULL && resource->queue->head != NULL && resource->queue->resource == resource)
            return resource;
    }
    return NULL;
}

static void waiter_row_of(int64_t now_ms, const struct wait *wait, struct waiter_row *row)
{
    const struct lease *lease = wait->resource->lease;
    memset(row, 0, sizeof *row);
    name_copy(&row->name, wait->resource->name);
    row->session = wait->session->key;
    row->request = wait->request;
    row->waited_ms = now_ms > wait->asked_ms ? now_ms - wait->asked_ms : 0;
    row->left_ms = wait->deadline_ms > now_ms ? wait->deadline_ms - now_ms : 0;
    row->slots = slots_asked(wait->resource);
    row->held = lease != NULL || (row->slots != 0 && slots_are_held(wait->resource->queue->slots));
    row->holder = lease != NULL && lease->hold.session != NULL ? lease->hold.session->key : 0;
}

/* In the cursor, slot is the id of the resource, id the id of the last wait shown, and position its
 * position. */
bool coordinator_waiter_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                            struct waiter_row *row)
{
    const struct wait *wait = cursor->slot != 0 ? next_wait(c, cursor) : NULL;
    if (wait == NULL) {
        const struct resource *resource = next_resource(c, cursor);
        if (resource == NULL)
            return false;
        wait = resource->queue->head;
        cursor->slot = resource->id;
        cursor->position = 0;
    }
    cursor->id = wait->id;
    waiter_row_of(now_ms + c->behind_ms, wait, row);
    row->position = ++cursor->position;
    return true;
}

bool coordinator_repeat_row(const struct coordinator *c, struct cursor *cursor, uint64_t *session,
                            uint64_t *request, struct name *name)
{
    const struct repeat *repeat = repeat_next(c, cursor);
    if (repeat == NULL)
        return false;
    *session = repeat->session->key;
    *request = repeat->request;
    name_copy(name, repeat->name);
    return true;
}

/* A queue keeps the order of arrival: so many requests as came before this one stand before it at most. */
bool coordinator_oldest_waiter(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                               struct waiter_row *row)
{
    const struct wait *wait = next_by_age(&c->waits, cursor);
    if (wait == NULL)
        return false;
    waiter_row_of(now_ms + c->behind_ms, wait, row);
    for (; wait != NULL; wait = wait->prev)
        row->position++;
    return true;
}

/* Adds the releases of the list that each master owes. A pending release is not counted while its reply
 * may come in time. */
static void count_owed(const struct coordinator *c, const struct in_flight_list *list, uint32_t undo[MASTERS])
{
    for (struct in_flight *in_flight = list->first; in_flight != NULL; in_flight = in_flight->next) {
        const struct release *release = IN_FLIGHT_OWNER(release, in_flight);
        masters_t on_its_way = release->only_owed ? 0 : release->unanswered;
        masters_t owed = masters_without(release->owed, on_its_way);
        for (unsigned i = 0; owed != 0 && i < c->config.masters; i++)
            undo[i] += (owed & masters_bit(i)) != 0;
    }
}

void coordinator_undo(const struct coordinator *c, uint32_t undo[MASTERS])
{
    memset(undo, 0, MASTERS * sizeof undo[0]);
    count_owed(c, &c->releases_owed, undo);
    count_owed(c, &c->releases_pending, undo);
}

void coordinator_master_row(const struct coordinator *c, int64_t now_ms, unsigned master,
                            struct master_row *row)
{
    now_ms += c->behind_ms;
    const struct master *m = &c->masters[master];
    memset(row, 0, sizeof *row);
    row->state = m->state;
    row->why = m->why;
    row->evicts = m->evicts;
    for (unsigned i = 0; i < NATIVES; i++) {
        row->natives |= (uint32_t)(c->natives[i] >> master & 1) << i;
        row->natives_denied |= (uint32_t)(c->natives_denied[i] >> master & 1) << i;
    }
    if (m->why == WHY_NOSCRIPT || m->why == WHY_NOPERM)
        row->lacks = m->handshake.lacks;
    if (m->why == WHY_GROUP) {
        row->their_masters = m->memory.theirs.masters;
        row->their_max_ttl_ms = m->memory.theirs.max_ttl_ms;
        row->their_set = m->memory.theirs.set;
    }
    row->later = c->later & masters_bit(master);
    bool beyond = m->clock.beyond_ms != 0 && now_ms - m->clock.beyond_ms < FENCE_SHOWN_MS;
    if (beyond && (m->state == MASTER_UP || m->state == MASTER_SLOW)) {
        row->why = WHY_FENCE;
        row->beyond = m->clock.beyond;
    }
    row->clock_known = m->clock.time_ms != 0 && m->state != MASTER_DOWN;
    row->clock_ahead_ms = m->clock.time_ms - m->clock.told_at_ms - c->wall.own_ms;
    row->clock_backs = m->clock.backs;
    row->clock_back_ms = m->clock.back_ms;
    row->for_ms = now_ms > m->since_ms ? now_ms - m->since_ms : 0;
    if (m->state == MASTER_QUARANTINE && m->memory.quarantine_until_ms > now_ms)
        row->left_ms = m->memory.quarantine_until_ms - now_ms;
    if (m->state == MASTER_QUARANTINE)
        memcpy(row->by, m->memory.by, GROUP_WORD);
    row->version = m->version;
    memcpy(row->run_id, m->run_id, RUN_ID_HEX);
}

bool coordinator_wall_ahead(const struct coordinator *c, int64_t now_ms, int64_t *ahead_ms)
{
    return wall_ahead(c, now_ms + c->behind_ms, ahead_ms);
}

void coordinator_stats(const struct coordinator *c, struct coordinator_stats *stats)
{
    *stats = c->stats;
    stats->locks = c->leases.used - c->commons;
    stats->waiters = c->waits.used;
    stats->watches = c->watchers.used;
    stats->sessions = c->sessions.used;
    stats->names = c->resources.used;
    stats->kept = c->keeps.names.count;
    stats->rounds_under_way = c->rounds.used;
    stats->releases_under_way = c->releases.used;
    stats->behind_ms = (uint64_t)c->behind_ms;
    for (unsigned hold = HOLD_SESSION; hold <= HOLD_LEASE; hold++) {
        stats->holds[hold] = c->holds[hold];
        stats->readers[hold] = c->readers[hold];
    }
}

const struct coordinator_times *coordinator_times(const struct coordinator *c)
{
    return &c->times;
}

void coordinator_session_counts(const struct coordinator *c, uint64_t session, uint32_t *locks,
                                uint32_t *waits)
{
    const struct session *found = session_find(c, session);
    *locks = found != NULL ? found->locks : 0;
    *waits = found != NULL ? found->waits : 0;
}

enum master_state coordinator_master_state(const struct coordinator *c, unsigned master)
{
    return c->masters[master].state;
}

uint32_t coordinator_master_changes(const struct coordinator *c, unsigned master)
{
    return c->masters[master].changes;
}

unsigned coordinator_voters(const struct coordinator *c)
{
    return masters_count(c->voters);
}

unsigned coordinator_settled(const struct coordinator *c)
{
    unsigned settled = 0;
    for (unsigned i = 0; i < c->config.masters; i++)
        settled += c->masters[i].handshake.ended_once;
    return settled;
}
