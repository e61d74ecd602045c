/* Shared by the files of the client connections only. Each file calls only files above it in this list:
 *
 *     conn_lists.c   ready, dirty, timed, unread: what is to be done for a connection
 *     conn_tell.c    what the log tells about a client
 *     conn_peer.c    whom connections come from
 *     conn_table.c   sessions, and the memory that connections lend each other
 *     conn_output.c  replies -> bytes
 *     conn_show.c    lists, made as the client reads them
 *     conn_newcomer.c  connections that have not got so far that they could hold a lock
 *     conn_user.c    which user a client is, and AUTH
 *     conn_admit.c   requests that are held back while the masters have no room for them: their turns
 *     conn_watch.c   what libevent watches
 *     conn_end.c     the end of a connection, from its last request to its last byte
 *     conn_request.c one line -> its answer, or a request for the handler
 *     conn_input.c   bytes -> lines -> their order
 *     conn.c         a connection at work: its events, its time-out, its share of a flush
 *     conns.c        all connections: accepting, replies, the flush in each turn of the loop
 *
 * conns_reply(), conns_notice(), conns_ended(), conns_drain() and conns_clock() never call the handler,
 * because they are called while it runs. They note in the lists ready and dirty what is to be done, and
 * conns_flush() does it. */
#ifndef REDLOCKD_CONN_PRIVATE_H
#define REDLOCKD_CONN_PRIVATE_H

#include <event2/event_struct.h>
#include <netinet/in.h>
#include <sys/queue.h>

#include "daemon/buffer.h"
#include "daemon/conn/conns.h"
#include "daemon/wire/handshakes.h"
#include "daemon/wire/wire.h"
#include "proto/line.h"

enum {
    READ_BYTES = 16 * 1024,  /* one client gets so many in one wake-up: a flood must not starve the others */
    QUEUE_REQUESTS = 64,     /* untagged requests that wait to be started; then reading stops ... */
    QUEUE_RESUME = 32,       /* ... until so few are left, which saves two system calls for each answer */
    TAGGED_SPARE = 64,       /* requests under way beside max_waits_per_client */
    SHOWS = 16,              /* unfinished lists of one client */
    SHOW_BYTES = 8 * 1024,   /* rows made ahead of the reader */
    HIDDEN_ROWS = 1024,      /* looked at for one client in one turn, and not shown */
    SPARE_BUFFERS = 64,      /* empty buffers kept for the next connection that needs one ... */
    SPARE_BYTES = 16 * 1024, /* ... unless they are larger than this */
    PENDING_CHUNK = 128,     /* struct pending are taken from malloc() so many at once */
    OUTPUTS = 4,             /* times max_output: beyond this even a client that reads on is closed */
    TELL_MS = 1000,          /* between two lines of the log about clients that ended badly */
    AUTH_TRIES = 3,          /* wrong ones; then the connection is closed */
    STRANGER_MS = 10000,     /* for which a connection without a user may stay */
    NO_USER = UINT16_MAX,
    HELD_CLASSES = 2, /* see conn_admit.c */
};

/* Until an AUTH with an unknown user or a wrong secret is answered, whichever it was. A fuzzer cannot wait so
 * long. */
#ifdef FUZZING
enum { AUTH_MS = 1 };
#else
enum { AUTH_MS = 1000 };
#endif

/* A request without its answer, or a grant whose reply is not written yet. */
struct pending {
    struct pending *next;
    uint64_t id;
    uint64_t at; /* for a grant: where its reply begins in the client's stream of bytes */
    int64_t began_us;
    uint64_t order; /* of a list: how the request wrote it */
    struct tag tag;
    uint8_t verb;
};

/* A SHOW or HELP with rows still to be written. */
struct listing {
    struct listing *next;
    struct pending *pending; /* borrowed: it stands in conn->pending */
    bool help;
    enum show show;
    uint64_t rows;
    uint64_t state[8];
};

