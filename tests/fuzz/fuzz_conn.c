/* Bytes of two clients, over socket pairs, through the connections. The handler plays the coordinator and
 * holds the connections to conns.h: untagged requests one after the other, one end for each session, no call
 * after it, and no connection left when the clients are gone.
 *
 * The first byte configures the world. The rest is sent by a client, except that NUL and the byte behind it
 * are an event: see happen(). */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/conn/conns.h"
#include "daemon/log.h"
#include "proto/line.h"
#include "tests/fuzz/fuzz.h"

enum {
    CLIENTS = 2,
    SESSIONS = 256,
    PENDING = 1024,
    TURNS = 20000,
    ROWS = 300,
    FLOOD = 100,
    AUTH_TURNS = 20000
};

enum flag {
    FLAG_TCP = 1,
    FLAG_ONE_CLIENT = 2,
    FLAG_FEW_WAITS = 4,
    FLAG_LATE_END = 8,
    FLAG_MANY_ROWS = 16,
    FLAG_USERS = 64
};

struct pending {
    uint64_t session, request;
    struct name name;
    struct tag tag;
    enum verb verb;
    bool granted; /* answered by +LOCKED: undelivered() may follow */
};

struct session {
    uint64_t id;
    bool finished, closed, ended;
    bool dropped;
};

struct world {
    struct conns *conns;
    struct conn_handler handler;
    unsigned admissions;
    struct conf conf;
    unsigned flags;
    int clients[CLIENTS]; /* -1: no connection */
    bool said[CLIENTS];   /* the bytes so far end in the middle of an output line */
    unsigned client;
    uint64_t last_request;
    struct session sessions[SESSIONS];
    unsigned session_count;
    struct pending pending[PENDING];
    unsigned pending_count;
    bool forgot; /* forget_grant() was called: undelivered() may name a request that is unknown here */
    char last[LINE_BYTES]; /* bytes sent since the last LF */
    size_t last_len;
};

static struct event_base *base;

/* ---- the handler ---- */

static struct session *session_find(struct world *w, uint64_t id)
{
    for (unsigned i = 0; i < w->session_count; i++)
        if (w->sessions[i].id == id)
            return &w->sessions[i];
    return NULL;
}

static void pending_remove(struct world *w, unsigned i)
{
    memmove(&w->pending[i], &w->pending[i + 1], (--w->pending_count - i) * sizeof w->pending[0]);
}

static void reply(struct world *w, unsigned i, enum reply_code code)
{
    struct pending *p = &w->pending[i];
    struct reply r = {
        .code = code, .name = p->name, .retry_ms = -1, .valid_ms = 1000, .masters = 5, .fence = 7};
    memset(r.nodes, '+', 5);
    uint64_t session = p->session, request = p->request;
    if (code == REPLY_LOCKED)
        p->granted = true;
    else
        pending_remove(w, i);
    conns_reply(w->conns, session, request, &r);
}

static enum reply_code good_code(enum verb verb)
{
    static const enum reply_code codes[] = {
        [VERB_LOCK] = REPLY_LOCKED, [VERB_UNLOCK] = REPLY_UNLOCKED, [VERB_EXTEND] = REPLY_EXTENDED,
        [VERB_CHECK] = REPLY_HELD,  [VERB_RESUME] = REPLY_LOCKED,   [VERB_DATA] = REPLY_DATA,
    };
    return codes[verb];
}

static void cancel(struct world *w, const struct pending *asked, uint64_t target)
{
    struct reply ok = {.code = REPLY_OK}, none = {.code = REPLY_BADTAG};
    struct reply *answer = &none;
    for (unsigned i = 0; target != 0 && i < w->pending_count; i++) {
        if (w->pending[i].request != target || w->pending[i].granted)
            continue;
        assert(w->pending[i].session == asked->session && w->pending[i].verb == VERB_LOCK);
        reply(w, i, REPLY_CANCELLED);
        answer = &ok;
        break;
    }
    assert((answer == &ok) == (target != 0));
    conns_reply(w->conns, asked->session, asked->request, answer);
}

/* Makes room by forgetting the oldest grant, which was mostly delivered long ago. */
static void forget_grant(struct world *w)
{
    unsigned i = 0;
    while (i < w->pending_count && !w->pending[i].granted)
        i++;
    assert(i < w->pending_count);
    pending_remove(w, i);
    w->forgot = true;
}

