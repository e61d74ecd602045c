/* Shared by core*.c only. */
#ifndef REDLOCK_LIB_CORE_PRIVATE_H
#define REDLOCK_LIB_CORE_PRIVATE_H

#include "client/lib/core.h"

enum {
    CONNECT_MS = 5000, /* for a connection, and for HELLO's answer */
    /* HELLO again, where the clocks are two: */
    HELLO_AGAIN_MS = 10000, /* while nothing is held; it costs 10 ms of a deadline at most */
    HELLO_HELD_MS = 1000,   /* while a lock is held: so late we notice that our host stood still */
    HELLO_SOON_MS = 100,    /* when a lock was granted, or the daemon's clock stood still */
    PATIENCE_MS = 10000, /* silence of redlockd before PING, and of that before the connection is given up */
    PATIENCE_LEAST_MS = 1000, /* with short TTLs too: a busy machine is no broken one */
    BACKOFF_FIRST_MS = 20,
    BACKOFF_MOST_MS = 1000,
    RESUME_AGAIN_MS = 50, /* at least, at most twice: two that RESUME at once may both fail */
    NOTHELD_MS = 100,     /* for so long a RESUME is asked again after -NOTHELD */
    NOTHELD_AGAIN_MS = 25,
    LOST_GRACE_MS = 50, /* where redlockd can still say why */
    STABLE_MS = 1000,   /* so long a connection was good for something */
};

static inline int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static inline void core_wants_at(struct core *core, int64_t at_ms)
{
    core->next_ms = earlier_ms(core->next_ms, at_ms > 0 ? at_ms : 0);
}

/* Whether it is the lock's own request: LOCK, RESUME or UNLOCK, which is allocated with the lock. */
static inline bool ask_is_own(const struct ask *ask)
{
    return ask->lock && ask == &ask->lock->own;
}

/* ---- core.c ---- */

int64_t core_jitter_ms(struct core *core, int64_t span_ms); /* 0 to span_ms - 1 */

/* Why there is no answer: as good as it is known. */
enum redlock_error core_why(const struct core *core);
const char *core_why_text(const struct core *core);
/* The connection cannot go on. why is copied. */
void core_break(struct core *core, enum redlock_error error, const char *why);
bool core_is_listening(const struct core *core);

/* ---- core_table.c ---- */

bool buckets_new(struct core *core); /* false: no memory */
/* Its place in core->slots, as long as it lives. False: no memory, or too many (*error says which). */
bool slot_take(struct core *core, struct ask *ask, enum redlock_error *error);
void slot_leave(struct core *core, struct ask *ask);
struct ask *slot_find(const struct core *core, const struct tag *tag); /* only of what is SENT */

void bucket_add(struct core *core, struct redlock_lock *lock);
void bucket_remove(struct core *core, struct redlock_lock *lock);
struct redlock_lock *bucket_find(const struct core *core, struct piece name, const struct token *token);

/* ---- core_ask.c ---- */

void ask_queue(struct core *core, struct ask *ask, int64_t give_up_ms);
void ask_requeue(struct core *core, struct ask *ask); /* before all others */
void ask_idle(struct core *core, struct ask *ask);    /* out of its list */
/* EXTEND, CHECK, SHOW: its end, to be told. */
void ask_done(struct core *core, struct ask *ask, enum redlock_error error, const char *text);
void ask_free(struct core *core, struct ask *ask);
void ask_let_go(struct core *core, struct redlock_lock *lock); /* what points to it is told CANCELLED */

/* ---- core_lock.c ---- */

void lock_move(struct redlock_lock *lock, enum lock_state to);
void lock_news(struct redlock_lock *lock, enum news news);
void lock_granted(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms);
void lock_retoken(struct redlock_lock *lock, const struct answer *answer);
void lock_until(struct redlock_lock *lock, int64_t until_ms, int64_t now_ms);
void lock_recount(struct redlock_lock *lock, int64_t now_ms); /* by another sample: never later */
void lock_shift(struct redlock_lock *lock, int64_t ms);       /* all that it was told is earlier by that */
void lock_disbelieve(struct redlock_lock *lock);              /* it has no deadline any more */
void lock_lost(struct redlock_lock *lock, const char *why);
void lock_vanish(struct redlock_lock *lock);
/* UNLOCK by its token, with nobody waiting for the result where it is an orphan. */
void lock_give(struct redlock_lock *lock, int64_t give_up_ms);
/* The result of its own request, which is idle or an orphan's then. */
void lock_taken(struct redlock_lock *lock, enum redlock_error error, const char *text);
void lock_given(struct redlock_lock *lock, enum redlock_error error, const char *text);
void lock_let_go(struct redlock_lock *lock); /* by the program, or behind its last event */
void lock_free(struct redlock_lock *lock);
void lock_unreachable(struct redlock_lock *lock);
bool lock_is_over(const struct redlock_lock *lock, int64_t now_ms); /* by its deadline */
void lock_expire(struct redlock_lock *lock, int64_t now_ms);
void lock_tick(struct redlock_lock *lock, int64_t now_ms);
void lock_unanswered(struct redlock_lock *lock, int64_t now_ms);
void lock_detach(struct redlock_lock *lock); /* from its connection */

/* ---- core_answer.c ---- */

void core_answered(struct core *core, const struct answer *answer, int64_t now_ms);

/* ---- core_link.c ---- */

void core_greeted(struct core *core, const struct answer *answer, int64_t now_ms);
/* The daemon's clock stood still for so long in all (-1: not said): its deadlines are earlier. */
void core_is_behind(struct core *core, int64_t behind_ms);

#endif
