/* The library's core: all of the client except its sockets. Bytes and times go in; bytes, actions for the
 * shell around it (handle.c) and events come out. The daemon has a core of its own, the coordinator; here
 * `core` always means this one.
 *
 *     redlock_...()  -->  core_lock(), core_ask() ...      core_next()  -->  callback, results
 *                              |                               ^
 *                              v                               |
 *                      core_output()  --> socket -->  core_space(), core_got()
 *
 * The core is pure: it does no I/O, reads no clock and draws no random numbers. now_ms is CLOCK_BOOTTIME and
 * never goes back. The core allocates locks and requests, and reports when memory is out. The core does not
 * trust the server, but trusts the rest of the library, which has checked the program's arguments.
 *
 * The files call each other only downwards in this list:
 *
 *     core_event.c    lines out of bytes, and events for the program
 *     core_answer.c   what an answer or an event of redlockd changes
 *     core_request.c  what the program asks for
 *     core_link.c     the connection's life and the clock
 *     core_move.c     the way to the next redlockd when this one shuts down
 *     core_watch.c    names that are watched
 *     core_send.c     lines for redlockd
 *     core_downgrade.c
 *                     how a writer becomes a reader
 *     core_lock.c     a lock's life
 *     core_ask.c      a request's life
 *     core.c          the core's life, and the facts about the connection
 *     core_table.c    requests by tag, locks by token
 *
 * The states of a connection. core_action() tells the shell when to connect and when to disconnect:
 *
 *                               core_connected()            +HELLO
 *     down -----> connecting ------------------> greeting ---------> up
 *      ^  ACTION_CONNECT  |                        |                 |
 *      +------------------+--- core_disconnected() +-----------------+
 *                      after ACTION_CLOSE or ACTION_PARK, or when the connection breaks */
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
    CORE_SECRET_BYTES = 700, /* longest secret */
    /* How many requests that are answered at once may be under way at a time: fewer than the 64 that redlockd
     * takes of a client beside its max_waits_per_client. */
    CORE_WINDOW = 48,
    /* How many LOCKs that wait may be under way: with the others fewer than redlockd's max_waits_per_client. */
    CORE_WAITS = 256 - CORE_WINDOW,
};

/* ---- requests ---- */

enum ask_verb {
    ASK_LOCK,
    ASK_RESUME,
    ASK_UNLOCK,
    ASK_EXTEND,
    ASK_CHECK,
    ASK_DOWNGRADE,
    ASK_DATA,
    ASK_SHOW,
    ASK_PING,
    ASK_WHO,
    ASK_BREAK,
    ASK_WATCH,
    ASK_UNWATCH
};

/* idle --> queued --> sent --> idle, or (EXTEND, CHECK, SHOW ...) done --told--> freed
 *            ^         |
 *            +---------+ the connection is gone */
enum ask_state { ASK_IDLE, ASK_QUEUED, ASK_SENT, ASK_DONE };

