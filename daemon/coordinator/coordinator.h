/* The coordinator: the Redlock algorithm as a pure state machine. It takes and keeps the locks of this
 * daemon's clients on a majority of the masters.
 *
 *     line -> request -> event --> coordinator_step() --> actions -> commands to masters
 *                                        ^                        -> replies, notices to clients
 *                                        |
 *                          votes of masters (as events)
 *
 * The coordinator does no I/O, reads no clock, draws no random numbers, has no callbacks and allocates
 * nothing after coordinator_new(). Its driver (the daemon's loop, a test, the simulator) hands it events
 * and carries out the actions in their order. Only values and ids cross this interface. An id is never
 * reused, so an event that comes late finds nothing.
 *
 * Times are CLOCK_BOOTTIME in ms, in events and in actions. Inside, the coordinator adds `behind`: for how
 * long that clock stood still in all (a paused virtual machine), as far as the masters' clocks have shown
 * it.
 *
 * The coordinator is not thread-safe: one thread steps it. */
#ifndef REDLOCKD_COORDINATOR_H
#define REDLOCKD_COORDINATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/figures.h"
#include "daemon/histogram.h"
#include "proto/command.h"
#include "proto/message.h"

struct coordinator;

/* The masters of one generation of the configuration, as places: place i is the driver's master i. A place belongs to
 * one server as long as coordinator_places() has it. */
struct coordinator_set {
    uint32_t generation;
    unsigned masters;   /* N, with the vacant places of the list; 0: there is no such set */
    uint16_t of;        /* its servers, as places */
    uint16_t no_kill;   /* those of them that coordinator_config's no_kill speaks of */
    uint64_t hash;      /* of the names of all masters, which all daemons must have; 0: not compared */
    int64_t max_ttl_ms; /* 0: as the configuration says */
};

struct coordinator_config {
    unsigned masters;              /* the places in use at the start, 1..MASTERS */
    struct coordinator_set set;    /* of the file; if it has no masters, then all places are its servers */
    struct coordinator_set before; /* the generation before, if the file tells it (nodes_before) */
    bool begin_at; /* the operator says that no daemon votes by another generation, at the start (rule 4) */
    int64_t default_ttl_ms;
    int64_t min_ttl_ms;
    int64_t max_ttl_ms;      /* a master that lost its memory is kept out for max_ttl and its drift */
    int64_t node_timeout_ms; /* limit for one round trip to a master, and so for each phase of a round */
    int64_t min_validity_ms; /* a lock with less time left is not granted */
    int64_t retry_min_ms;
    int64_t retry_max_ms;
    int64_t drain_timeout_ms;
    bool restart_guard; /* false: a restarted master votes at once */
    bool fanout_quorum; /* an attempt asks only Q masters at first: fanout.h */
    uint16_t no_kill; /* bit i: master i allows neither CLIENT ID nor CLIENT KILL, or they are no use there */
    bool by_script;   /* no native commands (master/native.h): for the benchmark */
    uint32_t max_sessions;
    uint32_t max_locks;
    uint32_t max_waiters;
    uint32_t max_undo;     /* releases under way, or still owed by a master; 0: 65,536 */
    uint32_t max_renewals; /* renewals under way at once, exceeded only by urgent ones (lease.c); 0: 4,096 */
    uint32_t max_marks_per_peer; /* also of a user; 0: as max_marks */
    uint32_t max_marks;          /* names that are kept though nobody holds them (kept.h); 0: 10,000 */
    int64_t max_keep_ms;         /* ... for so long at most; 0: a day */
    uint32_t join_from;          /* so many readers of a name have keys of their own (join.h); 0: 8 */
    uint64_t hash_seed;          /* any number that clients cannot guess */
    struct token self;           /* this daemon: random; the first bytes, its id, are not all zero */
    uint32_t max_locks_per_client;
    uint32_t max_waits_per_client;
    uint32_t max_locks_per_peer;   /* 0: no limit */
    uint32_t max_waits_per_peer;   /* 0: no limit */
    uint32_t max_watches;          /* names that clients watch, each watcher counts; 0: one */
    uint32_t max_watches_per_peer; /* also of a user; 0: as max_watches */
};

