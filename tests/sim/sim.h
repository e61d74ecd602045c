/* The simulator: the real coordinators, with simulated masters, links, clocks and clients,
 * in one process and in virtual time.
 *
 *     sim_client --line--> sim_daemon --event--> coordinator_step() --action--> sim_node
 *         ^                    |                                                   |
 *         +------reply---------+                 sim_master <-----link (TCP)-------+
 *
 * True time is in µs from the start of the run; only the oracle knows it. Masters, daemons and clients
 * have clocks. One queue of items, ordered by time and then by birth, drives all. */
#ifndef SIM_H
#define SIM_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include "daemon/coordinator/coordinator.h"
#include "tests/sim/oracle.h"
#include "tests/sim/plan.h"
#include "tests/sim/store.h"
#include "tests/sim/trace.h"

#define NEVER        INT64_MAX
#define WALL_ZERO_US INT64_C(1700000000000000) /* the time of day when a run begins */
#define LONG_BEFORE \
    (-(INT64_C(1) << 60)) /* far enough from INT64_MIN that a duration can still be subtracted */

/* ---- rand.c: randomness without a stream ---- */

enum chance {
    CHANCE_PLAN,
    CHANCE_DELAY,
    CHANCE_TAIL,
    CHANCE_STRAY,
    CHANCE_STRAY_LATER,
    CHANCE_WAKE,
    CHANCE_RANDOM,
    CHANCE_BACKOFF,
    CHANCE_CLOCK,
    CHANCE_CLIENT,
    CHANCE_LATE,
    CHANCE_RUN_ID,
    CHANCE_DOWN,
    CHANCE_TURN,
};
uint64_t chance(uint64_t seed, uint64_t who, uint64_t operation, enum chance what);
int64_t chance_below(uint64_t seed, uint64_t who, uint64_t operation, enum chance what, int64_t below);

/* ---- clock.c ---- */

struct sim_clock {
    int64_t offset_us;
    int64_t ppm;
    int64_t stopped_us; /* the time for which it stood still */
};
int64_t clock_us(const struct sim_clock *clock, int64_t true_us);
int64_t clock_ms(const struct sim_clock *clock, int64_t true_us);
int64_t clock_when(const struct sim_clock *clock,
                   int64_t local_us); /* the first true µs at which the clock shows local_us */

/* ---- world.c: the queue ---- */

enum item_kind {
    ITEM_UP,           /* the first msg of connection b arrives at its master */
    ITEM_DOWN,         /* the first msg of connection b arrives at its daemon */
    ITEM_DIAL,         /* daemon a dials master b; c: generation */
    ITEM_EAR,          /* daemon a dials its listening connection to master b; c: incarnation */
    ITEM_EAR_PING,     /* the listening connection b asks whether its master is there */
    ITEM_DIAL_TIMEOUT, /* of connection a */
    ITEM_TIMER,        /* of daemon a */
    ITEM_INTERNAL,     /* daemon a: message b, which its driver sent to the coordinator, arrives */
    ITEM_LINE,         /* the first message of session b arrives at its daemon */
    ITEM_TELL,         /* the first message of session b arrives at its client */
    ITEM_CLIENT,       /* timer of client a; c: generation */
    ITEM_FAULT,        /* fault b begins; c: ends */
    ITEM_MASTER_BACK,  /* master a starts again; c: epoch */
    ITEM_DAEMON_BACK,  /* daemon a starts again; c: incarnation */
    ITEM_AGREE,        /* all daemons start again, with one configuration */
    ITEM_SNAPSHOT,     /* masters save their data */
    ITEM_TICK,         /* the second phase checks its progress */
    ITEM_ORPHANS,      /* the keys that daemon a moved to T b must be set back; c: incarnation */
    ITEM_DRIFT_SEEN,   /* master a runs fast, by fault b: by now all daemons must keep it out */
    ITEM_STALL_HELLO,  /* clients on the host of daemon a have said HELLO elsewhere since stall b */
    ITEM_HELLO,        /* the client of session b hears the answer to its HELLO */
    ITEM_BESIDE,       /* timer of client a's second lock; c: generation */
    ITEM_STALL_OVER,   /* daemon a knows all that it can know of stall b of its host */
    ITEM_FORGE,        /* the next letter of fault b */
    ITEM_NOTICED,      /* by now the daemons must know of master a's loss number b */
    ITEM_GENERATION,   /* the daemons' files are loaded, and connections follow the sets */
};

