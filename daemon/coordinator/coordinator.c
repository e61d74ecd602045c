/* The coordinator's begin and end, its drain, its time, and the dispatch of events to the other files. */
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/keep/keeping.h"
#include "daemon/coordinator/name/due.h"

#include <assert.h>
#include <stdlib.h>

#include "daemon/coordinator/ask/votes.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/data/state.h"
#include "daemon/coordinator/generation/generation.h"
#include "daemon/coordinator/keep/data.h"
#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/keep/hand.h"
#include "daemon/coordinator/keep/heal.h"
#include "daemon/coordinator/keep/kept.h"
#include "daemon/coordinator/keep/lease.h"
#include "daemon/coordinator/keep/letter.h"
#include "daemon/coordinator/keep/release.h"
#include "daemon/coordinator/master/fresh.h"
#include "daemon/coordinator/master/master.h"
#include "daemon/coordinator/master/native.h"
#include "daemon/coordinator/master/trial.h"
#include "daemon/coordinator/mode/names.h"
#include "daemon/coordinator/mode/slots.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/session/repeat.h"
#include "daemon/coordinator/session/request.h"
#include "daemon/coordinator/session/session_end.h"
#include "daemon/coordinator/wait/resource.h"
#include "daemon/coordinator/wait/woken.h"
#include "daemon/coordinator/watch/watch.h"
#include "daemon/coordinator/watch/witness.h"

enum {
    DAY_MS = 24 * 3600 * 1000,
    UNDO = 65536,
    RENEWALS = 4096,
    JOIN_FROM = 8,
    MARKS = 10000,
    SLOTTED = 65536, /* names with slots */
    SPARE = 64,
    DRAIN_SLOTS = 64, /* slots looked at in one step */
    LISTS_SHARE = 16, /* lists in use at once: one for so many locks, and at least LISTS_LEAST */
    LISTS_LEAST = 16,
};

/* The ids of releases begin here, so that none is the id of a round: the answer to a MOVE is looked up in
 * both. */
static const uint64_t RELEASE_SERIALS = (uint64_t)1 << 42;

static uint32_t capacity(uint64_t wanted)
{
    return wanted < POOL_CAPACITY ? (uint32_t)wanted : POOL_CAPACITY;
}

