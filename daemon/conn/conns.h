/* Client connections: bytes -> requests, replies -> bytes.
 *
 *     read -> lines -> order (untagged one after the other, tagged at once)
 *          -> handler->request()  ...  conns_reply() -> output -> conns_flush()
 *
 * HELLO, PING, HELP, QUIT, AUTH, SHOW, the order of replies and the rights of users are handled here;
 * LOCK, UNLOCK, EXTEND, CHECK, RESUME, CANCEL, WHO and BREAK go to the handler if the client's user may do that.
 * Replies
 * are collected, and conns_flush() writes them, usually once in a turn of the loop.
 *
 * The handler is called from the event loop's callbacks and from conns_flush(), in which the next queued
 * request starts, rows are made and failed writes are noticed. So flush the masters after conns_flush(). A
 * handler may call conns_reply(), conns_notice(), conns_ended(), conns_drain() and conns_clock() at any time
 * and for any session, since none of them calls a handler; it must not call conns_flush(). A connection that
 * was accepted is freed only in conns_flush() and conns_free(). Only the thread of the loop may use this. */
#ifndef REDLOCKD_CONNS_H
#define REDLOCKD_CONNS_H

#include <event2/event.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"
#include "daemon/counts.h"
#include "daemon/figures.h"
#include "proto/message.h"

struct conns; /* all connections */
struct wire_context;

#define ROW_HIDDEN SIZE_MAX
#define ROW_LATER  (SIZE_MAX - 1)

enum { ADDRESS_TEXT_BYTES = 72 };

/* Writes line i of an answer to out (SERVER_LINE_BYTES) and returns its length; 0: that was all. */
typedef size_t conn_line(void *arg, unsigned i, const struct tag *tag, char *out);

enum conn_end {
    /* FIN, QUIT, or a Unix connection that its client closed in any other way: the locks are given back.
     * Where the listener says fin=break only QUIT counts as such. */
    CONN_RELEASED,
    /* Any other end, such as a reset, a time-out, a failed write or a close by us, which does not prove that
     * the client is gone. */
    CONN_DROPPED,
    /* The client may not be here any more, since its certificate is trusted no more. As with CONN_DROPPED its
     * locks are not given back, but it is told what it has lost, and only then closed. */
    CONN_DENIED,
};

/* Functions that get a session, except row() and look_up(), are called only for sessions for which request() was
 * called before. */
struct conn_handler {
    /* A request for the coordinator, which answers it by conns_reply(), at once or later. target is for
     * VERB_CANCEL: the id of the unanswered LOCK that it names, or 0 if there is none. what is borrowed for
     * the call. */
    void (*request)(void *arg, uint64_t session, uint64_t request, uint64_t target,
                    const struct request *what);
    /* The client will send no further request (FIN or QUIT). Requests under way are still to be answered,
     * and queued ones still come by request(). */
    void (*finish)(void *arg, uint64_t session);
    /* The session is over. After CONN_RELEASED the connection stays until conns_ended(), so that the
     * client can be told of its released locks, and so after CONN_DENIED; after CONN_DROPPED it is told
     * nothing more. undelivered()
     * is called before closed(), for each +LOCKED reply of which no byte reached the kernel. */
    void (*closed)(void *arg, uint64_t session, enum conn_end end);
    void (*undelivered)(void *arg, uint64_t session, uint64_t request);
    /* Writes the next row of SHOW LOCKS, WAITERS, NODES, GROUP, STATS, CONFIG, RELOAD or VERSION as one whole line to out
     * (SERVER_LINE_BYTES) and returns its length; 0: no more rows; ROW_HIDDEN: the session may not see the
     * row that came next; ROW_LATER: it is not known yet, and conns_rows_known() will tell. state starts as zeroes and is the handler's own. SHOW CLIENTS is answered here;
     * session_counts() gives its columns locks= and waits=. */
    size_t (*row)(void *arg, uint64_t session, enum show show, const struct tag *tag, uint64_t state[8],
                  char *out);
    void (*session_counts)(void *arg, uint64_t session, uint32_t *locks, uint32_t *waits);
    /* Whether a LOCK, UNLOCK, EXTEND, CHECK or RESUME of that session may come by request() now. */
    enum admission (*admits)(void *arg, uint64_t session, enum verb verb);
    /* Whether this daemon can grant locks now, for +PONG ready=. */
    bool (*ready)(void *arg);
    /* WHO or BREAK, which conns_lines() answers, at once or later. what is borrowed for the call. */
    void (*look_up)(void *arg, uint64_t session, uint64_t request, const struct request *what);
    void *arg;
};

