/* Answers and events of redlockd, and what each of them changes. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "client/lib/core_private.h"

static const char *text_of(const struct answer *answer)
{
    return answer->rest.text; /* the line's end is the text's end */
}

/* ---- LOCK and RESUME ---- */

static void granted(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    struct core *core = lock->core;

    ask_idle(core, &lock->own);
    if (answer->slot >= 0 && answer->slot < REDLOCK_SLOTS_MAX)
        lock->place = (int)answer->slot;
    lock->shared |= answer->shared;
    /* A RESUME that was answered too late is of no use: another may have had the lock in between. */
    if (lock->state == LOCK_RESUMING && !lock->give_back && lock_is_over(lock, now_ms))
        lock_expire(lock, now_ms);
    if ((lock->state == LOCK_ASKED || lock->state == LOCK_RESUMING) && !lock->give_back) {
        lock_granted(lock, answer, now_ms);
        downgrade_resumed(lock);
        return;
    }
    /* The program does not want the lock any more. */
    lock_retoken(lock, answer);
    lock_give(lock, now_ms + core->timeout_ms);
}

/* The lock was held on another connection. The RESUME is repeated while there is time, unless the refusal is final:
 * -NOTHELD is so after NOTHELD_MS, since other daemons learn of a token a moment later than its client. A redlockd that
 * repeats RESUME by itself says -NOTHELD when that time is over. */
static void not_resumed(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    struct core *core = lock->core;
    enum reply_code code = answer->refusal;

    if (code == REPLY_NOTHELD && !lock->notheld_ms)
        lock->notheld_ms = now_ms;
    bool gone = code == REPLY_NOTHELD && (core->repeats || now_ms - lock->notheld_ms >= NOTHELD_MS);
    if (gone ||
        (code != REPLY_NOTHELD && code != REPLY_NOQUORUM && code != REPLY_LIMIT && code != REPLY_DRAINING)) {
        lock_lost(lock, gone ? "gone" : "refused");
        return;
    }
    if (code == REPLY_DRAINING)
        lock->own.not_on = core->connection;
    lock_move(lock, LOCK_DETACHED);
    lock->retry_at_ms = now_ms + RESUME_AGAIN_MS + core_jitter_ms(core, RESUME_JITTER_MS);
    core_wants_at(core, lock->retry_at_ms);
}

/* When this redlockd shuts down, a wait goes on at the next redlockd. */
static bool can_be_asked_again(const struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    return answer->refusal == REPLY_DRAINING && !lock->own.cancelled && lock->own.verb == ASK_LOCK &&
           lock->own.wait_until_ms > now_ms;
}

static void answer_refused(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    struct core *core = lock->core;

    if (lock->state == LOCK_ASKED && can_be_asked_again(lock, answer, now_ms)) {
        ask_requeue(core, &lock->own);
        lock->own.not_on = core->connection;
        return;
    }
    ask_idle(core, &lock->own);
    if (lock->state == LOCK_ASKED) {
        /* Connecting has used up the wait, so that the LOCK was sent without one. */
        bool waited = answer->refusal == REPLY_BUSY && lock->own.wait_until_ms != 0;
        lock_taken(lock, waited ? REDLOCK_TIMEOUT : core_error_of(answer->refusal), text_of(answer));
        lock->result_retry_ms = answer->retry_ms;
    } else if (lock->give_back && lock->state == LOCK_RESUMING && answer->refusal == REPLY_CANCELLED) {
        lock_give(lock, earlier_ms(lock->own.give_up_ms, now_ms + core->timeout_ms));
    } else if (lock->give_back && lock->state == LOCK_RESUMING) { /* else the UNLOCK was given up before */
        lock_move(lock, LOCK_GIVING);
        lock_given(lock, answer->refusal == REPLY_NOTHELD ? REDLOCK_LOST : core_error_of(answer->refusal),
                   text_of(answer));
    } else if (lock->state == LOCK_RESUMING) {
        not_resumed(lock, answer, now_ms);
    } else if (lock->orphan) {
        lock_free(lock);
    }
}

/* ---- UNLOCK ---- */

/* redlockd would not keep the name, and did nothing: the lock is given back without that. */
static bool is_not_kept(struct redlock_lock *lock, const struct answer *answer)
{
    bool refused = answer->refusal == REPLY_BADARG || answer->refusal == REPLY_LIMIT;

    if (lock->state != LOCK_GIVING || lock->keep_ms == 0 || answer->code != ANSWER_REFUSED || !refused)
        return false;
    lock->keep_ms = 0;
    lock->not_kept = core_error_of(answer->refusal);
    ask_queue(lock->core, &lock->own, lock->own.give_up_ms);
    return true;
}

