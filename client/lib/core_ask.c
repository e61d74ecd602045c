/* Requests: their queue, and the lines that they are. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"

bool ask_is_own(const struct ask *ask)
{
    return ask->lock && ask == &ask->lock->own;
}

enum redlock_error core_error_of(enum reply_code code)
{
    switch (code) {
    case REPLY_BUSY: return REDLOCK_BUSY;
    case REPLY_TIMEOUT: return REDLOCK_TIMEOUT;
    case REPLY_NOQUORUM: return REDLOCK_NOQUORUM;
    case REPLY_NOTHELD: return REDLOCK_NOTHELD;
    case REPLY_CANCELLED: return REDLOCK_CANCELLED;
    case REPLY_MODE: return REDLOCK_MODE;
    case REPLY_LIMIT: return REDLOCK_LIMIT;
    case REPLY_DRAINING: return REDLOCK_DRAINING;
    case REPLY_DENIED: return REDLOCK_DENIED;
    case REPLY_AUTH: return REDLOCK_AUTH;
    case REPLY_UNSUPPORTED: return REDLOCK_UNSUPPORTED;
    default: return REDLOCK_BADREQUEST;
    }
}

/* ---- lists ---- */

static struct ask_list *list_of(struct core *core, enum ask_state state)
{
    if (state == ASK_QUEUED)
        return &core->queued;
    return state == ASK_SENT ? &core->sent : &core->done;
}

void ask_idle(struct core *core, struct ask *ask)
{
    if (ask->state == ASK_IDLE)
        return;
    TAILQ_REMOVE(list_of(core, ask->state), ask, link);
    if (ask->counted)
        core->short_sent--;
    if (ask->cancel)
        core->cancels--;
    ask->counted = ask->cancel = false;
    ask->state = ASK_IDLE;
    core->fresh = true;
}

void ask_queue(struct core *core, struct ask *ask, int64_t give_up_ms)
{
    assert(ask->state == ASK_IDLE);
    ask->state = ASK_QUEUED;
    ask->give_up_ms = give_up_ms;
    ask->not_on = 0;
    TAILQ_INSERT_TAIL(&core->queued, ask, link);
    core_wants_at(core, give_up_ms);
    core->fresh = true;
}

void ask_requeue(struct core *core, struct ask *ask)
{
    ask_idle(core, ask);
    ask->state = ASK_QUEUED;
    TAILQ_INSERT_HEAD(&core->queued, ask, link);
}

void ask_done(struct core *core, struct ask *ask, enum redlock_error error, const char *text)
{
    assert(!ask_is_own(ask) && ask->state != ASK_DONE);
    ask_idle(core, ask);
    ask->state = ASK_DONE;
    ask->error = error;
    ask->text = text;
    TAILQ_INSERT_TAIL(&core->done, ask, link);
}

void ask_free(struct core *core, struct ask *ask)
{
    ask_idle(core, ask);
    if (ask->lock)
        ask->lock->asks--;
    slot_leave(core, ask);
    free(ask);
}

void ask_let_go(struct core *core, struct redlock_lock *lock)
{
    for (uint32_t i = 0; lock->asks > 0 && i < core->slots_size; i++) {
        struct ask *ask = core->slots[i];
        if (!ask || ask->lock != lock || ask_is_own(ask))
            continue;
        if (ask->state != ASK_DONE)
            ask_done(core, ask, REDLOCK_CANCELLED, "the lock was let go of");
        ask->lock = NULL;
        lock->asks--;
    }
}

/* ---- lines ---- */

static int64_t left_ms(int64_t until_ms, int64_t now_ms)
{
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

struct line {
    char *at;
    char *end;
};

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int len = vsnprintf(line->at, (size_t)(line->end - line->at), format, args);
    va_end(args);
    assert(len >= 0 && len < line->end - line->at); /* the longest line is far below LINE_BYTES */
    line->at += len;
}

static void put_duration(struct line *line, const char *key, int64_t ms)
{
    if (ms > 0)
        put(line, " %s=%" PRId64, key, earlier_ms(ms, DURATION_MAX_MS));
}

static void put_lock(struct line *line, const struct ask *ask, int64_t now_ms)
{
    const struct redlock_lock *lock = ask->lock;

    put(line, "LOCK %s", lock->name);
    put_duration(line, "ttl", lock->ttl_ms);
    put_duration(line, "wait", left_ms(ask->wait_until_ms, now_ms));
    put_duration(line, "max", lock->max_ms);
    if (lock->hold == REDLOCK_LEASE)
        put(line, " hold=lease");
    if (lock->note[0])
        put(line, " note=%s", lock->note);
}

/* What is left of max= is all that may be asked for, and no TTL is longer than that. */
static void put_resume(struct line *line, const struct redlock_lock *lock, int64_t now_ms)
{
    int64_t max_ms = lock->max_until_ms ? left_ms(lock->max_until_ms, now_ms) : 0;
    int64_t ttl_ms = lock->ttl_ms;

    if (lock->state == LOCK_ASKED)
        max_ms = lock->max_ms;
    else if (max_ms > 0)
        ttl_ms = earlier_ms(ttl_ms > 0 ? ttl_ms : lock->span_ms, max_ms);
    put(line, "RESUME %s token=%s", lock->name, lock->token_text);
    put_duration(line, "ttl", ttl_ms);
    put_duration(line, "max", max_ms);
    if (lock->note[0])
        put(line, " note=%s", lock->note);
}