/* conf and handler are borrowed and must outlive the connections. NULL: no memory. */
struct conns *conns_new(struct event_base *base, const struct conf *conf, const char *version,
                        const struct conn_handler *handler);
/* Closes all connections at once, without telling the handler. */
void conns_free(struct conns *conns);

/* Takes over fd (non-blocking, close-on-exec), which was accepted through that listener from peer
 * (AF_UNIX, AF_INET or AF_INET6). A client beyond max_clients or max_clients_per_peer is answered -LIMIT
 * and closed. tls is the context of a listener with TLS (borrowed), and NULL without. */
void conns_accept(struct conns *conns, int fd, const struct conf_listener *listener,
                  const struct sockaddr *peer, socklen_t peer_len, struct wire_context *tls);

/* The next four ignore sessions that are gone. conns_lines() answers by the lines that line() writes. */
void conns_lines(struct conns *conns, uint64_t session, uint64_t request, enum reply_code code,
                 conn_line *line, void *arg);
void conns_reply(struct conns *conns, uint64_t session, uint64_t request, struct reply *reply);
void conns_notice(struct conns *conns, uint64_t session, const struct notice *notice);
void conns_ended(struct conns *conns, uint64_t session);
void conns_rows_known(struct conns *conns); /* after ROW_LATER: row() may know more now */
void conns_drain(struct conns *conns);      /* !DRAIN to every client */
/* Tells every client by !CLOCK, and in each +HELLO from now on, for how long this daemon's clock has stood
 * still in all. */
void conns_clock(struct conns *conns, int64_t behind_ms);

/* conf_update() has changed conf: running time-outs are computed again, and each client may have become
 * another user, or none. */
void conns_reconfigure(struct conns *conns);

/* The context of a listener has been replaced: clients whom the fresh one would not let in are closed, as
 * CONN_DENIED. conns_handshakes() does it, a few in each turn. The others go on as they are. */
void conns_judge(struct conns *conns);
/* Closes the clients whose certificates have ended, in the same way. Called now and then. */
void conns_look_at_ends(struct conns *conns, int64_t now_s);

/* Writes the collected output and closes the connections that are to be closed. Call it in each turn. */
void conns_flush(struct conns *conns);
/* The places for TLS handshakes, which others may use as long as conns lives; theirs end before it does. */
struct handshakes *conns_handshaker(struct conns *conns);
/* Goes on with TLS handshakes and with conns_judge(). Call it last in each turn; true: the next turn is to
 * begin at once. */
bool conns_handshakes(struct conns *conns);
bool conns_idle(const struct conns *conns); /* no request unanswered, nothing left to write */
unsigned conns_count(const struct conns *conns);
/* The address of the session's client, as in SHOW CLIENTS; "" when it is gone. */
const char *conns_address(const struct conns *conns, uint64_t session, char out[ADDRESS_TEXT_BYTES]);
/* The HELLO client= word of a session; "" when none or gone. Valid until the next call into conns. */
const struct word *conns_client_word(const struct conns *conns, uint64_t session);

/* A number for the session's peer, which is the user behind a Unix socket or the address behind TCP (the
 * /64 network of an IPv6 address). All sessions of a peer have the same number, and two peers seldom share
 * one. */
uint16_t conns_peer(const struct conns *conns, uint64_t session);
/* A number for the origin of a TCP connection that has shown nothing yet: its IPv4 address, its IPv6 /56, or this host
 * by whichever loopback address. */
uint16_t conns_group(const struct conns *conns, const struct sockaddr *peer);
/* The session's user; NULL: it has none, or it is gone. Valid until the configuration changes. */
const struct user *conns_user(const struct conns *conns, uint64_t session);

void conns_stats(const struct conns *conns, struct conns_stats *stats);

const struct counts *conns_counts(const struct conns *conns); /* as long as conns */
/* The time of the event that is being handled, in CLOCK_BOOTTIME µs: what conns_reply() answers from now
 * on is answered then. */
void conns_now(struct conns *conns, int64_t now_us);

#endif
