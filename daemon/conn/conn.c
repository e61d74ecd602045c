/* The life of a connection: accepted, watched, ended, freed. */
#include "daemon/conn/conns.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"
#include "daemon/log.h"

/* ---- states ---- */

static void conn_move(struct conn *c, enum conn_state to)
{
    static const uint8_t legal[] = {
        [CONN_OPEN] = 1 << CONN_FINISHING | 1 << CONN_GONE,
        [CONN_FINISHING] = 1 << CONN_RELEASING,
        [CONN_RELEASING] = 1 << CONN_FLUSHING,
        [CONN_FLUSHING] = 1 << CONN_GONE,
        [CONN_GONE] = 0,
    };

    assert(legal[c->state] & 1 << to);
    c->state = to;
}

void conn_ready(struct conn *c)
{
    if (c->is_ready)
        return;
    c->is_ready = true;
    STAILQ_INSERT_TAIL(&c->all->ready, c, ready);
}

void conn_dirty(struct conn *c)
{
    if (c->is_dirty)
        return;
    c->is_dirty = true;
    STAILQ_INSERT_TAIL(&c->all->dirty, c, dirty);
}

/* ---- time-outs: one list, one timer ---- */

static void timer_set(struct conns *all, int64_t in_ms)
{
    struct timeval tv = {.tv_sec = (time_t)(in_ms / 1000), .tv_usec = (suseconds_t)(in_ms % 1000 * 1000)};

    if (event_add(&all->timer, &tv) < 0) /* no memory: too early is looked at again, never is not */
        event_active(&all->timer, EV_TIMEOUT, 0);
}

void conn_timed(struct conn *c, int64_t since_ms)
{
    conn_untimed(c);
    c->is_timed = true;
    c->since_ms = since_ms;
    if (TAILQ_EMPTY(&c->all->timed) && !event_pending(&c->all->timer, EV_TIMEOUT, NULL))
        timer_set(c->all, c->all->conf->idle_line_timeout_ms);
    TAILQ_INSERT_TAIL(&c->all->timed, c, timed);
}

void conn_untimed(struct conn *c)
{
    if (!c->is_timed)
        return;
    c->is_timed = false;
    TAILQ_REMOVE(&c->all->timed, c, timed);
}

void conn_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct conns *all = arg;
    int64_t now_ms = clock_boot_ms();
    struct conn *c;
    (void)fd;
    (void)what;

    while ((c = TAILQ_FIRST(&all->timed))) {
        int64_t left_ms = c->since_ms + all->conf->idle_line_timeout_ms - now_ms;
        if (left_ms > 0) {
            timer_set(all, left_ms);
            return;
        }
        conn_untimed(c);
        if (c->state == CONN_OPEN) {
            conn_drop(c, c->blocked ? "reads nothing for longer than idle_line_timeout"
                                    : "half a line for longer than idle_line_timeout");
        } else {
            conn_tell(c, "client_slow", "it does not read its last answers");
            conn_mute(c);
        }
    }
}

/* ---- what libevent watches ---- */

/* Nothing that the client sends counts any more. */
static bool input_over(const struct conn *c)
{
    return c->eof || c->quits;
}

static void on_event(evutil_socket_t fd, short what, void *arg);

static enum conn_watch watch_wanted(const struct conn *c)
{
    if (c->state == CONN_GONE || (c->muted && input_over(c)))
        return WATCH_NONE;
    if (c->eof || c->blocked)
        return WATCH_END;
    return c->stuck && !c->muted ? WATCH_BOTH : WATCH_READ;
}

/* EV_CLOSED alone never tells of a reset, and level-triggered it would be told of a FIN without
 * end; so while a client is not read, its end comes as an edge of EV_CLOSED (FIN) or EV_WRITE
 * (reset: the error is in SO_ERROR). */
void conn_watch(struct conn *c, bool again)
{
    static const short flags[] = {
        [WATCH_READ] = EV_READ | EV_PERSIST,
        [WATCH_BOTH] = EV_READ | EV_WRITE | EV_PERSIST,
        [WATCH_END] = EV_CLOSED | EV_WRITE | EV_ET | EV_PERSIST,
    };
    enum conn_watch want = watch_wanted(c);

    if (want == c->watch && !(again && want == WATCH_END))
        return;
    if (c->watch != WATCH_NONE)
        event_del(&c->event);
    c->watch = want;
    if (want == WATCH_NONE)
        return;
    if (event_assign(&c->event, c->all->base, c->fd, flags[want], on_event, c) < 0 ||
        event_add(&c->event, NULL) < 0) {
        c->watch = WATCH_NONE;
        c->doom = "no memory";
        conn_ready(c);
    }
}

/* A client that is not read: its end, or room for more output. */
static void on_unread(struct conn *c, short what)
{
    int err = 0;
    socklen_t len = sizeof err;

    if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
        err = errno;
    if (err) {
        conn_break(c, err);
        return;
    }
    if (what & EV_CLOSED)
        conn_finish(c);
    if (what & EV_WRITE && c->stuck)
        conn_dirty(c);
}

static void on_event(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;
    (void)fd;

    if (c->error) /* drawn from the socket already: reading it now would look like a FIN */
        return;
    if (c->watch == WATCH_END) {
        on_unread(c, what);
        return;
    }
    if (what & EV_WRITE)
        conn_dirty(c);
    if (what & EV_READ)
        input_read(c);
}

