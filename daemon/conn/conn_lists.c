/* The lists in which a connection notes what is to be done for it: ready, dirty, timed and unread. */
#include "daemon/conn/conn_private.h"

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

void conn_unread(struct conn *c)
{
    static const struct timeval at_once;

    if (c->is_unread || c->blocked || !wire_pending(&c->wire))
        return;
    c->is_unread = true;
    TAILQ_INSERT_TAIL(&c->all->unread, c, unread);
    if (event_add(&c->all->unread_timer, &at_once) < 0)
        event_active(&c->all->unread_timer, EV_TIMEOUT, 0);
}

void conn_not_unread(struct conn *c)
{
    if (!c->is_unread)
        return;
    c->is_unread = false;
    TAILQ_REMOVE(&c->all->unread, c, unread);
}

static void lists_set_timer(struct conns *all, int64_t in_ms)
{
    struct timeval tv = {.tv_sec = (time_t)(in_ms / 1000), .tv_usec = (suseconds_t)(in_ms % 1000 * 1000)};

    /* Without memory for the timer, fire at once: a timer that fires early is set again. */
    if (event_add(&all->timer, &tv) < 0)
        event_active(&all->timer, EV_TIMEOUT, 0);
}

void conn_timed(struct conn *c, int64_t since_ms)
{
    conn_untimed(c);
    c->is_timed = true;
    c->since_ms = since_ms;
    if (TAILQ_EMPTY(&c->all->timed) && !event_pending(&c->all->timer, EV_TIMEOUT, NULL))
        lists_set_timer(c->all, c->all->conf->idle_line_timeout_ms);
    TAILQ_INSERT_TAIL(&c->all->timed, c, timed);
}

void conn_untimed(struct conn *c)
{
    if (!c->is_timed)
        return;
    c->is_timed = false;
    TAILQ_REMOVE(&c->all->timed, c, timed);
}

struct conn *conn_timed_out(struct conns *all, int64_t now_ms)
{
    struct conn *c = TAILQ_FIRST(&all->timed);

    if (!c)
        return NULL;
    int64_t left_ms = c->since_ms + all->conf->idle_line_timeout_ms - now_ms;
    if (left_ms > 0) {
        lists_set_timer(all, left_ms);
        return NULL;
    }
    conn_untimed(c);
    return c;
}