static bool make_tables(struct coordinator *c)
{
    const struct coordinator_config *config = &c->config;
    uint64_t lists =
        config->max_locks / LISTS_SHARE > LISTS_LEAST ? config->max_locks / LISTS_SHARE : LISTS_LEAST;
    uint64_t names = (uint64_t)config->max_locks + config->max_waiters;
    uint64_t undo = config->max_undo != 0 ? config->max_undo : UNDO;
    uint64_t watches = config->max_watches != 0 ? config->max_watches : 1;
    uint64_t rounds = 2 * names + config->max_watches + SPARE;
    /* Sessions that are being ended exist beside new ones for a few steps. */
    uint64_t sessions = 2 * (uint64_t)config->max_sessions + SPARE;
    uint64_t items = 2 * (uint64_t)config->max_waiters + config->max_locks + sessions + undo + lists + names +
                     LIST_NAMES * lists /* letters */ + config->max_marks + MASTERS +
                     3 /* the drain, the trial, the walk over marks */ + config->max_locks /* repeats */ +
                     2 * watches;
    return pool_init(&c->waits, sizeof(struct wait), capacity(config->max_waiters)) &&
           pool_init(&c->queues, sizeof(struct queue), capacity(config->max_waiters)) &&
           pool_init(&c->resources, sizeof(struct resource), capacity(names + LIST_NAMES * lists)) &&
           pool_init(&c->lists, sizeof(struct list), capacity(lists)) &&
           pool_init(&c->slots, sizeof(struct slots), capacity(names < SLOTTED ? names : SLOTTED)) &&
           pool_init(&c->leases, lease_bytes(MASTERS), capacity(config->max_locks)) &&
           pool_keep_order(&c->waits) && pool_keep_order(&c->leases) &&
           pool_init(&c->secrets, sizeof(struct secret), capacity(config->max_locks)) &&
           (c->sharing = calloc(capacity(config->max_locks), sizeof *c->sharing)) != NULL &&
           (c->telling = calloc(capacity(config->max_waiters), sizeof *c->telling)) != NULL &&
           (c->told = calloc(capacity(config->max_locks), sizeof *c->told)) != NULL &&
           (c->crowds = calloc(capacity(names + LIST_NAMES * lists), sizeof *c->crowds)) != NULL &&
           (c->letters = calloc(capacity(names + LIST_NAMES * lists), sizeof *c->letters)) != NULL &&
           pool_init(&c->resumes, sizeof(struct resume), capacity(config->max_locks)) &&
           pool_init(&c->rounds, sizeof(struct round) + MASTERS * sizeof(uint64_t), capacity(rounds)) &&
           pool_init(&c->releases, sizeof(struct release), capacity(undo)) &&
           pool_init(&c->sessions, sizeof(struct session), capacity(sessions)) &&
           pool_init(&c->watched, sizeof(struct watched), capacity(watches)) &&
           pool_init(&c->watchers, sizeof(struct watcher), capacity(watches)) &&
           pool_init(&c->witnesses, sizeof(struct witness), capacity(watches)) &&
           table_init(&c->watched_names, capacity(watches), c->watched.slots + offsetof(struct watched, hash),
                      c->watched.size) &&
           table_init(&c->witness_names, capacity(watches),
                      c->witnesses.slots + offsetof(struct witness, hash), c->witnesses.size) &&
           pool_init(&c->repeats, sizeof(struct repeat), capacity(config->max_locks)) &&
           intern_init(&c->intern,
                       capacity(names + LIST_NAMES * lists) + capacity(2 * watches) + capacity(rounds) +
                           capacity(undo) + config->max_marks + config->max_locks + 1 /* a request's */,
                       capacity(lists) + capacity(rounds) + capacity(undo) + config->max_locks,
                       2 * config->max_locks + config->max_waiters) &&
           kept_init(c) &&
           table_init(&c->names, capacity(names + LIST_NAMES * lists),
                      c->resources.slots + offsetof(struct resource, hash), c->resources.size) &&
           table_init(&c->session_keys, capacity(sessions),
                      c->sessions.slots + offsetof(struct session, hash), c->sessions.size) &&
           heap_init(&c->deadlines, (uint32_t)items) && heap_init(&c->looks, capacity(config->max_waiters));
}

struct coordinator *coordinator_new(const struct coordinator_config *config)
{
    assert(config->masters >= 1 && config->masters <= MASTERS && config->max_ttl_ms <= INT32_MAX);
    struct coordinator *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->config = *config;
    c->modes[MODE_WRITER] = &mode_writer;
    c->modes[MODE_READER] = &mode_reader;
    c->modes[MODE_SLOT] = &mode_slot;
    c->modes[MODE_LIST] = &mode_list;
    c->modes[MODE_LEADER] = &mode_leader;
    if (config->max_renewals == 0)
        c->config.max_renewals = RENEWALS;
    if (config->join_from == 0)
        c->config.join_from = JOIN_FROM;
    if (config->max_watches_per_peer == 0)
        c->config.max_watches_per_peer = UINT32_MAX;
    if (config->max_marks_per_peer == 0)
        c->config.max_marks_per_peer = UINT32_MAX;
    if (config->max_marks == 0)
        c->config.max_marks = MARKS;
    if (config->max_keep_ms == 0)
        c->config.max_keep_ms = DAY_MS;
    generation_init(c);
    master_follow_step(c);
    c->drain.kind = ITEM_DRAIN;
    c->trial.item.kind = ITEM_TRIAL;
    for (unsigned i = 0; i < MASTERS; i++)
        master_init(c, i);
    if (!make_tables(c)) {
        coordinator_free(c);
        return NULL;
    }
    c->releases.serial = RELEASE_SERIALS;
    return c;
}

void coordinator_rename(struct coordinator *c, const struct token *self)
{
    assert(c->sessions.fresh == 0);
    c->config.self = *self;
}