/*
 *            QUIT, FIN, a          all answered, and       conns_ended()         all written
 *            Unix peer's end       +LOCKED written         (+BYE)
 *     OPEN ----------------> FINISHING ---------> RELEASING ---------> FLUSHING ----------> GONE
 *      |                         |                    |                    |                 ^
 *      |                         (a later error: the same way, but nothing is written)       |
 *      +--- CONN_DENIED: on to RELEASING                                                     |
 *      +--- reset, time-out, closed by us: CONN_DROPPED -------------------------------------+
 */
enum conn_state {
    CONN_OPEN,
    CONN_FINISHING, /* no request will come beyond the bytes that the client has already sent */
    CONN_RELEASING, /* the handler, if it knows the session, was told of its end; notices may follow */
    CONN_FLUSHING,  /* the last bytes are being written */
    CONN_GONE,      /* closed; conns_flush() frees it */
};

enum conn_watch {
    WATCH_NONE,
    WATCH_READ,
    WATCH_BOTH, /* output waits, because the socket was full */
    WATCH_END,  /* the client is not read, but its end is noticed */
};

struct conn {
    struct conns *all;
    struct event event;
    uint64_t session;
    struct wire wire;
    struct handshake *handshake; /* TLS is not open yet: nothing else watches the socket */
    enum conn_state state;
    enum conn_watch watch;

    bool eof;        /* the client's last byte was read */
    bool muted;      /* nobody reads the output any more: it is thrown away */
    bool local;      /* a Unix socket */
    bool fin_breaks; /* FIN proves nothing: only QUIT releases the locks */
    bool known;      /* the handler has been given a request of this session ... */
    bool told;       /* ... and has been told that the session finishes */
    bool renewed;    /* the client asked for !RENEWED */
    bool first;      /* the first line is not complete yet */
    bool skipping;   /* the rest of a line that was too long is being skipped */
    bool blocked;    /* the client is not read: its queue is full, or half of max_output waits for it */
    bool full;       /* output_full() was true since conn_pace() looked last */
    bool quits;      /* QUIT came: +BYE is due */
    bool expelled;   /* AUTH was wrong too often, or the client is denied: nothing is read any more */
    bool barred;     /* an AUTH is not answered yet: nothing behind it is parsed */
    bool by_auth;    /* its user is the one that AUTH proved */
    bool awaits_row; /* the next row of its list comes later */
    bool its_turn;   /* its next line is held back no longer */
    bool stuck;      /* output, or a list that goes on, waits until the socket takes more */
    bool is_ready, is_dirty, is_timed, is_unread;
    const char *doom; /* why the connection is to be closed (static text); NULL: it is not */
    int error;        /* errno of a failed write that conn_flush() has still to act on */

    /* Input. A raw line waits as two bytes of length and its text. */
    struct buffer queue; /* untagged lines that wait for the one before them */
    struct buffer rest;  /* bytes behind the queue: half a line, or lines that blocked keeps unparsed */
    unsigned queued;
    struct pending *untagged; /* the untagged request that the queue waits for; it stands in pending */
    struct pending *pending;  /* unanswered requests, in no order */
    unsigned pending_count;
    struct tag quit_tag;

    /* Output. Offsets count the bytes of the connection's life. */
    struct buffer out;
    uint64_t appended, written;
    uint64_t show_end;                         /* where the last row of a list ends */
    struct pending *grants, **grants_tail;     /* +LOCKED replies of which no byte is written, oldest first */
    struct listing *listings, **listings_tail; /* rows are made for the first one */
    unsigned listing_count;
    uint64_t show_flush; /* conns.flushes at the last call of show_produce() */

    struct word *client; /* HELLO client=; NULL: none */
    int64_t heard_ms;    /* when bytes were read last */
    int64_t
        since_ms; /* while timed: since when half a line waits, or (blocked, closing) nothing was written */
    union {
        struct in_addr v4;
        struct in6_addr v6;
        struct ucred cred; /* a Unix socket's peer, when it connected */
    } peer;
    uint16_t peer_port;
    uint16_t peer_family;
    uint16_t peer_number;      /* see conns_peer() */
    uint16_t user;             /* its number; NO_USER: none */
    struct newcomer *newcomer; /* NULL: it is none */
    struct stranger *stranger; /* NULL: no AUTH was wrong, and the connection has a user or needs none */
    char *certificate; /* names of the client's verified certificate, see struct user_client; NULL: none */