/* Limits "per peer" count all sessions of one user of the Unix socket, or of one address of TCP (of IPv6: of
 * one /64 network). The driver maps each peer to a number below PEERS; peers that happen to share a number
 * share these limits, and nothing else. Limits "per user" count all sessions of one user of the configuration,
 * which the driver gives a number of its own among the peers. */
enum { PEERS = 4096 };

struct peer {
    uint16_t number;               /* below PEERS */
    bool is_user;                  /* its own limits count instead of those per peer */
    uint32_t max_locks, max_waits; /* of a user */
};

/* ---- events: what happened (coordinator_ because libevent has a struct event too) ---- */

enum event_kind {
    EVENT_TIMER, /* the time of coordinator_deadline() has come; an early timer is harmless */
    /* LOCK, UNLOCK, EXTEND, CHECK, RESUME, DATA, WATCH, UNWATCH or CANCEL. An ACTION_REPLY answers each request once; only a LOCK
     * or RESUME whose session has ended gets none. */
    EVENT_REQUEST,
    EVENT_SESSION_FINISH,  /* FIN, QUIT: from now on no request of the session may wait */
    EVENT_SESSION_RELEASE, /* the session ended in good order: its locks with hold=session are released */
    EVENT_SESSION_DROP, /* the session broke, and its client may live on: its locks run out by themselves */
    EVENT_SESSION_DENY, /* its client has no right to be here any more: the same, but it is told so */
    EVENT_UNDELIVERED,  /* no byte of a +LOCKED reached the kernel: the grant, or the RESUME, is undone */
    EVENT_DENY, /* the session has no right to a name any more: its lock is lost, or its request denied */
    EVENT_MASTER_CONNECTED, /* a new connection is ready, and no command of ACTION_SEND was sent on it yet */
    EVENT_MASTER_VOTE,      /* the reply to a command */
    EVENT_MASTER_LOST,      /* the connection is gone; commands without a reply may have run or not */
    EVENT_MASTER_BACKLOG,   /* more bytes wait to be sent to that master than node_backlog allows */
    EVENT_MASTER_LISTENS,   /* this daemon hears what is published on its channel at that master */
    EVENT_MASTER_DEAF,      /* this daemon does not hear it any more */
    EVENT_MASTER_WOKE,      /* heard there: the name is free, and this daemon was the first in its queue */
    EVENT_MASTER_WOKE_LATE, /* the same, but the first was a daemon that polls: it is to have time to ask */
    EVENT_MASTER_TOLD,      /* heard there: another daemon waits for the name, which this daemon had */
    EVENT_MASTER_LETTER,    /* heard there: somebody else ended a lock of that name that this daemon had */
    EVENT_MASTER_WATCHED,   /* heard there: another daemon watches a name whose key was of this one */
    EVENT_MASTER_NEWS,      /* heard there: a name that is watched here changed hands at another daemon */
    EVENT_DRAIN,            /* stop granting; end when no session holds a lock, or at drain_timeout */
};

struct coordinator_event {
    enum event_kind kind;
    /* CLOCK_BOOTTIME, read for this event. A vote on SET, ZADD or RELEASE may have the reading of an earlier
     * vote of the same master, if the process did not sleep in between. */
    int64_t now_ms;
    int64_t
        wall_us; /* CLOCK_REALTIME, used for fence proposals, and to tell people since when a lock is held */
    uint8_t random[32]; /* fresh bytes whenever the last step set random_used */

    uint64_t session; /* REQUEST, SESSION_*, UNDELIVERED: never 0, never reused */
    uint64_t
        request; /* REQUEST, UNDELIVERED: never 0, never reused; DENY: the waiting LOCK, or 0: the lock */
    struct peer peer; /* REQUEST */
    uint64_t target;  /* REQUEST with VERB_CANCEL: the request to cancel; 0: there is none */
    struct request
        what; /* REQUEST; DENY, MASTER_WOKE, MASTER_WOKE_LATE, MASTER_TOLD, MASTER_LETTER, MASTER_NEWS, MASTER_WATCHED: its name. MASTER_WATCHED: the token says which daemon */

