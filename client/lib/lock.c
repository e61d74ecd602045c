/* Requests that do not block, and what a lock object knows. */
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "client/lib/handle.h"

/* ---- what a program may give ---- */

static bool lock_is_name(const char *name)
{
    return name && piece_is_word((struct piece){name, strnlen(name, NAME_BYTES + 1)}, NAME_BYTES);
}

static bool is_token(const char *text)
{
    struct token token;

    return text && piece_token((struct piece){text, strnlen(text, TOKEN_HEX + 1)}, &token);
}

static bool is_data(const char *data)
{
    return data && piece_is_data((struct piece){data, strnlen(data, DATA_BYTES + 1)});
}

static bool is_span(int64_t ms)
{
    return ms >= 0 && ms <= DURATION_MAX_MS;
}

/* Several names, with commas between. */
static bool is_names(const char *text)
{
    size_t len = text ? strnlen(text, REDLOCK_NAMES_BYTES + 1) : 0, names = 1;

    for (size_t i = 0; i < len; i++)
        names += text[i] == ',';
    return len <= REDLOCK_NAMES_BYTES && names <= REDLOCK_NAMES_MAX &&
           piece_is_names((struct piece){text, len});
}

static bool is_lockable(const char *name)
{
    return lock_is_name(name) || is_names(name);
}

static const char *wrong_with(const char *name, const struct redlock_lock_options *options)
{
    if (!is_lockable(name))
        return "a name has 1 to 200 visible characters except , \" = and no # or : first; several names with "
               "commas "
               "between are at most 16, and 800 bytes in all";
    if (!handle_is_unused(options->reserved, sizeof options->reserved / sizeof options->reserved[0]))
        return "reserved is 0: the options are not initialized, or of a newer libredlock";
    if (!is_span(options->ttl_ms) || !is_span(options->max_ms))
        return "ttl_ms and max_ms are 0 to 30 days";
    if (options->wait_ms != REDLOCK_WAIT_LONGEST && !is_span(options->wait_ms))
        return "wait_ms is 0 to 30 days, or REDLOCK_WAIT_LONGEST";
    if (options->hold != REDLOCK_SESSION && options->hold != REDLOCK_LEASE)
        return "hold is REDLOCK_SESSION or REDLOCK_LEASE";
    if ((options->mode != REDLOCK_EXCLUSIVE && options->mode != REDLOCK_SHARED) ||
        (options->slots && options->mode == REDLOCK_SHARED))
        return "mode is REDLOCK_EXCLUSIVE or, without slots, REDLOCK_SHARED";
    if (options->slots > REDLOCK_SLOTS_MAX)
        return "slots is 1 to 1024, or 0 for none";
    if ((options->slots || options->mode == REDLOCK_SHARED) && strchr(name, ','))
        return "several names are locked exclusively: neither mode nor slots go with them";
    if (options->note &&
        !piece_is_word((struct piece){options->note, strnlen(options->note, WORD_BYTES + 1)}, WORD_BYTES))
        return "a note has 1 to 64 visible characters except , \" = and no # or : first";
    if (options->data && !is_data(options->data))
        return "data has 1 to 256 visible characters except \"";
    if (options->data && (options->slots || options->mode == REDLOCK_SHARED ||
                          options->hold == REDLOCK_LEASE || strchr(name, ',')))
        return "data goes with one exclusive session lock: neither with several names nor with mode, slots "
               "or "
               "REDLOCK_LEASE";
    return NULL;
}

void handle_refused(struct redlock *redlock, enum redlock_error error)
{
    if (error == REDLOCK_NOMEM)
        (void)handle_says(redlock, error, "out of memory");
    else if (error == REDLOCK_LIMIT)
        (void)handle_says(redlock, error, "too many locks or requests on one handle");
    else
        (void)handle_says(redlock, error, "the lock is not held: it is waited for, or being given back");
}

/* ---- requests ---- */

static struct redlock_lock *lock_begin(struct redlock *redlock, const char *name, const char *token,
                                       const struct redlock_lock_options *options)
{
    static const struct redlock_lock_options defaults;
    const struct redlock_lock_options *o = options ? options : &defaults;
    enum redlock_error error = REDLOCK_OK;

    if (handle_usable(redlock, false))
        return NULL;
    const char *wrong = wrong_with(name, o);
    if (wrong) {
        (void)handle_says(redlock, REDLOCK_ARGUMENT, wrong);
        return NULL;
    }
    struct redlock_lock *lock = core_lock(redlock->core, handle_now_ms(), name, token, o, &error);
    if (lock)
        lock->owner = redlock;
    else
        handle_refused(redlock, error);
    return lock;
}

