/* Locks: their states, their deadlines and their end. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/lib/core_private.h"

/* ---- its time ---- */

static void believe(struct redlock_lock *lock, int64_t deadline_ms)
{
    struct core *core = lock->core;
    bool was = atomic_load(&lock->deadline_ms) > 0;

    if (!was && deadline_ms > 0)
        core->believed++;
    else if (was && deadline_ms == 0)
        core->believed--;
    atomic_store(&lock->deadline_ms, deadline_ms);
}

void lock_disbelieve(struct redlock_lock *lock)
{
    believe(lock, 0);
}

/* The deadline on our clock. However wrong the server is, no deadline is further away than the longest
 * duration of the protocol. */
static int64_t deadline_of(const struct redlock_lock *lock, const struct sample *sample, int64_t now_ms)
{
    int64_t deadline_ms = sample_deadline_ms(sample, lock->until_ms);

    if (deadline_ms < 1)
        return 1;
    return earlier_ms(deadline_ms, now_ms + DURATION_MAX_MS);
}

static void become_earlier(struct redlock_lock *lock, int64_t by_ms)
{
    int64_t deadline_ms = atomic_load(&lock->deadline_ms);

    if (by_ms <= 0)
        return;
    believe(lock, deadline_ms > by_ms ? deadline_ms - by_ms : 1);
    lock->warn_ms -= by_ms;
    core_wants_at(lock->core, lock->warn_ms); /* warn_ms is before the deadline */
}

void lock_recount(struct redlock_lock *lock, const struct sample *sample, int64_t now_ms)
{
    become_earlier(lock, atomic_load(&lock->deadline_ms) - deadline_of(lock, sample, now_ms));
}

void lock_shift(struct redlock_lock *lock, int64_t ms)
{
    lock->until_ms -= ms;
    become_earlier(lock, ms);
}

void lock_until(struct redlock_lock *lock, int64_t until_ms, int64_t now_ms)
{
    struct core *core = lock->core;
    int64_t before_ms = atomic_load(&lock->deadline_ms);
    bool longer = before_ms == 0 || lock->until_of != core->daemon || until_ms > lock->until_ms;

    lock->until_ms = until_ms;
    lock->until_of = core->daemon;
    int64_t deadline_ms = deadline_of(lock, &core->sample, now_ms);
    if (!longer) /* a better sample of the clock is no renewal */
        deadline_ms = earlier_ms(deadline_ms, before_ms);
    lock->span_ms = deadline_ms > now_ms ? deadline_ms - now_ms : 0;
    lock->warn_ms = deadline_ms - lock->span_ms / 3;
    lock->warned = false;
    believe(lock, deadline_ms);
    core_wants_at(core, lock->warn_ms);
    if (lock->hold == REDLOCK_SESSION)
        core->shortest_ms = earlier_ms(core->shortest_ms, lock->span_ms);
}

/* ---- states ---- */

static bool move_is_legal(enum lock_state from, enum lock_state to)
{
    static const unsigned legal[] = {
        [LOCK_ASKED] = 1u << LOCK_HELD | 1u << LOCK_OVER,
        [LOCK_HELD] = 1u << LOCK_DETACHED | 1u << LOCK_GIVING | 1u << LOCK_LOST | 1u << LOCK_OVER,
        [LOCK_DETACHED] = 1u << LOCK_RESUMING | 1u << LOCK_GIVING | 1u << LOCK_LOST,
        [LOCK_RESUMING] = 1u << LOCK_HELD | 1u << LOCK_DETACHED | 1u << LOCK_GIVING | 1u << LOCK_LOST,
        [LOCK_GIVING] = 1u << LOCK_OVER,
        [LOCK_LOST] = 1u << LOCK_OVER,
        [LOCK_OVER] = 0,
    };

    return legal[from] >> to & 1;
}

void lock_move(struct redlock_lock *lock, enum lock_state to)
{
    assert(move_is_legal(lock->state, to));
    lock->state = to;
    if (to == LOCK_GIVING || to == LOCK_LOST || to == LOCK_OVER) {
        bucket_remove(lock->core, lock);
        lock_disbelieve(lock);
    }
    lock->core->fresh = true;
}

void lock_news(struct redlock_lock *lock, enum news news)
{
    if (lock->orphan)
        return;
    if (!lock->news)
        TAILQ_INSERT_TAIL(&lock->core->news, lock, news_link);
    lock->news |= news;
}

