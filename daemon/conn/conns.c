/* All connections together: accepting, replies and notices, the flush in each turn of the loop, counting. */
#include <assert.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"
#include "daemon/log.h"

enum {
    REFUSED_READS = 16, /* at most, of a refused client, which may send without end */
    JUDGE_US = 1000,    /* in one turn */
    TURNS = 1024,       /* of connections that were held back, in one flush */
};

/* Clients that are held back go on, one request each. True: there may be more, for the next turn of the loop. */
static bool give_turns(struct conns *all)
{
    struct conn *c;

    for (unsigned turns = 0; turns < TURNS; turns++) {
        if (!(c = admit_next(all)))
            return false;
        conn_go_on(c);
        c->its_turn = false;
    }
    return true;
}

void conns_flush(struct conns *all)
{
    struct conn *c;

    assert(!all->flushing);
    all->flushing = true;
    all->flushes++;
    all->more_turns = give_turns(all);
    while (!STAILQ_EMPTY(&all->ready) || !STAILQ_EMPTY(&all->dirty)) {
        while ((c = STAILQ_FIRST(&all->ready))) {
            STAILQ_REMOVE_HEAD(&all->ready, ready);
            c->is_ready = false;
            if (c->state != CONN_GONE)
                conn_go_on(c);
        }
        while ((c = STAILQ_FIRST(&all->dirty))) {
            STAILQ_REMOVE_HEAD(&all->dirty, dirty);
            c->is_dirty = false;
            conn_flush(c);
        }
    }
    while ((c = STAILQ_FIRST(&all->gone))) {
        STAILQ_REMOVE_HEAD(&all->gone, gone);
        conn_table_remove(c);
    }
    all->flushing = false;
    conn_tell_rest(all, false);
}

static int64_t clients_per_peer(const struct conns *all)
{
    return conf_share(all->conf->max_clients_per_peer, all->capacity);
}

enum limit conn_limit(struct conn *c)
{
    const struct user *user = user_of(c);
    int64_t most = user && user->max_clients ? user->max_clients : clients_per_peer(c->all);

    if (*user_counter(c) <= most)
        return LIMIT_NONE;
    return user ? LIMIT_MAX_CLIENTS_PER_USER : LIMIT_MAX_CLIENTS_PER_PEER;
}

static void conns_refuse(struct conns *all, int fd, enum limit limit, bool tls)
{
    static const struct tag none;
    const struct reply reply = {.code = REPLY_LIMIT, .limit = limit};
    int64_t now_ms = clock_boot_ms();

    all->stats.clients_refused++;
    if (!all->full_ms || now_ms - all->full_ms > 10000)
        log_warn("clients_full", "limit=%s max_clients=%u max_clients_per_peer=%lld: new clients are refused",
                 line_limit_word(limit), all->capacity, (long long)clients_per_peer(all));
    all->full_ms = now_ms;
    if (tls) { /* nothing can be said before a handshake */
        close(fd);
        return;
    }
    size_t len = line_format_reply(all->scratch, &none, &reply);
    if (send(fd, all->scratch, len, MSG_NOSIGNAL | MSG_DONTWAIT) > 0) {
        /* Bytes left unread would make the close a reset, which discards the line. */
        shutdown(fd, SHUT_WR);
        for (unsigned reads = 0; reads < REFUSED_READS; reads++)
            if (recv(fd, all->input, sizeof all->input, MSG_DONTWAIT) < (ssize_t)sizeof all->input)
                break;
    }
    close(fd);
}

/* A host that lost its power is noticed after client_keepalive and three probes or, with bytes under way, by
 * TCP_USER_TIMEOUT. Options are best effort, since not every kind of socket has them. */