    unsigned master;        /* MASTER_* */
    uint32_t connection;    /* MASTER_*: number of this master's connection, counted from 1; 0: none */
    enum command_verb verb; /* MASTER_VOTE: the command that the vote answers */
    uint64_t ref;           /* MASTER_VOTE: the ref of that command */
    struct vote vote;
    int64_t rtt_us; /* MASTER_VOTE on TIME: the master's smoothed round trip; -1: not known */
};

/* ---- actions: what to do about it, in this order ---- */

enum action_kind {
    ACTION_SEND,         /* send a command to each master of the mask, on its present connection */
    ACTION_CLOSE_MASTER, /* close its connection and dial again later; no EVENT_MASTER_LOST follows */
    ACTION_REPLY,        /* the only answer to a request */
    ACTION_NOTICE,       /* a notice to a session: !LOST, !RENEWED, ... */
    ACTION_CLOCK,        /* this host's clock stood still: tell every connection (!CLOCK) */
    /* The session is forgotten after SESSION_RELEASE, _DROP or _DENY: it gets no more notices. Replies to its
     * EXTEND, CHECK and UNLOCK requests that are under way may still follow. */
    ACTION_SESSION_ENDED,
};

enum close_why {
    CLOSE_SILENT,    /* no reply for 20 x node_timeout */
    CLOSE_BACKLOG,   /* node_backlog was exceeded */
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
            int64_t stall_ms;  /* how long the clock stood still this time */
            int64_t behind_ms; /* how long in all */
        } clock;
    } u;
};

enum { ACTIONS = 16 }; /* a step has at most so many actions */

struct actions {
    unsigned count;
    bool random_used; /* the event's random bytes are used up: the next event needs fresh ones */
    struct action list[ACTIONS];
};

/* ---- the machine ---- */

/* Returns NULL without memory. The config is copied. Tables have their full size from the start, but pages
 * that were never used cost no memory. */
struct coordinator *coordinator_new(const struct coordinator_config *config);
void coordinator_free(struct coordinator *c);

/* Between two steps: takes new time-outs, TTLs and limits per client and peer. The masters and their set,
 * max_ttl, restart_guard, no_kill, the sizes of tables, max_renewals, hash_seed and self stay as they were, whatever
 * config says; but see coordinator_rename(). */
void coordinator_configure(struct coordinator *c, const struct coordinator_config *config);

/* Takes another self, before the first session begins: no token and no queue has the old one yet. */
void coordinator_rename(struct coordinator *c, const struct token *self);

/* ---- the generations of the masters (generation/generation.h) ---- */

enum reload_group {
    RELOAD_SAME,       /* it is the running generation, with the same set */
    RELOAD_TAKEN,      /* the change begins */
    RELOAD_BUSY,       /* another change is under way, for left_ms at least */
    RELOAD_JUMP,       /* it is not the running generation + 1 */
    RELOAD_OTHER_LIST, /* it is the running generation, but another set */
    RELOAD_TOO_BIG,    /* at least `keep` of the present masters must stay */
    RELOAD_OLD,        /* it is below the running generation */
    RELOAD_NO_ROOM,    /* both sets have more than MASTERS places together */
    RELOAD_OLD_DAEMON, /* a daemon without marker=2 was seen in <prefix>,daemons */
};

struct reload_answer {
    enum reload_group group;
    uint32_t generation; /* the running one */
    unsigned keep;       /* TOO_BIG */
    int64_t left_ms;     /* BUSY */
};

/* Answers as coordinator_reload() would. */
struct reload_answer coordinator_reload_try(const struct coordinator *c, const struct coordinator_set *next);
/* Between two steps: takes the next generation of the configuration. Its new servers are at places that
 * coordinator_places() did not have; the driver dials them if the answer is TAKEN. */
