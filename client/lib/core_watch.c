/* Names that are watched: each is asked for once on each connection, and the program is told what differs from what it
 * was told last. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"

/* ---- its life ---- */

struct redlock_watch *core_watch(struct core *core, int64_t now_ms, const char *name,
                                 enum redlock_error *error)
{
    if (core->watches_count >= REDLOCK_WATCHES_MAX) {
        *error = REDLOCK_LIMIT;
        return NULL;
    }
    struct redlock_watch *watch = calloc(1, sizeof *watch);
    if (!watch) {
        *error = REDLOCK_NOMEM;
        return NULL;
    }
    watch->core = core;
    watch->own.watch = watch;
    if (!slot_take(core, &watch->own, error)) {
        free(watch);
        return NULL;
    }
    watch->own.verb = ASK_WATCH;
    watch->retry_ms = -1;
    watch->now.mode = REDLOCK_EXCLUSIVE;
    strncpy(watch->name, name, sizeof watch->name - 1);
    TAILQ_INSERT_TAIL(&core->watches, watch, link);
    core->watches_count++;
    ask_queue(core, &watch->own, now_ms + core->timeout_ms);
    return watch;
}

static void watch_free(struct redlock_watch *watch)
{
    struct core *core = watch->core;

    ask_idle(core, &watch->own);
    slot_leave(core, &watch->own);
    TAILQ_REMOVE(&core->watches, watch, link);
    core->watches_count--;
    free(watch);
}

void watches_free(struct core *core)
{
    struct redlock_watch *watch;

    while ((watch = TAILQ_FIRST(&core->watches))) {
        TAILQ_REMOVE(&core->watches, watch, link);
        free(watch);
    }
}

/* Whether the program watches the name by another watch, which redlockd does not tell from this one. */
static bool is_watched_twice(const struct redlock_watch *watch)
{
    const struct redlock_watch *other;

    TAILQ_FOREACH(other, &watch->core->watches, link)
    if (other != watch && !other->orphan && other->state != WATCH_ENDED &&
        strcmp(other->name, watch->name) == 0)
        return true;
    return false;
}

/* redlockd watches the name for us, and nobody wants that any more. */
static void watch_leave(struct redlock_watch *watch)
{
    if (is_watched_twice(watch)) {
        watch_free(watch);
        return;
    }
    watch->own.verb = ASK_UNWATCH;
    ask_queue(watch->core, &watch->own, INT64_MAX);
}

void core_unwatch(struct core *core, struct redlock_watch *watch)
{
    assert(watch->core == core && !watch->orphan);
    watch->orphan = true;
    watch->news = false;
    if (watch->own.state == ASK_SENT)
        return; /* the answer ends it */
    if (watch->own.state == ASK_IDLE && (watch->state == WATCH_ON || watch->asked))
        watch_leave(watch);
    else
        watch_free(watch);
}

static void watch_tell(struct redlock_watch *watch)
{
    watch->news = watch->fresh = watch->core->watch_news = true;
}

static void watch_end(struct redlock_watch *watch, enum redlock_error error, const char *text)
{
    watch->asked = watch->own.state == ASK_SENT;
    ask_idle(watch->core, &watch->own);
    watch->state = WATCH_ENDED;
    watch->error = error;
    watch->text = text;
    watch_tell(watch);
}

void watch_unreachable(struct redlock_watch *watch)
{
    watch_end(watch, core_why(watch->core), core_why_text(watch->core));
}

void watches_detach(struct core *core)
{
    struct redlock_watch *next;

    for (struct redlock_watch *watch = TAILQ_FIRST(&core->watches); watch; watch = next) {
        next = TAILQ_NEXT(watch, link);
        watch->asked = false;
        if (watch->orphan) {
            watch_free(watch);
        } else if (watch->state == WATCH_ON) {
            watch->state = WATCH_ASKED;
            ask_queue(core, &watch->own, INT64_MAX); /* a program that is told once is not told of this */
        }
    }
}

