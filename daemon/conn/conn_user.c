/* Which user a client is, what it may ask, and AUTH.
 *
 * An AUTH with a wrong user or secret is answered after AUTH_MS, any other at once. Meanwhile the connection
 * is barred: input behind the AUTH stays unparsed, so that no request runs with the rights of another user
 * than its client expects. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"

/* A connection has one until it has a user, and from its first wrong AUTH on. */
struct stranger {
    struct event timer;
    int64_t by_ms;     /* when it is closed for want of a user; INT64_MAX: it has one */
    int64_t answer_ms; /* when the AUTH is answered; INT64_MAX: none is under way */
    unsigned refused;
    struct tag tag; /* of the AUTH */
};

static const char plain_tcp[] = "not over plain TCP; this secret has been seen, make a new one";

const struct user *user_of(const struct conn *c)
{
    const struct users *users = c->all->conf->users;

    return users && c->user != NO_USER ? users->numbered[c->user] : NULL;
}

uint32_t *user_counter(struct conn *c)
{
    return c->user != NO_USER ? &c->all->user_clients[c->user] : &c->all->peer_clients[c->peer_number];
}

static void user_become(struct conn *c, const struct user *user)
{
    --*user_counter(c);
    c->user = user ? user->number : NO_USER;
    ++*user_counter(c);
}

/* ---- time ---- */

static void stranger_arm(struct stranger *stranger)
{
    int64_t at_ms = stranger->by_ms < stranger->answer_ms ? stranger->by_ms : stranger->answer_ms;
    int64_t left_ms = at_ms - clock_boot_ms();

    if (at_ms == INT64_MAX) {
        event_del(&stranger->timer);
        return;
    }
    left_ms = left_ms > 0 ? left_ms : 0;
    struct timeval left = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};
    if (event_add(&stranger->timer, &left) < 0) /* no memory: at once rather than never */
        event_active(&stranger->timer, EV_TIMEOUT, 0);
}

static void auth_answer(struct conn *c)
{
    const struct refusal refusal = {
        .code = REPLY_AUTH, .tag = c->stranger->tag, .text = "no such user, or another secret"};

    c->stranger->answer_ms = INT64_MAX;
    c->barred = false;
    c->all->counts.answers[VERB_AUTH][REPLY_AUTH]++;
    c->expelled = c->stranger->refused >= AUTH_TRIES;
    output_done(c, line_format_refusal(output_line(c), &refusal));
    conn_ready(c);
}

static void stranger_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;
    struct stranger *stranger = c->stranger;
    int64_t now_ms = clock_boot_ms();
    (void)fd;
    (void)what;

    if (now_ms >= stranger->answer_ms)
        auth_answer(c);
    if (now_ms >= stranger->by_ms) {
        stranger->by_ms = INT64_MAX;
        c->doom =
            "no user within 10 s: neither AUTH, nor a certificate, uid or gid that the configuration knows";
        conn_ready(c);
    }
    stranger_arm(stranger);
}

/* Returns the connection's, made if need be; NULL: no memory, and the connection is doomed. */
static struct stranger *stranger_of(struct conn *c)
{
    if (c->stranger)
        return c->stranger;
    c->stranger = calloc(1, sizeof *c->stranger);
    if (!c->stranger) {
        c->doom = "no memory";
        conn_ready(c);
        return NULL;
    }
    c->stranger->by_ms = c->stranger->answer_ms = INT64_MAX;
    event_assign(&c->stranger->timer, c->all->base, -1, 0, stranger_on_timer, c);
    return c->stranger;
}

void user_forget(struct conn *c)
{
    if (c->stranger)
        event_del(&c->stranger->timer);
    free(c->stranger);
    c->stranger = NULL;
}

/* ---- who ---- */

static const struct user *user_by_marks(const struct conn *c)
{
    const struct user_client client = {
        .local = c->local,
        .uid = c->local ? c->peer.cred.uid : (uid_t)-1,
        .gid = c->local ? c->peer.cred.gid : (gid_t)-1,
        .certificate = c->certificate,
    };

    return users_find(c->all->conf->users, &client);
}