void coordinator_configure(struct coordinator *c, const struct coordinator_config *config)
{
    c->config.default_ttl_ms = config->default_ttl_ms;
    c->config.min_ttl_ms = config->min_ttl_ms;
    c->config.node_timeout_ms = config->node_timeout_ms;
    c->config.min_validity_ms = config->min_validity_ms;
    c->config.retry_min_ms = config->retry_min_ms;
    c->config.retry_max_ms = config->retry_max_ms;
    c->config.fanout_quorum = config->fanout_quorum;
    c->config.drain_timeout_ms = config->drain_timeout_ms;
    c->config.max_keep_ms = config->max_keep_ms;
    c->config.max_locks_per_client = config->max_locks_per_client;
    c->config.max_waits_per_client = config->max_waits_per_client;
    c->config.max_locks_per_peer = config->max_locks_per_peer;
    c->config.max_waits_per_peer = config->max_waits_per_peer;
    /* A shorter time-out must not make a later entry of these lists due before an earlier one. */
    in_flight_hasten(&c->rounds_pending, c->now_ms + config->node_timeout_ms);
    in_flight_hasten(&c->releases_pending, c->now_ms + config->node_timeout_ms);
    masters_reconfigured(c);
}

void coordinator_free(struct coordinator *c)
{
    if (c == NULL)
        return;
    pool_free(&c->waits);
    pool_free(&c->queues);
    pool_free(&c->resources);
    pool_free(&c->slots);
    pool_free(&c->leases);
    pool_free(&c->secrets);
    free(c->sharing);
    free(c->telling);
    free(c->told);
    free(c->crowds);
    free(c->letters);
    pool_free(&c->rounds);
    pool_free(&c->resumes);
    pool_free(&c->releases);
    pool_free(&c->sessions);
    pool_free(&c->lists);
    pool_free(&c->watched);
    pool_free(&c->watchers);
    pool_free(&c->witnesses);
    table_free(&c->watched_names);
    table_free(&c->witness_names);
    kept_free_all(c);
    pool_free(&c->repeats);
    intern_free(&c->intern);
    table_free(&c->names);
    table_free(&c->session_keys);
    heap_free(&c->deadlines);
    heap_free(&c->looks);
    free(c);
}

/* ---- drain ---- */

static void drain_begin(struct coordinator *c)
{
    if (c->draining)
        return;
    c->draining = c->settles = true;
    c->drain_ms = c->now_ms + c->config.drain_timeout_ms;
    heap_set(&c->deadlines, &c->drain, c->now_ms);
}

/* Clients go on elsewhere, so their tokens must be known there. Returns whether there are more. */
static bool drain_settle(struct coordinator *c)
{
    for (unsigned i = 0; i < DRAIN_SLOTS && c->drain_cursor < c->leases.fresh; i++) {
        struct lease *lease = pool_at(&c->leases, c->drain_cursor++);
        if (lease != NULL && lease->secret != NULL)
            lease_settle(c, lease);
    }
    return c->drain_cursor < c->leases.fresh;
}

/* Tells one waiter that the daemon drains; one in each step, because each may end an attempt. Returns
 * whether there are more. */
static bool drain_wait(struct coordinator *c)
{
    for (unsigned i = 0; i < DRAIN_SLOTS && c->drain_cursor < c->waits.fresh; i++) {
        struct wait *wait = pool_at(&c->waits, c->drain_cursor++);
        if (wait == NULL)
            continue;
        wait_cancel(c, wait, REPLY_DRAINING);
        break;
    }
    return c->drain_cursor < c->waits.fresh;
}

/* Tells one holder that its lock is lost. Returns whether there are more. */
static bool drain_lease(struct coordinator *c)
{
    for (unsigned i = 0; i < DRAIN_SLOTS && c->drain_cursor < c->leases.fresh; i++) {
        struct lease *lease = pool_at(&c->leases, c->drain_cursor++);
        if (lease == NULL || !lease_is_bound(lease))
            continue;
        lease_lost(c, lease, LOST_DRAIN);
        break;
    }
    return c->drain_cursor < c->leases.fresh;
}

static bool drain_more(struct coordinator *c)
{
    if (!c->settles)
        return c->ending ? drain_lease(c) : drain_wait(c);
    c->settles = drain_settle(c);
    if (!c->settles)
        c->drain_cursor = 0;
    return true;
}