struct ask {
    TAILQ_ENTRY(ask) link; /* in the list of its state */
    enum ask_state state;
    enum ask_verb verb;
    unsigned *counted;           /* (ref) core->short_sent or ->waits_sent; NULL: it is not under way */
    bool cancel;                 /* LOCK, RESUME: a CANCEL is to be sent */
    bool cancelled;              /* LOCK: the program has cancelled it */
    bool told_rows;              /* SHOW, WHO: the program has got rows, so it cannot be asked again */
    uint32_t slot;               /* its place in core->slots: the first half of its tag */
    uint32_t serial;             /* the second half of its tag, a new number each time it is sent */
    uint64_t id;                 /* the number that the program got */
    struct redlock_lock *lock;   /* NULL: not about a lock of ours, or the program has let go of it */
    struct redlock_watch *watch; /* WATCH, UNWATCH: the request is its own; else NULL */
    const char *what;            /* SHOW */
    char *name;                  /* WHO, BREAK; the text of DATA (owned) */
    int broken_slot;             /* BREAK; -1: none */
    int64_t ttl_ms;              /* EXTEND; 0: not given */
    int64_t wait_until_ms;       /* LOCK; 0: it does not wait */
    int64_t give_up_ms;          /* when the program is told that there was no answer */
    uint64_t not_on;             /* the connection whose redlockd has refused it: it waits for another */
    enum redlock_error error;    /* DONE */
    const char *text;            /* DONE (ref in core->line, core->why, or constant) */
    int64_t retry_ms;            /* DONE; -1: not known */
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
 * A lease is never detached, since it does not need the connection. A lock is over when the program no longer
 * knows it, or is about to be told of its end; the object lives on while its own request is under way. */
enum lock_state {
    LOCK_ASKED,
    LOCK_HELD,
    LOCK_DETACHED,
    LOCK_RESUMING,
    LOCK_GIVING,
    LOCK_LOST,
    LOCK_OVER,
};

/* Bits: what the program is to be told of a lock, in this order. */
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
    struct ask
        own; /* its LOCK or RESUME, then its UNLOCK: giving a lock back must not fail for want of memory */
    struct ask downgrade; /* the LOCK that makes it a reader's; .lock NULL: never asked for */
    enum lock_state state;
    enum redlock_hold hold;
    bool shared;      /* a reader's: asked for so, or redlockd says so */
    bool downgrading; /* the program has asked for that, and redlockd has not told the new token yet */
    const char *loss; /* what lost= of its UNLOCK says; NULL: it was not lost */
    int64_t keep_ms;  /* what keep= of its UNLOCK says; 0: the name is not to be kept */
    enum redlock_error not_kept; /* why that was refused, so that the lock is given back without it */
    bool told_shared; /* a downgrade of the program ended without a clear answer: it stays a reader */
    uint32_t slots;   /* 0: not asked for */
    int place;        /* which of the slots it is; -1: none */
    unsigned news;
    unsigned asks;             /* requests of the program that point here */
    bool orphan;               /* the program has let go of it: freed when its own request is over */
    bool give_back;            /* UNLOCK as soon as RESUME is answered */
    bool unsure;               /* a connection ended before it answered what gives the lock back */
    bool warned;               /* ON_EXPIRING was told for this deadline */
    bool listed;               /* in a bucket */
    uint64_t bound;            /* session lock: the connection that holds it */
    int64_t until_ms;          /* the deadline on the daemon's clock */
    uint64_t until_of;         /* the value of core->daemon for the daemon whose clock that is */
    int64_t span_ms;           /* for how long the lock was valid when until_ms was said */
    int64_t warn_ms;           /* when a third of span_ms is left */
    int64_t retry_at_ms;       /* not before this is it resumed, or downgraded */
    int64_t notheld_ms;        /* when a RESUME was first answered -NOTHELD; 0: none was */
    int64_t ttl_ms;            /* as asked for; 0: the daemon's default */
    int64_t max_ms;            /* as asked for; 0: none */
    int64_t max_until_ms;      /* when max_ms is over; 0: none */
    enum redlock_error result; /* for NEWS_TAKEN and NEWS_GIVEN */
    const char *text;          /* about the result or the loss (ref in core->line, core->why, or constant) */
    int64_t result_retry_ms;
    /* Other threads read the next two fields. */
    _Atomic int64_t deadline_ms; /* on our clock; 0: not held, or not known */
    _Atomic uint64_t fence;
    struct token token;
    char token_text[TOKEN_HEX + 1]; /* "": none yet */
    char note[WORD_BYTES + 1];
    char *told; /* what its holder tells others; NULL: nothing */
    char name[];
};
TAILQ_HEAD(lock_list, redlock_lock);

/* ---- names that are watched ---- */

/*   asked --WATCHING--> on --connection gone--> asked
 *     |
 *     +--refused, no answer--> ended
 *
 * The program has let go of an orphan, which lives until redlockd has answered its last request. */
enum watch_state { WATCH_ASKED, WATCH_ON, WATCH_ENDED };

struct redlock_watch {
    TAILQ_ENTRY(redlock_watch) link; /* in core->watches */
    struct core *core;
    struct redlock *owner;
    struct ask own; /* its WATCH, then its UNWATCH */
    enum watch_state state;
    bool orphan;
    bool asked; /* redlockd may watch the name for us although the state is ENDED: its answer did not come */
    bool any;   /* .now was told once */
    bool news;  /* the program is to be told */
    bool fresh; /* redlock_watch_next() has not told it yet */
    enum redlock_error error; /* ENDED */
    const char *text;         /* ENDED, with .news: as of struct redlock_lock */
    int64_t retry_ms;
    struct redlock_now now; /* points to the next two */
    char host[WORD_BYTES + 1];
    char data[DATA_BYTES + 1];
    char name[NAME_BYTES + 1];
};
TAILQ_HEAD(watch_list, redlock_watch);

/* ---- the core ---- */

enum core_state { CORE_DOWN, CORE_CONNECTING, CORE_GREETING, CORE_UP };

/* After !DRAIN the connection goes on while the shell dials another one. PING there says whether that redlockd grants
 * locks; the one that shuts down still listens, and says no.
 *
 *     no --!DRAIN--> later --core_move_begins()--> dialing --+PONG--> ready --core_moved()--> no
 *                      ^                             |                  |
 *                      +----core_move_failed()-------+------------------+ */
