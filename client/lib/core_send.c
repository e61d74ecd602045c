/* The lines that the core sends, and when each may be sent. */
#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "client/lib/core_private.h"

/* ---- lines ---- */

static int64_t left_ms(int64_t until_ms, int64_t now_ms)
{
    return until_ms > now_ms ? until_ms - now_ms : 0;
}

struct line {
    char *at;
    char *end;
};

static void send_put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void send_put(struct line *line, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int len = vsnprintf(line->at, (size_t)(line->end - line->at), format, args);
    va_end(args);
    assert(len >= 0 && len < line->end - line->at); /* no line comes near LINE_BYTES */
    line->at += len;
}

static void send_put_duration(struct line *line, const char *key, int64_t ms)
{
    if (ms > 0)
        send_put(line, " %s=%" PRId64, key, earlier_ms(ms, DURATION_MAX_MS));
}

static void put_lock(struct line *line, const struct ask *ask, int64_t now_ms)
{
    const struct redlock_lock *lock = ask->lock;

    send_put(line, "LOCK %s", lock->name);
    send_put_duration(line, "ttl", lock->ttl_ms);
    send_put_duration(line, "wait", left_ms(ask->wait_until_ms, now_ms));
    send_put_duration(line, "max", lock->max_ms);
    if (lock->hold == REDLOCK_LEASE)
        send_put(line, " hold=lease");
    if (lock->shared)
        send_put(line, " mode=shared");
    if (lock->slots)
        send_put(line, " slots=%" PRIu32, lock->slots);
    if (lock->note[0])
        send_put(line, " note=%s", lock->note);
    if (lock->told)
        send_put(line, " data=%s", lock->told);
}

/* Whether redlockd is to repeat this request: the RESUME of a lock that another connection held. */
static bool is_repeated(const struct ask *ask)
{
    return ask->verb == ASK_RESUME && ask->lock->state != LOCK_ASKED && ask->lock->core->repeats;
}

/* A resumed lock may ask for no more than what is left of its max=, and for no longer TTL. */
static void put_resume(struct line *line, const struct redlock_lock *lock, int64_t now_ms)
{
    int64_t max_ms = lock->max_until_ms ? left_ms(lock->max_until_ms, now_ms) : 0;
    int64_t ttl_ms = lock->ttl_ms;

    if (lock->state == LOCK_ASKED)
        max_ms = lock->max_ms;
    else if (max_ms > 0)
        ttl_ms = earlier_ms(ttl_ms > 0 ? ttl_ms : lock->span_ms, max_ms);
    send_put(line, "RESUME %s token=%s", lock->name, lock->token_text);
    send_put_duration(line, "ttl", ttl_ms);
    if (is_repeated(&lock->own))
        send_put_duration(line, "wait", left_ms(atomic_load(&lock->deadline_ms), now_ms));
    send_put_duration(line, "max", max_ms);
    if (lock->note[0])
        send_put(line, " note=%s", lock->note);
}

static void put_ask(struct line *line, const struct ask *ask, int64_t now_ms)
{
    assert(ask->lock || ask->verb >= ASK_SHOW);
    send_put(line, "#%" PRIx32 ".%" PRIx32 " ", ask->slot, ask->serial);
    switch (ask->verb) {
    case ASK_LOCK: put_lock(line, ask, now_ms); break;
    case ASK_RESUME: put_resume(line, ask->lock, now_ms); break;
    case ASK_UNLOCK:
        send_put(line, "UNLOCK %s token=%s", ask->lock->name, ask->lock->token_text);
        if (ask->lock->loss && ask->lock->core->takes_losses)
            send_put(line, " lost=%s", ask->lock->loss);
        else if (ask->lock->core->takes_keeps)
            send_put_duration(line, "keep", ask->lock->keep_ms);
        break;
    case ASK_CHECK: send_put(line, "CHECK %s token=%s", ask->lock->name, ask->lock->token_text); break;
    case ASK_EXTEND:
        send_put(line, "EXTEND %s token=%s", ask->lock->name, ask->lock->token_text);
        send_put_duration(line, "ttl", ask->ttl_ms);
        break;
    case ASK_DOWNGRADE:
        send_put(line, "LOCK %s mode=shared token=%s", ask->lock->name, ask->lock->token_text);
        if (ask->lock->core->repeats)
            send_put_duration(line, "wait", ask->lock->core->timeout_ms / 2);
        break;
    case ASK_DATA: send_put(line, "DATA %s data=%s", ask->lock->name, ask->name); break;
    case ASK_WATCH: send_put(line, "WATCH %s", ask->watch->name); break;
    case ASK_UNWATCH: send_put(line, "UNWATCH %s", ask->watch->name); break;
    case ASK_SHOW: send_put(line, "SHOW %s", ask->what); break;
    case ASK_PING: send_put(line, "PING"); break;
    case ASK_WHO: send_put(line, "WHO %s", ask->name); break;
    case ASK_BREAK:
        send_put(line, "BREAK %s", ask->name);
        if (ask->broken_slot >= 0)
            send_put(line, " slot=%d", ask->broken_slot);
        break;
    }
    send_put(line, "\n");
}