/* All waiters are told before the first holder loses its lock, however short drain_timeout is. */
static void drain_timer(struct coordinator *c)
{
    bool more = drain_more(c);
    if (!more && !c->ending && c->now_ms >= c->drain_ms) {
        c->ending = more = true;
        c->drain_cursor = 0;
    }
    int64_t next_ms = c->ending ? INT64_MAX : c->drain_ms;
    heap_set(&c->deadlines, &c->drain, more ? c->now_ms : next_ms);
}

bool coordinator_settles(const struct coordinator *c)
{
    return c->unsettled != 0;
}

struct reload_answer coordinator_reload(struct coordinator *c, const struct coordinator_set *next)
{
    struct reload_answer answer = generation_reload(c, next);
    master_follow_step(c);
    return answer;
}

bool coordinator_drained(const struct coordinator *c)
{
    return c->draining && c->waits.used == 0 && c->repeats.used == 0 && c->bound == 0 && c->asking == 0 &&
           c->releases_pending.first == NULL && (c->unsettled == 0 || c->ending);
}

/* ---- time ---- */

static int64_t timeout_ms(const struct in_flight_list *list)
{
    return list->first != NULL ? list->first->timeout_ms : INT64_MAX;
}

static int64_t next_ms(const struct coordinator *c)
{
    if (c->rounds_pending.stale != NULL || c->releases_pending.stale != NULL ||
        c->releases_owed.stale != NULL)
        return c->now_ms;
    int64_t at_ms = heap_next_ms(&c->deadlines);
    if (c->looks.count != 0)
        at_ms = earlier_ms(at_ms, c->looks_ms);
    at_ms = earlier_ms(at_ms, timeout_ms(&c->rounds_pending));
    return earlier_ms(at_ms, timeout_ms(&c->releases_pending));
}

int64_t coordinator_deadline(const struct coordinator *c)
{
    int64_t at_ms = next_ms(c);
    return at_ms != INT64_MAX ? at_ms - c->behind_ms : at_ms;
}

int64_t coordinator_behind_ms(const struct coordinator *c)
{
    return c->behind_ms;
}

bool coordinator_in_trial(const struct coordinator *c)
{
    return c->trial.open;
}

#define OWNER(type, member_item) ((struct type *)(void *)((char *)(member_item)-offsetof(struct type, item)))

static void lease_due(struct coordinator *c, struct lease *lease)
{
    if (lease_timer(c, lease))
        extend_renew(c, lease);
}

static void may_go_on(struct coordinator *c, struct resource *resource)
{
    if (resource != NULL)
        resource_advance(c, resource);
}

static void item_due(struct coordinator *c, struct heap_item *item)
{
    switch ((enum item_kind)item->kind) {
    case ITEM_WAIT: wait_timer(c, OWNER(wait, item)); break;
    case ITEM_QUEUE: resource_timer(c, OWNER(queue, item)->resource); break;
    case ITEM_LEASE: lease_due(c, OWNER(lease, item)); break;
    case ITEM_SESSION: session_timer(c, OWNER(session, item)); break;
    case ITEM_RELEASE: release_timer(c, OWNER(release, item)); break;
    case ITEM_MASTER: master_timer(c, OWNER(master, item)); break;
    case ITEM_DRAIN: drain_timer(c); break;
    case ITEM_TRIAL: trial_timer(c); break;
    case ITEM_LIST: may_go_on(c, names_timer(c, OWNER(list, item))); break;
    case ITEM_LETTER: letter_timer(c, OWNER(letter, item)); break;
    case ITEM_WATCHED: watch_timer(c, OWNER(watched, item)); break;
    case ITEM_WITNESS: witness_timer(c, OWNER(witness, item)); break;
    case ITEM_KEPT: kept_timer(c, OWNER(kept, item)); break;
    case ITEM_KEPT_WALK: kept_walk_timer(c); break;
    case ITEM_REPEAT: repeat_timer(c, OWNER(repeat, item)); break;
    }
}

/* Does one thing that is due. Stale rounds and releases (in_flight.h) come first, because votes_timeout() and
 * release_timeout() must not meet a stale one. */