struct sim_item {
    int64_t at_us;
    uint16_t kind;
    uint16_t a;
    uint32_t b;
    uint32_t c;
    uint32_t next; /* in its slot */
};

enum { WHEEL_BITS = 6, WHEEL_SLOTS = 1 << WHEEL_BITS, WHEELS = 11 };

struct sim_queue {
    struct sim_item *items;
    uint32_t count, capacity, free; /* free: index + 1 */
    uint64_t last_us;
    unsigned wheels;         /* a bit for each that is not empty */
    uint64_t filled[WHEELS]; /* ... and for each of its slots */
    uint32_t first[WHEELS][WHEEL_SLOTS], last[WHEELS][WHEEL_SLOTS];
};

/* ---- link.c: what travels between a daemon and a master ---- */

enum { UP, DOWN };

enum msg_kind {
    MSG_LOGIN,     /* up: the first bytes of a connection, SCRIPT LOAD among them */
    MSG_LOAD,      /* up: SCRIPT LOAD */
    MSG_COMMAND,   /* up */
    MSG_PING,      /* up, on a listening connection; down: its answer */
    MSG_GONE,      /* up: the connection's end */
    MSG_MARK,      /* up: no bytes; the oracle looks at the master when it arrives. number: enum mark */
    MSG_LOGGED_IN, /* down */
    MSG_REFUSED,   /* down: nobody listens there, or it does not load scripts */
    MSG_REPLY,     /* down */
    MSG_HEARD,     /* down, to a listening connection: verb is the letter */
    MSG_CLOSED,    /* down: the master's end was closed */
};

struct sim_msg {
    uint8_t kind;
    uint8_t verb;
    uint8_t native; /* the native command that does it; 0: none */
    uint32_t name;
    uint32_t conn, next;
    int64_t at_us;
    uint32_t bucket;
    uint32_t tok;
    uint32_t to;           /* MOVE, SETTLE, DOWN: a tok */
    uint32_t other, third; /* RELEASE, MOVE, DOWN: other toks that the key may have; 0: none */
    uint32_t self;         /* the id of the daemon that a command names; 0: none */
    uint64_t waited_ms;
    bool stays, shared;
    uint16_t slots;
    uint64_t most_ms;
    uint64_t ref;
    uint64_t number;
    int64_t sent_us;
    /* In a reply: the oracle's knowledge of its command. */
    int64_t ran_us;
    uint32_t losses;   /* how often the master had lost its memory */
    int64_t lost_us;   /* the time of the last such loss */
    int64_t forgot_us; /* the time of the last write that this loss can have undone */
    int64_t held_us;   /* since then the master has lost nothing but keys that its clock ended early */
    bool unseen;
    uint32_t epoch;
    int64_t clock_ms, jumps_ms; /* the master's clock */
    /* Up: its group or data are the command's. It comes last, since most messages have none, and it is large. */
    struct vote vote;
};

enum { MSG_BLOCK = 1 << 10, MSG_BLOCKS = 1 << 12 };

struct sim_conn {
    uint8_t daemon, master;
    bool open_daemon, open_master; /* the two ends */
    bool connected;                /* logged in, as the daemon knows */
    bool ear;                      /* it only listens ... */
    uint32_t id;                   /* ... as the daemon with this id */
    uint32_t incarnation, number, epoch;
    int64_t born_us;
    uint64_t client_id;
    uint32_t first[2], last[2]; /* messages on their way, in order: index + 1 */
    int64_t not_before_us;      /* a woken master reads it no earlier */
    int64_t stray_until_us;     /* closed: messages that would arrive later are lost */
    int64_t stray_later_us;     /* closed: messages on their way take so much longer */
    uint32_t unanswered;
    bool backlog_told;
};