/* At most one untagged request is under way, and one of each tag. */
static void check_turn(const struct world *w, const struct pending *asked)
{
    for (unsigned i = 0; i < w->pending_count; i++) {
        const struct pending *p = &w->pending[i];
        if (p->session == asked->session && !p->granted)
            assert(p->tag.len != asked->tag.len || memcmp(p->tag.text, asked->tag.text, p->tag.len) != 0);
    }
}

static void on_request(void *arg, uint64_t id, uint64_t request, uint64_t target, const struct request *what)
{
    struct world *w = arg;
    struct session *session = session_find(w, id);
    struct pending asked = {id, request, what->name, what->tag, what->verb, false};
    assert(id != 0 && request > w->last_request);
    w->last_request = request;
    if (!session) {
        assert(w->session_count < SESSIONS);
        session = &w->sessions[w->session_count++];
        *session = (struct session){.id = id};
    }
    assert(!session->closed && (target == 0 || what->verb == VERB_CANCEL));
    if (what->verb == VERB_CANCEL) {
        cancel(w, &asked, target);
        return;
    }
    assert(what->verb <= VERB_RESUME);
    if (w->conf.users)
        assert(user_may_lock(w->conf.users, conns_user(w->conns, id), &what->name));
    check_turn(w, &asked);
    if (w->pending_count == PENDING)
        forget_grant(w);
    unsigned i = w->pending_count++;
    w->pending[i] = asked;
    if (what->name.text[0] != 'w') /* otherwise the request waits */
        reply(w, i, good_code(what->verb));
}

static void on_finish(void *arg, uint64_t id)
{
    struct session *session = session_find(arg, id);
    assert(session && !session->finished && !session->closed);
    session->finished = true;
}

static void on_closed(void *arg, uint64_t id, enum conn_end end)
{
    struct world *w = arg;
    struct session *session = session_find(w, id);
    struct notice lost = {.kind = NOTICE_LOST, .reason = LOST_CLOSED, .name = {.len = 1, .text = "h"}};
    assert(session && !session->closed);
    assert(end != CONN_RELEASED || session->finished);
    session->closed = true;
    session->dropped = end == CONN_DROPPED;
    for (unsigned i = w->pending_count; i-- > 0;) {
        if (w->pending[i].session != id)
            continue;
        assert(session->dropped || w->pending[i].granted);
        pending_remove(w, i);
    }
    conns_notice(w->conns, id, &lost);
    if (w->flags & FLAG_LATE_END && !session->dropped)
        return;
    session->ended = true;
    conns_ended(w->conns, id);
}

static void on_undelivered(void *arg, uint64_t id, uint64_t request)
{
    struct world *w = arg;
    const struct session *session = session_find(w, id);
    assert(session && !session->closed);
    for (unsigned i = 0; i < w->pending_count; i++) {
        if (w->pending[i].request != request)
            continue;
        assert(w->pending[i].granted && w->pending[i].session == id);
        pending_remove(w, i);
        return;
    }
    assert(w->forgot);
}

static size_t on_row(void *arg, uint64_t session, enum show show, const struct tag *tag, uint64_t state[8],
                     char *out)
{
    (void)session;
    const struct world *w = arg;
    struct row row;
    if (state[0]++ >= (w->flags & FLAG_MANY_ROWS ? ROWS : 2))
        return 0;
    line_row_begin(&row, out, tag);
    line_row_unsigned(&row, "show", (uint64_t)show);
    line_row_string(&row, "padding", "....................................................................");
    return line_row_end(&row);
}

static size_t looked_up(void *arg, unsigned i, const struct tag *tag, char *out)
{
    (void)arg;
    return i < 2 ? line_format_end(out, tag, i) : 0;
}

static void on_look_up(void *arg, uint64_t session, uint64_t request, const struct request *what)
{
    struct world *w = arg;
    assert(what->verb == VERB_WHO || what->verb == VERB_BREAK || what->kept);
    conns_lines(w->conns, session, request, REPLY_OK, looked_up, w);
}

/* Each third request is held back for a turn. */
static enum admission on_admits(void *arg, uint64_t session, enum verb verb)
{
    struct world *w = arg;
    (void)session;
    (void)verb;
    return ++w->admissions % 3 ? ADMISSION_NOW : w->admissions % 2 ? ADMISSION_PEER : ADMISSION_MASTERS;
}

