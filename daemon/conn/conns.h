/* Client connections: bytes -> requests, replies -> bytes.
 *
 *     read -> lines -> order (untagged one after the other, tagged at once)
 *          -> handler->request()  ...  conns_reply() -> output -> conns_flush()
 *
 * HELLO, PING, HELP, QUIT, AUTH, SHOW and the order of replies are handled here; LOCK,
 * UNLOCK, EXTEND, CHECK, RESUME and CANCEL go to the handler. Replies are collected and written
 * by conns_flush(), once for each connection and turn of the loop.
 *
 * The handler is called from the event loop's callbacks and from conns_flush() (where the
 * next queued request starts, rows are made and failed writes are noticed), so flush the
 * masters behind it. It is never called from conns_reply(), conns_notice(), conns_ended()
 * or conns_drain(), which a handler may call at any time, for any session; conns_flush()
 * it may not. Connections are freed only in conns_flush() and conns_free(). Not
 * thread-safe: the loop's thread only. */
#ifndef REDLOCKD_CONNS_H
#define REDLOCKD_CONNS_H

#include <event2/event.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"
#include "proto/message.h"

struct conns; /* all connections */

enum conn_end {
    /* FIN, QUIT, any end of a Unix connection that we did not cause: locks are given back. With fin_breaks: QUIT. */
    CONN_RELEASED,
    CONN_DROPPED, /* any other end, such as a reset, a time-out, or one that is closed by us: no proof that the client is gone */
};

/* A session of which request() never told is not heard of by the other calls either. */
struct conn_handler {
    /* A request for the coordinator, answered later (or at once) by conns_reply(). target: for
     * VERB_CANCEL, the id of the request that it names, 0 if there is none. what is borrowed for the call. */
    void (*request)(void *arg, uint64_t session, uint64_t request, uint64_t target,
                    const struct request *what);
    /* The client asks nothing more than what it has sent (FIN or QUIT): what is under way is still to be
     * answered, and what is queued still comes by request(). */
    void (*finish)(void *arg, uint64_t session);
    /* The session is over. After CONN_RELEASED the connection stays until conns_ended(), to be
     * told of its released locks; after CONN_DROPPED it is gone. Before it, undelivered() is called
     * for each +LOCKED reply of which no byte reached the kernel. */
    void (*closed)(void *arg, uint64_t session, enum conn_end end);
    void (*undelivered)(void *arg, uint64_t session, uint64_t request);
    /* The next row of SHOW LOCKS, WAITERS, NODES, STATS, CONFIG or VERSION as one whole line in out
     * (SERVER_LINE_BYTES), its length returned; 0: no more. state starts as zeroes and is the handler's own.
     * (SHOW CLIENTS is answered by conn itself; session_counts gives its columns locks= and waits=.) */
    size_t (*row)(void *arg, enum show show, const struct tag *tag, uint64_t state[8], char *out);
    void (*session_counts)(void *arg, uint64_t session, uint32_t *locks, uint32_t *waits);
    void *arg;
};

/* conf and handler are borrowed and must outlive it. NULL: no memory. */
struct conns *conns_new(struct event_base *base, const struct conf *conf, const char *version,
                        const struct conn_handler *handler);
/* Closes all connections at once, without telling the handler. */
void conns_free(struct conns *conns);

/* A connection was accepted through that listener: takes fd (non-blocking, close-on-exec). peer says what it is
 * (AF_UNIX or AF_INET/6). Over max_clients or max_clients_per_peer: answered -LIMIT and closed. */
void conns_accept(struct conns *conns, int fd, const struct conf_listener *listener,
                  const struct sockaddr *peer, socklen_t peer_len);

/* Sessions that are gone are ignored. */
void conns_reply(struct conns *conns, uint64_t session, uint64_t request, const struct reply *reply);
void conns_notice(struct conns *conns, uint64_t session, const struct notice *notice);
void conns_ended(struct conns *conns, uint64_t session);
void conns_drain(struct conns *conns); /* !DRAIN to everybody */
/* !CLOCK to everybody, and in each +HELLO from now on: this daemon's clock stood still for so long, all in all. */
void conns_clock(struct conns *conns, int64_t behind_ms);

/* conf was changed where conf_update() may: time-outs that run are counted anew. */
void conns_reconfigure(struct conns *conns);

/* Writes what was collected, closes what is to be closed. Once a turn. */
void conns_flush(struct conns *conns);
bool conns_idle(const struct conns *conns); /* no request unanswered, nothing left to write */
unsigned conns_count(const struct conns *conns);
/* The HELLO client= word of a session; "" when none or gone. Valid until the next call into conns. */
const struct word *conns_client_word(const struct conns *conns, uint64_t session);

/* A number of its peer: the user of a Unix socket, the address of TCP. The same for all of its sessions, and seldom
 * that of another peer. */
uint16_t conns_peer(const struct conns *conns, uint64_t session);

struct conns_stats {
    uint64_t accepted, refused, closed, lines, bad_lines;
};
void conns_stats(const struct conns *conns, struct conns_stats *stats);

#endif
