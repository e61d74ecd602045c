/* The end of a connection: from its last request to its last byte. */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon/conn/conn_private.h"
#include "daemon/log.h"

static void conn_move(struct conn *c, enum conn_state to)
{
    static const uint8_t legal[] = {
        [CONN_OPEN] = 1 << CONN_FINISHING | 1 << CONN_RELEASING | 1 << CONN_GONE,
        [CONN_FINISHING] = 1 << CONN_RELEASING,
        [CONN_RELEASING] = 1 << CONN_FLUSHING,
        [CONN_FLUSHING] = 1 << CONN_GONE,
        [CONN_GONE] = 0,
    };

    assert(legal[c->state] & 1 << to);
    c->state = to;
    newcomer_leave(c);
}

static void conn_gone(struct conn *c)
{
    conn_move(c, CONN_GONE);
    conn_watch(c, false);
    conn_untimed(c);
    listings_abandon(c);
    user_forget(c);
    conn_not_unread(c);
    admit_forget(c);
    if (c->handshake)
        handshake_cancel(c->handshake);
    c->handshake = NULL;
    wire_close(&c->wire);
    STAILQ_INSERT_TAIL(&c->all->gone, c, gone);
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

/* Requests that wait in the queue are not begun. A grant whose reply waits to be written stays one: !LOST
 * follows it. */
void conn_deny(struct conn *c, const char *why)
{
    const struct conn_handler *handler = c->all->handler;

    if (!c->known) {
        conn_drop(c, why);
        return;
    }
    conn_tell(c, "client_dropped", why);
    c->expelled = true;
    admit_forget(c);
    c->queued = 0;
    buffer_return(c->all, &c->queue);
    buffer_return(c->all, &c->rest);
    listings_abandon(c);
    conn_move(c, CONN_RELEASING);
    conn_untimed(c);
    conn_dirty(c);
    handler->closed(handler->arg, c->session, CONN_DENIED);
}

void conn_reject(struct conn *c, const char *why)
{
    assert(!c->known);
    conn_tell(c, "client_foreign", why);
    conn_gone(c);
}

/* Only conns_flush() frees connections otherwise, which takes them from these lists. */
bool conn_evict(struct conn *c)
{
    if (!c)
        return false;
    struct conns *all = c->all;

    assert(!c->known && !all->flushing);
    conn_tell(c, "client_dropped",
              "another client needed its place: it had not ended its TLS handshake, or had no user");
    conn_gone(c);
    if (c->is_ready)
        STAILQ_REMOVE(&all->ready, c, conn, ready);
    if (c->is_dirty)
        STAILQ_REMOVE(&all->dirty, c, conn, dirty);
    STAILQ_REMOVE(&all->gone, c, conn, gone);
    conn_table_remove(c);
    return true;
}

/* A reset before any FIN does not prove that the client is dead. After a FIN a reset proves nothing new:
 * errno is then EPIPE, even if we have not read as far as the FIN (tcp_reset() in the kernel), but over TLS
 * a FIN proves nothing. On a Unix socket ECONNRESET says that the client closed it with output unread. Every
 * other error, such as ENOBUFS, is of this host, and says nothing about the client. */
static bool end_is_proved(const struct conn *c, int err)
{
    return (err == EPIPE && !c->wire.tls) || (err == ECONNRESET && c->local && !c->fin_breaks);
}

void conn_break(struct conn *c, int err, const char *why)
{
    if (c->state == CONN_OPEN && !end_is_proved(c, err)) {
        conn_drop(c, why);
        return;
    }
    log_debug("client_broken", "session=%llu error=\"%s\"", (unsigned long long)c->session, why);
    output_mute(c);
    shutdown(c->wire.fd,
             SHUT_RDWR); /* if only our write failed (ENOBUFS), the client must not wait in vain */
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

void conn_farewell(struct conn *c)
{
    if (c->quits)
        output_code(c, VERB_QUIT, &c->quit_tag, REPLY_BYE, LIMIT_NONE);
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
    bool answered = !c->pending_count && !c->queued && input_over(c);

    /* A grant in our buffer may still reach the client: the session ends once it was written, or cannot
     * be. */
    if (c->state == CONN_FINISHING && answered && (c->muted || !c->grants))
        conn_release(c);
    if (c->state == CONN_FLUSHING && !buffer_len(&c->out)) {
        log_debug("client_closed", "session=%llu", (unsigned long long)c->session);
        conn_gone(c);
    }
}