static const char *not_kept_text(enum redlock_error error)
{
    if (error == REDLOCK_LIMIT)
        return "redlockd keeps too many names already: the lock was given back, and the name is not kept";
    if (error == REDLOCK_UNSUPPORTED)
        return "this redlockd keeps no names, it is too old: the lock was given back";
    return "redlockd keeps no name for so long (max_keep), nor one with slots, readers or others: the lock "
           "was "
           "given back";
}

/* Nobody holds the lock by its token, since it was lost, or since redlockd gave it back and the answer was lost with
 * the connection before this one, or at that connection's end. */
static bool is_unsure(const struct redlock_lock *lock, const struct answer *answer)
{
    return lock->state == LOCK_GIVING && lock->unsure && answer->code == ANSWER_REFUSED &&
           answer->refusal == REPLY_NOTHELD;
}

static void given(struct redlock_lock *lock, const struct answer *answer)
{
    struct core *core = lock->core;

    ask_idle(core, &lock->own);
    if (is_not_kept(lock, answer))
        return;
    if (is_unsure(lock, answer)) {
        lock_given(lock, REDLOCK_NOANSWER,
                   lock->keep_ms
                       ? "the connection ended before the answer: the lock is free, or the name is kept"
                       : "the connection ended before the answer: the lock is free now");
        return;
    }
    if (lock->state == LOCK_GIVING && answer->code == ANSWER_UNLOCKED && lock->keep_ms && !core->takes_keeps)
        lock->not_kept = REDLOCK_UNSUPPORTED;
    if (lock->state == LOCK_GIVING && answer->code == ANSWER_UNLOCKED && lock->not_kept) {
        lock_given(lock, lock->not_kept, not_kept_text(lock->not_kept));
        return;
    }
    if (lock->state == LOCK_GIVING) {
        bool refusal = answer->code == ANSWER_REFUSED;
        int64_t retry_ms = answer->retry_ms;
        lock->result_retry_ms = -1;
        bool orphan = lock->orphan;
        lock_given(lock, refusal ? core_error_of(answer->refusal) : REDLOCK_OK,
                   refusal ? text_of(answer) : "");
        if (!orphan)
            lock->result_retry_ms = retry_ms;
    } else if (lock->orphan) {
        lock_free(lock);
    }
}

static void answer_own(struct ask *ask, const struct answer *answer, int64_t now_ms)
{
    struct redlock_lock *lock = ask->lock;

    bool fits = piece_is(answer->name, lock->name);

    if (ask->verb == ASK_UNLOCK &&
        ((fits && answer->code == ANSWER_UNLOCKED) || answer->code == ANSWER_REFUSED))
        given(lock, answer);
    else if (ask->verb != ASK_UNLOCK && fits && answer->code == ANSWER_LOCKED)
        granted(lock, answer, now_ms);
    else if (ask->verb != ASK_UNLOCK && answer->code == ANSWER_REFUSED)
        answer_refused(lock, answer, now_ms);
    else
        core_confused(lock->core);
}

/* ---- downgrade ---- */

static void answer_downgrade(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms)
{
    if (answer->code == ANSWER_LOCKED && piece_is(answer->name, lock->name))
        downgrade_granted(lock, answer, now_ms);
    else if (answer->code == ANSWER_REFUSED)
        downgrade_refused(lock, answer, now_ms);
    else
        core_confused(lock->core);
}

/* ---- EXTEND, CHECK, DATA, SHOW, WHO, BREAK ---- */

static void longer(struct ask *ask, const struct answer *answer, int64_t now_ms)
{
    struct redlock_lock *lock = ask->lock;

    /* A lease that is extended too late may have been another's in between. A session lock is renewed by
     * redlockd, which knows better. */
    if (lock->state == LOCK_HELD && lock->hold == REDLOCK_LEASE && lock_is_over(lock, now_ms))
        lock_expire(lock, now_ms);
    bool alive = lock->state == LOCK_HELD; /* a lock that was told LOST does not come back to life */

    if (alive && ask->verb == ASK_EXTEND)
        lock->ttl_ms = ask->ttl_ms;
    if (alive)
        lock_until(lock, answer->until_ms, now_ms);
    ask_done(lock->core, ask, alive ? REDLOCK_OK : REDLOCK_LOST, alive ? "" : "the lock was lost before");
}

static void not_longer(struct core *core, struct ask *ask, const struct answer *answer)
{
    struct redlock_lock *lock = ask->lock;

    bool gone = lock && answer->refusal == REPLY_NOTHELD && lock->state == LOCK_HELD;
    bool believed = gone && atomic_load(&lock->deadline_ms) > 0;

    if (believed)
        lock_lost(lock, "gone");
    else if (gone)
        lock_vanish(lock);
    ask->retry_ms = answer->retry_ms;
    ask_done(core, ask, core_error_of(answer->refusal), text_of(answer));
}

