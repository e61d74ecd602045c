/* Downgrades: a lock that the program has alone becomes a reader's.
 *
 *     exclusive --core_ask()--> downgrading --+LOCKED, or RESUME with mode=shared--> shared
 *         ^                      |  |   ^
 *         +--refused, and the----+  +---+ NOQUORUM, or a new connection whose redlockd
 *            program knew nothing         does not know it: asked again
 *
 * The program is a reader from the moment on when it asks. Once a request of the program has ended without a clear
 * answer, it stays one, so the library goes on asking until redlockd knows that, too.
 *
 * The LOCK of the downgrade is a request of the lock, as its UNLOCK is, and not of the program: the answer brings the
 * new token, and has to be read however late it comes. The program's requests wait in core->queued for what that LOCK,
 * or the RESUME of the next connection, is answered. */
#include "client/lib/core_private.h"

bool downgrade_begin(struct redlock_lock *lock, enum redlock_error *error)
{
    struct ask *ask = &lock->downgrade;

    if (!ask->lock) {
        if (!slot_take(lock->core, ask, error))
            return false;
        ask->lock = lock;
        ask->verb = ASK_DOWNGRADE;
        ask->give_up_ms = INT64_MAX;
    }
    lock->downgrading = true;
    if (lock->state == LOCK_HELD)
        lock->retry_at_ms = 0;
    lock->core->fresh = true;
    return true;
}

bool downgrade_is_due(const struct redlock_lock *lock, int64_t now_ms)
{
    return lock->downgrading && lock->state == LOCK_HELD && lock->downgrade.state == ASK_IDLE &&
           lock->downgrade.not_on != lock->core->connection && lock->retry_at_ms <= now_ms;
}

/* Ends the program's requests. */
static void downgrade_tell(struct redlock_lock *lock, enum redlock_error error, const char *text,
                           int64_t retry_ms)
{
    struct core *core = lock->core;
    struct ask *next;

    for (struct ask *ask = TAILQ_FIRST(&core->queued); ask; ask = next) {
        next = TAILQ_NEXT(ask, link);
        if (ask->lock != lock || ask->verb != ASK_DOWNGRADE)
            continue;
        ask->retry_ms = retry_ms;
        ask_done(core, ask, error, text);
    }
}

static void downgrade_over(struct redlock_lock *lock)
{
    lock->shared = true;
    lock->downgrading = false;
    downgrade_tell(lock, REDLOCK_OK, "", -1);
}

void downgrade_resumed(struct redlock_lock *lock)
{
    lock->retry_at_ms = 0;
    if (lock->downgrading && lock->shared)
        downgrade_over(lock);
}

void downgrade_granted(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    bool listed = lock->listed;

    ask_idle(lock->core, &lock->downgrade);
    lock_retoken(lock, answer);
    if (listed)
        bucket_add(lock->core, lock);
    if (lock->state == LOCK_HELD)
        lock_until(lock, answer->until_ms, now_ms);
    if (lock->state != LOCK_LOST) /* else the requests end as the lock did */
        downgrade_over(lock);
}

void downgrade_refused(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    struct core *core = lock->core;
    bool undone = false;

    ask_idle(core, &lock->downgrade);
    if (lock->state != LOCK_HELD)
        return; /* what becomes of the lock decides */
    switch (answer->refusal) {
    case REPLY_NOTHELD: lock_lost(lock, "gone"); break;
    case REPLY_DRAINING: lock->downgrade.not_on = core->connection; /* fall through */
    case REPLY_NOQUORUM:
    case REPLY_CANCELLED: break;
    default: undone = !lock->told_shared;
    }
    downgrade_tell(lock, core_error_of(answer->refusal), answer->rest.text, answer->retry_ms);
    if (undone)
        lock->downgrading = lock->told_shared = false;
    lock->retry_at_ms = now_ms + BACKOFF_MOST_MS / 2 + core_jitter_ms(core, BACKOFF_MOST_MS / 2);
    core_wants_at(core, lock->retry_at_ms);
}
