/* What the parts of conn share; nobody else includes it.
 *
 *     conns.c        all of them: accepting, one turn's flush
 *     conn.c         the life of one, from its first event to its last byte
 *     conn_table.c   sessions, and the memory that connections lend each other
 *     conn_input.c   bytes -> lines -> their order
 *     conn_request.c one line -> its answer, or a request for the handler
 *     conn_output.c  replies -> bytes
 *     conn_show.c    lists, made as the client reads them
 *
 * The handler is never called from conns_reply(), conns_notice(), conns_ended() or
 * conns_drain(), which are what it calls itself: they only note what is to be done, in
 * the lists ready and dirty, and conns_flush() does it. */
#ifndef REDLOCKD_CONN_PRIVATE_H
#define REDLOCKD_CONN_PRIVATE_H

#include <event2/event_struct.h>
#include <netinet/in.h>
#include <sys/queue.h>

#include "daemon/buffer.h"
#include "daemon/conn/conns.h"
#include "proto/line.h"

enum {
    READ_BYTES = 16 * 1024,  /* of one client in one wake-up, so that a flood does not starve the others */
    QUEUE_REQUESTS = 64,     /* untagged requests that wait for their turn; then reading stops ... */
    QUEUE_RESUME = 32,       /* ... until so few are left: not two system calls for each answer */
    TAGGED_SPARE = 64,       /* requests under way beside max_waits_per_client */
    SHOWS = 16,              /* unfinished lists of one client */
    SHOW_BYTES = 8 * 1024,   /* of rows made ahead of the reader */
    SPARE_BUFFERS = 64,      /* empty buffers kept for whoever needs one next ... */
    SPARE_BYTES = 16 * 1024, /* ... if they are not larger than this */
    LIVE_CHUNK = 128,        /* live requests taken from malloc at once */
    ADDRESS_TEXT_BYTES = 72,
    OUTPUTS = 4,    /* max_output counted so often is too much even for a client that reads on */
    TELL_MS = 1000, /* between two lines of the log about clients that ended badly */
};

/* A request that is not answered yet, or a grant whose reply is not written yet. */
struct live {
    struct live *next;
    uint64_t id;
    uint64_t at; /* a grant: where in the client's stream of bytes its reply begins */
    struct tag tag;
    uint8_t verb;
};

/* A SHOW or HELP that is not at its end. */
struct listing {
    struct listing *next;
    struct live *live; /* (ref in conn->live) */
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
 *      +--- reset, time-out, closed by us: CONN_DROPPED -------------------------------------+
 */
enum conn_state {
    CONN_OPEN,
    CONN_FINISHING, /* asks nothing more than what we have, or have still to read */
    CONN_RELEASING, /* closed(CONN_RELEASED) was said; hears of its released locks */
    CONN_FLUSHING,  /* the last bytes */
    CONN_GONE,      /* closed; freed by conns_flush() */
};

enum conn_watch {
    WATCH_NONE,
    WATCH_READ,
    WATCH_BOTH, /* output waits: the socket was full */
    WATCH_END,  /* not read now, but its end is noticed */
};

struct conn {
    struct conns *all;
    struct event event;
    uint64_t session;
    int fd;
    enum conn_state state;
    enum conn_watch watch;

    bool eof;        /* its last byte was read */
    bool muted;      /* nobody reads any more: output is thrown away */
    bool local;      /* a Unix socket */
    bool fin_breaks; /* only QUIT gives its locks back */
    bool known;      /* the handler has heard of this session ... */
    bool told;       /* ... and that it finishes */
    bool renewed;    /* wants !RENEWED */
    bool first;      /* its first line is not whole yet */
    bool skipping;   /* the rest of a line that was too long */
    bool blocked;    /* not read: its queue is full, or it has half of max_output to read */
    bool full;       /* output_full() said so */
    bool quits;      /* QUIT came: +BYE is due */
    bool stuck;      /* output waits for the socket to take more */
    bool is_ready, is_dirty, is_timed;
    const char *doom; /* why it is to be closed (static text); NULL: it is not */
    int error;        /* errno of a write whose consequences are not drawn yet */

    /* Input. A raw line waits as two bytes of length and its text. */
    struct buffer queue; /* untagged lines that wait for their turn */
    struct buffer rest;  /* what is behind them: half a line, or what a full queue keeps from being parsed */
    unsigned queued;
    struct live *turn; /* the untagged request that the queue waits for (ref in live) */
    struct live *live; /* unanswered, in no order */
    unsigned lives;
    struct tag quit_tag;

    /* Output. Offsets count the bytes of the connection's life. */
    struct buffer out;
    uint64_t appended, written;
    uint64_t show_end;                         /* behind the last byte of a list */
    struct live *grants, **grants_tail;        /* +LOCKED of which no byte is written, oldest first */
    struct listing *listings, **listings_tail; /* rows are made for the first one */
    unsigned listing_count;
    uint64_t show_turn; /* the flush that made rows last */

    struct word *client; /* HELLO client=; NULL: none */
    int64_t heard_ms;    /* last bytes read */
    int64_t since_ms;    /* timed: half a line since, or (blocked, or closing) nothing written since */
    union {
        struct in_addr v4;
        struct in6_addr v6;
        pid_t pid;
    } peer;
    uint16_t peer_port;
    uint16_t peer_family;
    uint16_t peer_number; /* see conns_peer() */

