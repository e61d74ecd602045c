/* Names that are watched, for the program: redlock_watch() and the others. */
#include <string.h>

#include "client/lib/handle.h"

struct redlock_watch *redlock_watch_begin(struct redlock *redlock, const char *name)
{
    enum redlock_error error = REDLOCK_OK;

    if (handle_usable(redlock, false))
        return NULL;
    if (!name || !piece_is_word((struct piece){name, strnlen(name, NAME_BYTES + 1)}, NAME_BYTES)) {
        (void)handle_says(
            redlock, REDLOCK_ARGUMENT,
            "a name has 1 to 200 visible characters except , \" = and no # or : first; one name "
            "is watched at a time");
        return NULL;
    }
    struct redlock_watch *watch = core_watch(redlock->core, handle_now_ms(), name, &error);
    if (watch)
        watch->owner = redlock;
    else if (error == REDLOCK_LIMIT)
        (void)handle_says(redlock, error, "too many names are watched by one handle");
    else
        handle_refused(redlock, error);
    return watch;
}

struct redlock_watch *redlock_watch(struct redlock *redlock, const char *name)
{
    if (handle_usable(redlock, true))
        return NULL;
    struct awaited awaited = {.watch = redlock_watch_begin(redlock, name)};
    if (!awaited.watch)
        return NULL;
    enum redlock_error error = handle_await(redlock, &awaited);
    if (!error) {
        (void)handle_says(redlock, REDLOCK_OK, "");
        awaited.watch->fresh = false;
        return awaited.watch;
    }
    if (error != REDLOCK_CANCELLED) /* the handle may be freed, and the watch with it */
        core_unwatch(redlock->core, awaited.watch);
    return NULL;
}

/* Whether a callback has freed the watch, or closed the handle. */
static bool is_gone(const struct redlock *redlock, const struct redlock_watch *watch)
{
    const struct redlock_watch *known = NULL;

    if (redlock->ending)
        return true;
    if (!redlock->callback)
        return false;
    TAILQ_FOREACH(known, &redlock->core->watches, link)
    if (known == watch && !known->orphan)
        return false;
    return true;
}

/* Whether there is something to tell: a state, or why there is none. */
static bool next_is_known(struct redlock *redlock, struct redlock_watch *watch, bool late,
                          enum redlock_error *error)
{
    if (watch->error)
        *error =
            handle_says(redlock, watch->error, "the watch has ended: it was refused on a new connection");
    else if (watch->fresh)
        *error = handle_says(redlock, REDLOCK_OK, "");
    else if (late)
        *error = handle_says(redlock, REDLOCK_TIMEOUT, "the state has not changed in that time");
    else
        return false;
    watch->fresh = false;
    return true;
}

enum redlock_error redlock_watch_next(struct redlock_watch *watch, int64_t wait_ms)
{
    if (!watch)
        return REDLOCK_ARGUMENT;
    struct redlock *redlock = watch->owner;
    enum redlock_error error = handle_usable(redlock, true);
    if (error)
        return error;
    if (wait_ms < REDLOCK_WAIT_LONGEST || wait_ms > DURATION_MAX_MS)
        return handle_says(redlock, REDLOCK_ARGUMENT, "wait_ms is 0 to 30 days, or REDLOCK_WAIT_LONGEST");
    int64_t end_ms = wait_ms < 0 ? INT64_MAX : handle_now_ms() + wait_ms;
    handle_enter(redlock);
    for (;;) {
        handle_turn(redlock);
        int64_t now_ms = handle_now_ms();
        if (is_gone(redlock, watch)) {
            error = handle_says(redlock, REDLOCK_CANCELLED, "the watch was ended in a callback");
            break;
        }
        if (next_is_known(redlock, watch, now_ms >= end_ms, &error))
            break;
        handle_sleep(redlock, end_ms - now_ms);
    }
    handle_leave(redlock);
    return error;
}

const struct redlock_now *redlock_now(const struct redlock_watch *watch)
{
    static const struct redlock_now nothing;

    return watch ? &watch->now : &nothing;
}

const char *redlock_watch_name(const struct redlock_watch *watch)
{
    return watch ? watch->name : "";
}

void redlock_unwatch(struct redlock_watch *watch)
{
    if (watch && !handle_usable(watch->owner, false))
        core_unwatch(watch->owner->core, watch);
}
