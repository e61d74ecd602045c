/* A connection at work: its events, its time-out, its share of a flush. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/conn/conn_private.h"

/* An event of a client that is not read: its end, or room for more output.
 * Over TLS a FIN proves nothing: what lies before it is read first, and then says how the session ends. */
static void conn_on_watched(struct conn *c, short what)
{
    int err = 0;
    socklen_t len = sizeof err;

    if (getsockopt(c->wire.fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
        err = errno;
    if (err) {
        conn_break(c, err, strerror(err));
        return;
    }
    if (what & EV_CLOSED)
        conn_finish(c);
    if (what & EV_WRITE && c->stuck)
        conn_dirty(c);
}

void conn_on_event(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;
    (void)fd;

    if (c->error) /* a write took the error from the socket: a read now would look like a FIN */
        return;
    if (c->watch == WATCH_END) {
        conn_on_watched(c, what);
        return;
    }
    if (what & EV_WRITE)
        conn_dirty(c);
    if (what & EV_READ || wire_read_wants_write(&c->wire))
        input_read(c);
}

/* Reads the connections in the list unread once; one that still has input enters the list again, for the next
 * turn. */
void conn_on_unread(evutil_socket_t fd, short what, void *arg)
{
    struct conns *all = arg;
    struct conn *c;
    unsigned count = 0;
    (void)fd;
    (void)what;

    TAILQ_FOREACH(c, &all->unread, unread)
    count++;
    for (; count && (c = TAILQ_FIRST(&all->unread)); count--) {
        conn_not_unread(c);
        if (!c->blocked && !c->error && c->state != CONN_GONE)
            input_read(c);
    }
}

void conn_on_handshake(void *arg, const char *why, const char *hint)
{
    struct conn *c = arg;
    char text[WIRE_WHAT_BYTES + 256];

    c->handshake = NULL;
    c->all->stats.tls_handshakes += !why;
    c->all->stats.tls_handshakes_failed += why != NULL;
    if (why) {
        snprintf(text, sizeof text, *hint ? "%s: %s" : "%s", why, hint);
        conn_reject(c, text);
        return;
    }
    if (!wire_is_welcome(&c->wire)) { /* client_ca has changed meanwhile */
        conn_reject(c, wire_fault()->what);
        return;
    }
    c->certificate = wire_peer_names(&c->wire);
    user_identify(c);
    if (conn_limit(c) != LIMIT_NONE) {
        c->all->stats.clients_refused++;
        output_code(c, VERB_HELLO, &(struct tag){0}, REPLY_LIMIT, conn_limit(c));
        output_push(c);
        conn_reject(c, "its user has too many clients");
        return;
    }
    c->heard_ms = clock_boot_ms();
    conn_watch(c, false);
    conn_unread(c);
}

void conn_on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct conns *all = arg;
    int64_t now_ms = clock_boot_ms();
    struct conn *c;
    (void)fd;
    (void)what;

    while ((c = conn_timed_out(all, now_ms))) {
        if (c->state == CONN_OPEN) {
            conn_drop(c, c->blocked ? "reads nothing for longer than idle_line_timeout"
                                    : "half a line for longer than idle_line_timeout");
        } else {
            conn_tell(c, "client_slow", "it does not read its last answers");
            output_mute(c);
        }
    }
}

void conn_go_on(struct conn *c)
{
    if (c->doom && c->state == CONN_OPEN) {
        conn_drop(c, c->doom);
        return;
    }
    if (c->doom) { /* the connection is closing already: only hurry */
        c->doom = NULL;
        output_mute(c);
    }
    if (c->expelled)
        conn_finish(c);
    input_resume(c);
    if (c->state != CONN_OPEN)
        conn_dirty(c); /* conn_flush() looks for the end */
}

/* A client for which much output waits is not read, and has idle_line_timeout to take some of the output. */
static void conn_pace(struct conn *c)
{
    if (output_full(c)) {
        c->blocked = !c->eof;
    } else if (c->full) {
        c->full = false;
        conn_ready(c);
    }
    bool times = c->state == CONN_OPEN ? output_stalls(c) : c->stuck;
    if (times && !c->is_timed)
        conn_timed(c, clock_boot_ms());
    if (!times && (c->blocked || c->state != CONN_OPEN))
        conn_untimed(c);
}

void conn_flush(struct conn *c)
{
    if (c->state == CONN_GONE || c->doom)
        return;
    show_produce(c);
    output_push(c);
    if (c->error) {
        int err = c->error;
        c->error = 0;
        conn_break(c, err, strerror(err));
        if (c->state == CONN_GONE)
            return;
    }
    bool empty = !buffer_len(&c->out);
    if (empty)
        buffer_return(c->all, &c->out);
    c->stuck = !empty || (c->listings && !c->awaits_row);
    conn_pace(c);
    conn_watch(c, empty && c->stuck);
    conn_settle(c);
}