struct sim_link {
    int64_t cut_until_us[2];
    int64_t slow_until_us[2];
    int64_t slow_us[2];
    int64_t ear_slow_until_us, ear_slow_us; /* published messages come so much later */
};

/* ---- sim_master.c ---- */

enum { SNAPSHOTS = 8, SIM_EARS = 64 };

struct sim_master {
    unsigned index;
    bool running;
    struct sim_clock clock;
    unsigned saves;
    uint32_t epoch;     /* grows with every start */
    int64_t started_us; /* true time; may lie before the run */
    int64_t hung_until_us, replica_until_us, error_until_us, zadd_error_until_us, lacks_until_us;
    int64_t native_until_us; /* until then it refuses native commands, with native_error */
    enum vote_error error, native_error;
    enum lack lacks;
    bool scripts;
    bool restored; /* came back once with an old snapshot: deleted keys may be back */
    uint64_t next_client;
    int64_t busy_until_us; /* it runs the last command until then */
    int64_t held_us;       /* the last loss for another reason than its clock */
    uint32_t losses;       /* losses of its memory so far */
    int64_t lost_us;       /* the last loss; NEVER: the master is down, and its loss happens when it starts */
    int64_t kept_us;       /* the same before a crash that loses nothing */
    int64_t wrote_us;      /* the last command that it took and that a daemon may count on */
    int64_t forgot_us;     /* the last of these commands that the last loss can have undone */
    bool unseen;           /* the last loss shows neither in run_id nor in uptime */
    int64_t jumped_before_us;
    int64_t jumped_us;      /* the last jump of its clock, ... */
    int64_t jumped_ms;      /* ... its size, ... */
    int64_t jumps_ms;       /* ... and the sum of all jumps */
    unsigned drifts;        /* drifts of its clock at present */
    int64_t drifted_us;     /* the end of the last drift */
    int64_t rate_ppm;       /* the rate of its clock without them */
    bool set_far;           /* its clock was set by FAULT_SET */
    bool set_back;          /* its clock was set back at least once, or ran at another rate */
    bool set_ahead;         /* its clock was set forward at least once, or ran at another rate */
    int64_t lacks_us;       /* since then it lacks a command of the scripts; NEVER: it does not */
    int64_t rubbish_us;     /* the last write of a stranger to its marker */
    uint32_t ear[SIM_EARS]; /* connections that listen, perhaps half dead */
    unsigned ears;
    enum fault_kind crash;
    int64_t crash_arg_us;
    struct store store; /* comes last, and is not cleared with all else: most of it is unused */
};

/* ---- sim_node.c and sim_daemon.c ---- */