void watches_tick(struct core *core, int64_t now_ms)
{
    struct redlock_watch *watch;

    TAILQ_FOREACH(watch, &core->watches, link)
    {
        if (watch->orphan || watch->state != WATCH_ASKED)
            continue;
        if (watch->own.give_up_ms <= now_ms)
            watch_end(watch, core_why(core), core_why_text(core));
        else
            core_wants_at(core, watch->own.give_up_ms);
    }
}

struct redlock_watch *watch_next_news(struct core *core)
{
    struct redlock_watch *watch;

    if (!core->watch_news)
        return NULL;
    TAILQ_FOREACH(watch, &core->watches, link)
    if (watch->news) {
        watch->news = false;
        return watch;
    }
    core->watch_news = false;
    return NULL;
}

/* ---- what redlockd says ---- */

static enum redlock_now_state state_of(struct piece word)
{
    static const char *const words[] = {
        [REDLOCK_NOW_FREE] = "free", [REDLOCK_NOW_HELD] = "held", [REDLOCK_NOW_KEPT] = "kept"};

    for (unsigned i = REDLOCK_NOW_FREE; i < sizeof words / sizeof words[0]; i++)
        if (piece_is(word, words[i]))
            return (enum redlock_now_state)i;
    return REDLOCK_NOW_UNKNOWN;
}

/* Copies the text, which is "" if it is too long to be one. Returns whether it was another. */
static bool take_text(char *to, size_t size, struct piece text)
{
    const char *from = text.text ? text.text : "";
    size_t len = text.text && text.len < size ? text.len : 0;
    bool differs = strlen(to) != len || memcmp(to, from, len) != 0;

    memcpy(to, from, len);
    to[len] = '\0';
    return differs;
}

static void take_now(struct redlock_watch *watch, const struct answer *answer)
{
    struct redlock_now *now = &watch->now;
    enum redlock_now_state state = state_of(answer->state);
    enum redlock_mode mode = answer->shared ? REDLOCK_SHARED : REDLOCK_EXCLUSIVE;
    bool differs = !watch->any || now->state != state || now->mode != mode || now->fence != answer->fence;

    now->state = state;
    now->mode = mode;
    now->fence = answer->fence;
    differs |= take_text(watch->host, sizeof watch->host, answer->host);
    differs |= take_text(watch->data, sizeof watch->data, answer->data);
    now->host = watch->host[0] ? watch->host : NULL;
    now->data = watch->data[0] ? watch->data : NULL;
    watch->any = true;
    if (differs)
        watch_tell(watch);
}

void watch_heard(struct core *core, const struct answer *answer)
{
    struct redlock_watch *watch;

    TAILQ_FOREACH(watch, &core->watches, link)
    if (watch->state == WATCH_ON && !watch->orphan && piece_is(answer->name, watch->name))
        take_now(watch, answer);
}

static void watch_refused(struct redlock_watch *watch, const struct answer *answer)
{
    if (answer->refusal == REPLY_DRAINING) { /* the next redlockd is asked */
        ask_requeue(watch->core, &watch->own);
        watch->own.not_on = watch->core->connection;
        return;
    }
    ask_idle(watch->core, &watch->own);
    watch->retry_ms = answer->retry_ms;
    watch_end(watch, core_error_of(answer->refusal), answer->rest.text);
}

void watch_answered(struct redlock_watch *watch, const struct answer *answer)
{
    bool refused = answer->code == ANSWER_REFUSED;
    bool granted = answer->code == ANSWER_WATCHING && piece_is(answer->name, watch->name);

    if (watch->own.verb == ASK_UNWATCH) {
        watch_free(watch); /* whatever the answer is */
    } else if (!refused && !granted) {
        core_confused(watch->core);
    } else if (watch->orphan) {
        ask_idle(watch->core, &watch->own);
        if (granted)
            watch_leave(watch);
        else
            watch_free(watch);
    } else if (refused) {
        watch_refused(watch, answer);
    } else {
        ask_idle(watch->core, &watch->own);
        watch->state = WATCH_ON;
        take_now(watch, answer);
    }
}
