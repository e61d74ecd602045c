#include "daemon/loop/loop_user.h"

#include <stdio.h>
#include <string.h>

/* Users have these numbers among the coordinator's peers, and other peers the lower ones: a lease that was
 * counted for an address must not look like a user's after a reload. */
enum { USERS_FROM = PEERS - USER_NUMBERS };

struct peer loop_user_peer(const struct loop_view *view, uint64_t session)
{
    const struct conf *conf = view->conf;
    const struct user *user = conf->users ? conns_user(view->conns, session) : NULL;
    if (!user)
        return (struct peer){.number = (uint16_t)(conns_peer(view->conns, session) % USERS_FROM)};
    int64_t locks = user->max_locks ? user->max_locks : conf_share(conf->max_locks_per_peer, conf->max_locks);
    int64_t waits =
        user->max_waits ? user->max_waits : conf_share(conf->max_waits_per_peer, conf->max_waiters);
    return (struct peer){
        .number = (uint16_t)(USERS_FROM + user->number),
        .is_user = true,
        .max_locks = (uint32_t)locks,
        .max_waits = (uint32_t)waits,
    };
}

bool loop_user_may_lock(const struct loop_view *view, uint64_t session, const struct name *name)
{
    const struct users *users = view->conf->users;
    if (!users)
        return true;
    const struct user *user = conns_user(view->conns, session);
    return user && user_may_lock(users, user, name);
}

const struct user *loop_user_of_lock(const struct loop_view *view, const struct lock_row *lock)
{
    const struct users *users = view->conf->users;
    if (!users)
        return NULL;
    if (lock->session != 0)
        return conns_user(view->conns, lock->session);
    return lock->peer >= USERS_FROM ? users->numbered[lock->peer - USERS_FROM] : NULL;
}

/* All clients that no user matches are one user, anyone: each of them sees only what is its own
 * session's, and the names that anyone may show. */
bool loop_user_sees(const struct loop_view *view, uint64_t viewer, uint64_t session, const struct user *owner,
                    const struct name *name)
{
    const struct users *users = view->conf->users;
    if (!users || viewer == session)
        return true;
    const struct user *user = conns_user(view->conns, viewer);
    if (!user)
        return false;
    bool is_one = strcmp(user->name, USER_ANYONE) != 0;
    return (is_one && user == owner) || user_may_show(users, user, name);
}

void loop_user_host(const struct loop_view *view, struct now *now)
{
    char id[2 * TOKEN_ID_BYTES + 1];
    now->host[0] = '\0';
    if (now->state != NOW_HELD || !now->is_known)
        return;
    loop_daemons_read(view->daemons);
    snprintf(id, sizeof id, "%08x", now->daemon);
    const char *host = loop_daemons_host(view->daemons, id);
    if (strcmp(host, "?") != 0)
        snprintf(now->host, sizeof now->host, "%s", host);
}

/* ---- rights that were taken away ---- */

static bool denied_wait(const struct loop_view *view, int64_t now_ms, struct loop_denied *denied)
{
    struct waiter_row wait;
    if (!coordinator_waiter_row(view->coordinator, now_ms, &denied->cursor, &wait)) {
        denied->stage = DENIED_REPEATS;
        denied->cursor = (struct cursor){0};
        return false;
    }
    if (loop_user_may_lock(view, wait.session, &wait.name))
        return false;
    denied->session = wait.session;
    denied->request = wait.request;
    denied->name = wait.name;
    denied->waits++;
    return true;
}

/* A RESUME, or a downgrade, that the daemon asks again until its wait= is over. */
static bool denied_repeat(const struct loop_view *view, struct loop_denied *denied)
{
    if (!coordinator_repeat_row(view->coordinator, &denied->cursor, &denied->session, &denied->request,
                                &denied->name)) {
        denied->stage = DENIED_LOCKS;
        denied->cursor = (struct cursor){0};
        return false;
    }
    if (loop_user_may_lock(view, denied->session, &denied->name))
        return false;
    denied->waits++;
    return true;
}

/* A lock with hold=lease ends with its TTL in any case, and nobody renews it here. */
static bool denied_lock(const struct loop_view *view, int64_t now_ms, struct loop_denied *denied)
{
    struct lock_row lock;
    if (!coordinator_lock_row(view->coordinator, now_ms, &denied->cursor, &lock)) {
        denied->stage = DENIED_NOTHING;
        return false;
    }
    bool bound = lock.session != 0 && lock.hold == HOLD_SESSION;
    if (!bound || loop_user_may_lock(view, lock.session, &lock.name))
        return false;
    denied->session = lock.session;
    denied->request = 0;
    denied->name = lock.name;
    denied->token = lock.token;
    denied->locks++;
    return true;
}

void loop_user_denied_begin(struct loop_denied *denied)
{
    *denied = (struct loop_denied){.stage = DENIED_WAITS};
}

bool loop_user_denied_next(const struct loop_view *view, int64_t now_ms, struct loop_denied *denied)
{
    if (!view->conf->users)
        denied->stage = DENIED_NOTHING;
    switch (denied->stage) {
    case DENIED_WAITS: return denied_wait(view, now_ms, denied);
    case DENIED_REPEATS: return denied_repeat(view, denied);
    case DENIED_LOCKS: return denied_lock(view, now_ms, denied);
    case DENIED_NOTHING: break;
    }
    return false;
}