struct reload_answer coordinator_reload(struct coordinator *c, const struct coordinator_set *next);
/* The places that are in use. The driver closes and frees the others. */
uint16_t coordinator_places(const struct coordinator *c);

/* The lists at <prefix>,daemons tell this of the daemons that were seen there in the last minute. */
struct coordinator_daemons {
    uint32_t lowest_step;
    char lowest_host[WORD_BYTES + 1];
    bool knows_steps;        /* each row has marker=2 */
    int64_t node_timeout_ms; /* the largest; 0: not known */
};

/* Between two steps, each time that the driver has read them. */
void coordinator_daemons(struct coordinator *c, const struct coordinator_daemons *seen);

enum group_state {
    GROUP_STEADY,   /* votes by its file's generation, and no other change is asked for */
    GROUP_WAITING,  /* something is to come before it may go on, or begin: why */
    GROUP_JOINT,    /* the step between two generations */
    GROUP_OUTDATED, /* the masters are more than a step ahead: nothing is granted or renewed */
};

enum group_why {
    GROUP_WHY_NONE,
    GROUP_WHY_OLD_FILE,     /* the masters are at a later step than this file's generation */
    GROUP_WHY_LOAD_FIRST,   /* the file's generation is too far ahead: load their_step / 2 first */
    GROUP_WHY_NEEDS_BEFORE, /* nodes_before is missing */
    GROUP_WHY_NOT_SETTLED,  /* no daemon votes by the step where this one has to begin */
    GROUP_WHY_NO_MARKER, /* too few masters know a generation: begin_at is needed, or who ran hears all masters */
    GROUP_WHY_DAEMON,     /* the daemon on that host has not come so far */
    GROUP_WHY_SINCE,      /* max_ttl, its drift and more must be over since the step was raised */
    GROUP_WHY_KEYS,       /* locks, or names that are kept, are on too few of the next step's masters */
    GROUP_WHY_MASTERS,    /* a quorum does not show the step yet */
    GROUP_WHY_OTHER_LIST, /* another list has this generation */
};

struct group_row {
    uint32_t step, generation; /* the latter of the file */
    enum group_state state;
    uint64_t set;     /* the hash of its step */
    uint64_t between; /* that of the step between, while a change is asked for; 0: none is */
    uint16_t voters;
    unsigned needed, masters; /* N of the file's set */
    int64_t max_ttl_ms;
    enum group_why why;
    char host[WORD_BYTES + 1]; /* WHY_DAEMON */
    uint32_t their_step;       /* the highest that was read on a master */
    int64_t left_ms;           /* until the present step may be over; 0: not known, or none is under way */
};

void coordinator_group_row(const struct coordinator *c, struct group_row *row);
/* The step by which this daemon votes: for its row in <prefix>,daemons. */
uint32_t coordinator_step_number(const struct coordinator *c);

/* When the coordinator wants its next EVENT_TIMER, in CLOCK_BOOTTIME ms; INT64_MAX: never. A deadline in
 * the past means that work is queued: each step does one unit of it. */
int64_t coordinator_deadline(const struct coordinator *c);

/* Whether a request of this peer may become an EVENT_REQUEST now. If not, the driver keeps it, and asks again after
 * a step. */
enum admission coordinator_admits(const struct coordinator *c, uint16_t peer, enum verb verb);

/* Handles one event and fills actions, which the caller owns. If event->now_ms runs backwards, the latest
 * time that was seen counts. */
void coordinator_step(struct coordinator *c, const struct coordinator_event *event, struct actions *actions);

/* After EVENT_DRAIN: true when nothing is left to wait for, and the daemon may exit. */
bool coordinator_drained(const struct coordinator *c);

/* Other daemons may not know the tokens of some locks yet. A drain changes that first. */
bool coordinator_settles(const struct coordinator *c);

/* Asserts every invariant of the coordinator's data. Slow: for tests and simulation. */
void coordinator_check(const struct coordinator *c);

/* ---- what SHOW tells: these calls are no steps and change nothing ---- */