    struct held_group *held; /* where its next line is held back; NULL: it is not */
    uint8_t held_class, held_verb;

    STAILQ_ENTRY(conn) ready, dirty, gone;
    TAILQ_ENTRY(conn) timed, unread, held_next;
};

/* The connections of one peer, or user, whose next lines are held back. */
struct held_group {
    TAILQ_HEAD(, conn) conns; /* all zero at first */
    TAILQ_ENTRY(held_group) ring;
};

/* session = serial * capacity + index + 1: small numbers, found at once, never reused. */
struct slot {
    struct conn *conn;
    uint64_t serial;
    uint32_t next_free; /* index + 1; 0: none */
};

struct pending_chunk {
    struct pending_chunk *next;
    struct pending nodes[PENDING_CHUNK];
};

struct conns {
    struct event_base *base;
    const struct conf *conf;
    const char *version;
    int64_t behind_ms; /* see conns_clock() */
    const struct conn_handler *handler;
    event_callback_fn on_event; /* conn_on_event(), which conn_watch() hands to libevent */

    struct slot *slots;
    uint32_t capacity, used, free_slot, count;
    uint32_t peer_clients[UINT16_MAX + 1]; /* by peer_number: connections that have no user */
    uint32_t user_clients[USER_NUMBERS];   /* by the user's number */
    uint64_t peer_seed;                    /* so that nobody can choose an address with another's number */
    uint64_t last_request;

    STAILQ_HEAD(, conn) ready; /* input can go on, or the connection is to end */
    STAILQ_HEAD(, conn) dirty; /* something is to be written, or the end may be due */
    STAILQ_HEAD(, conn) gone;
    TAILQ_HEAD(conn_unread_list, conn) unread; /* has input that only TLS knows of ... */
    struct event unread_timer; /* ... which is read in the next turn, as if the kernel had reported it */
    TAILQ_HEAD(, conn) timed;  /* by since_ms: the time-out is the same for all, so one timer is enough */
    struct event timer;
    TAILQ_HEAD(held_ring, held_group) held[HELD_CLASSES]; /* groups with such connections; see conn_admit.c */
    struct held_group *groups[HELD_CLASSES];              /* of each peer and user */
    unsigned held_count, urgent_turns;
    bool short_of_room; /* the masters have no room, or who is held back comes first */
    bool more_turns;    /* the turns of one flush are over, and there may be more */
    bool flushing;
    uint64_t flushes; /* counts calls of conns_flush() */
    int64_t full_ms;  /* when a client was refused last, since only the first refusal in a while is logged */
    int64_t told_ms;  /* when a client's bad end was logged last ... */
    uint64_t untold;  /* ... and how many bad ends were only counted since */

    struct pending *free_pending;
    struct pending_chunk *chunks;
    struct listing *free_listings;
    struct buffer spare[SPARE_BUFFERS];
    unsigned spares;

    int64_t now_us; /* when something was read last, or conns_now() was told */
    struct handshakes *handshakes;
    struct newcomers *newcomers;
    bool judging;    /* see conns_judge() ... */
    uint64_t judged; /* ... and how far it has come in the table */
    struct conns_stats stats;
    struct counts counts;
    struct request request; /* the line that is being handled */
    struct refusal refusal;
    char scratch[SERVER_LINE_BYTES];
    char input[LINE_BYTES + READ_BYTES];
};

/* Nothing that the client sends counts any more. */
static inline bool input_over(const struct conn *c)
{
    return c->eof || c->quits || c->expelled;
}

