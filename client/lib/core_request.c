/* Locks and requests that the program asks for. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"

static int64_t later_ms(int64_t now_ms, int64_t span_ms)
{
    return now_ms + earlier_ms(span_ms < 0 ? DURATION_MAX_MS : span_ms, DURATION_MAX_MS);
}

static struct redlock_lock *lock_new(struct core *core, const char *name, const char *token,
                                     enum redlock_error *error)
{
    if (core->locks_count >= REDLOCK_LOCKS_MAX) {
        *error = REDLOCK_LIMIT;
        return NULL;
    }
    size_t name_len = strlen(name);
    struct redlock_lock *lock = calloc(1, sizeof *lock + name_len + 1);
    if (!lock) {
        *error = REDLOCK_NOMEM;
        return NULL;
    }
    lock->core = core;
    lock->own.lock = lock;
    if (!slot_take(core, &lock->own, error)) {
        free(lock);
        return NULL;
    }
    lock->place = -1;
    memcpy(lock->name, name, name_len);
    if (token)
        strncpy(lock->token_text, token, sizeof lock->token_text - 1);
    TAILQ_INSERT_TAIL(&core->locks, lock, link);
    core->locks_count++;
    return lock;
}

struct redlock_lock *core_lock(struct core *core, int64_t now_ms, const char *name, const char *token,
                               const struct redlock_lock_options *options, enum redlock_error *error)
{
    char *data =
        options->data && !token ? strdup(options->data) : NULL; /* a RESUME finds it on the masters */
    struct redlock_lock *lock = NULL;

    *error = REDLOCK_NOMEM;
    if (data || !options->data || token)
        lock = lock_new(core, name, token, error);
    if (!lock) {
        free(data);
        return NULL;
    }
    lock->told = data;
    lock->state = LOCK_ASKED;
    lock->hold = token ? REDLOCK_SESSION : options->hold;
    lock->ttl_ms = options->ttl_ms;
    lock->max_ms = options->max_ms;
    lock->slots = options->slots;
    lock->shared = !token && options->mode == REDLOCK_SHARED; /* the answer to RESUME tells it */
    if (options->note)
        strncpy(lock->note, options->note, sizeof lock->note - 1);
    lock->own.verb = token ? ASK_RESUME : ASK_LOCK;
    if (!token && options->wait_ms != 0)
        lock->own.wait_until_ms = later_ms(now_ms, options->wait_ms);
    int64_t wait_ms = lock->own.wait_until_ms ? lock->own.wait_until_ms - now_ms : 0;
    ask_queue(core, &lock->own, now_ms + wait_ms + core->timeout_ms);
    return lock;
}

struct redlock_lock *core_attach(struct core *core, const char *name, const char *token,
                                 enum redlock_error *error)
{
    struct redlock_lock *lock = lock_new(core, name, token, error);

    if (!lock)
        return NULL;
    lock->state = LOCK_HELD;
    lock->hold = REDLOCK_LEASE;
    lock->shared = true; /* that is not known, and a reader may do less */
    return lock;
}

/* ---- UNLOCK ---- */

/* The lock is given back as soon as its RESUME, which is not wanted any more, is answered. */
static void give_back(struct redlock_lock *lock)
{
    struct core *core = lock->core;

    lock->give_back = true;
    lock_disbelieve(lock);
    if (!core->repeats || lock->own.cancel)
        return;
    lock->own.cancel = true;
    core->cancels++;
    core->fresh = true;
}

static uint64_t request_unlock(struct core *core, int64_t now_ms, struct redlock_lock *lock,
                               enum redlock_error *error)
{
    switch (lock->state) {
    case LOCK_HELD:
    case LOCK_DETACHED: lock_give(lock, now_ms + core->timeout_ms); break;
    case LOCK_RESUMING:
        if (lock->give_back)
            goto refused;
        give_back(lock);
        lock->own.give_up_ms = now_ms + core->timeout_ms;
        core_wants_at(core, lock->own.give_up_ms);
        break;
    case LOCK_LOST:
        lock->own.id = ++core->last_id;
        lock_given(lock, REDLOCK_LOST, lock->text);
        return lock->own.id;
    default: goto refused;
    }
    lock->own.id = ++core->last_id;
    return lock->own.id;
refused:
    *error = REDLOCK_ARGUMENT;
    return 0;
}

void core_forget(struct core *core, int64_t now_ms, struct redlock_lock *lock)
{
    if (lock->orphan || lock->give_back)
        return;
    switch (lock->state) {
    case LOCK_ASKED:
        core_cancel(core, now_ms, lock);
        if (lock->state == LOCK_ASKED)
            lock_move(lock, LOCK_OVER);
        break;
    case LOCK_HELD:
        if (lock->hold == REDLOCK_LEASE)
            break;
        lock_give(lock, now_ms + core->timeout_ms);
        break;
    case LOCK_DETACHED: lock_give(lock, now_ms + core->timeout_ms); break;
    case LOCK_RESUMING: give_back(lock); break;
    case LOCK_LOST: break;
    case LOCK_GIVING:
    case LOCK_OVER: return; /* the lock is freed after its event */
    }
    lock_let_go(lock);
}

