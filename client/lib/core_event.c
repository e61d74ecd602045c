/* Lines out of the bytes that came, and events for the program, one after the other. */
#include <assert.h>
#include <string.h>

#include "client/lib/core_private.h"

char *core_space(struct core *core, size_t *room)
{
    if (core->in_used > 0) {
        core->in_len -= core->in_used;
        memmove(core->in, core->in + core->in_used, core->in_len);
        core->in_used = 0;
    }
    *room = CORE_INPUT_BYTES - core->in_len;
    return core->in + core->in_len;
}

void core_got(struct core *core, size_t len, int64_t now_ms)
{
    assert(len <= CORE_INPUT_BYTES - core->in_len);
    core->in_len += len;
    core->heard_ms = now_ms;
    core->pinged_ms = 0;
    core->ping = false;
}

/* ---- lines ---- */

/* Copies the next line to core->line, without its end; false: there is no whole line yet. */
static bool next_line(struct core *core, size_t *len)
{
    const char *start = core->in + core->in_used;
    size_t left = core->in_len - core->in_used;
    const char *lf = memchr(start, '\n', left);

    if (!lf && left < SERVER_LINE_BYTES)
        return false;
    if (!lf || lf - start >= SERVER_LINE_BYTES) {
        core_break(core, REDLOCK_PROTOCOL, "what answers is no redlockd: a line is longer than 2,048 bytes");
        return false;
    }
    *len = (size_t)(lf - start);
    core->in_used += *len + 1;
    if (*len && start[*len - 1] == '\r')
        --*len;
    memcpy(core->line, start, *len);
    core->line[*len] = '\0';
    return true;
}

/* Works on one line; false: there is none. */
static bool work_line(struct core *core, int64_t now_ms)
{
    struct answer answer;
    size_t len;

    if (!core_is_listening(core) || !next_line(core, &len))
        return false;
    if (len == 0)
        return true;
    if (answer_parse(core->line, len, &answer))
        core_answered(core, &answer, now_ms);
    else
        core_break(core, REDLOCK_PROTOCOL, "what answers is no redlockd, or of another protocol");
    return true;
}

/* ---- events ---- */

static void event_fill(struct redlock_event *event, enum redlock_event_kind kind, enum redlock_error error,
                       const char *text)
{
    event->kind = kind;
    event->error = error;
    event->text = text;
}

static bool tell_link(struct core *core, struct redlock_event *event)
{
    if (core->news_down) {
        core->news_down = false;
        event_fill(event, REDLOCK_ON_DOWN, core_why(core), core->why);
    } else if (core->news_up) {
        core->news_up = false;
        event_fill(event, REDLOCK_ON_UP, REDLOCK_OK, core->server);
    } else if (core->news_drain) {
        core->news_drain = false;
        event_fill(event, REDLOCK_ON_DRAIN, REDLOCK_OK, "");
    } else {
        return false;
    }
    return true;
}

static bool tell_row(struct core *core, struct redlock_event *event)
{
    if (!core->row_of)
        return false;
    event_fill(event, REDLOCK_ON_ROW, REDLOCK_OK, core->row);
    event->request = core->row_of->id;
    core->row_of = NULL;
    return true;
}

static bool tell_done(struct core *core, struct redlock_event *event)
{
    static const enum redlock_event_kind kinds[] = {
        [ASK_EXTEND] = REDLOCK_ON_EXTEND,
        [ASK_CHECK] = REDLOCK_ON_CHECK,
        [ASK_SHOW] = REDLOCK_ON_SHOW,
        [ASK_DOWNGRADE] = REDLOCK_ON_DOWNGRADE,
        [ASK_DATA] = REDLOCK_ON_TELL,
        [ASK_PING] = REDLOCK_ON_SHOW, /* only redlock_ping() asks, which takes the event itself */
        [ASK_WHO] = REDLOCK_ON_SHOW,
        [ASK_BREAK] = REDLOCK_ON_SHOW, /* as PING */
    };
    struct ask *ask = TAILQ_FIRST(&core->done);

    if (!ask)
        return false;
    event_fill(event, kinds[ask->verb], ask->error, ask->text);
    event->request = ask->id;
    event->lock = ask->lock;
    event->retry_ms = ask->retry_ms;
    ask_idle(core, ask);
    core->told_ask = ask;
    return true;
}

static unsigned first_news(struct redlock_lock *lock)
{
    unsigned news = lock->news & ~(lock->news - 1);

    lock->news &= ~news;
    return news;
}

static void tell_result(struct redlock_lock *lock, struct redlock_event *event, enum redlock_event_kind kind)
{
    event_fill(event, kind, lock->result, lock->text);
    event->retry_ms = lock->result_retry_ms;
    if (kind == REDLOCK_ON_UNLOCK)
        event->request = lock->own.id;
    if (lock->state == LOCK_OVER)
        lock->core->told_lock = lock;
}

static bool tell_lock(struct core *core, struct redlock_event *event)
{
    struct redlock_lock *lock = TAILQ_FIRST(&core->news);

    if (!lock)
        return false;
    unsigned news = first_news(lock);
    if (!lock->news)
        TAILQ_REMOVE(&core->news, lock, news_link);
    event->lock = lock;
    switch ((enum news)news) {
    case NEWS_TAKEN: tell_result(lock, event, REDLOCK_ON_LOCK); break;
    case NEWS_RENEWED: event_fill(event, REDLOCK_ON_RENEWED, REDLOCK_OK, ""); break;
    case NEWS_EXPIRING: event_fill(event, REDLOCK_ON_EXPIRING, REDLOCK_OK, ""); break;
    case NEWS_RESUMED: event_fill(event, REDLOCK_ON_RESUMED, REDLOCK_OK, ""); break;
    case NEWS_LOST: event_fill(event, REDLOCK_ON_LOST, REDLOCK_LOST, lock->text); break;
    case NEWS_GIVEN: tell_result(lock, event, REDLOCK_ON_UNLOCK); break;
    }
    return true;
}

static bool tell_watch(struct core *core, struct redlock_event *event)
{
    struct redlock_watch *watch = watch_next_news(core);

    if (!watch)
        return false;
    event_fill(event, REDLOCK_ON_NOW, watch->error, watch->error ? watch->text : "");
    event->watch = watch;
    event->retry_ms = watch->retry_ms;
    return true;
}

/* Frees the request or lock that the last event was the end of. */
static void forget_told(struct core *core)
{
    struct ask *ask = core->told_ask;
    struct redlock_lock *lock = core->told_lock;

    core->told_ask = NULL;
    core->told_lock = NULL;
    if (ask)
        ask_free(core, ask);
    if (lock)
        lock_let_go(lock);
}

bool core_next(struct core *core, int64_t now_ms, struct redlock_event *event)
{
    forget_told(core);
    *event = (struct redlock_event){.text = "", .retry_ms = -1};
    for (;;) {
        if (tell_link(core, event) || tell_row(core, event) || tell_done(core, event) ||
            tell_lock(core, event) || tell_watch(core, event))
            return true;
        if (!work_line(core, now_ms))
            return false;
    }
}