static bool on_ready(void *arg)
{
    (void)arg;
    return true;
}

static void on_counts(void *arg, uint64_t session, uint32_t *locks, uint32_t *waits)
{
    assert(session_find(arg, session));
    *locks = *waits = 1;
}

/* ---- the clients ---- */

static void turn(struct world *w)
{
    event_base_loop(
        base,
        EVLOOP_ONCE |
            EVLOOP_NONBLOCK); /* the second flag alone would run the loop for as long as an event is ready */
    conns_flush(w->conns);
}

static const struct conf_listener listener;

static int client_fd(struct world *w)
{
    struct sockaddr peer = {.sa_family = w->flags & FLAG_TCP ? AF_INET : AF_UNIX};
    int small = 1, fds[2];
    if (w->clients[w->client] >= 0 || w->session_count > SESSIONS / 2)
        return w->clients[w->client];
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds);
    assert(!failed);
    /* The smallest buffers of the kernel, so that unread output is soon stuck. */
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
    w->clients[w->client] = fds[1];
    w->said[w->client] = false;
    w->last_len = 0;
    conns_accept(w->conns, fds[0], &listener, &peer, sizeof peer, NULL);
    return fds[1];
}

static void client_close(struct world *w)
{
    if (w->clients[w->client] >= 0)
        close(w->clients[w->client]);
    w->clients[w->client] = -1;
}

static void client_send(struct world *w, const char *bytes, size_t len)
{
    int fd = client_fd(w);
    for (unsigned tries = 0; fd >= 0 && len > 0 && tries < 3; tries++) {
        ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
        if (n < 0 && errno != EAGAIN)
            return;
        bytes += n < 0 ? 0 : n;
        len -= n < 0 ? 0 : (size_t)n;
        if (len > 0)
            turn(w);
    }
}

/* The client reads whole lines, whose first byte names their kind. */
static void client_read(struct world *w)
{
    char bytes[16 * 1024];
    int fd = w->clients[w->client];
    ssize_t n = fd >= 0 ? recv(fd, bytes, sizeof bytes, 0) : 0;
    bool inside = w->said[w->client];
    for (ssize_t i = 0; i < n; i++) {
        assert(bytes[i] == '\n' || (bytes[i] >= 0x20 && bytes[i] <= 0x7e));
        assert(inside || strchr("+-*!#", bytes[i]));
        inside = bytes[i] != '\n';
    }
    w->said[w->client] = inside;
}

static void flood(struct world *w)
{
    w->last[w->last_len] = '\n';
    for (unsigned i = 0; i < FLOOD; i++)
        client_send(w, w->last, w->last_len + 1);
}

static void end_late(struct world *w)
{
    for (unsigned i = 0; i < w->session_count; i++) {
        struct session *session = &w->sessions[i];
        if (!session->closed || session->ended)
            continue;
        session->ended = true;
        conns_ended(w->conns, session->id);
    }
}

static void answer(struct world *w, bool newest, bool good)
{
    for (unsigned k = 0; k < w->pending_count; k++) {
        unsigned i = newest ? w->pending_count - 1 - k : k;
        if (w->pending[i].granted)
            continue;
        reply(w, i, good ? good_code(w->pending[i].verb) : REPLY_NOQUORUM);
        return;
    }
}

static void notify(struct world *w, enum notice_kind kind)
{
    struct notice notice = {.kind = kind, .name = {.len = 1, .text = "n"}, .valid_ms = 1, .behind_ms = 50};
    for (unsigned i = 0; i < w->session_count; i++)
        if (!w->sessions[i].ended)
            conns_notice(w->conns, w->sessions[i].id, &notice);
}

static void happen(struct world *w, uint8_t what)
{
    switch (what) {
    case 'T': turn(w); break;
    case 'A': answer(w, false, true); break;
    case 'B': answer(w, false, false); break;
    case 'Z': answer(w, true, true); break;
    case 'L': notify(w, NOTICE_LOST); break;
    case 'N': notify(w, NOTICE_RENEWED); break;
    case 'O': notify(w, NOTICE_CLOCK); break;
    case 'D': conns_drain(w->conns); break;
    case 'E': end_late(w); break;
    case 'F': shutdown(client_fd(w), SHUT_WR); break;
    case 'X': client_close(w); break;
    case 'R': client_read(w); break;
    case '0': w->client = 0; break;
    case '1': w->client = 1; break;
    case '*': flood(w); break;
    default: client_send(w, "", 1); break; /* NUL itself */
    }
}