struct redlock_lock *redlock_lock_begin(struct redlock *redlock, const char *name,
                                        const struct redlock_lock_options *options)
{
    return lock_begin(redlock, name, NULL, options);
}

static bool wants_token(struct redlock *redlock, const char *token)
{
    if (handle_usable(redlock, false))
        return false;
    if (is_token(token))
        return true;
    (void)handle_says(redlock, REDLOCK_ARGUMENT, "a token is 40 hex digits");
    return false;
}

struct redlock_lock *redlock_resume_begin(struct redlock *redlock, const char *name, const char *token,
                                          const struct redlock_lock_options *options)
{
    return wants_token(redlock, token) ? lock_begin(redlock, name, token, options) : NULL;
}

struct redlock_lock *redlock_attach(struct redlock *redlock, const char *name, const char *token)
{
    enum redlock_error error = REDLOCK_OK;

    if (!wants_token(redlock, token))
        return NULL;
    if (!is_lockable(name)) {
        (void)handle_says(redlock, REDLOCK_ARGUMENT, "that is not a name");
        return NULL;
    }
    struct redlock_lock *lock = core_attach(redlock->core, name, token, &error);
    if (lock)
        lock->owner = redlock;
    else
        handle_refused(redlock, error);
    return lock;
}

static uint64_t lock_ask(struct redlock_lock *lock, enum ask_verb verb, int64_t ttl_ms)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = REDLOCK_OK;

    if (handle_usable(redlock, false))
        return 0;
    if (!is_span(ttl_ms)) {
        (void)handle_says(redlock, REDLOCK_ARGUMENT, "ttl_ms is 0 to 30 days");
        return 0;
    }
    uint64_t request = core_ask(redlock->core, handle_now_ms(), lock, verb, ttl_ms, &error);
    if (!request)
        handle_refused(redlock, error);
    return request;
}

uint64_t redlock_unlock_begin(struct redlock_lock *lock)
{
    return lock_ask(lock, ASK_UNLOCK, 0);
}

uint64_t redlock_unlock_keep_begin(struct redlock_lock *lock, int64_t keep_ms)
{
    struct redlock *redlock = redlock_of(lock);

    if (handle_usable(redlock, false))
        return 0;
    if (keep_ms < 1 || !is_span(keep_ms)) {
        (void)handle_says(redlock, REDLOCK_ARGUMENT, "keep_ms is 1 to 30 days");
        return 0;
    }
    int64_t before_ms = lock->keep_ms; /* of an UNLOCK that is under way */
    lock->keep_ms = keep_ms;
    uint64_t request = lock_ask(lock, ASK_UNLOCK, 0);
    if (!request)
        lock->keep_ms = before_ms;
    return request;
}

uint64_t redlock_extend_begin(struct redlock_lock *lock, int64_t ttl_ms)
{
    return lock_ask(lock, ASK_EXTEND, ttl_ms);
}

uint64_t redlock_check_begin(struct redlock_lock *lock)
{
    return lock_ask(lock, ASK_CHECK, 0);
}

uint64_t redlock_tell_begin(struct redlock_lock *lock, const char *data)
{
    struct redlock *redlock = redlock_of(lock);
    enum redlock_error error = REDLOCK_OK;

    if (handle_usable(redlock, false))
        return 0;
    if (!is_data(data)) {
        (void)handle_says(redlock, REDLOCK_ARGUMENT, "data has 1 to 256 visible characters except \"");
        return 0;
    }
    uint64_t request = core_tell(redlock->core, handle_now_ms(), lock, data, &error);
    if (!request)
        handle_refused(redlock, error);
    return request;
}

/* Whether a lock of this kind can become a reader's. */
static bool lock_may_be_shared(const struct redlock_lock *lock)
{
    return lock->hold == REDLOCK_SESSION && !lock->slots && lock->place < 0 && !strchr(lock->name, ',');
}

uint64_t redlock_downgrade_begin(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);

    if (handle_usable(redlock, false))
        return 0;
    if (lock_may_be_shared(lock))
        return lock_ask(lock, ASK_DOWNGRADE, 0);
    (void)handle_says(redlock, REDLOCK_ARGUMENT,
                      "only a session lock of one name, without slots, becomes a reader's");
    return 0;
}

