/* The whole client but its sockets: bytes and times in, bytes, wishes and events out.
 *
 *     redlock_...()  -->  core_lock(), core_ask() ...      core_next()  -->  callback, results
 *                              |                               ^
 *                              v                               |
 *                      core_output()  --> socket -->  core_space(), core_got()
 *
 * Pure: no I/O, no clock, no random numbers; now_ms is CLOCK_BOOTTIME and never goes back. Allocates
 * locks and requests; out of memory is an answer. The server is not trusted, the caller is: private to the
 * library, which has checked what the program gave.
 *
 * A connection, from the inside. Of the edges without a word, core_action() tells the shell to make them:
 *
 *                             core_connected()            +HELLO
 *     down ---> connecting ------------------> greeting ---------> up
 *      ^  wish: connect |                        |                 |
 *      +----------------+--- core_disconnected() +-----------------+
 *                               after the wish to close or to park, or by itself */
#ifndef REDLOCK_LIB_CORE_H
#define REDLOCK_LIB_CORE_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "client/lib/answer.h"
#include "client/lib/sample.h"
#include "client/redlock.h"

enum {
    CORE_INPUT_BYTES = 16 * 1024,
    CORE_OUTPUT_BYTES = 32 * 1024,
    CORE_WHY_BYTES = 1024,
    CORE_TAG = TAG_BYTES + 1,
    /* As many requests that answer at once are on their way at a time: what redlockd spares beside
     * max_waits_per_client. */
    CORE_WINDOW = 48,
};

/* ---- requests ---- */

enum ask_verb { ASK_LOCK, ASK_RESUME, ASK_UNLOCK, ASK_EXTEND, ASK_CHECK, ASK_SHOW };

/* idle --> queued --> sent --> idle, or (EXTEND, CHECK, SHOW) done --told--> freed
 *            ^         |
 *            +---------+ the connection is gone */
enum ask_state { ASK_IDLE, ASK_QUEUED, ASK_SENT, ASK_DONE };

struct ask {
    TAILQ_ENTRY(ask) link; /* in the list of its state */
    enum ask_state state;
    enum ask_verb verb;
    bool counted;              /* in core->short_sent */
    bool cancel;               /* LOCK: a CANCEL is to be sent ... */
    bool cancelled;            /* ... because the program wants so */
    bool told_rows;            /* SHOW: it cannot be asked again */
    uint32_t slot;             /* its place in core->slots: half of its tag ... */
    uint32_t serial;           /* ... and the other, another for each sending */
    uint64_t id;               /* what the program knows it by */
    struct redlock_lock *lock; /* NULL: SHOW, or the program has let go of it */
    const char *what;          /* SHOW */
    int64_t ttl_ms;            /* EXTEND; 0: not given */
    int64_t wait_until_ms;     /* LOCK; 0: does not wait */
    int64_t give_up_ms;        /* then it is told that there was no answer */
    uint64_t not_on;           /* this connection has refused it: wait for the next one */
    enum redlock_error error;  /* DONE */
    const char *text;          /* (ref in core->line, core->why, or constant) */
    int64_t retry_ms;
};
TAILQ_HEAD(ask_list, ask);

/* ---- locks ---- */

/*   asked --LOCKED--> held --connection gone--> detached --RESUME--> resuming --LOCKED--> held
 *     |                | |                       |  |  ^                | |
 *     |                | |                       |  |  +---not now------+ |
 *     |                | +--!LOST, time is over--+--|-------> lost <------+ NOTHELD, time is over
 *     | refused        |                            |          |
 *     |                +---------> giving <---------+          |
 *     |                           (UNLOCK)                     |
 *     +--------> over <--------------+-------------------------+
 *
 * A lease is never detached: it does not need the connection. Over: the program knows it no more, or
 * is about to be told; the object lives on while its own request is under way. */
enum lock_state {
    LOCK_ASKED,
    LOCK_HELD,
    LOCK_DETACHED,
    LOCK_RESUMING,
    LOCK_GIVING,
    LOCK_LOST,
    LOCK_OVER,
};

