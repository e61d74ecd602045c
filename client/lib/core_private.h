/* Shared by the files of the core, of which core.h has the list. */
#ifndef REDLOCK_LIB_CORE_PRIVATE_H
#define REDLOCK_LIB_CORE_PRIVATE_H

#include "client/lib/core.h"

enum {
    CONNECT_MS = 5000, /* how long connecting may take, and then again the answer to HELLO */
    /* HELLO is sent again after these times if daemon and library do not read the same clock and there is a
     * lock object: */
    HELLO_AGAIN_MS = 10000, /* while no lock is held; later, a deadline would be more than 10 ms too early */
    HELLO_HELD_MS = 1000,   /* while a lock is held: we notice so late that our host stood still */
    HELLO_SOON_MS = 100,    /* after a lock was granted, or the daemon's clock stood still */
    /* A HELLO on a new connection that took longer is repeated at once, at most so often, since all of that time would
     * be taken off the deadlines: redlockd may have begun to listen long after it was sent (socket activation). */
    HELLO_SLOW_MS = 50,
    HELLO_REPEATS = 3,
    PATIENCE_MS = 10000, /* silence of redlockd before PING, and again before the connection is given up */
    STALL_MS = 5000,     /* silence within a line, after which the connection is given up */
    PATIENCE_LEAST_MS = 1000, /* the same with short TTLs: a machine may be just busy */
    BACKOFF_FIRST_MS = 20,
    BACKOFF_MOST_MS = 1000,
    RESUME_AGAIN_MS = 20, /* the pause before a RESUME is repeated, and how much more it may be */
    RESUME_JITTER_MS = 30,
    NOTHELD_MS = 100,   /* for how long a RESUME is repeated after -NOTHELD */
    LOST_GRACE_MS = 50, /* past a deadline, so that redlockd can still say why the lock is lost */
    STABLE_MS = 1000,   /* a connection that lasted so long was no failure */
};

static inline int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

static inline void core_wants_at(struct core *core, int64_t at_ms)
{
    core->next_ms = earlier_ms(core->next_ms, at_ms > 0 ? at_ms : 0);
}

/* Whether it is a lock's own request: LOCK, RESUME, UNLOCK or the LOCK of its downgrade, which are allocated with the
 * lock; or a watch's own. */
static inline bool ask_is_own(const struct ask *ask)
{
    return ask->watch || (ask->lock && (ask == &ask->lock->own || ask == &ask->lock->downgrade));
}

/* ---- core.c ---- */

/* A number from 0 to span_ms - 1. */
int64_t core_jitter_ms(struct core *core, int64_t span_ms);

/* The library's word for a refusal. */
enum redlock_error core_error_of(enum reply_code code);
/* The best reason there is for having no answer. */
enum redlock_error core_why(const struct core *core);
const char *core_why_text(const struct core *core);
/* Asks for the connection's end, since it cannot go on. why is copied. */
void core_break(struct core *core, enum redlock_error error, const char *why);
/* The same: an answer does not fit its request. */
void core_confused(struct core *core);
/* Whether bytes from the socket are worked on. */
bool core_is_listening(const struct core *core);

/* ---- core_table.c ---- */

bool buckets_new(struct core *core); /* false: no memory */
/* Gives the request a place in core->slots until slot_leave(). Returns false with *error if there is no
 * memory, or if there are too many requests. */
bool slot_take(struct core *core, struct ask *ask, enum redlock_error *error);
void slot_leave(struct core *core, struct ask *ask);
struct ask *slot_find(const struct core *core, const struct tag *tag); /* finds only requests that are SENT */

void bucket_add(struct core *core, struct redlock_lock *lock);
void bucket_remove(struct core *core, struct redlock_lock *lock);
struct redlock_lock *bucket_find(const struct core *core, struct piece name, const struct token *token);

/* ---- core_ask.c ---- */

void ask_queue(struct core *core, struct ask *ask, int64_t give_up_ms);
void ask_requeue(struct core *core, struct ask *ask); /* puts it before all others */
void ask_idle(struct core *core, struct ask *ask);    /* takes it out of its list */
/* Ends an EXTEND, CHECK or SHOW, so that the program is told. */
void ask_done(struct core *core, struct ask *ask, enum redlock_error error, const char *text);
void ask_free(struct core *core, struct ask *ask);
/* Ends every EXTEND and CHECK of the lock, as CANCELLED if it had no result yet; none of them points to the
 * lock any more. */