/* A user that AUTH proved stays the client's user, even if its secret has changed, as long as it has one. During
 * a handshake the client counts with its peer: it may have a certificate, so it is not anyone yet. */
void user_identify(struct conn *c)
{
    const struct users *users = c->all->conf->users;
    const struct user *user = c->by_auth ? user_of(c) : NULL;

    if (!user || !user->secret_file) {
        c->by_auth = false;
        user = users ? user_by_marks(c) : NULL;
    }
    user_become(c, c->handshake ? NULL : user);
    bool strange = users && !user;
    if (!strange && !c->handshake)
        newcomer_leave(c);
    if (!strange && !c->stranger)
        return;
    struct stranger *stranger = stranger_of(c);
    if (!stranger)
        return;
    if (!strange && !stranger->refused) {
        user_forget(c);
        return;
    }
    if (!strange)
        stranger->by_ms = INT64_MAX;
    else if (stranger->by_ms == INT64_MAX)
        stranger->by_ms = clock_boot_ms() + STRANGER_MS;
    stranger_arm(stranger);
}

/* ---- AUTH ---- */

/* A secret must not cross a network in the clear. */
static bool is_private(const struct conn *c)
{
    static const uint8_t mapped[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127};

    if (c->local || c->wire.tls)
        return true;
    if (c->peer_family == AF_INET)
        return ntohl(c->peer.v4.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&c->peer.v6) || memcmp(&c->peer.v6, mapped, sizeof mapped) == 0;
}

/* A busy client may not become another user: its lock would belong to one user, and its connection to another. Lines
 * may wait in the queue though no request is under way: the one before them was answered in this turn of the loop. */
static bool is_busy(const struct conn *c)
{
    const struct conn_handler *handler = c->all->handler;
    uint32_t locks = 0, waits = 0;

    if (c->known)
        handler->session_counts(handler->arg, c->session, &locks, &waits);
    return c->pending_count || c->queued || c->grants || locks || waits;
}

/* Unknown users take as long as known ones. */
static const struct user *auth_user(const struct users *users, const struct request *what)
{
    static const uint8_t nobody[SECRET_HASH_BYTES];
    uint8_t hash[SECRET_HASH_BYTES] = {0};
    const struct user *user = users_named(users, what->user.text, what->user.len);
    bool known = user && user->secret_file;
    bool hashed = secret_is_made(what->secret.text, what->secret.len) &&
                  secret_hash(what->secret.text, what->secret.len, hash);
    bool equal = secret_equal(hash, known ? user->secret : nobody);

    explicit_bzero(hash, sizeof hash);
    return known && hashed && equal ? user : NULL;
}

static void auth_succeed(struct conn *c, const struct request *what, const struct user *user)
{
    int64_t most = conf_share(c->all->conf->max_clients_per_peer, c->all->capacity);

    if (user->max_clients)
        most = user->max_clients;
    if (user->number != c->user && c->all->user_clients[user->number] >= most) {
        output_code(c, what->verb, &what->tag, REPLY_LIMIT, LIMIT_MAX_CLIENTS_PER_USER);
        return;
    }
    user_become(c, user);
    c->by_auth = true;
    user_identify(c); /* the client is no stranger any more */
    output_code(c, what->verb, &what->tag, REPLY_OK, LIMIT_NONE);
}

static void auth_fail(struct conn *c, const struct request *what)
{
    struct stranger *stranger = stranger_of(c);

    conn_tell(c, "auth_failed", "no such user, or another secret");
    if (!stranger)
        return;
    c->barred = true;
    stranger->refused++;
    stranger->tag = what->tag;
    stranger->answer_ms = clock_boot_ms() + AUTH_MS;
    stranger_arm(stranger);
}