/* A redlockd that is older than ready= is asked by LOCK alone whether it grants locks. */
static void ponged(struct core *core, struct ask *ask, const struct answer *answer)
{
    bool no = answer->ready == 0;

    ask_done(core, ask, no ? REDLOCK_NOQUORUM : REDLOCK_OK,
             no ? "redlockd answers, but grants no locks now" : "");
}

static void answer_ask(struct core *core, struct ask *ask, const struct answer *answer, int64_t now_ms)
{
    enum answer_code code = answer->code;
    bool lists = ask->verb == ASK_SHOW || ask->verb == ASK_WHO;

    if (code == ANSWER_REFUSED) {
        not_longer(core, ask, answer);
    } else if (lists && code == ANSWER_ROW) {
        ask->told_rows = true;
        core->row_of = ask;
        core->row = text_of(answer);
    } else if (lists && code == ANSWER_END) {
        ask_done(core, ask, REDLOCK_OK, "");
    } else if (ask->verb == ASK_BREAK && code == ANSWER_BROKEN) {
        ask_done(core, ask, REDLOCK_OK, text_of(answer));
    } else if (ask->verb == ASK_DATA && code == ANSWER_DATA) {
        ask_done(core, ask, REDLOCK_OK, "");
    } else if (ask->verb == ASK_PING && code == ANSWER_PONG) {
        ponged(core, ask, answer);
    } else if (ask->lock && ask->verb != ASK_DATA && piece_is(answer->name, ask->lock->name) &&
               code == (ask->verb == ASK_EXTEND ? ANSWER_EXTENDED : ANSWER_HELD)) {
        longer(ask, answer, now_ms);
    } else {
        core_confused(core);
    }
}

/* ---- events ---- */

static const char *reason_of(const struct answer *answer)
{
    static const char *const reasons[] = {"expired", "max",    "gone",  "released",
                                          "moved",   "closed", "drain", "denied"};

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (piece_is(answer->reason, reasons[i]))
            return reasons[i];
    return "unknown";
}

static void event(struct core *core, const struct answer *answer, int64_t now_ms)
{
    if (answer->code == ANSWER_DRAIN) {
        core->news_drain = true;
        core_move_wanted(core);
    }
    if (answer->code == ANSWER_CLOCK && core->state == CORE_UP) /* before, the answer to HELLO has behind= */
        core_is_behind(core, answer->behind_ms);
    if (answer->code == ANSWER_NOW)
        watch_heard(core, answer);
    if (!answer->has_token)
        return;
    struct redlock_lock *lock = bucket_find(core, answer->name, &answer->token);
    /* The event is out of date if the lock is being given back, or was resumed. */
    if (!lock || lock->state != LOCK_HELD)
        return;
    if (answer->code == ANSWER_RENEWED) {
        lock_until(lock, answer->until_ms, now_ms);
        lock_news(lock, NEWS_RENEWED);
    } else if (answer->code == ANSWER_EXPIRING && !lock->warned) {
        lock->warned = true;
        lock_news(lock, NEWS_EXPIRING);
    } else if (answer->code == ANSWER_LOST && piece_is(answer->reason, "drain")) {
        /* The lock's keys are still there, so it can be resumed through the next redlockd. */
        lock->own.not_on = core->connection;
        lock_detach(lock);
    } else if (answer->code == ANSWER_LOST) {
        lock_lost(lock, reason_of(answer));
    }
}

/* ---- lines ---- */

static bool is_event(const struct answer *answer)
{
    return answer->code >= ANSWER_EXPIRING;
}

static void answer_untagged(struct core *core, const struct answer *answer)
{
    enum redlock_error error = REDLOCK_PROTOCOL;

    if (answer->code == ANSWER_REFUSED && answer->refusal == REPLY_LIMIT)
        error = REDLOCK_CONNECT; /* there are too many clients, and redlockd closes the connection */
    core_break(core, error, text_of(answer));
}

void core_answered(struct core *core, const struct answer *answer, int64_t now_ms)
{
    bool single = answer->tag.len == 1;

    if (is_event(answer)) {
        event(core, answer, now_ms);
    } else if (!answer->tag.len) {
        answer_untagged(core, answer);
    } else if (single && answer->tag.text[0] == 'u') {
        core_authenticated(core, answer);
    } else if (single && answer->tag.text[0] == 'h') {
        core_greeted(core, answer, now_ms);
    } else {
        struct ask *ask = core->state == CORE_UP ? slot_find(core, &answer->tag) : NULL;
        if (!ask)
            return; /* the answer to PING or CANCEL, or to a request that is not under way any more */
        if (ask->watch)
            watch_answered(ask->watch, answer);
        else if (ask->verb == ASK_DOWNGRADE)
            answer_downgrade(ask->lock, answer, now_ms);
        else if (ask_is_own(ask))
            answer_own(ask, answer, now_ms);
        else
            answer_ask(core, ask, answer, now_ms);
    }
}
