/* TLS handshakes of clients, of locks and of HTTP together. A handshake costs us a signature, which is a thousand times the
 * work of a request, so there are bounds on everything: whoever floods us with handshakes delays other
 * handshakes, but neither renewals nor clients that are connected already. Peers that wait have their turns one
 * after the other, and a connection has 10 s in all, so that silent ones do not stay.
 *
 *              first byte        handshakes_run()
 *     UNBEGUN ------------> DUE <----------------> WAITING      a place each: 64, 8 of one peer, 2 s
 *        |                   ^                     for the socket
 *        | no place is free  | one is
 *        +---> QUEUED -------+     unread meanwhile
 */
#ifndef REDLOCKD_HANDSHAKES_H
#define REDLOCKD_HANDSHAKES_H

#include <event2/event.h>

#include "daemon/wire/wire.h"

struct handshakes;
struct handshake;

/* The handshake is over and freed. why is NULL if the wire is open, else what was wrong (a text that is good
 * for the call) with what to do in hint (static text, "" where nothing is known). Called from the event loop
 * and from handshakes_run(). */
typedef void handshake_done(void *arg, const char *why, const char *hint);

struct handshakes *handshakes_new(struct event_base *base); /* NULL: no memory */
void handshakes_free(struct handshakes *all);               /* after all of its handshakes are over */

/* Begins on a wire for which wire_begin() was called. peer is a number as from conns_group(). NULL: no memory. */
struct handshake *handshake_new(struct handshakes *all, struct wire *wire, uint16_t peer,
                                handshake_done *done, void *arg);
/* done will not be called. */
void handshake_cancel(struct handshake *h);

/* No step is due. */
bool handshakes_idle(const struct handshakes *all);
/* Takes the steps that are due, for 2 ms at most, but at least one. Call it last in each turn of the loop.
 * true: more are due, so the next turn is to begin at once. */
bool handshakes_run(struct handshakes *all);

#endif