struct sim_node {
    uint32_t conn;    /* index + 1; 0: none */
    uint32_t numbers; /* connections so far */
    uint32_t dials;   /* generation of ITEM_DIAL */
    int64_t backoff_us;
    uint32_t ear; /* index + 1 of the listening connection; 0: none */
    int64_t ear_backoff_us;
    bool lacks;              /* a command, by the last trial: that is why it is refused */
    bool differs;            /* the marker that it read last has another N, max_ttl or set ... */
    int64_t theirs_ms;       /* ... and this max_ttl */
    bool settled;            /* its handshake is over: lock commands flow, ... */
    int64_t settled_us;      /* ... since that time */
    uint32_t settled_number; /* the connection at which the master saw that */
    /* The daemon's possible knowledge of the master's memory: */
    bool blind;                /* the daemon cannot know of the last loss yet ... */
    bool unaware;              /* ... or only that another daemon doubts the master, which is no new memory */
    bool blind_before;         /* the daemon knew nothing of the loss before at the last one, nor since */
    bool knew;                 /* the daemon has used the master: it remembers the marker ... */
    uint32_t knew_epoch;       /* ... and the clock of this run, too */
    int64_t probed_us;         /* the master ran the last probe, or handshake, that was answered well */
    int64_t group_us;          /* the master showed it the marker, last ... */
    int64_t group_before_us;   /* ... before its memory was lost */
    int64_t time_rtt_us;       /* the round trip of the last TIME; 0: none */
    int64_t rtt_most_us;       /* the longest round trip of a TIME, however it was answered */
    int64_t base_us;           /* the first TIME that was answered was sent then */
    int64_t from_ms;           /* ... by the master's clock */
    int64_t time_behind_ms;    /* the daemon's behind at that TIME; -1: it changed meanwhile */
    int64_t time_jumps_ms;     /* how far its clock had jumped then */
    uint32_t time_epoch;       /* the master's run at that TIME */
    int64_t from_us;           /* true time until which the marker that it read keeps the master out */
    int64_t suspect_us;        /* the time at which TIME showed a jump ... */
    int64_t suspect_beyond_us; /* ... by so much more than can pass unseen, ... */
    int64_t suspect_behind_ms; /* ... and the daemon's behind at that time; 0: no jump was shown */
    int64_t loss_behind_ms;    /* the daemon's behind at the last TIME before the last loss of memory */
    int64_t loss_rtt_us;       /* the round trip of that TIME */
    bool loss_in_quarantine;   /* the daemon kept the master out at that time */
    int64_t quarantined_us;    /* the last time at which it had the master in quarantine */
};

struct sim_daemon {
    unsigned index;
    bool running;
    unsigned first, masters,
        quorum; /* by its configuration: the first of its masters, and the one behind the last */
    int64_t max_ttl_ms, full_us;
    struct coordinator *core;
    uint32_t incarnation;
    struct sim_clock clock;
    int64_t wall_us; /* ahead of true time */
    int64_t paused_until_us;
    int64_t timer_at_us; /* the ITEM_TIMER that counts */
    uint64_t steps, randoms;
    struct {
        bool within_trial; /* its host stood still while a trial was open */
        bool open;         /* its host stood still, and the daemon cannot know yet */
        uint32_t number;
        int64_t since_us, ends_us; /* since_us: of the first stall that the daemon does not know of */
        int64_t shown_us;    /* the time at which a quorum's readings, or the end of a pause, showed it */
        int64_t hello_us;    /* time stood still before its clients last said HELLO to other hosts */
        int64_t started_us;  /* start of this incarnation of the daemon */
        int64_t sum_ms;      /* sum of the stalls that it has reported ... */
        int64_t told_us;     /* ... the last of them at this time */
        int64_t debt_us;     /* the part of the stalls that the daemon does not know of */
        int64_t believed_us; /* the last time at which it believed in a stall */
        uint16_t told;       /* masters that answered a TIME since */
        uint16_t jumped;     /* masters whose clocks jumped after the last TIME before */
        int64_t rtt_us;
    } stall;
    int64_t spin_us; /* many steps at one time are a loop without end */
    uint32_t spins;
    uint32_t limits;      /* of its clients, as its last reload brought them; 0: few */
    int64_t file, wanted; /* its host's file, and the one that the operator has for it: see FAULT_FILE */
    uint16_t open;        /* the places that it dials */
    uint16_t voters;      /* of its step */
    bool spare;           /* one of them may be missing */
    uint32_t step;        /* by which it votes ... */
    uint32_t shown_step;  /* the highest one that a master has shown it */
    int64_t step_us;      /* ... since then; or its file came then */
    uint8_t random[32];
    bool random_used, draining;
    struct sim_node node[SIM_MASTERS];
};

/* ---- sim_client.c ---- */

enum line_kind { LINE_REQUEST, LINE_FIN, LINE_RESET, LINE_RELEASE, LINE_UNDELIVERED, LINE_BACKLOG };
enum tell_kind { TELL_REPLY, TELL_NOTICE, TELL_CLOSED };

