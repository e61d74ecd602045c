#include "daemon/coordinator/watch/watch.h"

#include <assert.h>
#include <string.h>

#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/round/round.h"
#include "daemon/coordinator/watch/sight.h"

enum {
    LOOK_MS = 1000,        /* between two looks, where nothing happens */
    PAUSE_MOST_MS = 64,    /* ... and while the next holder is looked for ... */
    HURRY_MS = 2000 + 127, /* ... for so long */
    BUSY_MS = 50,          /* no look could begin */
    PATIENCE = 8,          /* looks in a row, after 2, 4 ... 256 ms, while no quorum agrees */
    TOLD_A_STEP = 8,
    WATCHES_OF_NAME = 8, /* of a session: UNWATCH ends them in one step */
    LEAVE_A_STEP = 64,
};

/* ---- names and watchers ---- */

static uint32_t name_hash(const struct coordinator *c, const struct name *name)
{
    return table_hash(c->config.hash_seed, name->text, name->len);
}

static struct watched *watched_find(const struct coordinator *c, const struct name *name, uint32_t hash)
{
    uint32_t place = table_first(&c->watched_names, hash), slot;
    while (table_next(&c->watched_names, hash, &place, &slot)) {
        struct watched *watched = pool_at(&c->watched, slot);
        if (watched->name->len == name->len && memcmp(watched->name->text, name->text, name->len) == 0)
            return watched;
    }
    return NULL;
}

static struct watched *watched_find_or_make(struct coordinator *c, const struct name *name)
{
    uint32_t hash = name_hash(c, name);
    struct watched *watched = watched_find(c, name, hash);
    if (watched != NULL)
        return watched;
    watched = pool_take(&c->watched);
    assert(watched != NULL); /* each has a watcher, and there is room for as many */
    watched->item.kind = ITEM_WATCHED;
    watched->hash = hash;
    watched->name = intern_name(&c->intern, name);
    watched->look_ms = c->now_ms;
    watched->serial = 1;
    table_add(&c->watched_names, pool_slot(&c->watched, watched));
    return watched;
}

static void watched_free(struct coordinator *c, struct watched *watched)
{
    heap_remove(&c->deadlines, &watched->item);
    table_remove(&c->watched_names, pool_slot(&c->watched, watched));
    intern_name_back(&c->intern, watched->name);
    pool_give(&c->watched, watched);
}

static void unlink_watcher(struct watcher *watcher)
{
    struct watched *watched = watcher->watched;
    *(watcher->prev ? &watcher->prev->next : &watched->first) = watcher->next;
    *(watcher->next ? &watcher->next->prev : &watched->last) = watcher->prev;
}

static void link_first(struct watcher *watcher)
{
    struct watched *watched = watcher->watched;
    watcher->prev = NULL;
    watcher->next = watched->first;
    *(watched->first ? &watched->first->prev : &watched->last) = watcher;
    watched->first = watcher;
}

static void link_last(struct watcher *watcher)
{
    struct watched *watched = watcher->watched;
    watcher->next = NULL;
    watcher->prev = watched->last;
    *(watched->last ? &watched->last->next : &watched->first) = watcher;
    watched->last = watcher;
}

static void watcher_free(struct coordinator *c, struct watcher *watcher)
{
    struct watched *watched = watcher->watched;
    unlink_watcher(watcher);
    *(watcher->session_prev ? &watcher->session_prev->session_next : &watcher->session->watching) =
        watcher->session_next;
    if (watcher->session_next != NULL)
        watcher->session_next->session_prev = watcher->session_prev;
    c->peer_watches[watcher->peer]--;
    pool_give(&c->watchers, watcher);
    if (watched->first == NULL)
        watched_free(c, watched);
}

static struct watcher *watcher_of(const struct session *session, const struct name *name)
{
    struct watcher *watcher = session != NULL ? session->watching : NULL;
    while (watcher != NULL && (watcher->watched->name->len != name->len ||
                               memcmp(watcher->watched->name->text, name->text, name->len) != 0))
        watcher = watcher->session_next;
    return watcher;
}

static bool watches_enough(const struct session *session, const struct name *name)
{
    unsigned count = 0;
    for (const struct watcher *w = watcher_of(session, name); w != NULL; w = w->session_next)
        count +=
            w->watched->name->len == name->len && memcmp(w->watched->name->text, name->text, name->len) == 0;
    return count >= WATCHES_OF_NAME;
}

static void watcher_make(struct coordinator *c, struct session *session, struct watched *watched,
                         const struct coordinator_event *event, bool once)
{
    struct watcher *watcher = pool_take(&c->watchers);
    assert(watcher != NULL);
    watcher->watched = watched;
    watcher->session = session;
    watcher->request = event->request;
    watcher->peer = event->peer.number;
    watcher->once = once;
    c->peer_watches[watcher->peer]++;
    watcher->session_next = session->watching;
    if (session->watching != NULL)
        session->watching->session_prev = watcher;
    session->watching = watcher;
    link_first(watcher);
}