static void handle_timer(struct coordinator *c)
{
    if (votes_look_stale(c) || release_look_stale(c))
        return;
    int64_t at_ms = next_ms(c);
    if (at_ms > c->now_ms)
        return;
    if (timeout_ms(&c->rounds_pending) == at_ms)
        votes_timeout(c, c->rounds_pending.first);
    else if (timeout_ms(&c->releases_pending) == at_ms)
        release_timeout(c, c->releases_pending.first);
    else if (c->looks.count != 0 && c->looks_ms == at_ms)
        resource_advance(c, queue_take_due(c));
    else
        item_due(c, heap_top(&c->deadlines));
}

/* ---- events ---- */

static void vote_on_lock(struct coordinator *c, const struct coordinator_event *event, enum command_verb verb,
                         const struct vote *vote)
{
    struct round *round = pool_find(&c->rounds, event->ref);
    if (round != NULL)
        votes_told(c, round, event->master, verb, vote);
}

static void vote_on_heal(struct coordinator *c, const struct coordinator_event *event)
{
    struct lease *lease = pool_find(&c->leases, event->ref);
    if (lease != NULL)
        heal_done(c, lease, event->master, &event->vote);
    else
        kept_healed(c, event->ref, event->master, &event->vote);
}

static void vote_on_release(struct coordinator *c, const struct coordinator_event *event,
                            enum command_verb verb, const struct vote *vote)
{
    struct release *release = pool_find(&c->releases, event->ref);
    if (release != NULL)
        release_vote(c, release, event->master, vote, command_is_native(event->verb));
    else if (verb == COMMAND_MOVE)
        vote_on_lock(c, event, verb, vote);
}

/* A user without the rights for the queue, or for readers, may have all others, so nothing follows for the
 * master. */
static bool lacks_queue_rights(const struct coordinator_event *event)
{
    return event->vote.kind == VOTE_ERROR && event->vote.error == ERROR_NOPERM &&
           ((event->verb >= COMMAND_DEQUEUE && event->verb <= COMMAND_PASS) || event->verb >= COMMAND_SHARE);
}

static void handle_vote(struct coordinator *c, struct master *m, const struct coordinator_event *event)
{
    static const struct vote not_run = {.kind = VOTE_NOT_RUN};
    /* The master's state changes first: commands that follow from this vote must not go to a master that
     * has just refused. */
    master_heard(c, m);
    admission_heard(m, event->verb);
    enum command_verb verb = command_for_one(event->verb);
    bool by_script = command_is_native(event->verb) && native_refused(c, m, event->verb, &event->vote);
    const struct vote *vote = by_script ? &not_run : &event->vote;
    bool refused = vote->kind == VOTE_ERROR || vote->kind == VOTE_NOT_RUN;
    if (refused && !lacks_queue_rights(event) && !command_is_question(event->verb))
        master_answered_error(c, m, verb, vote->kind == VOTE_ERROR ? vote->error : ERROR_OTHER);
    if (event->verb == COMMAND_TIME)
        m->liveness.rtt_us = event->rtt_us > 0 ? event->rtt_us : 0;
    if (event->verb <= COMMAND_GROUP_NEW) {
        master_told(c, m, event->verb, &event->vote);
        return;
    }
    switch (verb) {
    case COMMAND_DEQUEUE:
    case COMMAND_LETTER:
    case COMMAND_NEWS:
    case COMMAND_ALONG:
    case COMMAND_PASS: break; /* nothing waits for their answers */
    case COMMAND_ADOPT: data_adopted(c, event); break;
    case COMMAND_SHARE_AT:
    case COMMAND_HEAL: vote_on_heal(c, event); break;
    case COMMAND_RELEASE:
    case COMMAND_MOVE: vote_on_release(c, event, verb, vote); break;
    default: vote_on_lock(c, event, verb, vote);
    }
}

