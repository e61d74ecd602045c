/* The events of a connection that libevent watches. */
#include "daemon/conn/conn_private.h"

static enum conn_watch watch_wanted(const struct conn *c)
{
    if (c->state == CONN_GONE || c->handshake || (c->muted && input_over(c)))
        return WATCH_NONE;
    if (c->eof || c->blocked)
        return WATCH_END;
    return (c->stuck && !c->muted) || wire_read_wants_write(&c->wire) ? WATCH_BOTH : WATCH_READ;
}

/* EV_CLOSED alone does not report a reset, and without EV_ET it would report a FIN again and again. So
 * while a client is not read, its end comes as an edge: EV_CLOSED for a FIN, EV_WRITE for a reset, with
 * the error in SO_ERROR. */
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
    if (event_assign(&c->event, c->all->base, c->wire.fd, flags[want], c->all->on_event, c) < 0 ||
        event_add(&c->event, NULL) < 0) {
        c->watch = WATCH_NONE;
        c->doom = "no memory";
        conn_ready(c);
    }
}