/* ---- when ---- */

static bool has_untold(const struct watched *watched)
{
    const struct watcher *first = watched->first;
    if (!watched->known || first == NULL || first->serial == watched->serial)
        return false;
    return !watched->asked || first->request == 0; /* who has just come waits for the next look */
}

static void watched_rearm(struct coordinator *c, struct watched *watched)
{
    int64_t look_ms = watched->round == 0 ? watched->look_ms : INT64_MAX;
    heap_set(&c->deadlines, &watched->item, has_untold(watched) ? c->now_ms : look_ms);
}

static void look_soon(struct coordinator *c, struct watched *watched, int64_t in_ms)
{
    watched->again = watched->round != 0;
    watched->look_ms = earlier_ms(watched->look_ms, c->now_ms + in_ms);
    watched_rearm(c, watched);
}

static void watch_hurry(struct coordinator *c, struct watched *watched)
{
    watched->pause_ms = 1;
    watched->hurry_until_ms = c->now_ms + HURRY_MS;
}

void watch_news(struct coordinator *c, const struct name *name)
{
    struct watched *watched = watched_find(c, name, name_hash(c, name));
    if (watched == NULL)
        return;
    watch_hurry(c, watched);
    look_soon(c, watched, watched->pause_ms);
}

/* The looks at the names of one holder come together: then masters tell that daemon of many names in one message. */
static int64_t pause_of(const struct coordinator *c, const struct watched *watched)
{
    if (watched->now.state != NOW_HELD || !watched->now.is_known)
        return LOOK_MS;
    int64_t at_ms = watched->now.daemon % LOOK_MS, now_ms = c->now_ms % LOOK_MS;
    return at_ms > now_ms ? at_ms - now_ms : at_ms - now_ms + LOOK_MS;
}

/* The next look: in a hurry where the next holder is looked for, and at the key's end where that comes sooner. */
static void plan_look(struct coordinator *c, struct watched *watched, bool held, uint64_t ttl_ms)
{
    int64_t pause_ms = held ? pause_of(c, watched) : LOOK_MS;
    if (held)
        watched->hurry_until_ms = 0;
    if (held && ttl_ms != 0 && ttl_ms < LOOK_MS)
        pause_ms = (int64_t)ttl_ms + 1;
    if (c->now_ms < watched->hurry_until_ms) {
        pause_ms = watched->pause_ms;
        watched->pause_ms = pause_ms < PAUSE_MOST_MS ? 2 * (int)pause_ms : PAUSE_MOST_MS;
    }
    if (watched->again)
        pause_ms = 1;
    watched->again = false;
    watched->look_ms = c->now_ms + pause_ms;
}

/* ---- telling ---- */

static void watcher_tell(struct coordinator *c, struct watcher *watcher)
{
    const struct watched *watched = watcher->watched;
    if (watcher->request != 0) {
        struct reply *reply =
            action_reply(c, watcher->session->key, watcher->request, REPLY_WATCHING, watched->name);
        reply->now = watched->now;
        watcher->request = 0;
        return;
    }
    struct action *action = action_push(c, ACTION_NOTICE);
    action->session = watcher->session->key;
    action->u.notice = (struct notice){.kind = NOTICE_NOW, .now = watched->now};
    name_copy(&action->u.notice.name, watched->name);
}

static void watch_tell(struct coordinator *c, struct watched *watched)
{
    for (unsigned i = 0; i < TOLD_A_STEP && has_untold(watched); i++) {
        struct watcher *watcher = watched->first;
        watcher_tell(c, watcher);
        watcher->serial = watched->serial;
        unlink_watcher(watcher);
        link_last(watcher);
        if (watcher->once && watched->first == watcher) { /* the last one */
            watcher_free(c, watcher);
            return;
        }
        if (watcher->once)
            watcher_free(c, watcher);
    }
    watched_rearm(c, watched);
}

static bool same_now(const struct now *a, const struct now *b)
{
    return a->state == b->state && a->shared == b->shared && a->is_known == b->is_known &&
           a->daemon == b->daemon && a->fence == b->fence && a->data.len == b->data.len &&
           memcmp(a->data.text, b->data.text, a->data.len) == 0;
}

/* Where no quorum agrees on what the holder tells, the last that was told of it stands. */
static bool is_told(const struct watched *watched, const struct now *now, const struct token *holder,
                    bool unsure)
{
    bool same_holder = now->state == NOW_HELD && watched->now.state == NOW_HELD &&
                       memcmp(&watched->holder, holder, sizeof *holder) == 0;
    return watched->known && (same_now(&watched->now, now) || (unsure && same_holder));
}