static void put_ask(struct line *line, const struct ask *ask, int64_t now_ms)
{
    assert(ask->lock || ask->verb == ASK_SHOW);
    put(line, "#%" PRIx32 ".%" PRIx32 " ", ask->slot, ask->serial);
    switch (ask->verb) {
    case ASK_LOCK: put_lock(line, ask, now_ms); break;
    case ASK_RESUME: put_resume(line, ask->lock, now_ms); break;
    case ASK_UNLOCK: put(line, "UNLOCK %s token=%s", ask->lock->name, ask->lock->token_text); break;
    case ASK_CHECK: put(line, "CHECK %s token=%s", ask->lock->name, ask->lock->token_text); break;
    case ASK_EXTEND:
        put(line, "EXTEND %s token=%s", ask->lock->name, ask->lock->token_text);
        put_duration(line, "ttl", ask->ttl_ms);
        break;
    case ASK_SHOW: put(line, "SHOW %s", ask->what); break;
    }
    put(line, "\n");
}

/* ---- sending ---- */

/* A LOCK that waits takes nobody's place. */
static bool is_short(const struct ask *ask, int64_t now_ms)
{
    return ask->verb != ASK_LOCK || ask->wait_until_ms <= now_ms;
}

static bool has_room(const struct core *core)
{
    return CORE_OUTPUT_BYTES - core->out_len >= LINE_BYTES;
}

static struct line room(struct core *core)
{
    return (struct line){core->out + core->out_len, core->out + CORE_OUTPUT_BYTES};
}

static void sent(struct core *core, struct line line)
{
    core->out_len = (size_t)(line.at - core->out);
}

static void send_ask(struct core *core, struct ask *ask, int64_t now_ms)
{
    struct line line = room(core);

    ask_idle(core, ask);
    ask->serial = ++core->last_serial;
    put_ask(&line, ask, now_ms);
    sent(core, line);
    ask->state = ASK_SENT;
    ask->counted = is_short(ask, now_ms);
    core->short_sent += ask->counted;
    TAILQ_INSERT_TAIL(&core->sent, ask, link);
}

/* Its lock has to be bound again first, or will never be. */
static bool has_to_wait(const struct core *core, const struct ask *ask, int64_t now_ms)
{
    if (ask->not_on == core->connection)
        return true;
    if (core->short_sent >= CORE_WINDOW && is_short(ask, now_ms))
        return true;
    return ask->lock && (ask->lock->state == LOCK_DETACHED || ask->lock->state == LOCK_RESUMING);
}

static void send_asks(struct core *core, int64_t now_ms)
{
    struct ask *next;

    for (struct ask *ask = TAILQ_FIRST(&core->queued); ask && has_room(core); ask = next) {
        next = TAILQ_NEXT(ask, link);
        if (ask->lock && ask->lock->state == LOCK_LOST && !ask_is_own(ask))
            ask_done(core, ask, REDLOCK_LOST, "the lock was lost before");
        else if (!has_to_wait(core, ask, now_ms))
            send_ask(core, ask, now_ms);
    }
}

/* A RESUME needs no place in the queue: its lock is the place. */
static void send_resumes(struct core *core, int64_t now_ms)
{
    struct redlock_lock *lock;

    if (!core->sessions)
        return;
    TAILQ_FOREACH(lock, &core->locks, link)
    {
        if (core->short_sent >= CORE_WINDOW || !has_room(core))
            return;
        if (lock->state != LOCK_DETACHED || lock->own.state != ASK_IDLE ||
            lock->own.not_on == core->connection)
            continue;
        if (lock->retry_at_ms > now_ms || atomic_load(&lock->deadline_ms) <= now_ms)
            continue;
        lock->own.verb = ASK_RESUME;
        ask_queue(core, &lock->own, INT64_MAX);
        send_ask(core, &lock->own, now_ms);
        lock_move(lock, LOCK_RESUMING);
    }
}

static void send_cancels(struct core *core)
{
    struct ask *ask;

    TAILQ_FOREACH(ask, &core->sent, link)
    {
        if (!core->cancels || !has_room(core))
            return;
        if (!ask->cancel)
            continue;
        struct line line = room(core);
        put(&line, "#c%" PRIx32 ".%" PRIx32 " CANCEL %" PRIx32 ".%" PRIx32 "\n", ask->slot, ask->serial,
            ask->slot, ask->serial);
        sent(core, line);
        ask->cancel = false;
        core->cancels--;
    }
}

static void send_hello(struct core *core, int64_t now_ms)
{
    struct line line = room(core);

    put(&line, "#h HELLO 1");
    if (core->client[0])
        put(&line, " client=%s", core->client);
    put(&line, " events=renewed\n");
    sent(core, line);
    core->greet = false;
    core->hello_sent_ms = now_ms;
    core->hello_last_ms = now_ms;
    core->hello_soon = false;
}

static void send_ping(struct core *core)
{
    struct line line = room(core);

    put(&line, "#p PING\n");
    sent(core, line);
    core->ping = false;
}

const char *core_output(struct core *core, int64_t now_ms, size_t *len)
{
    bool open = core->state == CORE_GREETING || core->state == CORE_UP;

    *len = 0;
    if (!open || core->wish != WISH_NOTHING)
        return core->out;
    if (core->out_used > 0) {
        core->out_len -= core->out_used;
        memmove(core->out, core->out + core->out_used, core->out_len);
        core->out_used = 0;
    }
    core->fresh = false;
    if (core->greet && has_room(core))
        send_hello(core, now_ms);
    if (core->ping && has_room(core))
        send_ping(core);
    if (core->state == CORE_UP) {
        send_cancels(core);
        send_resumes(core, now_ms);
        send_asks(core, now_ms);
        core->fresh = !has_room(core);
    }
    *len = core->out_len;
    return core->out;
}

void core_wrote(struct core *core, size_t len)
{
    assert(len <= core->out_len - core->out_used);
    core->out_used += len;
}