struct sim_message { /* a message between a client and a daemon */
    uint8_t kind;
    uint32_t session, request, target, next;
    int64_t at_us;
    union {
        struct request what;
        struct reply reply;
        struct notice notice;
    };
};

enum { MESSAGE_BLOCK = 1 << 8, MESSAGE_BLOCKS = 1 << 12 };

enum client_state {
    CLIENT_DONE,
    CLIENT_THINKING,
    CLIENT_ASKING,
    CLIENT_HOLDING,
    CLIENT_RESUMING,
    CLIENT_ENDING
};

/* A client's second lock (sim_beside.c). */
struct beside {
    enum { BESIDE_IDLE, BESIDE_ASKING, BESIDE_HOLDING } state;
    bool shared;
    unsigned left, name; /* so many are still to be asked for */
    int64_t wait_ms, keep_ms;
    uint32_t session, request, tok, timer;
};

struct sim_client {
    unsigned index, home;
    bool remote;
    struct sim_clock clock; /* its clock, when the client is on a host of its own */
    int64_t paused_until_us;
    uint32_t session[SIM_DAEMONS]; /* 0: none */
    uint32_t op;                   /* index + 1 in the plan */
    uint32_t timer;                /* generation */
    enum client_state state;
    uint32_t request; /* the LOCK under way, or the UNLOCK, or the RESUME, ... */
    uint32_t second;  /* ... and the other one */
    uint32_t tok;
    unsigned at;      /* the daemon that the lock is bound to */
    uint32_t old;     /* the session that the lock was bound to before; 0: none, or it is closed */
    unsigned acts;    /* acts while it holds */
    unsigned resumes; /* RESUMEs among the acts */
    bool cancels;     /* the present RESUME is to be cancelled */
    unsigned tries;   /* tries of the present RESUME ... */
    int64_t tried_us; /* ... since then */
    bool fresh;       /* second phase: asks for each name once, whatever its plan says */
    struct sim_record fresh_op;
    struct beside beside;
};

/* ---- the world ---- */

struct sim_world {
    const struct sim_plan *plan;
    uint64_t seed;
    int64_t now_us;
    uint64_t items;
    struct sim_queue queue;
    unsigned masters, daemons, names; /* masters: the most that a daemon has */
    unsigned keys;                    /* the names, and the slots of all names where some have slots */
    int64_t full_us;                  /* the longest quarantine */
    bool far_clocks;   /* masters' clocks are set back by hours: keys live on until somebody waits for them */
    int64_t keep_us;   /* the longest time for which a name is kept */
    int64_t jump_us;   /* the time by which a key may live longer, since clocks are set back */
    bool old_data;     /* a master will come back with data of before */
    bool rubbish;      /* a stranger will write to a marker: daemons then judge no memory */
    bool early_stall;  /* a host stood still while its daemon read clocks for the first time */
    bool quick_links;  /* no answer takes long */
    bool true_clocks;  /* no master's clock jumps or drifts */
    int64_t misled_us; /* when a daemon last told masters another number of slots than the name has */
    bool wall_ahead;   /* a daemon's wall clock was further ahead than it may be ... */
    bool far_fence;    /* ... and it proposed more than masters' clocks allow, as it did not know all */
    bool only_backs;   /* the only faults are masters' clocks that are set back, and daemons that crash */
    int64_t keys_us;   /* when a daemon waited last for keys that are in the way of a change */
    bool odd_over;     /* the odd daemon has the others' configuration now */
    uint16_t others_wrote; /* masters that a daemon but for the odd one has given its number */
    bool healing;          /* second phase */
    unsigned heal_phase;
    int64_t heal_us; /* start of its present part */
    struct sim_master master[SIM_MASTERS];
    struct store saved[SIM_MASTERS][SNAPSHOTS]; /* of each a ring, one a second */
    struct sim_daemon daemon[SIM_DAEMONS];
    struct sim_link link[SIM_DAEMONS][SIM_MASTERS];
    struct sim_client client[SIM_CLIENTS];
    struct sim_conn *conn;
    uint32_t conns, conn_capacity;
    struct sim_msg *msg[MSG_BLOCKS]; /* blocks of them, which stay where they are */
    uint32_t msgs, msg_free;
    struct sim_message *message[MESSAGE_BLOCKS]; /* in the same way */
    uint32_t messages, message_free;
    struct sim_oracle oracle;
    const struct sim_msg *heard; /* borrowed: the vote that a daemon's step handles; NULL: none */
    struct sim_trace trace;
    sigjmp_buf out; /* a violation leaves the run here */
    int invariant;
    char why[512];
};