/* What the program is to be told, bits, in this order. */
enum news {
    NEWS_TAKEN = 1, /* ON_LOCK */
    NEWS_RENEWED = 2,
    NEWS_EXPIRING = 4,
    NEWS_RESUMED = 8,
    NEWS_LOST = 16,
    NEWS_GIVEN = 32, /* ON_UNLOCK */
};

struct redlock_lock {
    TAILQ_ENTRY(redlock_lock) link;      /* in core->locks */
    TAILQ_ENTRY(redlock_lock) news_link; /* in core->news where .news */
    struct redlock_lock *next;           /* in its bucket */
    struct core *core;
    struct redlock *owner; /* for redlock_of() */
    void *data;
    struct ask own; /* its LOCK or RESUME, then its UNLOCK: all that it needs is allocated with it */
    enum lock_state state;
    enum redlock_hold hold;
    unsigned news;
    unsigned asks;             /* EXTEND and CHECK that point here */
    bool orphan;               /* the program has let go: freed when its own request is over */
    bool attached;             /* by redlock_attach() */
    bool give_back;            /* UNLOCK as soon as RESUME is answered */
    bool warned;               /* of this deadline */
    bool listed;               /* in a bucket */
    uint64_t bound;            /* the connection that holds it, of a session lock */
    int64_t until_ms;          /* the daemon's clock */
    uint64_t until_of;         /* the daemon whose clock that is, of core->daemon */
    int64_t span_ms;           /* how long it was valid when that was said */
    int64_t warn_ms;           /* when a third of it is left */
    int64_t retry_at_ms;       /* of a RESUME that failed */
    int64_t notheld_ms;        /* when a RESUME was first answered -NOTHELD; 0: not */
    int64_t ttl_ms;            /* as asked for; 0: default */
    int64_t max_ms;            /* 0: none */
    int64_t max_until_ms;      /* when that is over; 0: none */
    enum redlock_error result; /* NEWS_TAKEN, NEWS_GIVEN */
    const char *text;          /* of result or LOST (ref in core->line, core->why, or constant) */
    int64_t result_retry_ms;
    /* Read by other threads. */
    _Atomic int64_t deadline_ms; /* our clock; 0: not held, or not known */
    _Atomic uint64_t fence;
    struct token token;
    char token_text[TOKEN_HEX + 1]; /* "": none yet */
    char name[NAME_BYTES + 1];
    char note[WORD_BYTES + 1];
};
TAILQ_HEAD(lock_list, redlock_lock);

/* ---- the core ---- */

enum core_state { CORE_DOWN, CORE_CONNECTING, CORE_GREETING, CORE_UP };

enum core_action {
    ACTION_NOTHING,
    ACTION_CONNECT, /* core_connecting(), then core_connected() or core_disconnected() */
    ACTION_CLOSE,   /* close the connection and core_disconnected() */
    ACTION_PARK,    /* the same, but keep the socket open while core_binds(): its end would release locks
                     that are about to be resumed */
};

struct core {
    enum core_state state;
    enum core_action action;
    bool local;   /* over a Unix socket */
    bool ever_up; /* redlockd has answered once */
    bool fresh;   /* core_output() may have something to say */
    bool news_up, news_down, news_drain;
    bool greet;            /* HELLO is to be sent */
    bool ping;             /* PING is to be sent */
    unsigned failures;     /* connections in a row that came to nothing */
    uint64_t connection;   /* counts them */
    uint64_t daemon;       /* counts those that answered, as far as their clocks tell them apart */
    int64_t behind_ms;     /* for how long that one's clock stood still, as it said last */
    uint64_t random;       /* state of the jitter */
    int64_t timeout_ms;    /* for requests from now on */
    int64_t retry_ms;      /* DOWN: when to connect */
    int64_t since_ms;      /* in this state */
    int64_t heard_ms;      /* the last byte */
    int64_t pinged_ms;     /* a PING that was not answered; 0: none */
    int64_t hello_sent_ms; /* 0: answered */
    int64_t hello_last_ms; /* when the last was sent, answered or not */
    bool hello_soon;       /* something has happened since, so that the sample may be wrong */
    int64_t next_ms;       /* no lock and no request wants anything before */
    int64_t shortest_ms;   /* of the spans of session locks, or less */
    struct sample sample;
    struct sample before; /* of the connections before this one, the last */
    char client[WORD_BYTES + 1];
    char server[WORD_BYTES + 1]; /* "": not up */
    enum redlock_error why_error;
    char why[CORE_WHY_BYTES]; /* the connection's end */