enum master_state {
    MASTER_DOWN,       /* no connection */
    MASTER_HANDSHAKE,  /* being asked who it is */
    MASTER_REFUSED,    /* not usable; asked again, mostly each second */
    MASTER_KILLING,    /* this daemon's old connection there is being killed */
    MASTER_UNDOING,    /* the releases that it owes are being sent again */
    MASTER_QUARANTINE, /* may have lost its memory: no vote yet */
    MASTER_UP,         /* votes */
    MASTER_SLOW,       /* a reply is overdue: gets releases and probes only */
};

enum master_why {
    WHY_NONE,
    WHY_REPLICA,
    WHY_CLUSTER,
    WHY_VERSION,    /* older than 6.2 */
    WHY_DUPLICATE,  /* same run_id as another configured master */
    WHY_NOPERM,     /* the ACL does not allow what is needed, or an error without a reason of its own here */
    WHY_FENCE,      /* up, or slow: a fence there is beyond what any clock explains, and does not count */
    WHY_NOSCRIPT,   /* a command that locks need does not work there: see lacks */
    WHY_LOADING,    /* reading its data from disk */
    WHY_GROUP,      /* its group has another N, max_ttl or set than this daemon: see their_masters */
    WHY_UNREADABLE, /* <prefix>,group is there, but not as a daemon of this version writes it */
    WHY_BUSY,       /* a script runs without end */
    WHY_OOM,        /* its memory is full: the group's key cannot be written */
    WHY_MISCONF,    /* refuses writes: it could not save to disk */
    WHY_NOREPLICAS, /* refuses writes: too few replicas */
    WHY_RESTART,    /* quarantine: another run of the server, mostly younger than a full quarantine */
    WHY_PROMOTED,   /* quarantine: was a replica, or another server has the address now */
    WHY_DEMOTED,    /* quarantine: was a replica for a while, without a restart */
    WHY_MEMORY,     /* keys that were stored there are gone, or older data came back */
    WHY_CLOCK,      /* quarantine: its clock jumped forward */
    WHY_DOUBTED,    /* quarantine: another daemon keeps it out */
    WHY_RECONNECT,  /* quarantine: commands of the connection before may run still (no_kill) */
    WHY_SILENT,     /* overdue, or closed: see CLOSE_SILENT */
    WHY_BACKLOG,    /* closed: see CLOSE_BACKLOG */
    WHY_TIMEOUT,    /* closed: see CLOSE_HANDSHAKE */
};

struct lock_row {
    struct name name;
    enum hold_kind hold;
    bool shared;      /* mode=shared */
    uint64_t session; /* 0: bound to no session */
    uint16_t peer;    /* the number of the peer whose limits count it */
    struct token token;
    uint64_t fence;
    int64_t valid_ms;
    uint32_t depth;
    uint32_t waiters;
    /* A sign for each master: + has the key, ? may have it, - has not, ~ quarantine, ! out of service. */
    char nodes[MASTERS];
    struct word note;
    int64_t held_ms;  /* since this daemon granted it, or took it over by RESUME */
    uint16_t slot;    /* 1 + the number of the name's slot; 0: it has none */
    struct data data; /* what its holder tells */
};

struct kept_row {
    struct name name;
    struct token token;  /* the mark */
    char nodes[MASTERS]; /* as in a lock's row */
    int64_t left_ms;
};

struct waiter_row {
    struct name name;
    uint64_t session, request;
    uint32_t position; /* 1: the head, whose request asks the masters */
    int64_t waited_ms;
    int64_t left_ms; /* until its wait= is over; 0 for wait=0 */
    bool held;       /* a lock of that name is held here ... */
    uint64_t holder; /* ... by this session; 0: bound to no session, or to several */
    uint16_t slots;  /* how many slots the name has; 0: none */
};