static void handle_undelivered(struct coordinator *c, const struct coordinator_event *event)
{
    struct session *session = session_find(c, event->session);
    struct lease *lease = session != NULL ? session_lease(session, event->request) : NULL;
    const struct wait *head = lease != NULL ? lease->resource->queue->head : NULL;
    if (lease != NULL && lease->resume != NULL)
        lease->keeping->set_back(c, lease);
    else if (lease != NULL && head != NULL && head->session == session)
        lease->keeping->give_back(c, lease, 0, 0,
                                  true); /* that connection is dying, and would not hear of it either */
    else if (lease != NULL)
        hand_give_back(c, lease, 0, 0, true);
}

static void dispatch(struct coordinator *c, const struct coordinator_event *event)
{
    struct master *m = &c->masters[event->master];
    bool present = m->state != MASTER_DOWN && m->connection == event->connection;
    switch (event->kind) {
    case EVENT_TIMER: handle_timer(c); break;
    case EVENT_REQUEST: request_begin(c, event); break;
    case EVENT_SESSION_FINISH: session_finish(c, event->session); break;
    case EVENT_SESSION_RELEASE: session_end(c, event->session, SESSION_RELEASING); break;
    case EVENT_SESSION_DROP: session_end(c, event->session, SESSION_DROPPING); break;
    case EVENT_SESSION_DENY: session_end(c, event->session, SESSION_DENYING); break;
    case EVENT_UNDELIVERED: handle_undelivered(c, event); break;
    case EVENT_DENY: request_deny(c, event); break;
    case EVENT_MASTER_CONNECTED: master_connected(c, m, event->connection); break;
    case EVENT_MASTER_VOTE:
        if (present)
            handle_vote(c, m, event);
        break;
    case EVENT_MASTER_LOST:
        if (present || m->state == MASTER_DOWN)
            master_lost(c, m);
        break;
    case EVENT_MASTER_BACKLOG:
        if (present)
            master_backlog(c, m);
        break;
    case EVENT_MASTER_LISTENS: c->listening |= masters_bit(event->master); break;
    case EVENT_MASTER_DEAF: c->listening = masters_without(c->listening, masters_bit(event->master)); break;
    case EVENT_MASTER_WOKE: woken(c, event->master, &event->what.name, false); break;
    case EVENT_MASTER_WOKE_LATE: woken(c, event->master, &event->what.name, true); break;
    case EVENT_MASTER_TOLD: woken_told(c, event->master, &event->what.name); break;
    case EVENT_MASTER_LETTER:
        letter_came(c, event->master, &event->what.name);
        kept_letter(c, &event->what.name);
        break;
    case EVENT_MASTER_WATCHED: witness_came(c, &event->what.name, &event->what.token); break;
    case EVENT_MASTER_NEWS: watch_news(c, &event->what.name); break;
    case EVENT_DRAIN: drain_begin(c); break;
    }
}

/* Changes the deadlines of the step's actions back to CLOCK_BOOTTIME. */
static void show_boottime(const struct coordinator *c, struct actions *actions)
{
    if (c->behind_ms == 0)
        return;
    for (unsigned i = 0; i < actions->count; i++) {
        struct action *action = &actions->list[i];
        if (action->kind == ACTION_REPLY && action->u.reply.until_ms != 0)
            action->u.reply.until_ms -= c->behind_ms;
        else if (action->kind == ACTION_NOTICE && action->u.notice.until_ms != 0)
            action->u.notice.until_ms -= c->behind_ms;
    }
}

void coordinator_step(struct coordinator *c, const struct coordinator_event *event, struct actions *actions)
{
    assert(event->master < c->config.masters);
    if (c->now_ms == 0)
        for (unsigned i = 0; i < MASTERS; i++)
            c->masters[i].since_ms = event->now_ms;
    if (event->now_ms + c->behind_ms > c->now_ms)
        c->now_ms = event->now_ms + c->behind_ms;
    c->event = event;
    c->actions = actions;
    c->token_drawn = false;
    actions->count = 0;
    actions->random_used = false;
    if (c->now_ms > c->fresh_until_ms)
        masters_overdue(c, fresh_look(c));
    dispatch(c, event);
    kept_step(c);
    repeat_answered(c, actions);
    admission_sent(c, actions);
    show_boottime(c, actions);
    c->event = NULL;
    c->actions = NULL;
}