/* A look finds the present state, which is told; but a fence below one that was told is not. */
static void watch_found(struct coordinator *c, struct watched *watched, struct now *now,
                        const struct token *holder, bool unsure)
{
    if (now->fence < watched->fence)
        now->fence = now->data.len = 0;
    if (is_told(watched, now, holder, unsure))
        return;
    if (watched->known && watched->now.state == NOW_HELD && now->state != NOW_HELD)
        watch_hurry(c, watched);
    if (now->data.len != 0)
        watched->fence = now->fence;
    watched->now = *now;
    watched->holder = *holder;
    watched->known = true;
    watched->serial++;
}

/* ---- looking ---- */

static void look_begin(struct coordinator *c, struct watched *watched)
{
    static const struct token none;
    struct round *round = round_begin(c, ROUND_SEEING, watched->name, &none, 0);
    if (round == NULL) {
        watched->look_ms = c->now_ms + BUSY_MS;
        watched_rearm(c, watched);
        return;
    }
    watched->round = round->id;
    watched->again = false;
    sight_begin(&watched->seen);
    round->purpose = ROUND_SEE;
    round->reader = watched->id;
    round->tally.asked = c->releasers;
    round_send(c, round, COMMAND_SEE, c->releasers, 0);
    watched_rearm(c, watched);
    if (c->releasers == 0)
        watch_look(c, round, true);
}

void watch_timer(struct coordinator *c, struct watched *watched)
{
    if (has_untold(watched))
        watch_tell(c, watched);
    else
        look_begin(c, watched);
}

void watch_told(struct coordinator *c, struct round *round, unsigned master, const struct vote *vote)
{
    struct watched *watched = pool_find(&c->watched, round->reader);
    masters_t bit = masters_bit(master);
    if (!(round_silent(round) & bit))
        return;
    *(vote->kind == VOTE_SEEN ? &round->tally.granted : &round->tally.failed) |= bit;
    if (watched == NULL || watched->round != round->id || vote->kind != VOTE_SEEN)
        return;
    sight_told(&watched->seen, master, &vote->who);
}

void watch_look(struct coordinator *c, struct round *round, bool late)
{
    struct watched *watched = pool_find(&c->watched, round->reader);
    struct now now = {.state = NOW_UNKNOWN};
    struct token holder;
    if (watched != NULL && watched->round == round->id) {
        enum sight_verdict verdict = sight_judge(c, &watched->seen, round->tally.granted,
                                                 late ? 0 : round_silent(round), &now, &holder);
        if (verdict == SIGHT_OPEN)
            return;
        bool unsure = verdict == SIGHT_UNSURE, again = unsure && watched->patience < PATIENCE;
        watched->round = 0;
        if (!unsure)
            watched->patience = 0;
        watched->asked &= again;
        if (!again)
            watch_found(c, watched, &now, &holder, unsure);
        plan_look(c, watched, now.state == NOW_HELD && !again, watched->seen.ttl_ms);
        if (again)
            watched->look_ms = c->now_ms + (2 << watched->patience++);
        watched_rearm(c, watched);
    }
    round_decided(c, round);
}

/* ---- requests ---- */

static void watch(struct coordinator *c, const struct coordinator_event *event)
{
    const struct name *name = &event->what.name;
    if (c->draining) {
        action_reply(c, event->session, event->request, REPLY_DRAINING, name);
        return;
    }
    bool full = c->watchers.used == c->watchers.capacity ||
                c->peer_watches[event->peer.number] >= c->config.max_watches_per_peer ||
                watches_enough(session_find(c, event->session), name);
    struct session *session = full ? NULL : session_find_or_make(c, event->session);
    if (session == NULL) {
        c->stats.refused_limit++;
        action_reply(c, event->session, event->request, REPLY_LIMIT, name)->limit =
            full ? LIMIT_MAX_WATCHES : LIMIT_MAX_CLIENTS;
        return;
    }
    bool once = watcher_of(session, name) != NULL;
    struct watched *watched = watched_find_or_make(c, name);
    watcher_make(c, session, watched, event, once);
    watched->asked = true;
    look_soon(c, watched, 0);
}

static void unwatch(struct coordinator *c, const struct coordinator_event *event)
{
    struct session *session = session_find(c, event->session);
    struct watcher *watcher = watcher_of(session, &event->what.name);
    enum reply_code code = watcher != NULL ? REPLY_OK : REPLY_NOTHELD;
    while (watcher != NULL) { /* at most WATCHES_OF_NAME */
        if (watcher->request != 0)
            action_reply(c, event->session, watcher->request, REPLY_CANCELLED, watcher->watched->name);
        watcher_free(c, watcher);
        watcher = watcher_of(session, &event->what.name);
    }
    struct reply *reply = action_reply(c, event->session, event->request, code, &event->what.name);
    if (code == REPLY_OK)
        reply->name.len = 0;
}

void watch_request(struct coordinator *c, const struct coordinator_event *event)
{
    if (event->what.verb == VERB_WATCH)
        watch(c, event);
    else
        unwatch(c, event);
}

void watch_leave(struct coordinator *c, struct session *session)
{
    for (unsigned i = 0; i < LEAVE_A_STEP && session->watching != NULL; i++)
        watcher_free(c, session->watching);
}
