/* coordinator_check(): the invariants of the coordinator's own data, for tests and simulation. */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/data/state.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/keep/kept.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/mode/check_modes.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/wait/resource.h"

static void check_waits(const struct coordinator *c, const struct resource *resource)
{
    uint32_t waiters = 0, impatient = 0;
    uint64_t id = 0;
    const struct queue *queue = resource->queue;
    const struct wait *prev = NULL;
    for (const struct wait *wait = queue->head; wait != NULL; wait = wait->next) {
        assert(pool_find(&c->waits, wait->id) == wait);
        assert(wait->resource == resource && wait->prev == prev && wait->session != NULL);
        assert(wait->id > id);
        id = wait->id;
        prev = wait;
        waiters++;
        impatient += !wait->patient;
    }
    assert(queue->tail == prev && queue->waiters == waiters && queue->impatient == impatient);
    if (queue == &c->nobody)
        assert(waiters == 0);
    else
        check_queue_of_mode(c, queue);
    assert(queue == &c->nobody || queue->resource == resource);
}

/* The drain still has waiters to tell, one in each step. */
static bool drain_tells(const struct coordinator *c)
{
    return c->draining && !c->ending && (c->settles || c->drain_cursor < c->waits.fresh);
}

/* A head is never forgotten: an attempt, a release, a lease, the drain or a deadline will go on with it. */
static void check_head(const struct coordinator *c, const struct resource *resource)
{
    bool bound = resource->queue->head != NULL && resource->queue->head->mode->in_way(resource);
    bool awaits = release_is_awaited(resource) || check_slots_await(c, resource);
    bool leaves = resource->queue->head != NULL && resource->queue->head->item.place != 0 &&
                  resource->queue->head->deadline_ms <= c->now_ms;
    if (resource->queue->head != NULL)
        assert(resource->queue->round != NULL || awaits || bound || leaves || c->draining ||
               resource->queue->item.place != 0 || resource->queue->look.place != 0 ||
               names_use(resource) != NAMES_FREE);
    else
        assert(resource->queue->round == NULL);
    bool asks =
        resource->queue->round != NULL && !resource->mode->splits; /* all slots came to be held meanwhile */
    assert(!bound || resource->queue->impatient == 0 || resource->queue->sweeping || asks || drain_tells(c));
    assert(resource->queue->head != NULL || resource->lease != NULL || resource->giving_back != NULL ||
           resource->resumes != NULL || resource->mode->stays(resource));
}

static uint32_t check_resumes(const struct coordinator *c, const struct resource *resource)
{
    uint32_t count = 0;
    const struct resume *prev = NULL;
    for (const struct resume *resume = resource->resumes; resume != NULL; resume = resume->next, count++) {
        assert(pool_find(&c->resumes, resume->id) == resume && resume->prev == prev);
        prev = resume;
    }
    return count;
}

/* The shared queue of all names without waiters must never be written to. */
static void check_nobody(const struct queue *queue)
{
    assert(queue->head == NULL && queue->tail == NULL && queue->round == NULL && queue->waiters == 0 &&
           queue->impatient == 0 && queue->attempt.asked == 0 && queue->wake.joined_ms == 0 &&
           queue->item.place == 0);
    assert(!queue->attempt.release_seen && !queue->sweeping && queue->verdict.code == 0);
}

/* Ids grow, so the order by age is the order of ids. */
static void check_ages(const struct pool *pool)
{
    uint32_t count = 0;
    uint64_t id = 0;
    for (const uint64_t *object = pool_oldest(pool); object != NULL;
         object = pool_newer(pool, object), count++) {
        assert(*object > id);
        id = *object;
    }
    assert(count == pool->used);
}

static void check_resources(const struct coordinator *c)
{
    uint32_t used = 0, waits = 0, queues = 0, acquiring = 0, readers = 0;
    for (uint32_t slot = 0; slot < c->resources.fresh; slot++) {
        const struct resource *resource = pool_at(&c->resources, slot);
        if (resource == NULL)
            continue;
        used++;
        assert(resource_find(c, resource->name) == resource);
        acquiring += check_resumes(c, resource);
        assert(resource->lease == NULL || resource->lease->resource == resource);
        assert(resource->giving_back == NULL || resource->giving_back->resource == resource);
        if (check_is_slot(resource))
            continue;
        waits += resource->queue->waiters;
        queues += pool_find(&c->queues, resource->queue->id) == resource->queue;
        acquiring += resource->queue->round != NULL;
        assert(resource->queue->round == NULL || slots_base(resource->queue->round->resource) == resource);
        check_waits(c, resource);
        check_head(c, resource);
        readers += check_readers(c, resource);
        check_slots(c, resource);
    }
    assert(readers == c->readers[HOLD_SESSION] + c->readers[HOLD_LEASE]);
    assert(used == c->resources.used && used == c->names.count);
    assert(waits == c->waits.used && acquiring == c->acquiring);
    assert(queues == c->queues.used);
    check_nobody(&c->nobody);
}