struct master_row {
    enum master_state state;
    enum master_why why;
    bool evicts;              /* its maxmemory-policy may evict locks */
    uint32_t natives;         /* the native commands that it gets, a bit for each in their order */
    uint32_t natives_denied;  /* those that it knows, and its ACL denies */
    enum lacking lacks;       /* the command that it refused, if that is why it is refused */
    uint32_t their_masters;   /* WHY_GROUP: N in the master's key; 0: another master's key differs */
    int64_t their_max_ttl_ms; /* WHY_GROUP: max_ttl in the master's key */
    uint64_t their_set;       /* WHY_GROUP: the set in the master's key; 0: none */
    bool later;               /* WHY_UNREADABLE: a later version wrote the master's key */
    uint64_t beyond;          /* WHY_FENCE: such a fence */
    bool clock_known;
    int64_t clock_ahead_ms;  /* how far its clock is ahead of this host's clock of the day */
    uint32_t clock_backs;    /* how often its clock jumped back: harmless, but worth a look */
    int64_t clock_back_ms;   /* how far its last jump back was */
    int64_t for_ms;          /* time in this state */
    int64_t left_ms;         /* rest of its quarantine; 0: none */
    char by[GROUP_WORD];     /* id of the daemon that put it in quarantine; "": not known */
    char run_id[RUN_ID_HEX]; /* run_id[0] = 0: not known */
    uint32_t version;
};

struct coordinator_times {
    struct histogram held;         /* from the grant of a lock to its end here */
    struct histogram renewal_left; /* the validity that was left when a renewal came through */
};

/* Position in a list of rows, {0} at the start. Each call fills row, moves the cursor and returns true; it
 * returns false at the end of the list. Rows that come or go between two calls may be shown or not, but
 * never twice. */
struct cursor {
    uint64_t slot;
    uint64_t id;
    uint32_t position;
};

bool coordinator_lock_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                          struct lock_row *row);
/* The names that are kept though nobody holds them, of this daemon's own. */
bool coordinator_kept_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                          struct kept_row *row);
bool coordinator_waiter_row(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                            struct waiter_row *row);
/* A request with wait= that is asked again and again (RESUME, or a downgrade). */
bool coordinator_repeat_row(const struct coordinator *c, struct cursor *cursor, uint64_t *session,
                            uint64_t *request, struct name *name);
void coordinator_master_row(const struct coordinator *c, int64_t now_ms, unsigned master,
                            struct master_row *row);
/* The same rows in another order, each found in a few steps: the lock that was granted first, the request
 * that came first, and so on. */
bool coordinator_oldest_lock(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                             struct lock_row *row);
bool coordinator_oldest_waiter(const struct coordinator *c, int64_t now_ms, struct cursor *cursor,
                               struct waiter_row *row);
/* How many releases each master owes, counted in one pass over all of them. */
void coordinator_undo(const struct coordinator *c, uint32_t undo[MASTERS]);
const struct coordinator_times *coordinator_times(const struct coordinator *c);       /* as long as c */
void coordinator_stats(const struct coordinator *c, struct coordinator_stats *stats); /* see figures.h */
void coordinator_session_counts(const struct coordinator *c, uint64_t session, uint32_t *locks,
                                uint32_t *waits);
enum master_state coordinator_master_state(const struct coordinator *c, unsigned master);
/* A number that grows whenever the master's state or why changes, its clock jumps back, or it begins or ceases to
 * evict. */
uint32_t coordinator_master_changes(const struct coordinator *c, unsigned master);
unsigned coordinator_voters(const struct coordinator *c); /* number of masters that may vote now */
/* For how long CLOCK_BOOTTIME stood still in all. */
int64_t coordinator_behind_ms(const struct coordinator *c);
/* How far this host's clock of the day is ahead of the median of the masters'; false: not known. */
bool coordinator_wall_ahead(const struct coordinator *c, int64_t now_ms, int64_t *ahead_ms);
/* Whether a trial is open: a clock jumped or this daemon stood still, and masters are asked which it was. */
bool coordinator_in_trial(const struct coordinator *c);
/* Number of masters whose first handshake ended, well or not. */
unsigned coordinator_settled(const struct coordinator *c);

#endif
