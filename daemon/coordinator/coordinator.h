/* The coordinator: Redlock as a pure state machine.
 *
 *     line -> request -> event --> coordinator_step() --> actions -> commands to masters
 *                                        ^                        -> replies, notices to clients
 *                                        |
 *                          votes of masters (as events)
 *
 * It does no I/O, reads no clock, draws no random numbers, calls nobody back
 * and allocates nothing after coordinator_new(). Whoever drives it (the daemon's
 * loop, a test, a simulator) hands it events and carries out the actions, in
 * their order. Only values and ids cross this line; ids are never reused, so an
 * event that comes late finds nothing.
 *
 * Times are CLOCK_BOOTTIME in ms. Inside, the coordinator adds to it for how long that clock stood still (its
 * behind); all that goes out, and coordinator_deadline(), is CLOCK_BOOTTIME again. It is not thread-safe: one thread steps it. */
#ifndef REDLOCKD_COORDINATOR_H
#define REDLOCKD_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/command.h"
#include "proto/message.h"

struct coordinator;

struct coordinator_config {
    unsigned masters; /* N, 1..MASTERS */
    int64_t default_ttl_ms;
    int64_t min_ttl_ms;
    int64_t max_ttl_ms;      /* also how long a master that lost its memory is kept out */
    int64_t node_timeout_ms; /* one round trip to a master, each phase of a round */
    int64_t min_validity_ms; /* a grant with less left is no grant */
    int64_t retry_min_ms;
    int64_t retry_max_ms;
    int64_t drain_timeout_ms;
    bool restart_guard; /* false: a restarted master votes at once */
    uint32_t max_sessions;
    uint32_t max_locks;
    uint32_t max_waiters;
    uint32_t max_undo;     /* releases that masters still owe us; 0: 65,536 */
    uint32_t max_renewals; /* under way at once, twice as many if some have little time; 0: 4,096 */
    uint64_t hash_seed;    /* any number that clients cannot guess */
    struct token self;     /* this daemon, for the others: random, not all zero */
    uint32_t max_locks_per_client;
    uint32_t max_waits_per_client;
    uint32_t max_locks_per_peer; /* 0: as many as there are */
    uint32_t max_waits_per_peer; /* the same */
};

/* Who is at the other end, as far as the shell can tell, as a number below this: all sessions of one peer have the
 * same. That two peers share one is harmless, but for their limits. */
enum { PEERS = 4096 };

/* ---- events: what happened (coordinator_ because libevent has a struct event too) ---- */

enum event_kind {
    EVENT_TIMER,          /* the time of coordinator_deadline() has come (early is harmless) */
    EVENT_REQUEST,        /* LOCK, UNLOCK, EXTEND, CHECK, RESUME or CANCEL; answered by one ACTION_REPLY */
    EVENT_SESSION_FINISH, /* the client asks nothing more (FIN, QUIT): what would have to wait is cancelled */
    EVENT_SESSION_RELEASE,  /* the session is over and its client gave its locks back: they are released */
    EVENT_SESSION_DROP,     /* the session broke: no proof that its client is gone; its locks run out */
    EVENT_UNDELIVERED,      /* no byte of this request's +LOCKED reached the kernel: the grant is undone; what
                        * RESUME moved is set back */
    EVENT_MASTER_CONNECTED, /* a new connection: logged in, nothing sent on it yet */
    EVENT_MASTER_VOTE,      /* the reply to a command */
    EVENT_MASTER_LOST,      /* that connection is gone; what was not answered may run or not */
    EVENT_MASTER_BACKLOG,   /* more waits to be sent to that master than node_backlog allows */
    EVENT_DRAIN,            /* stop granting; end when nobody holds a session lock, or at the time-out */
};

struct coordinator_event {
    enum event_kind kind;
    int64_t
        now_ms; /* CLOCK_BOOTTIME, read for this event; a vote on SET, ZADD or RELEASE may share the one before,
                         * of the same master, if both were read from its socket together */
    int64_t wall_us;    /* CLOCK_REALTIME: only for fence proposals */
    uint8_t random[32]; /* fresh whenever the last step set random_used */