static void set_options(struct conn *c)
{
    int keepalive_s = (int)((c->all->conf->client_keepalive_ms + 999) / 1000);
    int on = 1, interval_s = 3, probes = 3;
    unsigned timeout_ms = (unsigned)c->all->conf->client_keepalive_ms + 10000;

    setsockopt(c->wire.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(c->wire.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(c->wire.fd, IPPROTO_TCP, TCP_KEEPIDLE, &keepalive_s, sizeof keepalive_s);
    setsockopt(c->wire.fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(c->wire.fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
    setsockopt(c->wire.fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
}

/* Returns the number of its group. */
static uint16_t set_peer(struct conn *c, const struct sockaddr *peer)
{
    struct ucred cred = {.uid = (uid_t)-1, .gid = (gid_t)-1};

    c->peer_family = peer->sa_family;
    c->local = peer->sa_family == AF_UNIX;
    if (c->local) {
        socklen_t len = sizeof cred;
        if (getsockopt(c->wire.fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
            cred = (struct ucred){.uid = (uid_t)-1, .gid = (gid_t)-1};
        c->peer.cred = cred;
    } else if (peer->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)peer;
        c->peer.v6 = v6->sin6_addr;
        c->peer_port = ntohs(v6->sin6_port);
    } else {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)peer;
        c->peer.v4 = v4->sin_addr;
        c->peer_port = ntohs(v4->sin_port);
    }
    c->all->peer_clients[c->peer_number]--;
    c->peer_number = peer_number(c->all, peer, cred.uid);
    c->all->peer_clients[c->peer_number]++;
    return peer_group(c->all, peer, cred.uid);
}

static bool conn_secure(struct conn *c, struct wire_context *tls, uint16_t group)
{
    if (wire_begin(&c->wire, tls, NULL) == 0)
        c->handshake = handshake_new(c->all->handshakes, &c->wire, group, conn_on_handshake, c);
    if (!c->handshake)
        return false;
    user_identify(c);
    return true;
}

void conns_accept(struct conns *all, int fd, const struct conf_listener *listener,
                  const struct sockaddr *peer, socklen_t peer_len, struct wire_context *tls)
{
    struct conn *c = conn_table_add(all);

    (void)peer_len;
    if (!c && conn_evict(newcomer_oldest(all)))
        c = conn_table_add(all);
    if (!c) {
        conns_refuse(all, fd, LIMIT_MAX_CLIENTS, tls);
        return;
    }
    c->wire.fd = fd;
    c->first = true;
    c->fin_breaks = listener->fin_breaks;
    c->heard_ms = clock_boot_ms();
    uint16_t group = set_peer(c, peer);
    if (!tls)
        user_identify(c);
    enum limit limit = conn_limit(c);
    if (limit == LIMIT_MAX_CLIENTS_PER_PEER && conn_evict(newcomer_oldest_of(c, group)))
        limit = conn_limit(c);
    if (limit != LIMIT_NONE) {
        conn_table_remove(c);
        conns_refuse(all, fd, limit, tls);
        return;
    }
    if (!c->local)
        set_options(c);
    if (tls && !conn_secure(c, tls, group)) {
        conn_table_remove(c);
        close(fd);
        return;
    }
    all->stats.clients_accepted++;
    if (c->handshake || c->stranger)
        newcomer_join(c, group);
    conn_watch(c, false);
}

struct conns *conns_new(struct event_base *base, const struct conf *conf, const char *version,
                        const struct conn_handler *handler)
{
    struct conns *all = calloc(1, sizeof *all);

    if (!all)
        return NULL;
    uint8_t random[32];

    clock_random(random);
    memcpy(&all->peer_seed, random, sizeof all->peer_seed);
    all->base = base;
    all->conf = conf;
    all->version = version;
    all->handler = handler;
    all->on_event = conn_on_event;
    STAILQ_INIT(&all->ready);
    STAILQ_INIT(&all->dirty);
    STAILQ_INIT(&all->gone);
    TAILQ_INIT(&all->timed);
    TAILQ_INIT(&all->unread);
    evtimer_assign(&all->unread_timer, base, conn_on_unread, all);
    all->handshakes = handshakes_new(base);
    if (evtimer_assign(&all->timer, base, conn_on_timer, all) < 0 || !all->handshakes || admit_new(all) < 0 ||
        conn_table_new(all) < 0 || newcomers_new(all) < 0) {
        newcomers_free(all);
        conn_table_free(all);
        admit_free(all);
        handshakes_free(all->handshakes);
        free(all);
        return NULL;
    }
    return all;
}

void conns_reconfigure(struct conns *all)
{
    struct conn *c;

    event_active(&all->timer, EV_TIMEOUT, 0);
    for (uint64_t cursor = 0; (c = conn_table_next(all, &cursor));)
        user_identify(c);
}

void conns_free(struct conns *all)
{
    if (!all)
        return;
    conn_tell_rest(all, true);
    for (uint32_t i = 0; i < all->used; i++) {
        struct conn *c = all->slots[i].conn;
        if (!c)
            continue;
        if (c->watch != WATCH_NONE)
            event_del(&c->event);
        if (c->handshake)
            handshake_cancel(c->handshake);
        wire_close(&c->wire);
        conn_table_remove(c);
    }
    event_del(&all->timer);
    event_del(&all->unread_timer);
    handshakes_free(all->handshakes);
    admit_free(all);
    newcomers_free(all);
    conn_table_free(all);
    free(all);
}

static void count_answer(struct conns *all, const struct pending *pending, enum reply_code code)
{
    int64_t us = all->now_us - pending->began_us;

    all->counts.answers[pending->verb][code]++;
    if (pending->verb < COUNTS_TIMED)
        histogram_count(&all->counts.seconds[pending->verb], us);
    if (code == REPLY_LOCKED && pending->verb == VERB_LOCK)
        histogram_count(&all->counts.waited, us);
}

void conns_reply(struct conns *all, uint64_t session, uint64_t request, struct reply *reply)
{
    struct conn *c = conn_table_find(all, session);
    struct pending *pending = c ? pending_find(c, request) : NULL;

    if (!pending)
        return;
    count_answer(all, pending, reply->code);
    uint64_t at = c->appended;
    reply->order = pending->order;
    size_t len = line_format_reply(output_line(c), &pending->tag, reply);
    pending_unlink(c, pending);
    if (reply->code == REPLY_LOCKED) {
        pending->at = at;
        *c->grants_tail = pending;
        c->grants_tail = &pending->next;
    } else {
        pending_free(all, pending);
    }
    output_done(c, len);
}

void conns_lines(struct conns *all, uint64_t session, uint64_t request, enum reply_code code, conn_line *line,
                 void *arg)
{
    struct conn *c = conn_table_find(all, session);
    struct pending *pending = c ? pending_find(c, request) : NULL;

    if (!pending || c->state > CONN_FINISHING)
        return;
    all->counts.answers[pending->verb][code]++;
    struct tag tag = pending->tag;
    pending_unlink(c, pending);
    pending_free(all, pending);
    size_t len = 0;
    for (unsigned i = 0; (len = line(arg, i, &tag, output_line(c))) > 0; i++)
        output_done(c, len);
}

void conns_notice(struct conns *all, uint64_t session, const struct notice *notice)
{
    struct conn *c = conn_table_find(all, session);

    if (!c || c->handshake || c->state == CONN_FLUSHING || (notice->kind == NOTICE_RENEWED && !c->renewed))
        return;
    output_done(c, line_format_notice(output_line(c), notice));
}

void conns_ended(struct conns *all, uint64_t session)
{
    struct conn *c = conn_table_find(all, session);

    if (c && c->state == CONN_RELEASING)
        conn_farewell(c);
}

void conns_rows_known(struct conns *all)
{
    struct conn *c;

    for (uint64_t cursor = 0; (c = conn_table_next(all, &cursor));) {
        if (!c->awaits_row)
            continue;
        c->awaits_row = false;
        conn_dirty(c);
    }
}

static void conns_tell_all(struct conns *all, const struct notice *notice)
{
    struct conn *c;

    for (uint64_t cursor = 0; (c = conn_table_next(all, &cursor));)
        conns_notice(all, c->session, notice);
}

void conns_drain(struct conns *all)
{
    conns_tell_all(all, &(struct notice){.kind = NOTICE_DRAIN});
}

void conns_clock(struct conns *all, int64_t behind_ms)
{
    all->behind_ms = behind_ms;
    conns_tell_all(all, &(struct notice){.kind = NOTICE_CLOCK, .behind_ms = behind_ms});
}

void conns_judge(struct conns *all)
{
    all->judged = 0;
    all->judging = true;
}

/* Verifying ten thousand certificates takes a second, so it is spread over many turns. */
static void judge_some(struct conns *all)
{
    int64_t end_us = clock_boot_us() + JUDGE_US;
    struct conn *c;

    do {
        c = conn_table_next(all, &all->judged);
        all->judging = c != NULL;
        if (c && c->state == CONN_OPEN && !wire_is_welcome(&c->wire))
            conn_deny(c, wire_fault()->what);
    } while (c && clock_boot_us() < end_us);
}

void conns_look_at_ends(struct conns *all, int64_t now_s)
{
    struct conn *c;

    for (uint64_t cursor = 0; (c = conn_table_next(all, &cursor));)
        if (c->state == CONN_OPEN && wire_peer_has_ended(&c->wire, now_s))
            conn_deny(c, "its certificate has ended");
}

struct handshakes *conns_handshaker(struct conns *all)
{
    return all->handshakes;
}

bool conns_handshakes(struct conns *all)
{
    if (handshakes_idle(all->handshakes) && !all->judging)
        return all->more_turns;
    bool more = handshakes_run(all->handshakes);
    if (all->judging)
        judge_some(all);
    return more || all->judging || all->more_turns || !STAILQ_EMPTY(&all->ready) ||
           !STAILQ_EMPTY(&all->dirty) || !STAILQ_EMPTY(&all->gone);
}

bool conns_idle(const struct conns *all)
{
    const struct conn *c;

    if (all->held_count)
        return false;
    for (uint64_t cursor = 0; (c = conn_table_next(all, &cursor));)
        if (c->pending_count || c->queued || buffer_len(&c->out))
            return false;
    return true;
}

unsigned conns_count(const struct conns *all)
{
    const struct conn *c;
    unsigned count = all->count;

    STAILQ_FOREACH(c, &all->gone, gone)
    count--;
    return count;
}

const char *conns_address(const struct conns *all, uint64_t session, char out[ADDRESS_TEXT_BYTES])
{
    const struct conn *c = conn_table_find(all, session);

    out[0] = '\0';
    if (c)
        conn_address(c, out);
    return out;
}

const struct word *conns_client_word(const struct conns *all, uint64_t session)
{
    static const struct word none;
    const struct conn *c = conn_table_find(all, session);

    return c && c->client ? c->client : &none;
}

uint16_t conns_peer(const struct conns *all, uint64_t session)
{
    const struct conn *c = conn_table_find(all, session);

    return c ? c->peer_number : 0;
}

const struct user *conns_user(const struct conns *all, uint64_t session)
{
    const struct conn *c = conn_table_find(all, session);

    return c ? user_of(c) : NULL;
}

void conns_stats(const struct conns *all, struct conns_stats *stats)
{
    *stats = all->stats;
    stats->clients = conns_count(all);
}

const struct counts *conns_counts(const struct conns *all)
{
    return &all->counts;
}

void conns_now(struct conns *all, int64_t now_us)
{
    all->now_us = now_us;
}