void ask_let_go(struct core *core, struct redlock_lock *lock);

/* ---- core_lock.c ---- */

void lock_move(struct redlock_lock *lock, enum lock_state to);
void lock_news(struct redlock_lock *lock, enum news news);
void lock_granted(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms);
void lock_retoken(struct redlock_lock *lock, const struct answer *answer);
void lock_until(struct redlock_lock *lock, int64_t until_ms, int64_t now_ms); /* a deadline by the daemon */
/* The deadline by another sample of the daemon's clock: never later. */
void lock_recount(struct redlock_lock *lock, const struct sample *sample, int64_t now_ms);
void lock_shift(struct redlock_lock *lock, int64_t ms); /* the daemon's deadline is earlier by ms */
void lock_disbelieve(struct redlock_lock *lock);        /* the lock has no deadline any more */
void lock_lost(struct redlock_lock *lock, const char *why);
void lock_vanish(struct redlock_lock *lock); /* like lock_lost(), but the program is not told */
/* Queues an UNLOCK by the lock's token. */
void lock_give(struct redlock_lock *lock, int64_t give_up_ms);
/* The result of the lock's LOCK or RESUME, and of its UNLOCK, for the program. */
void lock_taken(struct redlock_lock *lock, enum redlock_error error, const char *text);
void lock_given(struct redlock_lock *lock, enum redlock_error error, const char *text);
/* The program has let go of the lock, or has been told its end. */
void lock_let_go(struct redlock_lock *lock);
void lock_free(struct redlock_lock *lock);
/* Ends the request that waits: redlockd has never answered, or refuses the secret. */
void lock_unreachable(struct redlock_lock *lock);
bool lock_is_over(const struct redlock_lock *lock, int64_t now_ms); /* its deadline has passed */
void lock_expire(struct redlock_lock *lock, int64_t now_ms);
void lock_tick(struct redlock_lock *lock, int64_t now_ms);
/* The connection has ended while the lock's own request was under way. */
void lock_unanswered(struct redlock_lock *lock, int64_t now_ms);
void lock_detach(struct redlock_lock *lock); /* the lock's connection holds it no more */

/* ---- core_downgrade.c ---- */

/* The program asks for it. Returns false with *error if there is no memory, or if there are too many requests. */
bool downgrade_begin(struct redlock_lock *lock, enum redlock_error *error);
/* Whether lock->downgrade is to be sent. */
bool downgrade_is_due(const struct redlock_lock *lock, int64_t now_ms);
/* The lock was resumed: lock->shared says whether it is a reader's by now. */
void downgrade_resumed(struct redlock_lock *lock);
/* The answers to lock->downgrade. */
void downgrade_granted(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms);
void downgrade_refused(struct redlock_lock *lock, const struct answer *answer, int64_t now_ms);

/* ---- core_watch.c ---- */

void watch_answered(struct redlock_watch *watch, const struct answer *answer);
void watch_heard(struct core *core, const struct answer *answer); /* !NOW */
void watches_tick(struct core *core, int64_t now_ms);
/* The connection is gone: each is asked for anew on the next one. */
void watches_detach(struct core *core);
/* redlockd has never answered, or refuses the secret. */
void watch_unreachable(struct redlock_watch *watch);
/* The next of which the program is to be told; NULL: none. */
struct redlock_watch *watch_next_news(struct core *core);
void watches_free(struct core *core);

/* ---- core_move.c ---- */

void core_move_wanted(struct core *core); /* redlockd says that it shuts down */

/* ---- core_answer.c ---- */

void core_answered(struct core *core, const struct answer *answer, int64_t now_ms);

/* ---- core_link.c ---- */

void core_authenticated(struct core *core, const struct answer *answer);
void core_greeted(struct core *core, const struct answer *answer, int64_t now_ms);
/* The daemon's clock has stood still for behind_ms in all (-1: not said), so its deadlines are earlier. */
void core_is_behind(struct core *core, int64_t behind_ms);

#endif