    uint64_t session; /* REQUEST, SESSION_*, UNDELIVERED: never 0, never reused */
    uint64_t request; /* REQUEST, UNDELIVERED: never 0, never reused */
    uint16_t peer;    /* REQUEST: below PEERS */
    uint64_t target;  /* REQUEST with VERB_CANCEL: the request to cancel; 0: there is none */
    struct request what;

    unsigned master;        /* MASTER_* */
    uint32_t connection;    /* MASTER_*: numbers this master's connections from 1 */
    enum command_verb verb; /* MASTER_VOTE: the command that is answered ... */
    uint64_t ref;           /* ... and its ref */
    struct vote vote;
};

/* ---- actions: what to do about it, in this order ---- */

enum action_kind {
    ACTION_SEND,         /* a command to each master of the mask, on its present connection */
    ACTION_CLOSE_MASTER, /* close that master's connection (no EVENT_MASTER_LOST for it), dial again later */
    ACTION_REPLY,        /* the one answer to a request */
    ACTION_NOTICE,       /* an event to a session */
    ACTION_CLOCK,        /* this daemon's clock stood still: every connection is told !CLOCK */
    /* The last notice to a session after SESSION_RELEASE or SESSION_DROP. The answer to an EXTEND,
     * CHECK, RESUME or UNLOCK of it may still come, if it was left unanswered then. */
    ACTION_SESSION_ENDED,
};

enum close_why {
    CLOSE_SILENT,    /* nothing answered for 20 x node_timeout */
    CLOSE_BACKLOG,   /* node_backlog exceeded */
    CLOSE_HANDSHAKE, /* a question of the handshake went unanswered for a second */
};

struct action {
    enum action_kind kind;
    uint16_t masters;   /* SEND: bit i is master i */
    uint8_t master;     /* CLOSE_MASTER */
    enum close_why why; /* CLOSE_MASTER */
    uint64_t session;   /* REPLY, NOTICE, SESSION_ENDED */
    uint64_t request;   /* REPLY */
    union {
        struct command command;
        struct reply reply;
        struct notice notice;
        struct {
            int64_t stall_ms;  /* this time ... */
            int64_t behind_ms; /* ... and all in all */
        } clock;
    } u;
};

enum { ACTIONS = 16 }; /* most actions of one step */

struct actions {
    unsigned count;
    bool random_used; /* the event's random bytes were used: the next event needs fresh ones */
    struct action list[ACTIONS];
};

/* ---- the machine ---- */

/* NULL: no memory. Untouched capacity costs no memory. */
struct coordinator *coordinator_new(const struct coordinator_config *config);
void coordinator_free(struct coordinator *c);

/* Between two steps: other time-outs, TTLs and limits of a client, from now on. Masters, max_ttl, restart_guard,
 * the sizes of tables, hash_seed and self stay as they are, whatever config has. */
void coordinator_configure(struct coordinator *c, const struct coordinator_config *config);

/* When it wants an EVENT_TIMER next; INT64_MAX: never. May lie in the past: work is
 * queued, and each step does one unit of it. */
int64_t coordinator_deadline(const struct coordinator *c);

/* One event in, at most ACTIONS actions out. event->now_ms must not run backwards
 * (it is taken as the latest time seen if it does). */
void coordinator_step(struct coordinator *c, const struct coordinator_event *event, struct actions *actions);

/* After EVENT_DRAIN: nothing is left to wait for. */
bool coordinator_drained(const struct coordinator *c);

/* Every invariant of its own data; asserts. Slow: for tests and simulation. */
void coordinator_check(const struct coordinator *c);

/* ---- what SHOW tells: no step, changes nothing ---- */

enum master_state {
    MASTER_DOWN,       /* no connection */
    MASTER_HANDSHAKE,  /* asking who it is */
    MASTER_REFUSED,    /* must not be used; asked again each second */
    MASTER_KILLING,    /* our old connection there is being killed */
    MASTER_UNDOING,    /* what it owes us is being released */
    MASTER_QUARANTINE, /* lost its memory: no vote yet */
    MASTER_UP,         /* votes */
    MASTER_SLOW,       /* a reply is overdue: releases only */
};