/* ---- sending ---- */

/* Whether the request counts for CORE_WINDOW: what redlockd may let wait does not. */
static bool is_short(const struct ask *ask, int64_t now_ms)
{
    bool waits = ask->verb == ASK_LOCK ? ask->wait_until_ms > now_ms : ask->verb == ASK_DOWNGRADE;

    return !waits && !is_repeated(ask);
}

static bool is_full(const struct core *core, const struct ask *ask, int64_t now_ms)
{
    return is_short(ask, now_ms) ? core->short_sent >= CORE_WINDOW : core->waits_sent >= CORE_WAITS;
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
    ask->counted = is_short(ask, now_ms) ? &core->short_sent : &core->waits_sent;
    (*ask->counted)++;
    TAILQ_INSERT_TAIL(&core->sent, ask, link);
}

/* Whether the request cannot be sent now: it was refused on this connection, there are too many requests,
 * or its lock has to be resumed first. */
static bool has_to_wait(const struct core *core, const struct ask *ask, int64_t now_ms)
{
    if (ask->not_on == core->connection ||
        ask->verb == ASK_DOWNGRADE) /* lock->downgrade asks for the program */
        return true;
    if (core->move == MOVE_READY) /* the request is sent on the next connection */
        return true;
    if (is_full(core, ask, now_ms))
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

static bool resume_is_due(const struct redlock_lock *lock, int64_t now_ms)
{
    return lock->state == LOCK_DETACHED && lock->own.state == ASK_IDLE &&
           lock->own.not_on != lock->core->connection && lock->retry_at_ms <= now_ms &&
           atomic_load(&lock->deadline_ms) > now_ms;
}

/* Sends the RESUME or the downgrade that a lock waits for; the queue has requests of the program only. */
static void send_of_locks(struct core *core, int64_t now_ms)
{
    struct redlock_lock *lock;

    if (!core->sessions)
        return;
    TAILQ_FOREACH(lock, &core->locks, link)
    {
        if (!has_room(core))
            return;
        if (downgrade_is_due(lock, now_ms) && core->move != MOVE_READY &&
            !is_full(core, &lock->downgrade, now_ms))
            send_ask(core, &lock->downgrade, now_ms);
        if (!resume_is_due(lock, now_ms))
            continue;
        lock->own.verb = ASK_RESUME;
        if (is_full(core, &lock->own, now_ms))
            continue;
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
        send_put(&line, "#c%" PRIx32 ".%" PRIx32 " CANCEL %" PRIx32 ".%" PRIx32 "\n", ask->slot, ask->serial,
                 ask->slot, ask->serial);
        sent(core, line);
        ask->cancel = false;
        core->cancels--;
    }
}

static void send_hello(struct core *core, int64_t now_ms)
{
    struct line line = room(core);

    send_put(&line, "#h HELLO 1");
    if (core->client[0])
        send_put(&line, " client=%s", core->client);
    send_put(&line, " events=renewed\n");
    sent(core, line);
    core->greet = false;
    core->hello_sent_ms = now_ms;
    core->hello_last_ms = now_ms;
    core->hello_soon = false;
}

static void send_auth(struct core *core)
{
    struct line line = room(core);

    send_put(&line, "#u AUTH %s %s\n", core->user, core->secret);
    sent(core, line);
    explicit_bzero(core->secret, sizeof core->secret);
    core->auth = false;
    core->auth_sent = true;
}

static void send_ping(struct core *core)
{
    struct line line = room(core);

    send_put(&line, "#p PING\n");
    sent(core, line);
    core->ping = false;
}

const char *core_output(struct core *core, int64_t now_ms, size_t *len)
{
    bool open = core->state == CORE_GREETING || core->state == CORE_UP;

    *len = 0;
    if (!open || core->action != ACTION_NOTHING)
        return core->out;
    if (core->out_used > 0) {
        core->out_len -= core->out_used;
        memmove(core->out, core->out + core->out_used, core->out_len);
        core->out_used = 0;
    }
    core->fresh = false;
    if (core->auth && has_room(core))
        send_auth(core);
    if (core->greet && !core->auth_sent && has_room(core))
        send_hello(core, now_ms);
    if (core->ping && has_room(core))
        send_ping(core);
    if (core->state == CORE_UP) {
        send_cancels(core);
        send_of_locks(core, now_ms);
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

bool core_has_output(const struct core *core)
{
    bool open = core->state == CORE_GREETING || core->state == CORE_UP;

    return open && core->action == ACTION_NOTHING && (core->fresh || core->out_len > core->out_used);
}