uint64_t redlock_show_begin(struct redlock *redlock, const char *what)
{
    static const char *const known[] = {"LOCKS", "WAITERS", "CLIENTS", "NODES",  "DAEMONS",
                                        "GROUP", "STATS",   "CONFIG",  "RELOAD", "VERSION"};
    enum redlock_error error = REDLOCK_OK;

    if (handle_usable(redlock, false))
        return 0;
    for (size_t i = 0; what && i < sizeof known / sizeof known[0]; i++) {
        if (strcasecmp(what, known[i]) != 0)
            continue;
        uint64_t request = core_show(redlock->core, handle_now_ms(), known[i], &error);
        if (!request)
            handle_refused(redlock, error);
        return request;
    }
    (void)handle_says(redlock, REDLOCK_ARGUMENT,
                      "what to show is locks, waiters, clients, nodes, daemons, group, stats, config, reload "
                      "or version");
    return 0;
}

uint64_t handle_ask_who(struct redlock *redlock, enum ask_verb verb, const char *name, int slot)
{
    enum redlock_error error = REDLOCK_OK;

    if (handle_usable(redlock, false))
        return 0;
    if (!lock_is_name(name) || slot < -1 || slot >= SLOTS_MAX) {
        (void)handle_says(
            redlock, REDLOCK_ARGUMENT,
            "a name has 1 to 200 visible characters except , \" = and no # or : first; a slot is 0 to "
            "1023, or -1");
        return 0;
    }
    uint64_t request = core_who(redlock->core, handle_now_ms(), verb, name, slot, &error);
    if (!request)
        handle_refused(redlock, error);
    return request;
}

uint64_t redlock_who_begin(struct redlock *redlock, const char *name)
{
    return handle_ask_who(redlock, ASK_WHO, name, -1);
}

void redlock_cancel(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);

    if (!handle_usable(redlock, false))
        core_cancel(redlock->core, handle_now_ms(), lock);
}

void redlock_forget(struct redlock_lock *lock)
{
    struct redlock *redlock = redlock_of(lock);

    if (!handle_usable(redlock, false))
        core_forget(redlock->core, handle_now_ms(), lock);
}

/* ---- what a lock knows ---- */

int64_t redlock_valid_ms(const struct redlock_lock *lock)
{
    if (!lock)
        return 0;
    int64_t deadline_ms = atomic_load(&lock->deadline_ms);
    int64_t now_ms = handle_now_ms();
    return deadline_ms > now_ms ? deadline_ms - now_ms : 0;
}

int64_t redlock_until_ms(const struct redlock_lock *lock)
{
    return lock ? atomic_load(&lock->deadline_ms) : 0;
}

uint64_t redlock_fence(const struct redlock_lock *lock)
{
    return lock ? atomic_load(&lock->fence) : 0;
}

const char *redlock_token(const struct redlock_lock *lock)
{
    return lock ? lock->token_text : "";
}

const char *redlock_name(const struct redlock_lock *lock)
{
    return lock ? lock->name : "";
}

int redlock_slot(const struct redlock_lock *lock)
{
    return lock ? lock->place : -1;
}

enum redlock_mode redlock_mode(const struct redlock_lock *lock)
{
    return lock && !lock->shared && !lock->downgrading ? REDLOCK_EXCLUSIVE : REDLOCK_SHARED;
}

struct redlock *redlock_of(const struct redlock_lock *lock)
{
    return lock ? lock->owner : NULL;
}

enum redlock_state redlock_state(const struct redlock_lock *lock)
{
    if (!lock)
        return REDLOCK_STATE_NONE;
    switch (lock->state) {
    case LOCK_ASKED: return REDLOCK_STATE_WAITING;
    case LOCK_HELD: return REDLOCK_STATE_HELD;
    case LOCK_DETACHED:
    case LOCK_RESUMING: return REDLOCK_STATE_DETACHED;
    case LOCK_GIVING:
    case LOCK_LOST:
    case LOCK_OVER: break;
    }
    return REDLOCK_STATE_LOST;
}

void redlock_set_data(struct redlock_lock *lock, void *data)
{
    if (lock)
        lock->data = data;
}

void *redlock_data(const struct redlock_lock *lock)
{
    return lock ? lock->data : NULL;
}