enum master_why {
    WHY_NONE,
    WHY_REPLICA,
    WHY_CLUSTER,
    WHY_VERSION,    /* below 6.2 */
    WHY_DUPLICATE,  /* same run_id as another configured master */
    WHY_NOPERM,     /* the handshake was not allowed */
    WHY_LOADING,    /* reading its data from disk */
    WHY_GROUP,      /* its daemons have another N or max_ttl than this one: see their_* */
    WHY_UNREADABLE, /* <prefix>,group is there, but not as a daemon writes it */
    WHY_BUSY,       /* a script runs without end */
    WHY_OOM,        /* its memory is full: the group's key cannot be written */
    WHY_MISCONF,    /* it refuses writes: it could not save to disk */
    WHY_NOREPLICAS, /* it refuses writes: too few replicas */
    WHY_RESTART,    /* quarantine: restarted less than full ago */
    WHY_PROMOTED, /* quarantine: it was a replica when it started, or another server is behind the address */
    WHY_DEMOTED,  /* quarantine: it was a replica in between */
    WHY_MEMORY,   /* quarantine: what we kept there was gone */
    WHY_CLOCK,    /* quarantine: its clock jumped forward */
    WHY_DOUBTED,  /* quarantine: another daemon keeps it out */
    WHY_SILENT,   /* closed: see close_why */
    WHY_BACKLOG,
    WHY_TIMEOUT,
};

struct lock_row {
    struct name name;
    enum hold_kind hold;
    uint64_t session; /* 0: bound to none */
    struct token token;
    uint64_t fence;
    int64_t valid_ms;
    uint32_t depth;
    uint32_t waiters;
    char nodes[MASTERS]; /* one of + - ? ! ~ a master */
    struct word note;
};

struct waiter_row {
    struct name name;
    uint64_t session;
    uint32_t position; /* 1: the head, who asks the masters */
    int64_t waited_ms;
    int64_t left_ms; /* 0 for wait=0 */
};

struct master_row {
    enum master_state state;
    enum master_why why;
    bool evicts;
    uint32_t
        their_masters; /* WHY_GROUP: N and max_ttl that the master's key shows; 0: another master's differ */
    int64_t their_max_ttl_ms;
    uint32_t clock_backs;    /* how often its clock jumped back: no danger, but a clock that needs a look */
    int64_t clock_back_ms;   /* the last time, by so much */
    int64_t for_ms;          /* in this state */
    int64_t left_ms;         /* of its quarantine; 0: none */
    char by[GROUP_WORD];     /* the daemon that put it there; "": not known */
    uint32_t undo;           /* releases that it owes us */
    char run_id[RUN_ID_HEX]; /* run_id[0] = 0: not known */
    uint32_t version;
};

struct coordinator_stats {
    uint64_t grants, refused_busy, refused_timeout, refused_noquorum, refused_limit;
    uint64_t releases, extends, checks, resumes, resumed, renewals, renewals_failed, lost, raises, undone,
        rounds, expired_undo, behind_ms;
    uint32_t locks, waiters, sessions, resources, rounds_pending, undo_pending;
};

/* Each call gives the next row and moves the cursor, which starts as {0}; false: no
 * more. Rows that come or go between calls may be seen or not, never twice. */
struct cursor {
    uint64_t slot;
    uint64_t id;
    uint32_t position;
};

bool coordinator_lock_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                          struct lock_row *row);
bool coordinator_waiter_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                            struct waiter_row *row);
void coordinator_master_row(const struct coordinator *c, int64_t now_ms, unsigned master,
                            struct master_row *row);
void coordinator_stats(const struct coordinator *c, struct coordinator_stats *stats);
void coordinator_session_counts(const struct coordinator *c, uint64_t session, uint32_t *locks,
                                uint32_t *waits);
enum master_state coordinator_master_state(const struct coordinator *c, unsigned master);
uint32_t coordinator_master_changes(const struct coordinator *c,
                                    unsigned master);     /* grows when its state, or why, is another */
unsigned coordinator_voters(const struct coordinator *c); /* masters that may vote now */
int64_t coordinator_behind_ms(
    const struct coordinator *c); /* how long CLOCK_BOOTTIME stood still, all in all */
unsigned coordinator_settled(const struct coordinator *c); /* masters whose handshake ended, well or not */

#endif