enum core_move { MOVE_NO, MOVE_LATER, MOVE_DIALING, MOVE_READY };

enum core_action {
    ACTION_NOTHING,
    ACTION_CONNECT, /* call core_connecting(), then core_connected() or core_disconnected() */
    ACTION_CLOSE,   /* close the connection and call core_disconnected() */
    ACTION_PARK,    /* the same, but keep the socket open as long as core_binds() is true: its end would
                       release locks that are about to be resumed */
};

struct core {
    enum core_state state;
    enum core_action action;
    bool takes_losses; /* redlockd takes lost= of UNLOCK ... */
    bool takes_keeps;  /* ... and keep= */
    bool repeats;      /* redlockd repeats RESUME and downgrades for as long as wait= */
    bool local;        /* over a Unix socket */
    bool ever_up;      /* redlockd has answered once */
    bool fresh;        /* core_output() may have something to send */
    bool news_up, news_down, news_drain;
    bool greet;            /* HELLO is to be sent */
    bool auth;             /* AUTH is to be sent first */
    bool auth_sent;        /* and is not answered yet */
    bool ping;             /* PING is to be sent */
    unsigned failures;     /* connections in a row that failed or did not last */
    uint64_t connection;   /* the number of this connection, or of the last one */
    uint64_t daemon;       /* the number of the daemon; another clock counts as another daemon */
    int64_t behind_ms;     /* for how long that daemon's clock stood still in all, as it said last */
    uint64_t random;       /* state of the jitter */
    int64_t timeout_ms;    /* for requests from now on */
    int64_t retry_ms;      /* DOWN: when to connect */
    int64_t since_ms;      /* when this state began */
    int64_t heard_ms;      /* when the last byte came */
    int64_t pinged_ms;     /* when a PING was due that is not answered yet; 0: none */
    int64_t hello_sent_ms; /* when the HELLO was sent that is not answered yet; 0: none */
    int64_t hello_last_ms; /* when the last HELLO was sent, answered or not */
    unsigned greetings;    /* how many HELLOs on a new connection are to tell its clock; 0: that is told */
    bool refuted;          /* one of them has shown that a clock stood still */
    bool hello_soon;       /* since that HELLO a lock was granted, or the daemon's clock stood still */
    enum core_move move;
    unsigned move_failures;
    int64_t move_ms;      /* LATER: when to dial; DIALING, READY: when that took too long */
    int64_t next_ms;      /* no lock and no request wants anything before this instant */
    int64_t shortest_ms;  /* the shortest span_ms of the session locks held, or less */
    struct sample sample; /* of this connection */
    struct sample before; /* of the connection before this one, until this one's clock is told */
    char client[WORD_BYTES + 1];
    char user[WORD_BYTES + 1];          /* of AUTH; "": none */
    char secret[CORE_SECRET_BYTES + 1]; /* until it is sent */
    char server[WORD_BYTES + 1];        /* "": not up */
    enum redlock_error why_error;
    char why[CORE_WHY_BYTES]; /* why the last connection ended */

    struct ask **slots; /* requests by the first half of their tag; NULL: free */
    uint32_t slots_size, slots_used, slots_hint;
    uint32_t last_serial;
    uint64_t last_id;
    unsigned short_sent; /* requests under way that count for CORE_WINDOW */
    unsigned waits_sent; /* the others, which count for CORE_WAITS */
    unsigned cancels;    /* requests with .cancel */
    struct ask_list queued, sent, done;

    struct watch_list watches;
    unsigned watches_count;
    bool watch_news; /* one of them has .news */

    struct lock_list locks, news;
    unsigned locks_count;
    unsigned believed;             /* locks with a deadline */
    unsigned sessions;             /* locks in buckets: session locks that are not being given back */
    struct redlock_lock **buckets; /* session locks by token */
    uint32_t buckets_size;         /* a power of two */

    struct ask *told_ask; /* the last event's request, freed by the next core_next() */
    struct redlock_lock
        *told_lock;     /* the last event's lock, if it is to be let go of by the next core_next() */
    struct ask *row_of; /* the SHOW or WHO whose row is in .line */
    const char *row;    /* (ref in .line) */

    size_t in_len, in_used;
    size_t out_len, out_used;
    char line[SERVER_LINE_BYTES + 1]; /* the line that is worked on */
    char in[CORE_INPUT_BYTES];
    char out[CORE_OUTPUT_BYTES];
};