static void check_sessions(const struct coordinator *c)
{
    uint32_t used = 0, waits = 0, bound = 0, repeats = 0;
    for (uint32_t slot = 0; slot < c->sessions.fresh; slot++) {
        const struct session *session = pool_at(&c->sessions, slot);
        uint32_t its_waits = 0, its_locks = 0, its_repeats = 0;
        if (session == NULL)
            continue;
        used++;
        assert(session_find(c, session->key) == session);
        for (const struct wait *wait = session->waiting; wait != NULL; wait = wait->session_next, its_waits++)
            assert(wait->session == session);
        for (const struct hold *hold = session->holds; hold != NULL; hold = hold->session_next, its_locks++) {
            assert(hold->session == session);
            bound += hold->kind == HOLD_SESSION;
        }
        for (const struct repeat *repeat = session->repeats; repeat != NULL;
             repeat = repeat->next, repeats++, its_repeats++)
            assert(repeat->session == session && !repeat->finishes);
        assert(session->waits == its_waits && session->locks == its_locks &&
               session->repeating == its_repeats);
        assert(session->state < SESSION_RELEASING || session->item.place != 0);
        waits += its_waits;
    }
    assert(used == c->sessions.used && used == c->session_keys.count);
    assert(waits == c->waits.used && bound == c->bound && repeats == c->repeats.used);
}

/* Objects that pending rounds own or account for. */
struct round_counts {
    uint32_t notes, resumes, renewals;
};

static struct round_counts count_rounds(const struct coordinator *c)
{
    struct round_counts counts = {0};
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL;
         in_flight = in_flight->next) {
        const struct round *round = IN_FLIGHT_OWNER(round, in_flight);
        const struct lease *lease = pool_find(&c->leases, round->lease);
        bool renews = round->purpose == ROUND_RENEW;
        counts.notes += round->resume != NULL && round->resume->note != NULL;
        counts.resumes += round->resume != NULL;
        counts.renewals += renews && round->phase != ROUND_DECIDED && lease != NULL;
        assert(!renews || round->phase == ROUND_DECIDED || lease == NULL || lease->renewing);
    }
    return counts;
}

static uint32_t notes_of_requests(const struct coordinator *c)
{
    uint32_t notes = 0;
    for (uint32_t slot = 0; slot < c->waits.fresh; slot++) {
        const struct wait *wait = pool_at(&c->waits, slot);
        notes += wait != NULL && wait->note != NULL;
    }
    for (uint32_t slot = 0; slot < c->repeats.fresh; slot++) {
        const struct repeat *repeat = pool_at(&c->repeats, slot);
        notes += repeat != NULL && repeat->note != NULL;
    }
    return notes;
}

static void check_leases(const struct coordinator *c)
{
    struct round_counts counts = count_rounds(c);
    uint32_t used = 0, notes = counts.notes + notes_of_requests(c), resumes = counts.resumes, renewals = 0,
             secrets = 0, unsettled = 0, commons = 0, lettered = 0;
    for (uint32_t slot = 0; slot < c->leases.fresh; slot++) {
        const struct lease *lease = pool_at(&c->leases, slot);
        if (lease == NULL)
            continue;
        used++;
        notes += lease->hold.note != NULL;
        resumes += lease->resume != NULL;
        secrets += lease->secret != NULL;
        unsettled += lease->secret != NULL && !lease->secret->is_settled;
        renewals += lease->renewing;
        lettered += lease->lettered;
        assert(lease->renewing || !lease->lettered);
        commons += !lease->keeping->told;
        check_joined(c, lease);
        assert(!lease->mode->tells || (lease->secret == NULL && lease->hold.kind == HOLD_SESSION));
        assert((lease->resource->lease == lease || lease->mode->shares) && lease->item.place != 0);
        assert(lease->until_ms <= lease->hold.ends_ms && lease->hold.depth >= 1);
        assert(masters_without(lease->copies.granted, lease->copies.may) == 0);
        assert(masters_without(lease->copies.may, lease->copies.sent) == 0);
        assert(masters_without(lease->copies.healing, lease->copies.sent) == 0);
        assert(masters_without(lease->copies.sent, masters_all(c->config.masters)) == 0);
    }
    assert(used == c->leases.used && used + c->acquiring <= c->config.max_locks);
    assert(lettered == c->lettered && commons == c->commons && secrets == c->secrets.used &&
           unsettled == c->unsettled);
    assert(renewals == counts.renewals && renewals == c->renewing && resumes == c->resumes.used);
    assert(c->intern.used == c->resources.used + c->rounds.used + c->releases.used + c->watched.used +
                                 c->witnesses.used + c->kepts.used + c->repeats.used + notes);
}

