/* Users, where clients and the coordinator meet: the coordinator counts by numbers and knows no rights. */
#ifndef REDLOCKD_LOOP_USER_H
#define REDLOCKD_LOOP_USER_H

#include "daemon/loop/loop_show.h"

/* The session's user, or its peer, as the coordinator counts for it. */
struct peer loop_user_peer(const struct loop_view *view, uint64_t session);
bool loop_user_may_lock(const struct loop_view *view, uint64_t session, const struct name *name);

/* The user that a lock counts for; NULL: none. */
const struct user *loop_user_of_lock(const struct loop_view *view, const struct lock_row *lock);
/* Whether SHOW may tell the viewer's session of that name, which another session of that owner (NULL: none)
 * has or waits for. */
/* Fills in the host of the daemon through which a watched name is held. */
void loop_user_host(const struct loop_view *view, struct now *now);
bool loop_user_sees(const struct loop_view *view, uint64_t viewer, uint64_t session, const struct user *owner,
                    const struct name *name);

/* The search for what sessions have, or wait for, without a right to it. */
struct loop_denied {
    /* Waiters come first, so that none of them is let in where a lock is taken away. */
    enum {
        DENIED_NOTHING,
        DENIED_WAITS,
        DENIED_REPEATS,
        DENIED_LOCKS
    } stage; /* the list that is looked at; DENIED_NOTHING: the search is over */
    struct cursor cursor;
    unsigned waits, locks; /* how many were found so far */
    uint64_t session;
    uint64_t request; /* the waiting LOCK; 0: a lock that the session holds */
    struct name name;
    struct token token; /* of that lock: a session may have several of a name that readers share */
};
void loop_user_denied_begin(struct loop_denied *denied);
/* Looks at the next waiter or lock. true: its session has no right to it. */
bool loop_user_denied_next(const struct loop_view *view, int64_t now_ms, struct loop_denied *denied);

#endif