/* Returns NULL if there is no memory. seed is for the jitter. client is NULL or a word. */
struct core *core_new(const char *client, int64_t timeout_ms, uint64_t seed);
void core_free(struct core *core);

/* ---- what the program asks for ---- */

/* LOCK, or with a token RESUME. Returns NULL with *error REDLOCK_NOMEM or REDLOCK_LIMIT. */
struct redlock_lock *core_lock(struct core *core, int64_t now_ms, const char *name, const char *token,
                               const struct redlock_lock_options *options, enum redlock_error *error);
struct redlock_lock *core_attach(struct core *core, const char *name, const char *token,
                                 enum redlock_error *error);
/* UNLOCK, EXTEND, CHECK or, for a session lock, DOWNGRADE; DATA has a function of its own. Returns the request's number, or 0 with *error
 * REDLOCK_NOMEM, _LIMIT or _ARGUMENT (the lock is still asked for, or is being given back). After UNLOCK the
 * lock belongs to the core, which frees it after its event. */
uint64_t core_ask(struct core *core, int64_t now_ms, struct redlock_lock *lock, enum ask_verb verb,
                  int64_t ttl_ms, enum redlock_error *error);
uint64_t core_tell(struct core *core, int64_t now_ms, struct redlock_lock *lock, const char *data,
                   enum redlock_error *error);
/* Returns NULL with *error REDLOCK_NOMEM or REDLOCK_LIMIT. core_unwatch() takes it back, in any state. */
struct redlock_watch *core_watch(struct core *core, int64_t now_ms, const char *name,
                                 enum redlock_error *error);
void core_unwatch(struct core *core, struct redlock_watch *watch);
uint64_t core_show(struct core *core, int64_t now_ms, const char *what, enum redlock_error *error);
uint64_t core_ping(struct core *core, int64_t now_ms, enum redlock_error *error);
/* WHO, or BREAK, whose slot is -1 if none is meant. */
uint64_t core_who(struct core *core, int64_t now_ms, enum ask_verb verb, const char *name, int slot,
                  enum redlock_error *error);
void core_cancel(struct core *core, int64_t now_ms, struct redlock_lock *lock);
void core_forget(struct core *core, int64_t now_ms, struct redlock_lock *lock);

/* ---- the connection ---- */

/* Does what is due by the clock. Call it after all bytes in the socket were read, since a renewal among them
 * counts before the clock does. */
void core_tick(struct core *core, int64_t now_ms);
int64_t core_deadline_ms(const struct core *core); /* when core_tick() is due; INT64_MAX: never */
enum core_action core_action(const struct core *core);
void core_connecting(struct core *core, int64_t now_ms);
/* The user and secret for the next connection, which begins with AUTH. false: one of them cannot stand in a
 * line. */
bool core_credentials(struct core *core, const char *user, const char *secret);
void core_connected(struct core *core, int64_t now_ms, bool local);
void core_disconnected(struct core *core, int64_t now_ms, enum redlock_error error, const char *why);
/* The program has closed the client: all locks are lost, and nothing is told any more. */
void core_quit(struct core *core);
/* Whether a lock of that connection (its core->connection) is still to be resumed. */
bool core_binds(const struct core *core, uint64_t connection);

/* The move to another redlockd, see enum core_move. */
bool core_move_is_due(const struct core *core, int64_t now_ms);
void core_move_begins(struct core *core, int64_t now_ms);
void core_move_failed(struct core *core, int64_t now_ms);
/* The first line that came on the other connection; false: its redlockd grants no locks, or is none. */
bool core_move_answered(struct core *core, const char *line, size_t len);
/* Whether nothing is under way any more on this connection, so that it can be left for the other. */
bool core_may_move(const struct core *core);
/* The shell has parked this connection; the other one follows by core_connecting() and core_connected(). */
void core_moved(struct core *core, int64_t now_ms);

/* core_space() returns where bytes from the socket go, and how many fit (core_next() makes room); core_got()
 * says how many have come. */
char *core_space(struct core *core, size_t *room);
void core_got(struct core *core, size_t len, int64_t now_ms);
/* core_output() returns the bytes to be written; core_wrote() says how many of them were. */
const char *core_output(struct core *core, int64_t now_ms, size_t *len);
void core_wrote(struct core *core, size_t len);
bool core_has_output(const struct core *core);

/* Whether core_next() has a line to work on. */
bool core_has_line(const struct core *core);
/* Gives the next event; false: there is none now. The event is valid until the next call, which frees the
 * request or lock that has ended with it. */
bool core_next(struct core *core, int64_t now_ms, struct redlock_event *event);

#endif