static void check_rounds(const struct coordinator *c, uint32_t *asking, uint32_t *peers)
{
    uint32_t used = 0;
    int64_t timeout_ms = 0;
    const struct in_flight *prev = NULL;
    for (struct in_flight *in_flight = c->rounds_pending.first; in_flight != NULL;
         in_flight = in_flight->next) {
        const struct round *round = IN_FLIGHT_OWNER(round, in_flight);
        used++;
        bool attempts = round->resource != NULL && round->resource->queue->round == round;
        *asking += round->request != 0;
        if (round->request != 0 || attempts)
            peers[round->peer]++;
        assert(pool_find(&c->rounds, round->id) == round && in_flight->prev == prev);
        assert(in_flight->timeout_ms >= timeout_ms);
        assert(masters_count(round->tally.granted & round->tally.refused) == 0);
        assert(masters_without(round->tally.granted | round->tally.refused | round->tally.failed,
                               round->tally.asked) == 0);
        assert((round->resume != NULL) == (round->purpose == ROUND_RESUME && round->phase != ROUND_DECIDED));
        if (round->resume != NULL)
            assert(pool_find(&c->resumes, round->resume->id) == round->resume && round->request != 0 &&
                   masters_without(round->tally.granted, round->resume->may) == 0);
        if (round->purpose == ROUND_RESUME)
            assert((round->resource == NULL) == (round->phase == ROUND_DECIDED));
        else
            assert(round->phase >= ROUND_CHECKING ||
                   (round->resource != NULL && round->resource->queue->round == round));
        timeout_ms = in_flight->timeout_ms;
        prev = in_flight;
    }
    assert(used == c->rounds.used && c->rounds_pending.last == prev);
}

static void check_release_list(const struct coordinator *c, const struct in_flight_list *list, bool only_owed,
                               uint32_t *used, uint32_t *asking, uint32_t *peers, uint32_t *setting_back)
{
    const struct in_flight *prev = NULL;
    for (struct in_flight *in_flight = list->first; in_flight != NULL; in_flight = in_flight->next) {
        const struct release *release = IN_FLIGHT_OWNER(release, in_flight);
        ++*used;
        *asking += !release->answered;
        peers[release->peer] += !release->answered;
        *setting_back += release->sets_back;
        assert(pool_find(&c->releases, release->id) == release && in_flight->prev == prev);
        assert(release->only_owed == only_owed);
        assert(!only_owed || (release->answered && release->resource == NULL));
        assert(in_flight->stale || release->owed != 0 || release->unanswered != 0 || !release->answered ||
               release->resource != NULL);
        prev = in_flight;
    }
    assert(list->last == prev);
}

static void check_masters(const struct coordinator *c)
{
    for (unsigned i = 0; i < c->config.masters; i++) {
        const struct master *m = &c->masters[i];
        masters_t bit = masters_bit(i);
        assert(m->heard <= m->sent && m->liveness.watched <= m->sent && m->liveness.overdue <= m->sent);
        assert(((c->voters & bit) != 0) <= (m->state == MASTER_UP || m->state == MASTER_QUARANTINE));
        assert(m->state != MASTER_UP || m->memory.quarantine_until_ms <= c->now_ms);
        assert(!(masters_without(c->stale, c->voters | c->extenders) & bit));
        assert(m->state != MASTER_SLOW || m->heard < m->liveness.overdue);
        assert(!(c->releasers & bit) || (m->carried && m->killing == 0));
    }
}

void coordinator_check(const struct coordinator *c)
{
    uint32_t asking = 0, releases = 0, setting_back = 0;
    heap_check(&c->deadlines);
    heap_check(&c->looks);
    check_resources(c);
    check_lists(c);
    check_sessions(c);
    check_leases(c);
    check_ages(&c->waits);
    check_ages(&c->leases);
    assert(c->holds[HOLD_SESSION] + c->holds[HOLD_LEASE] + c->commons == c->leases.used);
    static uint32_t peers[PEERS];
    memset(peers, 0, sizeof peers);
    check_rounds(c, &asking, peers);
    check_release_list(c, &c->releases_pending, false, &releases, &asking, peers, &setting_back);
    check_release_list(c, &c->releases_owed, true, &releases, &asking, peers, &setting_back);
    assert(memcmp(peers, c->peer_asking, sizeof peers) == 0);
    assert(releases == c->releases.used && asking == c->asking && setting_back == c->setting_back);
    check_masters(c);
    kept_check(c);
}