/* ---- conn_lists.c ---- */
void conn_ready(struct conn *c);
void conn_dirty(struct conn *c);
void conn_timed(struct conn *c, int64_t since_ms); /* starts the time-out, or starts it again */
void conn_untimed(struct conn *c);
/* Once TLS was read, or reading may go on: see to the input that the kernel will not report. */
void conn_unread(struct conn *c);
void conn_not_unread(struct conn *c);
/* The next connection whose time-out is over, untimed; NULL: none, and the timer is set for the next one. */
struct conn *conn_timed_out(struct conns *all, int64_t now_ms);

/* ---- conn_tell.c ---- */
void conn_address(const struct conn *c, char out[ADDRESS_TEXT_BYTES]);
/* Logs a bad end, but only one a second, since 50,000 clients may be reset at once. The others are counted,
 * and logged at the level debug. */
void conn_tell(struct conn *c, const char *event, const char *why);
/* Logs how many ends were only counted, once a second is over or at_once. */
void conn_tell_rest(struct conns *all, bool at_once);

/* ---- conn_peer.c ---- */
/* See conns_peer() and conns_group(). uid: of the process behind a Unix socket. */
uint16_t peer_number(const struct conns *all, const struct sockaddr *peer, uid_t uid);
uint16_t peer_group(const struct conns *all, const struct sockaddr *peer, uid_t uid);

/* ---- conn_table.c ---- */
int conn_table_new(struct conns *all);
void conn_table_free(struct conns *all);
struct conn *conn_table_add(struct conns *all); /* zeroed, with its session; NULL: full or no memory */
void conn_table_remove(struct conn *c);         /* frees it and gives back what it borrowed */
struct conn *conn_table_find(const struct conns *all, uint64_t session); /* NULL: gone */
struct conn *conn_table_next(const struct conns *all, uint64_t *cursor); /* from 0; NULL: no more */
/* Enters a request among the unanswered ones, with an id of its own. The queue waits for an untagged request,
 * unless that is a CANCEL. NULL: no memory. */
struct pending *pending_begin(struct conn *c, const struct request *what);
void pending_free(struct conns *all, struct pending *pending);
/* Takes a request from the unanswered ones. If the queue waited for that request, the queue may go on. */
void pending_unlink(struct conn *c, struct pending *pending);
struct pending *pending_find(const struct conn *c, uint64_t id);
struct pending *pending_tagged(const struct conn *c, const struct tag *tag);
struct listing *listing_new(struct conns *all);
void listing_free(struct conns *all, struct listing *listing);
void listing_end(struct conn *c); /* the first list of the connection and its request */
void listings_abandon(struct conn *c);
/* Gives b the memory of a spare buffer, if there is one. */
void buffer_lend(struct conns *all, struct buffer *b);
void buffer_return(struct conns *all, struct buffer *b);

/* ---- conn_output.c ---- */
/* Room for one server line; output_done() then takes its length. Once the connection takes no more output
 * the room is a scratch buffer. */
char *output_line(struct conn *c);
void output_done(struct conn *c, size_t len);
/* As output_done(), but for a row while the connection is being flushed: only SHOW_BYTES limits rows. */
void output_commit(struct conn *c, size_t len);
/* Answers a request, which was read well, with a code and words. */
void output_refusal(struct conn *c, const struct request *what, enum reply_code code, const char *text);
/* Answers a request of that verb without the handler, and counts it. */
void output_code(struct conn *c, enum verb verb, const struct tag *tag, enum reply_code code,
                 enum limit limit);
/* Writes what the socket takes, without calling the handler. */
void output_push(struct conn *c);
/* Whether so much waits for the client that it is not to ask for more. input_resume() is called when that
 * ends. */
bool output_full(struct conn *c);
/* Whether the client must read before anything can go on: more than max_output waits, or unread requests
 * are behind answers. */
bool output_stalls(const struct conn *c);
/* Nobody reads the output any more: forgets unwritten bytes and unfinished lists. */
void output_mute(struct conn *c);
/* Calls undelivered() for the grants of which no byte was written. */
void output_undelivered(struct conn *c);

/* ---- conn_show.c ---- */
void show_start(struct conn *c, const struct request *what);
void show_produce(struct conn *c);