static void lock_quiet(struct redlock_lock *lock)
{
    if (lock->news)
        TAILQ_REMOVE(&lock->core->news, lock, news_link);
    lock->news = 0;
}

/* ---- its grant ---- */

void lock_retoken(struct redlock_lock *lock, const struct answer *answer)
{
    bucket_remove(lock->core, lock);
    lock->token = answer->token;
    for (size_t i = 0; i < TOKEN_BYTES; i++)
        (void)snprintf(lock->token_text + 2 * i, 3, "%02x", answer->token.bytes[i]);
}

void lock_granted(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    bool resumed = lock->state == LOCK_RESUMING;

    lock_retoken(lock, answer);
    atomic_store(&lock->fence, answer->fence);
    if (!resumed && lock->max_ms > 0)
        lock->max_until_ms = now_ms + lock->max_ms;
    lock_move(lock, LOCK_HELD);
    lock_until(lock, answer->until_ms, now_ms);
    lock->bound = lock->core->connection;
    lock->core->hello_soon = true;
    if (lock->hold == REDLOCK_SESSION)
        bucket_add(lock->core, lock);
    if (resumed)
        lock_news(lock, NEWS_RESUMED);
    else
        lock_taken(lock, REDLOCK_OK, "");
}

/* ---- its end ---- */

void lock_lost(struct redlock_lock *lock, const char *why)
{
    lock_move(lock, LOCK_LOST);
    if (lock->asks > 0)
        core_wants_at(lock->core, 0); /* the requests end with the lock */
    lock->text = why;
    lock_news(lock, NEWS_LOST);
}

/* Nothing was known of the token, and now redlockd says that nobody holds the lock by it. The answer to
 * the request tells that to the program, so no event does. */
void lock_vanish(struct redlock_lock *lock)
{
    lock_move(lock, LOCK_LOST);
    lock->text = "gone";
}

void lock_give(struct redlock_lock *lock, int64_t give_up_ms)
{
    if (lock->state != LOCK_LOST && lock->state != LOCK_OVER)
        lock_move(lock, LOCK_GIVING);
    lock->own.verb = ASK_UNLOCK;
    ask_queue(lock->core, &lock->own, give_up_ms);
}

void lock_taken(struct redlock_lock *lock, enum redlock_error error, const char *text)
{
    lock->result = error;
    lock->text = text;
    lock->result_retry_ms = -1;
    if (error)
        lock_move(lock, LOCK_OVER);
    lock_news(lock, NEWS_TAKEN);
}

void lock_given(struct redlock_lock *lock, enum redlock_error error, const char *text)
{
    lock_move(lock, LOCK_OVER);
    lock->result = error;
    lock->text = text;
    lock->result_retry_ms = -1;
    lock_news(lock, NEWS_GIVEN);
    if (lock->orphan && lock->own.state == ASK_IDLE)
        lock_free(lock);
}

void lock_free(struct redlock_lock *lock)
{
    struct core *core = lock->core;

    assert(lock->orphan && lock->asks == 0);
    lock_quiet(lock);
    lock_disbelieve(lock);
    bucket_remove(core, lock);
    ask_idle(core, &lock->own);
    slot_leave(core, &lock->own);
    if (lock->downgrade.lock) {
        ask_idle(core, &lock->downgrade);
        slot_leave(core, &lock->downgrade);
    }
    TAILQ_REMOVE(&core->locks, lock, link);
    core->locks_count--;
    if (core->told_lock == lock)
        core->told_lock = NULL;
    free(lock->told);
    free(lock);
}

void lock_let_go(struct redlock_lock *lock)
{
    ask_let_go(lock->core, lock);
    lock_quiet(lock);
    lock->orphan = true;
    if (lock->own.state == ASK_IDLE)
        lock_free(lock);
}

/* ---- time and connection ---- */

void lock_unreachable(struct redlock_lock *lock)
{
    struct core *core = lock->core;

    ask_idle(core, &lock->own);
    if (lock->state == LOCK_ASKED)
        lock_taken(lock, core_why(core), core_why_text(core));
    else if (lock->state == LOCK_GIVING)
        lock_given(lock, core_why(core), core_why_text(core));
}

/* The lock's own request had no answer in time. A LOCK or RESUME that was sent stays under way, so that a
 * late grant is seen and given back. */