void core_cancel(struct core *core, int64_t now_ms, struct redlock_lock *lock)
{
    struct ask *ask = &lock->own;

    if (lock->state != LOCK_ASKED || ask->cancelled)
        return;
    if (ask->state == ASK_QUEUED) {
        ask_idle(core, ask);
        lock_taken(lock, REDLOCK_CANCELLED, "cancelled before it was asked");
        return;
    }
    ask->cancelled = ask->cancel = true;
    core->cancels++;
    core->fresh = true;
    ask->give_up_ms = earlier_ms(ask->give_up_ms, now_ms + core->timeout_ms);
    core_wants_at(core, ask->give_up_ms);
}

/* ---- EXTEND, CHECK, downgrade, DATA, SHOW ---- */

static struct ask *ask_new(struct core *core, enum ask_verb verb, struct redlock_lock *lock,
                           enum redlock_error *error)
{
    struct ask *ask = calloc(1, sizeof *ask);

    if (!ask) {
        *error = REDLOCK_NOMEM;
        return NULL;
    }
    if (!slot_take(core, ask, error)) {
        free(ask);
        return NULL;
    }
    ask->verb = verb;
    ask->lock = lock;
    if (lock)
        lock->asks++;
    ask->retry_ms = -1;
    ask->id = ++core->last_id;
    return ask;
}

static uint64_t request_downgrade(struct core *core, int64_t now_ms, struct ask *ask,
                                  enum redlock_error *error)
{
    struct redlock_lock *lock = ask->lock;

    if (lock->state == LOCK_LOST) {
        ask_done(core, ask, REDLOCK_LOST, "the lock was lost before");
    } else if (lock->shared) {
        ask_done(core, ask, REDLOCK_OK, "");
    } else if (downgrade_begin(lock, error)) {
        ask_queue(core, ask, now_ms + core->timeout_ms);
    } else {
        ask_free(core, ask);
        return 0;
    }
    return ask->id;
}

/* A request about a lock that is held, or was. */
static struct ask *ask_of_lock(struct core *core, struct redlock_lock *lock, enum ask_verb verb,
                               enum redlock_error *error)
{
    if (lock->state != LOCK_ASKED && lock->state != LOCK_GIVING && lock->state != LOCK_OVER &&
        !lock->give_back)
        return ask_new(core, verb, lock, error);
    *error = REDLOCK_ARGUMENT;
    return NULL;
}

static uint64_t request_begin(struct core *core, int64_t now_ms, struct ask *ask)
{
    if (ask->lock->state == LOCK_LOST)
        ask_done(core, ask, REDLOCK_LOST, "the lock was lost before");
    else
        ask_queue(core, ask, now_ms + core->timeout_ms);
    return ask->id;
}

uint64_t core_ask(struct core *core, int64_t now_ms, struct redlock_lock *lock, enum ask_verb verb,
                  int64_t ttl_ms, enum redlock_error *error)
{
    if (verb == ASK_UNLOCK)
        return request_unlock(core, now_ms, lock, error);
    struct ask *ask = ask_of_lock(core, lock, verb, error);
    if (!ask)
        return 0;
    if (verb == ASK_DOWNGRADE)
        return request_downgrade(core, now_ms, ask, error);
    ask->ttl_ms = ttl_ms > 0 ? ttl_ms : lock->ttl_ms;
    return request_begin(core, now_ms, ask);
}

uint64_t core_tell(struct core *core, int64_t now_ms, struct redlock_lock *lock, const char *data,
                   enum redlock_error *error)
{
    char *copy = strdup(data);
    struct ask *ask = copy ? ask_of_lock(core, lock, ASK_DATA, error) : NULL;

    if (!copy)
        *error = REDLOCK_NOMEM;
    if (!ask) {
        free(copy);
        return 0;
    }
    ask->name = copy;
    return request_begin(core, now_ms, ask);
}

uint64_t core_ping(struct core *core, int64_t now_ms, enum redlock_error *error)
{
    struct ask *ask = ask_new(core, ASK_PING, NULL, error);

    if (!ask)
        return 0;
    ask_queue(core, ask, now_ms + core->timeout_ms);
    return ask->id;
}

uint64_t core_who(struct core *core, int64_t now_ms, enum ask_verb verb, const char *name, int slot,
                  enum redlock_error *error)
{
    char *copy = strdup(name);
    struct ask *ask = copy ? ask_new(core, verb, NULL, error) : NULL;

    if (!copy)
        *error = REDLOCK_NOMEM;
    if (!ask) {
        free(copy);
        return 0;
    }
    ask->name = copy;
    ask->broken_slot = slot;
    ask_queue(core, ask, now_ms + core->timeout_ms);
    return ask->id;
}

uint64_t core_show(struct core *core, int64_t now_ms, const char *what, enum redlock_error *error)
{
    struct ask *ask = ask_new(core, ASK_SHOW, NULL, error);

    if (!ask)
        return 0;
    ask->what = what;
    ask_queue(core, ask, now_ms + core->timeout_ms);
    return ask->id;
}