    STAILQ_ENTRY(conn) ready, dirty, gone;
    TAILQ_ENTRY(conn) timed;
};

/* id = serial * capacity + index + 1: small numbers, found at once, never reused. */
struct slot {
    struct conn *conn;
    uint64_t serial;
    uint32_t next_free; /* index + 1; 0: none */
};

struct live_chunk {
    struct live_chunk *next;
    struct live nodes[LIVE_CHUNK];
};

struct conns {
    struct event_base *base;
    const struct conf *conf;
    const char *version;
    int64_t behind_ms; /* see conns_clock() */
    const struct conn_handler *handler;

    struct slot *slots;
    uint32_t capacity, used, free_slot, count;
    uint32_t peer_clients[UINT16_MAX + 1]; /* by peer_number */
    uint64_t peer_seed;                    /* so that nobody can choose an address with another's number */
    uint64_t last_request;

    STAILQ_HEAD(, conn) ready; /* something may go on: a turn is free, or an end has come */
    STAILQ_HEAD(, conn) dirty; /* something is to be written */
    STAILQ_HEAD(, conn) gone;
    TAILQ_HEAD(, conn) timed; /* by since_ms: all have the same time-out, so one timer does */
    struct event timer;
    bool flushing;
    uint64_t turn;   /* counts flushes */
    int64_t full_ms; /* when max_clients was logged last */
    int64_t told_ms; /* when a client's bad end was logged last ... */
    uint64_t untold; /* ... and how many were not since */

    struct live *free_live;
    struct live_chunk *chunks;
    struct listing *free_listings;
    struct buffer spare[SPARE_BUFFERS];
    unsigned spares;

    struct conns_stats stats;
    struct request request; /* the one that is being handed on */
    struct refusal refusal;
    char scratch[SERVER_LINE_BYTES];
    char input[LINE_BYTES + READ_BYTES];
};

/* ---- conn.c ---- */
void conn_ready(struct conn *c);
void conn_dirty(struct conn *c);
void conn_timed(struct conn *c, int64_t since_ms); /* from now on, or anew */
void conn_untimed(struct conn *c);
/* Asks libevent for what is of interest now. again: also where that has not changed, since
 * an edge-triggered event tells of a writable socket only once. */
void conn_watch(struct conn *c, bool again);
/* The client asks nothing more than what it has sent. */
void conn_finish(struct conn *c);
/* The socket failed with err: what that means depends on who closed first. */
void conn_break(struct conn *c, int err);
/* Ends an open one at once, as CONN_DROPPED. */
void conn_drop(struct conn *c, const char *why);
/* Ends one that never spoke our protocol. */
void conn_reject(struct conn *c);
/* Nobody reads any more: forgets what is written and lists that are not at their end. */
void conn_mute(struct conn *c);
/* Takes the next step to its end if everything for that is done. */
void conn_settle(struct conn *c);
/* A bad end is logged, but one a second: 50,000 clients may be reset at once. The others are counted. */
void conn_tell(struct conn *c, const char *event, const char *why);
/* Tells of those that were only counted, when it is time or at_once. */
void conn_tell_rest(struct conns *all, bool at_once);
/* For the list ready. */
void conn_go_on(struct conn *c);
void conn_on_timer(evutil_socket_t fd, short what, void *arg); /* arg: struct conns */

/* ---- conn_table.c ---- */
int conn_table_new(struct conns *all);
void conn_table_free(struct conns *all);
struct conn *conn_table_add(struct conns *all); /* zeroed, with its session; NULL: full or no memory */
void conn_table_remove(struct conn *c);         /* frees it and what it borrowed */
struct conn *conn_table_find(const struct conns *all, uint64_t session); /* NULL: gone */
struct conn *conn_table_next(const struct conns *all, uint64_t *cursor); /* from 0; NULL: no more */
struct live *live_new(struct conns *all);                                /* zeroed; NULL: no memory */
void live_free(struct conns *all, struct live *live);
/* Out of the list of unanswered requests, and the turn passes on if it had it. */
void live_unlink(struct conn *c, struct live *live);
struct live *live_find(const struct conn *c, uint64_t id);
struct live *live_tagged(const struct conn *c, const struct tag *tag);
struct listing *listing_new(struct conns *all);
void listing_free(struct conns *all, struct listing *listing);
void buffer_lend(struct conns *all, struct buffer *b); /* an empty one with memory, if there is one */
void buffer_return(struct conns *all, struct buffer *b);
void conn_address(const struct conn *c, char out[ADDRESS_TEXT_BYTES]);

/* ---- conn_input.c ---- */
void input_read(struct conn *c);
/* Goes on with what waits, as far as the order allows. */
void input_resume(struct conn *c);

/* ---- conn_request.c ---- */
/* Whether a line need not wait for its turn. */
bool request_overtakes(enum line_result result, const struct request *what, const struct refusal *refusal);
void request_start(struct conn *c, const struct request *what);
void request_refuse(struct conn *c, const struct refusal *refusal);

/* ---- conn_output.c ---- */
/* Room for one server line, and its length when it is filled; what a connection cannot take any
 * more goes nowhere. */
char *output_line(struct conn *c);
void output_done(struct conn *c, size_t len);
/* The same of a row, while its connection is being flushed: no limit but SHOW_BYTES. */
void output_commit(struct conn *c, size_t len);
void output_code(struct conn *c, const struct tag *tag, enum reply_code code, enum limit limit);
/* Writes what it can without calling the handler. */
void output_push(struct conn *c);
/* Whether it has so much to read that it is not to ask for more. When that ends, input_resume() is called. */
bool output_full(struct conn *c);
void output_flush(struct conn *c);
/* Calls undelivered() for the grants of which no byte was written. */
void output_undelivered(struct conn *c);

/* ---- conn_show.c ---- */
void show_start(struct conn *c, const struct request *what);
void show_produce(struct conn *c);
void show_abandon(struct conn *c);

#endif