    struct ask **slots; /* by number; NULL: free */
    uint32_t slots_size, slots_used, slots_hint;
    uint32_t last_serial;
    uint64_t last_id;
    unsigned short_sent; /* requests on their way that count for CORE_WINDOW */
    unsigned cancels;    /* asks with .cancel to be sent */
    struct ask_list queued, sent, done;

    struct lock_list locks, news;
    unsigned locks_count;
    unsigned believed;             /* locks with a deadline */
    unsigned sessions;             /* held by their connection, not counted those that are being given */
    struct redlock_lock **buckets; /* session locks by token */
    uint32_t buckets_size;         /* a power of two */

    struct ask *told_ask; /* of the last event: freed when the next one is asked for */
    struct redlock_lock *told_lock;
    struct ask *row_of; /* whose row is in .line */
    const char *row;    /* (ref in .line) */

    size_t in_len, in_used;
    size_t out_len, out_used;
    char line[SERVER_LINE_BYTES + 1]; /* the one that is worked on */
    char in[CORE_INPUT_BYTES];
    char out[CORE_OUTPUT_BYTES];
};

/* NULL: no memory. seed: for the jitter. client: NULL or a word. */
struct core *core_new(const char *client, int64_t timeout_ms, uint64_t seed);
void core_free(struct core *core);

/* ---- what the program wants ---- */

/* Why there is no answer to come: REDLOCK_NOMEM, _LIMIT or _ARGUMENT. */
struct redlock_lock *core_lock(struct core *core, int64_t now_ms, const char *name, const char *token,
                               const struct redlock_lock_options *options, enum redlock_error *error);
struct redlock_lock *core_attach(struct core *core, const char *name, const char *token,
                                 enum redlock_error *error);
/* 0: refused. UNLOCK: the lock is the core's from now on, and freed behind its event. */
uint64_t core_ask(struct core *core, int64_t now_ms, struct redlock_lock *lock, enum ask_verb verb,
                  int64_t ttl_ms, enum redlock_error *error);
uint64_t core_show(struct core *core, int64_t now_ms, const char *what, enum redlock_error *error);
void core_cancel(struct core *core, int64_t now_ms, struct redlock_lock *lock);
void core_forget(struct core *core, int64_t now_ms, struct redlock_lock *lock);

/* ---- the connection ---- */

/* Looks at the clock. Call it when all that lay in the socket was taken: what is read counts before what
 * the clock says. */
void core_tick(struct core *core, int64_t now_ms);
int64_t core_deadline_ms(const struct core *core); /* when it wants the next core_tick(); INT64_MAX: never */
enum core_action core_action(const struct core *core);
void core_connecting(struct core *core, int64_t now_ms);
void core_connected(struct core *core, int64_t now_ms, bool local);
void core_disconnected(struct core *core, int64_t now_ms, enum redlock_error error, const char *why);
/* Whether a lock was bound to that connection (of core->connection then) and is still to be resumed. */
bool core_binds(const struct core *core, uint64_t connection);

/* Room for what comes from the socket (core_next() makes some), and how much of it was used. */
char *core_space(struct core *core, size_t *room);
void core_got(struct core *core, size_t len, int64_t now_ms);
/* What is to be written; what was written. */
const char *core_output(struct core *core, int64_t now_ms, size_t *len);
void core_wrote(struct core *core, size_t len);
bool core_has_output(const struct core *core);

/* A line is there that core_next() has not worked on. */
bool core_has_line(const struct core *core);
/* The next thing to tell; false: nothing now. Good until the next call, which frees what ended. */
bool core_next(struct core *core, int64_t now_ms, struct redlock_event *event);

#endif