/* ---- ends ---- */

static void conn_gone(struct conn *c)
{
    conn_move(c, CONN_GONE);
    conn_watch(c, false);
    conn_untimed(c);
    show_abandon(c);
    close(c->fd);
    c->fd = -1;
    c->all->stats.closed++;
    STAILQ_INSERT_TAIL(&c->all->gone, c, gone);
}

void conn_mute(struct conn *c)
{
    c->muted = true;
    c->stuck = false;
    buffer_return(c->all, &c->out);
    show_abandon(c);
    if (c->state != CONN_OPEN)
        conn_untimed(c);
    conn_ready(c);
    conn_dirty(c);
}

void conn_tell(struct conn *c, const char *event, const char *why)
{
    struct conns *all = c->all;
    char address[ADDRESS_TEXT_BYTES];

    conn_tell_rest(all, false);
    int64_t now_ms = clock_boot_ms();
    bool told = !all->told_ms || now_ms - all->told_ms >= TELL_MS;
    void (*log)(const char *, const char *, ...) = told ? log_info : log_debug;
    conn_address(c, address);
    log(event, "session=%llu address=%s why=\"%s\"", (unsigned long long)c->session, address, why);
    if (told)
        all->told_ms = now_ms;
    else
        all->untold++;
}

void conn_tell_rest(struct conns *all, bool at_once)
{
    if (!all->untold)
        return;
    int64_t now_ms = clock_boot_ms();
    if (now_ms - all->told_ms < TELL_MS && !at_once)
        return;
    log_info("clients_dropped", "more=%llu why=\"besides the one logged before; log_level debug shows each\"",
             (unsigned long long)all->untold);
    all->told_ms = now_ms;
    all->untold = 0;
}

void conn_drop(struct conn *c, const char *why)
{
    const struct conn_handler *handler = c->all->handler;

    conn_tell(c, "client_dropped", why);
    conn_gone(c);
    if (!c->known)
        return;
    output_undelivered(c);
    handler->closed(handler->arg, c->session, CONN_DROPPED);
}

void conn_reject(struct conn *c)
{
    char address[ADDRESS_TEXT_BYTES];

    assert(!c->known);
    conn_address(c, address);
    log_debug("client_foreign", "session=%llu address=%s speaks=\"HTTP or TLS\"",
              (unsigned long long)c->session, address);
    conn_gone(c);
}

/* A reset before any FIN is no proof that the client is dead. After a FIN it proves nothing new: its
 * errno is then EPIPE, also where we have not read as far as the FIN (tcp_reset() in the kernel). A
 * Unix socket fails only because its peer closed it. */
void conn_break(struct conn *c, int err)
{
    if (c->state == CONN_OPEN && (!c->local || c->fin_breaks) && err != EPIPE) {
        conn_drop(c, strerror(err));
        return;
    }
    log_debug("client_broken", "session=%llu error=\"%s\"", (unsigned long long)c->session, strerror(err));
    conn_mute(c);
    shutdown(c->fd, SHUT_RDWR); /* where only we cannot write (ENOBUFS): the client must not wait in vain */
    conn_finish(c);
    conn_watch(c, false);
}

void conn_finish(struct conn *c)
{
    const struct conn_handler *handler = c->all->handler;

    if (c->state != CONN_OPEN)
        return;
    conn_move(c, CONN_FINISHING);
    conn_untimed(c);
    conn_ready(c);
    conn_dirty(c);
    if (!c->known)
        return;
    c->told = true;
    handler->finish(handler->arg, c->session);
}

/* What was released is told: +BYE, and the last bytes. */
static void conn_farewell(struct conn *c)
{
    if (c->quits)
        output_code(c, &c->quit_tag, REPLY_BYE, LIMIT_NONE);
    conn_move(c, CONN_FLUSHING);
    conn_dirty(c);
}

static void conn_release(struct conn *c)
{
    const struct conn_handler *handler = c->all->handler;

    conn_move(c, CONN_RELEASING);
    if (!c->known) {
        conn_farewell(c);
        return;
    }
    output_undelivered(c);
    if (!c->fin_breaks || c->quits) {
        handler->closed(handler->arg, c->session, CONN_RELEASED);
        return;
    }
    conn_farewell(c);
    handler->closed(handler->arg, c->session, CONN_DROPPED);
}

void conn_settle(struct conn *c)
{
    bool answered = !c->lives && !c->queued && input_over(c);

    /* A grant in our buffer may still reach the client: the session is over when it was, or cannot be. */
    if (c->state == CONN_FINISHING && answered && (c->muted || !c->grants))
        conn_release(c);
    if (c->state == CONN_FLUSHING && !buffer_len(&c->out)) {
        log_debug("client_closed", "session=%llu", (unsigned long long)c->session);
        conn_gone(c);
    }
}

void conns_ended(struct conns *all, uint64_t session)
{
    struct conn *c = conn_table_find(all, session);

    if (c && c->state == CONN_RELEASING)
        conn_farewell(c);
}

void conn_go_on(struct conn *c)
{
    if (c->doom && c->state == CONN_OPEN) {
        conn_drop(c, c->doom);
        return;
    }
    if (c->doom) { /* closing already: just quicker */
        c->doom = NULL;
        conn_mute(c);
    }
    input_resume(c);
    if (c->state != CONN_OPEN)
        conn_dirty(c); /* where its end is looked at */
}