void user_auth(struct conn *c, struct request *what)
{
    const struct users *users = c->all->conf->users;
    const struct user *user = NULL;

    c->barred = false;
    if (!is_private(c)) {
        c->all->stats.auth_failed++;
        conn_tell(c, "auth_failed", plain_tcp);
        output_refusal(c, what, REPLY_AUTH, plain_tcp);
    } else if (!users) {
        output_refusal(c, what, REPLY_AUTH, "this redlockd has no users: nobody needs to say who it is");
    } else if (is_busy(c)) {
        output_refusal(c, what, REPLY_AUTH,
                       "only while this connection has no lock and no request under way");
    } else if ((user = auth_user(users, what))) {
        auth_succeed(c, what, user);
    } else {
        c->all->stats.auth_failed++;
        auth_fail(c, what);
    }
    explicit_bzero(&what->secret, sizeof what->secret);
}

/* ---- what ---- */

static void deny(struct conn *c, const struct request *what, const struct user *user)
{
    static const char *const shows[] = {
        [SHOW_CLIENTS] = "SHOW CLIENTS: that takes admin",
        [SHOW_CONFIG] = "SHOW CONFIG: that takes admin",
        [SHOW_RELOAD] = "SHOW RELOAD: that takes admin",
        [SHOW_GROUP] = "SHOW GROUP: that takes a right to show some name",
        [SHOW_NODES] = "SHOW NODES: that takes a right to show some name",
        [SHOW_DAEMONS] = "SHOW DAEMONS: that takes a right to show some name",
        [SHOW_STATS] = "SHOW STATS: that takes a right to show some name",
    };
    char text[128];

    c->all->stats.denied++;
    if (!user) {
        output_refusal(c, what, REPLY_AUTH,
                       is_private(c) ? "this connection is no user's: AUTH <user> <secret> first"
                                     : "this connection is no user's, and over plain TCP it cannot AUTH");
        return;
    }
    const char *may_not = "lock it";
    if (what->verb == VERB_SHOW)
        may_not = shows[what->show];
    else if (what->verb == VERB_WHO || what->verb == VERB_WATCH)
        may_not = "see it: that takes a right to show this name";
    else if (what->verb == VERB_BREAK)
        may_not = "break it: that takes admin";
    (void)snprintf(text, sizeof text, "user %s may not %s", user->name, may_not);
    output_refusal(c, what, REPLY_DENIED, text);
}

static bool may_show(const struct users *users, const struct user *user, enum show show)
{
    switch (show) {
    case SHOW_CLIENTS:
    case SHOW_CONFIG:
    case SHOW_RELOAD: return user->admin;
    case SHOW_GROUP:
    case SHOW_NODES:
    case SHOW_DAEMONS:
    case SHOW_STATS: return user_shows(users, user);
    case SHOW_LOCKS:
    case SHOW_WAITERS: /* the rows are chosen one by one */
    case SHOW_VERSION: break;
    }
    return true;
}

static bool may_ask(const struct users *users, const struct user *user, const struct request *what)
{
    switch (what->verb) {
    case VERB_HELLO:
    case VERB_AUTH:
    case VERB_PING:
    case VERB_HELP:
    case VERB_QUIT: return true;
    case VERB_UNWATCH: /* whoever may watch no more gives its place back */
    case VERB_CANCEL: return user;
    case VERB_SHOW: return user && may_show(users, user, what->show);
    case VERB_WATCH:
    case VERB_WHO: return user && user_may_show(users, user, &what->name);
    case VERB_BREAK: return user && user->admin;
    case VERB_LOCK:
    case VERB_UNLOCK:
    case VERB_EXTEND:
    case VERB_CHECK:
    case VERB_RESUME:
    case VERB_DATA: break;
    }
    return user && user_may_lock(users, user, &what->name);
}

bool user_allows(struct conn *c, const struct request *what)
{
    const struct users *users = c->all->conf->users;

    if (!users)
        return true;
    const struct user *user = user_of(c);
    if (may_ask(users, user, what))
        return true;
    deny(c, what, user);
    return false;
}
