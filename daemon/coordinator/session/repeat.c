#include "daemon/coordinator/session/repeat.h"

#include <string.h>

#include "daemon/coordinator/ask/resume.h"
#include "daemon/coordinator/data/session.h"
#include "daemon/coordinator/keep/extend.h"
#include "daemon/coordinator/round/admission.h"
#include "daemon/coordinator/session/request.h"

/* The first pause; each later one is twice as long, up to PAUSE_DOUBLED times. For NOTHELD_MS other daemons may
 * not know a token that was told. */
enum { PAUSE_LEAST_MS = 20, PAUSE_MOST_MS = 50, PAUSE_DOUBLED = 2, NOTHELD_MS = 100 };

static struct repeat *repeat_find(struct session *session, uint64_t request)
{
    struct repeat *repeat = session != NULL ? session->repeats : NULL;
    while (repeat != NULL && repeat->request != request)
        repeat = repeat->next;
    return repeat;
}

/* ---- the beginning and the end ---- */

static bool is_repeated(const struct request *what)
{
    return what->wait_ms > 0 &&
           (what->verb == VERB_RESUME || (what->verb == VERB_LOCK && what->has_token && what->shared));
}

/* They are limited as waits are, and counted apart. */
static enum limit limit_reached(const struct coordinator *c, const struct session *session,
                                const struct peer *peer)
{
    uint32_t most = peer->is_user ? peer->max_waits : c->config.max_waits_per_peer;
    if (session->repeating >= c->config.max_waits_per_client)
        return LIMIT_MAX_WAITS_PER_CLIENT;
    if (most != 0 && c->peer_repeats[peer->number] >= most)
        return peer->is_user ? LIMIT_MAX_WAITS_PER_USER : LIMIT_MAX_WAITS_PER_PEER;
    return c->repeats.used == c->repeats.capacity ? LIMIT_MAX_ROUNDS : LIMIT_NONE;
}

bool repeat_begin(struct coordinator *c, const struct coordinator_event *event)
{
    const struct request *what = &event->what;
    struct session *session = is_repeated(what) ? session_find_or_make(c, event->session) : NULL;
    if (session == NULL) /* a full table is the refusal of whoever decides the request */
        return true;
    enum limit limit = limit_reached(c, session, &event->peer);
    if (limit != LIMIT_NONE) {
        c->stats.refused_limit++;
        action_reply(c, event->session, event->request, REPLY_LIMIT, &what->name)->limit = limit;
        return false;
    }
    struct repeat *repeat = pool_take(&c->repeats);
    session->repeating++;
    c->peer_repeats[event->peer.number]++;
    repeat->item.kind = ITEM_REPEAT;
    repeat->session = session;
    repeat->next = session->repeats;
    if (session->repeats != NULL)
        session->repeats->prev = repeat;
    session->repeats = repeat;
    repeat->request = event->request;
    repeat->peer = event->peer;
    repeat->asked_ms = c->now_ms;
    repeat->deadline_ms = c->now_ms + what->wait_ms;
    repeat->ttl_ms = what->ttl_ms;
    repeat->max_ms = what->max_ms;
    repeat->order = what->order;
    repeat->token = what->token;
    repeat->resumes = what->verb == VERB_RESUME;
    repeat->name = intern_name(&c->intern, &what->name);
    repeat->note = intern_note(&c->intern, &what->note);
    return true;
}

static void repeat_free(struct coordinator *c, struct repeat *repeat)
{
    *(repeat->prev != NULL ? &repeat->prev->next : &repeat->session->repeats) = repeat->next;
    if (repeat->next != NULL)
        repeat->next->prev = repeat->prev;
    repeat->session->repeating--;
    c->peer_repeats[repeat->peer.number]--;
    heap_remove(&c->deadlines, &repeat->item);
    intern_name_back(&c->intern, repeat->name);
    intern_note_back(&c->intern, repeat->note);
    pool_give(&c->repeats, repeat);
}

/* ---- refusals ---- */

static bool is_pausing(const struct repeat *repeat)
{
    return repeat->item.place != 0;
}

/* When to ask again after this answer; INT64_MAX: the answer is the last one. */
static int64_t next_ms(struct coordinator *c, const struct repeat *repeat, const struct reply *reply)
{
    int64_t pause_ms = random_between(c, PAUSE_LEAST_MS, PAUSE_MOST_MS), until_ms = repeat->deadline_ms;
    bool full = reply->code == REPLY_LIMIT && reply->limit == LIMIT_MAX_ROUNDS;
    bool unsettled = repeat->resumes && reply->code == REPLY_NOTHELD;
    if (repeat->finishes || (!full && !unsettled && reply->code != REPLY_NOQUORUM))
        return INT64_MAX;
    if (unsettled)
        until_ms = earlier_ms(until_ms, repeat->asked_ms + NOTHELD_MS);
    else
        pause_ms <<= repeat->pauses < PAUSE_DOUBLED ? repeat->pauses : PAUSE_DOUBLED;
    if (c->now_ms >= until_ms)
        return INT64_MAX;
    return unsettled ? earlier_ms(c->now_ms + pause_ms, until_ms)
                     : (c->now_ms + pause_ms < until_ms ? c->now_ms + pause_ms : INT64_MAX);
}

