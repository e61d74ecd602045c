/* The core's life, and facts about the connection that the other files need. */
#include "client/lib/core.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"

struct core *core_new(const char *client, int64_t timeout_ms, uint64_t seed)
{
    struct core *core = calloc(1, sizeof *core);

    if (!core)
        return NULL;
    if (!buckets_new(core)) {
        free(core);
        return NULL;
    }
    core->random = seed;
    core->timeout_ms = timeout_ms;
    core->next_ms = core->shortest_ms = INT64_MAX;
    if (client)
        (void)snprintf(core->client, sizeof core->client, "%s", client);
    TAILQ_INIT(&core->queued);
    TAILQ_INIT(&core->sent);
    TAILQ_INIT(&core->done);
    TAILQ_INIT(&core->locks);
    TAILQ_INIT(&core->news);
    TAILQ_INIT(&core->watches);
    return core;
}

void core_free(struct core *core)
{
    if (!core)
        return;
    for (uint32_t i = 0; i < core->slots_size; i++)
        if (core->slots[i] && !ask_is_own(core->slots[i])) {
            free(core->slots[i]->name);
            free(core->slots[i]);
        }
    watches_free(core);
    struct redlock_lock *lock;
    while ((lock = TAILQ_FIRST(&core->locks))) {
        TAILQ_REMOVE(&core->locks, lock, link);
        free(lock->told);
        free(lock);
    }
    free(core->slots);
    free(core->buckets);
    explicit_bzero(core->secret, sizeof core->secret);
    free(core);
}

void core_quit(struct core *core)
{
    struct redlock_lock *lock;

    TAILQ_FOREACH(lock, &core->locks, link)
    {
        if (lock->state == LOCK_HELD || lock->state == LOCK_DETACHED || lock->state == LOCK_RESUMING)
            lock_move(lock, LOCK_LOST);
        else if (lock->state == LOCK_ASKED || lock->state == LOCK_GIVING)
            lock_move(lock, LOCK_OVER);
    }
}

/* splitmix64, of Steele, Lea and Flood (OOPSLA 2014). It need not be a good generator: its numbers only keep
 * clients that were disconnected together from coming back together. */
int64_t core_jitter_ms(struct core *core, int64_t span_ms)
{
    uint64_t z = core->random += 0x9e3779b97f4a7c15u;

    assert(span_ms > 0);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (int64_t)((z ^ z >> 31) % (uint64_t)span_ms);
}

/* ---- the connection ---- */

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
    case REPLY_BADVERB: /* redlockd is older than the request */
    case REPLY_UNSUPPORTED: return REDLOCK_UNSUPPORTED;
    default: return REDLOCK_BADREQUEST;
    }
}

enum redlock_error core_why(const struct core *core)
{
    if (core->state == CORE_UP)
        return REDLOCK_NOANSWER;
    return core->why_error ? core->why_error : REDLOCK_CONNECT;
}

const char *core_why_text(const struct core *core)
{
    if (core->state == CORE_UP)
        return "no answer in time";
    return core->why_error ? core->why : "no connection in time";
}

void core_break(struct core *core, enum redlock_error error, const char *why)
{
    if (core->action != ACTION_NOTHING)
        return;
    core->action = core->state == CORE_UP && core->sessions > 0 ? ACTION_PARK : ACTION_CLOSE;
    core->why_error = error;
    (void)snprintf(core->why, sizeof core->why, "%s", why);
}

void core_confused(struct core *core)
{
    core_break(core, REDLOCK_PROTOCOL, "redlockd gave an answer that does not fit the request");
}

bool core_is_listening(const struct core *core)
{
    return (core->state == CORE_GREETING || core->state == CORE_UP) && core->action == ACTION_NOTHING;
}

bool core_has_line(const struct core *core)
{
    return core_is_listening(core) &&
           memchr(core->in + core->in_used, '\n', core->in_len - core->in_used) != NULL;
}