static void no_answer(struct redlock_lock *lock)
{
    struct core *core = lock->core;
    struct ask *ask = &lock->own;
    enum redlock_error error = core_why(core);

    ask->give_up_ms = INT64_MAX;
    if (ask->state == ASK_QUEUED || ask->verb == ASK_UNLOCK)
        ask_idle(core, ask);
    if (lock->state == LOCK_ASKED) {
        if (ask->state == ASK_SENT && !ask->cancel) {
            ask->cancel = true;
            core->cancels++;
        }
        lock_taken(lock, error, core_why_text(core));
        return;
    }
    if (lock->state == LOCK_RESUMING)
        lock_move(lock, LOCK_GIVING);
    if (lock->state == LOCK_GIVING)
        lock_given(lock, error, core_why_text(core));
    else if (lock->orphan && ask->state == ASK_IDLE)
        lock_free(lock);
}

/* The lock is over by our clock. redlockd may just have renewed or extended a session lock, and must then
 * let go of it too. */
void lock_expire(struct redlock_lock *lock, int64_t now_ms)
{
    bool there = lock->state == LOCK_HELD && lock->hold == REDLOCK_SESSION;

    lock_lost(lock, "expired");
    lock->loss = "expired";
    if (there)
        lock_give(lock, now_ms + lock->core->timeout_ms);
}

bool lock_is_over(const struct redlock_lock *lock, int64_t now_ms)
{
    int64_t deadline_ms = atomic_load(&lock->deadline_ms);

    return deadline_ms > 0 && deadline_ms <= now_ms;
}

static bool has_time(const struct redlock_lock *lock)
{
    return (lock->state == LOCK_HELD || lock->state == LOCK_DETACHED || lock->state == LOCK_RESUMING) &&
           atomic_load(&lock->deadline_ms) > 0;
}

/* Whether the lock itself has something to ask: RESUME, or its downgrade. */
static bool has_to_ask(const struct redlock_lock *lock)
{
    return lock->state == LOCK_DETACHED ||
           (lock->state == LOCK_HELD && lock->downgrading && lock->downgrade.state == ASK_IDLE);
}

void lock_tick(struct redlock_lock *lock, int64_t now_ms)
{
    struct core *core = lock->core;

    if (lock->own.state != ASK_IDLE && lock->own.give_up_ms <= now_ms) {
        core_wants_at(core, now_ms); /* the next tick looks at the deadline, if the lock is still there */
        no_answer(lock);
        return;
    }
    if (lock->own.state != ASK_IDLE)
        core_wants_at(core, lock->own.give_up_ms);
    if (!has_time(lock))
        return;
    bool listening = core->state == CORE_UP && lock->state == LOCK_HELD && lock->hold == REDLOCK_SESSION;
    int64_t end_ms = atomic_load(&lock->deadline_ms) + (listening ? LOST_GRACE_MS : 0);
    if (end_ms <= now_ms) {
        lock_expire(lock, now_ms);
        return;
    }
    core_wants_at(core, end_ms);
    if (has_to_ask(lock) && lock->retry_at_ms > now_ms)
        core_wants_at(core, lock->retry_at_ms);
    else if (has_to_ask(lock))
        core->fresh = true;
    if (lock->warned)
        return;
    if (lock->warn_ms > now_ms) {
        core_wants_at(core, lock->warn_ms);
        return;
    }
    lock->warned = true;
    lock_news(lock, NEWS_EXPIRING);
}

void lock_unanswered(struct redlock_lock *lock, int64_t now_ms)
{
    struct core *core = lock->core;
    struct ask *ask = &lock->own;

    lock->unsure |= ask->verb == ASK_UNLOCK || lock->give_back;
    if (ask->verb == ASK_UNLOCK || (lock->state == LOCK_ASKED && !ask->cancelled)) {
        ask_requeue(core, ask);
        return;
    }
    ask_idle(core, ask);
    if (lock->state == LOCK_ASKED) {
        lock_taken(lock, REDLOCK_CANCELLED, "cancelled while the connection was gone");
        return;
    }
    if (lock->state == LOCK_RESUMING)
        lock_move(lock, LOCK_DETACHED);
    if (lock->give_back)
        lock_give(lock, now_ms + core->timeout_ms);
    else if (lock->orphan)
        lock_free(lock);
}

void lock_detach(struct redlock_lock *lock)
{
    lock_move(lock, LOCK_DETACHED);
    lock->retry_at_ms = lock->notheld_ms = 0;
}