/* Returns whether the request goes on, so that nobody is told of the refusal. */
static bool goes_on(struct coordinator *c, struct repeat *repeat, struct reply *reply)
{
    int64_t at_ms = next_ms(c, repeat, reply);
    if (at_ms == INT64_MAX) {
        if (repeat->denied && reply->code != REPLY_LOCKED) /* a lock is taken away by itself */
            action_refusal(reply, REPLY_DENIED);
        repeat_free(c, repeat);
        return false;
    }
    c->stats.refused_noquorum -= reply->code == REPLY_NOQUORUM;
    c->stats.refused_limit -= reply->code == REPLY_LIMIT;
    repeat->pauses++;
    heap_set(&c->deadlines, &repeat->item, at_ms);
    return true;
}

void repeat_answered(struct coordinator *c, struct actions *actions)
{
    unsigned kept = 0, count = c->repeats.used != 0 ? actions->count : 0;
    for (unsigned i = 0; i < count; i++) {
        struct action *action = &actions->list[i];
        struct repeat *repeat = NULL;
        if (action->kind == ACTION_REPLY)
            repeat = repeat_find(session_find(c, action->session), action->request);
        if (repeat != NULL && goes_on(c, repeat, &action->u.reply))
            continue;
        if (kept != i)
            actions->list[kept] = *action;
        kept++;
    }
    if (count != 0)
        actions->count = kept;
}

/* ---- the next attempt ---- */

static void ask_again(struct coordinator *c, const struct repeat *repeat)
{
    struct coordinator_event event = *c->event;
    const struct coordinator_event *before = c->event;
    event.kind = EVENT_REQUEST;
    event.session = repeat->session->key;
    event.request = repeat->request;
    event.peer = repeat->peer;
    memset(&event.what, 0, offsetof(struct request, name));
    event.what.verb = repeat->resumes ? VERB_RESUME : VERB_LOCK;
    event.what.shared = !repeat->resumes;
    event.what.has_token = true;
    event.what.token = repeat->token;
    event.what.ttl_ms = repeat->ttl_ms;
    event.what.max_ms = repeat->max_ms;
    event.what.order = repeat->order;
    if (repeat->note != NULL) {
        event.what.note.len = repeat->note->len;
        memcpy(event.what.note.text, repeat->note->text, repeat->note->len);
    }
    name_copy(&event.what.name, repeat->name);
    c->event = &event;
    request_begin(c, &event);
    c->event = before;
}

void repeat_timer(struct coordinator *c, struct repeat *repeat)
{
    enum verb verb = repeat->resumes ? VERB_RESUME : VERB_LOCK;
    bool admitted = coordinator_admits(c, repeat->peer.number, verb) == ADMISSION_NOW;
    int64_t later_ms = c->now_ms + random_between(c, PAUSE_LEAST_MS, PAUSE_MOST_MS);
    if (!admitted && later_ms < repeat->deadline_ms) {
        heap_set(&c->deadlines, &repeat->item, later_ms);
        return;
    }
    heap_remove(&c->deadlines, &repeat->item);
    if (repeat->session->state >= SESSION_RELEASING)
        return; /* the session's end comes to it: repeat_drop() */
    struct coordinator_stats *stats = &c->stats;
    uint64_t resumes = stats->resumes, extends = stats->extends;
    ask_again(c, repeat);
    stats->resumes = resumes; /* it is one request */
    stats->extends = extends;
}

/* ---- CANCEL, and the end of the session ---- */

/* Ends what is under way at the masters for the request. */
static void cancel_asking(struct coordinator *c, const struct repeat *repeat)
{
    if (repeat->resumes)
        resume_cancel(c, repeat->session->key, repeat->request);
    else
        extend_cancel(c, repeat->session->key, repeat->request);
}

bool repeat_cancel(struct coordinator *c, struct session *session, uint64_t request)
{
    struct repeat *repeat = repeat_find(session, request);
    if (repeat == NULL)
        return false;
    repeat->finishes = true;
    if (is_pausing(repeat))
        action_reply(c, session->key, request, REPLY_CANCELLED, repeat->name);
    else
        cancel_asking(c, repeat);
    return true;
}

void repeat_deny(struct coordinator *c, struct session *session, uint64_t request)
{
    struct repeat *repeat = repeat_find(session, request);
    if (repeat == NULL || repeat->finishes)
        return;
    repeat->denied = true;
    (void)repeat_cancel(c, session, request);
}

const struct repeat *repeat_next(const struct coordinator *c, struct cursor *cursor)
{
    const struct repeat *repeat = NULL;
    while (repeat == NULL && cursor->slot < c->repeats.fresh)
        repeat = pool_at(&c->repeats, (uint32_t)cursor->slot++);
    return repeat;
}

bool repeat_finish(struct coordinator *c, struct session *session)
{
    struct repeat *repeat = session->repeats;
    while (repeat != NULL && repeat->finishes)
        repeat = repeat->next;
    if (repeat == NULL)
        return false;
    (void)repeat_cancel(c, session, repeat->request);
    return repeat->next != NULL;
}

void repeat_drop(struct coordinator *c, struct session *session)
{
    repeat_free(c, session->repeats);
}