/* ---- conn_newcomer.c ---- */
int newcomers_new(struct conns *all); /* -1: no memory */
void newcomers_free(struct conns *all);
void newcomer_join(struct conn *c, uint16_t group);
/* The connection has got so far, or it is gone. */
void newcomer_leave(struct conn *c);
/* The oldest one of the largest group, which gives way to another client where there is room for no more; NULL: none. */
struct conn *newcomer_oldest(const struct conns *all);
/* The oldest one of the client's peer, which is of that group. */
struct conn *newcomer_oldest_of(const struct conn *c, uint16_t group);

/* ---- conn_user.c ---- */
/* NULL: none. */
const struct user *user_of(const struct conn *c);
/* Finds the user of a connection that is new, is through its handshake or has proved a user, or of any when the
 * users have changed. */
void user_identify(struct conn *c);
/* The clients that count with this one: those of its user, or of its peer if it has none. */
uint32_t *user_counter(struct conn *c);
/* AUTH, which is answered at once or after AUTH_MS. */
void user_auth(struct conn *c, struct request *what);
/* Whether the user of the connection may ask this; if not, the request is refused. */
bool user_allows(struct conn *c, const struct request *what);
void user_forget(struct conn *c); /* the connection is gone */

/* ---- conn_watch.c ---- */
/* Asks libevent for the events that matter now. again: even if they have not changed, because an
 * edge-triggered event reports a writable socket only once. */
void conn_watch(struct conn *c, bool again);

/* ---- conn_end.c ---- */
/* Moves an open connection to FINISHING: the client will send no further request. */
void conn_finish(struct conn *c);
/* The socket failed with err, or TLS did: what that means depends on who closed first. */
void conn_break(struct conn *c, int err, const char *why);
/* Ends an open connection at once, as CONN_DROPPED. */
void conn_drop(struct conn *c, const char *why);
/* Ends an open connection as CONN_DENIED. */
void conn_deny(struct conn *c, const char *why);
/* Ends a connection that never spoke our protocol. */
void conn_reject(struct conn *c, const char *why);
/* Ends a newcomer at once, and frees it: another client needs its place. false: there is none (NULL). */
bool conn_evict(struct conn *c);
/* Nothing is left to be said about locks: appends +BYE after a QUIT, and leaves only the last bytes to be
 * written. */
void conn_farewell(struct conn *c);
/* Takes the next step towards the end if everything before it is done. */
void conn_settle(struct conn *c);

/* ---- conn_admit.c ---- */
int admit_new(struct conns *all);
void admit_free(struct conns *all);
/* Whether the request may go on now. If not, the connection is not read until its turn comes, which begins with the
 * same line. */
bool admit(struct conn *c, const struct request *what);
void admit_forget(struct conn *c); /* the connection is gone, or its lines do not count any more */
/* The next connection whose turn it is, as far as there is room: it is to go on at once. NULL: none. */
struct conn *admit_next(struct conns *all);

/* ---- conn_request.c ---- */
/* Whether a line need not wait for the untagged request before it. */
bool request_overtakes(enum line_result result, const struct request *what, const struct refusal *refusal);
void request_start(struct conn *c, struct request *what);
void request_refuse(struct conn *c, const struct refusal *refusal);

/* ---- conn_input.c ---- */
void input_read(struct conn *c);
/* Goes on with waiting input as far as the order of requests allows. */
void input_resume(struct conn *c);

/* ---- conns.c ---- */
/* The limit that this connection, which is counted already, exceeds. */
enum limit conn_limit(struct conn *c);

/* ---- conn.c ---- */
void conn_on_event(evutil_socket_t fd, short what, void *arg);  /* arg: struct conn */
void conn_on_timer(evutil_socket_t fd, short what, void *arg);  /* arg: struct conns */
void conn_on_unread(evutil_socket_t fd, short what, void *arg); /* arg: struct conns */
handshake_done conn_on_handshake;                               /* arg: struct conn */
/* For a connection in the list ready. */
void conn_go_on(struct conn *c);
/* For a connection in the list dirty: writes, and settles what follows from that. */
void conn_flush(struct conn *c);

#endif