/* ---- a run ---- */

static void run(struct world *w, struct bytes in)
{
    while (in.at < in.end) {
        const uint8_t *nul = memchr(in.at, 0, (size_t)(in.end - in.at));
        size_t len = (size_t)((nul ? nul : in.end) - in.at);
        client_send(w, (const char *)in.at, len);
        for (size_t i = 0; i < len; i++) {
            if (in.at[i] == '\n' || w->last_len == sizeof w->last - 1)
                w->last_len = 0;
            else
                w->last[w->last_len++] = (char)in.at[i];
        }
        in.at += len;
        if (!nul)
            break;
        in.at++;
        happen(w, bytes_next(&in));
    }
}

/* Everything ends within a bounded number of turns: each queued line may need one. */
static void wind_up(struct world *w)
{
    turn(w);
    for (w->client = 0; w->client < CLIENTS; w->client++)
        client_close(w);
    for (unsigned i = 0; i < TURNS && conns_count(w->conns) > 0; i++) {
        turn(w);
        end_late(w);
        for (unsigned k = w->pending_count; k > 0; k--)
            answer(w, true, false);
    }
    /* A refused AUTH takes a second, and a client may have three refused. */
    for (unsigned i = 0; w->conf.users && i < AUTH_TURNS && conns_count(w->conns) > 0; i++) {
        usleep(1000);
        turn(w);
        end_late(w);
        for (unsigned k = w->pending_count; k > 0; k--)
            answer(w, true, false);
    }
    assert(conns_count(w->conns) == 0 && conns_idle(w->conns));
    for (unsigned i = 0; i < w->session_count; i++)
        assert(w->sessions[i].closed);
}

/* Users: this process by its uid, and ops by the secret of 64 zeroes. */
static struct users *make_users(void)
{
    static struct conf conf;
    static const char secret[] = "0000000000000000000000000000000000000000000000000000000000000000";
    char text[512], hex[SECRET_HEX + 1] = "", path[] = "/tmp/fuzz_conn.XXXXXX";
    uint8_t hash[SECRET_HASH_BYTES];
    int fd = mkstemp(path);
    bool hashed = secret_hash(secret, SECRET_HEX, hash);
    assert(fd >= 0 && hashed);
    secret_to_hex(hash, hex);
    ssize_t written = write(fd, hex, SECRET_HEX);
    assert(written == SECRET_HEX);
    close(fd);
    int len = snprintf(text, sizeof text,
                       "nodes: [redis://a:1, redis://b:2, redis://c:3]\nusers:\n"
                       "  - {name: me, uid: %u, lock: ['w*', a], max_clients: 2}\n"
                       "  - {name: ops, secret_file: %s, lock: '*', show: '*', admin: yes, max_clients: 1}\n",
                       (unsigned)getuid(), path);
    int faults = conf_parse(&conf, "users", text, (size_t)len, stderr);
    assert(faults == 0);
    (void)written;
    (void)faults;
    unlink(path);
    return conf.users;
}

int HARNESS(fuzz_conn)(const uint8_t *data, size_t size)
{
    static struct world world;
    static struct users *users;
    struct world *w = &world;
    struct bytes in = {data, data + size};
    if (!base) {
        log_set_level(LOG_LEVEL_ERROR);
        base = event_base_new();
    }
    memset(w, 0, sizeof *w);
    w->flags = bytes_next(&in);
    w->clients[0] = w->clients[1] = -1;
    w->handler = (struct conn_handler){on_request, on_finish, on_closed, on_undelivered, on_row,
                                       on_counts,  on_admits, on_ready,  on_look_up,     w};
    conf_defaults(&w->conf);
    w->conf.max_clients = w->flags & FLAG_ONE_CLIENT ? 1 : CLIENTS + 1;
    w->conf.max_waits_per_client = w->flags & FLAG_FEW_WAITS ? 1 : 100;
    w->conf.max_output_bytes = 4096;
    if (w->flags & FLAG_USERS && !users)
        users = make_users();
    w->conf.users = w->flags & FLAG_USERS ? users : NULL;
    w->conns = conns_new(base, &w->conf, "0.1.0", &w->handler);
    assert(base && w->conns);
    run(w, in);
    wind_up(w);
    conns_free(w->conns);
    return 0;
}