void world_run(struct sim_world *w, const struct sim_plan *plan); /* w is zeroed, or was run before */
void world_free(struct sim_world *w);
void queue_push(struct sim_world *w, int64_t at_us, enum item_kind kind, unsigned a, uint32_t b, uint32_t c);
bool queue_pop(struct sim_world *w, struct sim_item *item);
_Noreturn void violation(struct sim_world *w, int invariant, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What it says is left to the caller. */
uint32_t message_new(struct sim_world *w, unsigned kind, uint32_t session, uint32_t request);
struct sim_message *message_at(const struct sim_world *w, uint32_t index);
void message_free(struct sim_world *w, uint32_t index);
/* Messages of one direction of a session arrive in order. */
void message_send(struct sim_world *w, uint32_t session, int direction, uint32_t index);
void client_hello(struct sim_world *w, uint32_t session);                  /* ITEM_HELLO */
void message_arrive(struct sim_world *w, uint32_t session, int direction); /* ITEM_LINE, ITEM_TELL */

struct sim_conn *conn_new(struct sim_world *w, unsigned daemon, unsigned master, uint32_t *index);
/* Sends a copy, up to what only a reply has, and returns it: who has something to say in the vote puts it in. */
struct sim_msg *link_send(struct sim_world *w, uint32_t conn, int direction, const struct sim_msg *msg);
void link_arrive(struct sim_world *w, uint32_t conn, int direction); /* ITEM_UP, ITEM_DOWN */
void link_close(struct sim_world *w, uint32_t conn);                 /* by the daemon, or by both */
bool link_healthy(const struct sim_world *w, unsigned daemon, unsigned master);

void master_start(struct sim_world *w, struct sim_master *m);
void master_crash(struct sim_world *w, struct sim_master *m, const struct sim_record *fault);
/* Returns whether the message has become the answer to itself. */
bool master_receive(struct sim_world *w, struct sim_master *m, struct sim_msg *msg);
void master_save(struct sim_world *w, struct sim_master *m);
/* Restores what the master saved so many seconds ago; nothing, if it did not save then. */
void master_restore(const struct sim_world *w, struct sim_master *m, unsigned back);
/* The key of a name or a slot by its index, there or not. */
const struct store_key *master_key(const struct sim_master *m, unsigned name);
void master_loses(struct sim_world *w, struct sim_master *m, bool unseen);
bool master_lies(const struct sim_world *w, const struct sim_master *m); /* to those who watch */
void master_forgets(struct sim_world *w, struct sim_master *m,
                    bool by_clock); /* loses keys though no run_id shows it */
int64_t master_young_us(const struct sim_master *m,
                        int64_t full_us); /* the true time until which it may not vote */

/* Whether daemons may neither ask for their client id there nor kill a connection (no_kill). */
bool master_is_unkillable(const struct sim_world *w, const struct sim_master *m);
void master_run_id(const struct sim_world *w, unsigned master, uint32_t epoch, char run_id[RUN_ID_HEX]);

void daemon_configure(struct sim_world *w, struct sim_daemon *d);
void daemon_start(struct sim_world *w, struct sim_daemon *d);
void daemon_stop(struct sim_world *w, struct sim_daemon *d);
struct coordinator_config daemon_config(const struct sim_world *w,
                                        const struct sim_daemon *d); /* at its start */
void daemon_arm(struct sim_world *w, struct sim_daemon *d);          /* by the coordinator's deadline */
void daemon_step(struct sim_world *w, struct sim_daemon *d, struct coordinator_event *event);
void daemon_drained(struct sim_world *w, struct sim_daemon *d);
void daemon_timer(struct sim_world *w, struct sim_daemon *d);
void daemon_line(struct sim_world *w, uint32_t message);
void node_start(struct sim_world *w, struct sim_daemon *d);
void node_dial(struct sim_world *w, struct sim_daemon *d, unsigned master);
void node_dial_timeout(struct sim_world *w, uint32_t conn);
/* sim_native.c: whether the server knows the command, if it is a native one; else *vote becomes its error. */
struct store_command;
bool native_is_known(const struct sim_world *w, const struct sim_master *m,
                     const struct store_command *command, struct vote *vote);
void node_close(struct sim_world *w, struct sim_daemon *d, unsigned master);
/* The index of a name, or of a slot's own. */
unsigned name_index(const struct name *name);
/* How many slots the name has; 0: none. */
unsigned name_slots(const struct sim_world *w, unsigned name);
void node_send(struct sim_world *w, struct sim_daemon *d, const struct action *action);
void node_open(struct sim_world *w, struct sim_daemon *d, unsigned master);
void node_reset(struct sim_world *w, struct sim_daemon *d, unsigned master); /* by the network */
void node_receive(struct sim_world *w, const struct sim_msg *msg);

/* rights.c */
void rights_deny(struct sim_world *w, struct sim_client *c, enum denied what);
void rights_reload(struct sim_world *w, struct sim_daemon *d, uint32_t limits); /* 0: those of the start */
struct peer rights_peer(const struct sim_world *w, const struct sim_daemon *d, unsigned client);

/* sim_beside.c */
void beside_begin(struct sim_world *w, struct sim_client *c, enum beside_when when);
bool beside_is_needed(const struct sim_world *w,
                      const struct sim_client *c);            /* the first lock is kept for it */
void beside_timer(struct sim_world *w, struct sim_client *c); /* ITEM_BESIDE */
bool beside_reply(struct sim_world *w, struct sim_client *c, const struct sim_message *message);
void beside_lost(struct sim_client *c, uint32_t tok);

/* sim_ear.c */
struct ear_master {
    struct sim_world *world;
    const struct sim_master *master;
};
/* Whether the daemon is of the version before the queue at present. */
bool daemon_is_old(const struct sim_world *w, const struct sim_daemon *d);
/* Whether the daemon was one when it dialled: its commands may run after a newer one has taken its place. */
bool conn_is_old(const struct sim_world *w, uint32_t index);
/* Whether the daemon does not listen. */
bool daemon_is_deaf(const struct sim_world *w, const struct sim_daemon *d);
void ear_dial(struct sim_world *w, struct sim_daemon *d, unsigned master);
void ear_receive(struct sim_world *w, const struct sim_msg *msg);
void ear_reset(struct sim_world *w, struct sim_daemon *d, unsigned master);
void ear_ping(struct sim_world *w, uint32_t index);
void ear_subscribed(struct sim_world *w, struct sim_master *m, uint32_t conn);
/* arg: struct ear_master */
unsigned ear_publish(void *arg, uint32_t id, char what, unsigned name, unsigned slot);
/* Of a master by its number in the world. */
void daemon_master_row(const struct sim_daemon *d, int64_t now_ms, unsigned master, struct master_row *row);
enum master_state daemon_master_state(const struct sim_daemon *d, unsigned master);
bool daemon_has_in_use(const struct sim_daemon *d, unsigned master); /* up, slow or in quarantine */
uint32_t daemon_id(const struct sim_daemon *d);

void client_start(struct sim_world *w, struct sim_client *c);
void client_timer(struct sim_world *w, struct sim_client *c);
void client_tell(struct sim_world *w, uint32_t message);
void client_fresh(struct sim_world *w, struct sim_client *c);
void client_leave(struct sim_world *w, struct sim_client *c); /* closes its connections */
int64_t client_deadline(const struct sim_world *w, uint32_t session, int64_t until_ms); /* true time */

/* sim_client.c, for sim_resume.c */
const struct sim_record *client_op(const struct sim_world *w, const struct sim_client *c);
unsigned client_via(const struct sim_world *w, const struct sim_client *c);
void client_after(struct sim_world *w, struct sim_client *c, int64_t ms);
uint32_t client_ask(struct sim_world *w, struct sim_client *c, unsigned daemon, const struct request *what,
                    uint32_t target, uint32_t tok);
void client_words_of(const struct sim_world *w, struct request *what, enum verb verb, unsigned name,
                     uint32_t tok);
void client_words(const struct sim_world *w, const struct sim_client *c, struct request *what, enum verb verb,
                  uint32_t tok);
void session_close(struct sim_world *w, struct sim_client *c, uint32_t session, enum line_kind how);
void client_closed(struct sim_world *w, struct sim_client *c, uint32_t session);
void client_lost(struct sim_world *w, struct sim_client *c);     /* the client holds no lock any more */
void client_holds_on(struct sim_world *w, struct sim_client *c); /* until its op is over */
void client_told(struct sim_world *w, struct sim_client *c, uint32_t session, uint32_t tok, int64_t until_ms);

/* sim_resume.c */
/* sim_down.c: a writer asks to become a reader */
int64_t down_acts(const int64_t *op);
bool down_is_now(const int64_t *op, int64_t act);
int64_t down_without(const int64_t *op, int64_t act); /* the number of an act that is none */
void down_ask(struct sim_world *w, struct sim_client *c);
void down_locked(struct sim_world *w, struct sim_client *c, const struct sim_message *message);
bool down_is_asked(const struct sim_world *w, uint32_t tok, const struct request *what);
bool down_is_open(const struct sim_world *w, uint32_t tok); /* the client does not know the new token */
void resume_begin(struct sim_world *w, struct sim_client *c);
void resume_timer(struct sim_world *w, struct sim_client *c);
void resume_reply(struct sim_world *w, struct sim_client *c, const struct sim_message *message);
void resume_closed(struct sim_world *w, struct sim_client *c, uint32_t session);

void break_lock(struct sim_world *w, unsigned name); /* sim_break.c */

/* sim_flood.c */
void flood_begin(struct sim_world *w, struct sim_client *c, int64_t requests);
/* The daemon does not read the message before then; 0: it does now. */
int64_t flood_held_us(struct sim_world *w, uint32_t session, const struct sim_message *message);
int64_t flood_due_us(const struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg);
void flood_served(const struct sim_world *w, struct sim_master *m, const struct sim_msg *msg);
void forge_letter(struct sim_world *w, uint32_t fault);

void fault_begin(struct sim_world *w, const struct sim_record *fault, uint32_t index);
void fault_end(struct sim_world *w, const struct sim_record *fault);
void rubbish_delete(const struct sim_world *w, struct sim_master *m);
void heal_begin(struct sim_world *w);
/* sim_generation.c */
bool generation_class(const struct sim_world *w);
bool generation_smooth(const struct sim_world *w);
struct coordinator_set generation_set(const struct sim_plan *plan, uint32_t generation, bool other);
void generation_config(const struct sim_world *w, const struct sim_daemon *d,
                       struct coordinator_config *config);
void generation_stepped(struct sim_world *w, struct sim_daemon *d);
void generation_asked(const struct sim_daemon *d, struct request *what);
void generation_tick(struct sim_world *w);
void generation_heal(struct sim_world *w);
void heal_agreed(struct sim_world *w);
void heal_tick(struct sim_world *w);

/* Runs a plan; 0: nothing found; else the invariant that was broken. */
enum { INVARIANT_ASSERT = 99 }; /* an assertion of the coordinator's */
int run_plan(struct sim_world *w, const struct sim_plan *plan);
void shrink(struct sim_world *w, struct sim_plan *plan);

#endif
