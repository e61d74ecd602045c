/* A plan is everything that happens to a run from outside: the parameters, the clients and their
 * operations, the faults. It is drawn from a seed (profile.c), written and read as text, and made smaller by
 * shrink.c. Chance within a run (delays, tokens) comes from hashes of the seed and of the event's place and
 * number, so that a plan with one fault less is otherwise the same run. */
#ifndef SIM_PLAN_H
#define SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tests/sim/mutant.h"
#include "tests/sim/names.h"

enum {
    SIM_MASTERS = 7,
    SIM_DAEMONS = 10,
    SIM_CLIENTS = 40,
    SIM_SLOTTED = 6,                                /* the first of the names, which may have slots ... */
    SIM_SLOTS = 4,                                  /* ... so many each */
    SIM_KEYS = SIM_NAMES + SIM_SLOTTED * SIM_SLOTS, /* the names, and behind them the slots */
    PLAN_FAULTS = 2048,
    PLAN_OPS = 8192,
    PLAN_FIELDS = 40,
    PLAN_LONG_TTL_MS = 3600000, /* a run does not wait for a max_ttl of this length or more */
};

_Static_assert((int)SIM_KEYS <= (int)SIM_LIST && (int)SIM_KEYS <= 64, "an index is no set, and has a bit");

/* A slot's own name has an index behind those of the names, below SIM_LIST. */
static inline unsigned key_of_slot(unsigned name, unsigned slot)
{
    return SIM_NAMES + name * SIM_SLOTS + slot;
}

/* Which slot it is, from 1; 0: it is a name, or a list. */
static inline unsigned key_slot(unsigned key)
{
    return key < SIM_NAMES || key & SIM_LIST ? 0 : 1 + (key - SIM_NAMES) % SIM_SLOTS;
}

/* The name of the slot; a name, or a list, itself. */
static inline unsigned key_base(unsigned key)
{
    return key_slot(key) == 0 ? key : (key - SIM_NAMES) / SIM_SLOTS;
}

/* Each section is a table of named numbers, so that one reader and one writer serve all of them.
 * clang-format 14 lays out such lists differently each time. */
/* clang-format off */
#define PARAM_LIST(X) \
    X(MASTERS, "masters") \
    X(DAEMONS, "daemons") \
    X(NAMES, "names") \
    X(HEAL, "heal_ms") \
    X(MIN_TTL, "min_ttl_ms") \
    X(MAX_TTL, "max_ttl_ms") \
    X(NODE_TIMEOUT, "node_timeout_ms") \
    X(MIN_VALIDITY, "min_validity_ms") \
    X(RETRY_MIN, "retry_min_ms") \
    X(RETRY_MAX, "retry_max_ms") \
    X(DRAIN_TIMEOUT, "drain_timeout_ms") \
    X(BACKLOG, "backlog") \
    X(MAX_LOCKS, "max_locks") \
    X(MAX_WAITERS, "max_waiters") \
    X(MAX_UNDO, "max_undo") \
    X(DELAY, "delay_us") \
    X(JITTER, "jitter_us") \
    X(TAIL_PPM, "tail_ppm") \
    X(TAIL, "tail_us") \
    X(PPM, "ppm") \
    X(WALL, "wall_spread_ms") \
    X(UPTIME, "uptime_ms") \
    X(STRAY, "stray_us") \
    X(CLASS, "class") \
    X(ODD_MASTERS, "odd_masters") \
    X(ODD_MAX_TTL, "odd_max_ttl_ms") \
    X(ODD_LATE, "odd_late_ms") \
    X(ODD_FIRST, "odd_first")  \
    X(DEAF, "deaf") \
    X(FANOUT, "fanout") \
    X(NO_KILL, "no_kill") \
    X(SLOTS, "slots") \
    X(SLOTTED, "slotted") /* the names with slots, a bit for each: their numbers differ; 0: all but the first */ \
    X(CALM, "calm") \
    X(JOIN_FROM, "join_from") \
    X(FLOOD, "flood") \
    X(NATIVES, "natives") /* the native commands that a server knows, four bits for each */ \
    X(UNGUARDED, "unguarded") /* restart_guard: off, where no master loses its memory */ \
    X(LIAR, "liar") /* 1 + the master that makes up what watchers are told of holders; 0: none */ \
    X(TURN, "turn_us") /* a daemon may handle events for so long before what is due */ \
    X(SET, "set") /* generations of masters: the servers of the first, a bit for each; 0: they do not change */ \
    X(LISTED, "listed") /* daemons see the others' steps in <prefix>,daemons */

/* at and for in µs. target: master, daemon or client; other: the second one of a link. */
#define FAULT_LIST(X) \
    X(KIND, "kind") \
    X(AT, "at_us") \
    X(FOR, "for_us") \
    X(TARGET, "target") \
    X(OTHER, "other") \
    X(ARG, "arg")

#define CLIENT_LIST(X) X(DAEMON, "daemon") X(REMOTE, "remote")

/* An operation of a client: think, lock, keep, end. Times in ms; -1: not at all. */
#define OP_LIST(X) \
    X(CLIENT, "client") \
    X(THINK, "think") \
    X(NAME, "name") \
    X(LEASE, "lease") \
    X(TTL, "ttl") \
    X(WAIT, "wait") \
    X(MAX, "max") \
    X(KEEP, "keep") \
    X(END, "end") \
    X(VIA, "via") \
    X(EXTENDS, "extends") \
    X(EXTEND_TTL, "ettl") \
    X(CHECKS, "checks") \
    X(REENTER, "reenter") \
    X(GIVE_UP, "give_up") \
    X(HOW, "how") \
    X(RESUMES, "resumes") \
    X(RESUME_HOW, "resume_how") \
    X(SYNC, "sync") \
    X(SHARED, "shared") \
    X(NAMES, "names") /* several: a bit for each; 0: only name */ \
    X(BESIDE, "beside") /* so many second locks, one after the other */ \
    X(BESIDE_WHEN, "beside_when") \
    X(BESIDE_NAME, "beside_name") /* with SIM_LIST, if several */ \
    X(BESIDE_WAIT, "beside_wait") \
    X(BESIDE_KEEP, "beside_keep") \
    X(SLOTS_OFF, "slots_off") /* the number of slots that it names is the right one and so much more, from 1 to SIM_SLOTS */ \
    X(KEPT, "kept") /* its UNLOCK keeps the name for so many ms; 0: it does not */ \
    X(WATCH, "watch") /* it watches the name, if it watches none yet */ \
    X(DATA, "data") /* 1: its holder tells others something; 2: and changes that */ \
    X(DOWN, "down")   /* so many requests to become a reader: 1 and 2 at once, 3 and more, by 2 less, later */ \
    X(REPEAT, "repeat") /* wait= of RESUME and of requests to become a reader; 0: none */ \
    X(REPEAT_END, "repeat_end") /* such a RESUME is cancelled after so many ms; 0: it is not */
/* clang-format on */

#define PLAN_ENUM_P(id, name) P_##id,
#define PLAN_ENUM_F(id, name) F_##id,
#define PLAN_ENUM_C(id, name) C_##id,
#define PLAN_ENUM_O(id, name) O_##id,
enum param { PARAM_LIST(PLAN_ENUM_P) P_COUNT };
enum fault_field { FAULT_LIST(PLAN_ENUM_F) F_COUNT };
enum client_field { CLIENT_LIST(PLAN_ENUM_C) C_COUNT };
enum op_field { OP_LIST(PLAN_ENUM_O) O_COUNT };

/* The kind of world; different promises hold in each. */
enum plan_class {
    CLASS_ORDINARY,
    CLASS_MEMORY,   /* masters forget though no run_id shows it: see master_forgets() */
    CLASS_CLOCK,    /* masters' clocks jump */
    CLASS_ROLLING,  /* all masters restarted, one after the other: no held lock is lost */
    CLASS_DISAGREE, /* the last daemon (the odd one) has another N or max_ttl */
    CLASS_TURNS,    /* a crowd and no faults: each waiter gets a turn */
    CLASS_SPLIT,    /* all daemons ask for a free lock at once: one of them gets it */
    CLASS_MODES,    /* an ordinary world of readers and writers */
    CLASS_LISTS,    /* lists of names that overlap, and locks of their names */
    CLASS_SLOTS,    /* names with numbered slots, under contention, and with the faults of ordinary worlds */
    CLASS_GENERATION, /* the masters are replaced, and max_ttl changes, while daemons run: sim_generation.c */
    CLASSES
};

enum fault_kind {
    FAULT_RESET,    /* link: both ends see it */
    FAULT_CUT_UP,   /* link: nothing arrives at the master */
    FAULT_CUT_DOWN, /* link: nothing arrives at the daemon */
    FAULT_SLOW_UP,  /* link: arg µs more */
    FAULT_SLOW_DOWN,
    FAULT_HANG,       /* master: stopped; what is queued runs later */
    FAULT_CRASH_KEEP, /* master: down, back with all its data */
    FAULT_CRASH_LOSE, /* master: down, back empty */
    FAULT_CRASH_OLD,  /* master: down, back with its data of arg µs ago */
    FAULT_FLUSH_SCRIPTS,
    FAULT_ERROR,      /* master: answers arg (enum vote_error) for a while */
    FAULT_ZADD_ERROR, /* master: only ZADD fails */
    FAULT_REPLICA, /* master: demoted for a while; arg 1: its data is lost, n > 1: its data is n - 1 s old */
    FAULT_PAUSE,   /* daemon: stopped */
    FAULT_SLEEP,   /* daemon's host sleeps, with the clients on it */
    FAULT_CRASH_DAEMON,
    FAULT_DRAIN, /* daemon: asked to stop; a new one comes afterwards */
    FAULT_WALL,  /* daemon: wall clock set to arg ms beside the true time */
    FAULT_PAUSE_CLIENT,
    FAULT_SWARM,               /* ordinary seeds draw the faults up to here, classes also draw the others */
    FAULT_FLUSH = FAULT_SWARM, /* master: FLUSHALL */
    FAULT_PROMOTE, /* master: another server takes its address, with data of arg µs ago; -1: none */
    FAULT_JUMP,    /* master: its clock jumps by arg ms */
    FAULT_RUBBISH, /* master: a stranger writes to <prefix>,group, and deletes it again; arg: enum rubbish */
    FAULT_STALL,   /* daemon's host stands still, uncounted by its clock; arg 1: the wall clock, too */
    FAULT_DRIFT,   /* master: its clock runs arg ppm fast for a while */
    FAULT_EAR,     /* link: only the connection that listens; reset, or arg µs later for a while */
    FAULT_SET,     /* master: its clock is set, back by -arg ms, or ahead by arg ms for a while */
    FAULT_LACKS,   /* master: it does not know a command, or refuses it to the daemons; arg: enum lack */
    FAULT_DENY,    /* client: its session, its waiting request or its lock is denied; arg: enum denied */
    FAULT_RELOAD,  /* daemon: it gets other limits; arg: which */
    FAULT_BREAK,   /* the lock of name arg is broken by an operator; no master or daemon is touched */
    FAULT_SCORES, /* master: its fences become arg below the highest number, by a stranger or from a backup */
    FAULT_WRONG,  /* daemon: its wall clock is wrong by arg ms, until it is set again */
    FAULT_FLOOD,  /* client: it pipelines arg requests for tokens that nobody has */
    FAULT_FORGE,  /* master: a stranger publishes letters about name arg to all daemons */
    FAULT_NATIVE, /* master: it refuses native commands for a while; arg: NOPERM, or that it knows none */
    FAULT_FILE,   /* daemon: its host gets another file; arg: the generation, and see sim_generation.c */
    FAULT_KINDS
};

/* A command that a master lacks: that of the probe, that of all scripts, or one that scripts need. */
enum lack { LACKS_GETEX, LACKS_EVALSHA, LACKS_PEXPIRE, LACKS_DEL, LACKS };

enum fanout { FANOUT_ALL, FANOUT_QUORUM, FANOUT_MIXED }; /* MIXED: every other daemon asks a quorum first */
/* Daemons whose user may not subscribe. OLD: the first daemon, which is of the version before the queue until it
 * restarts, and at every other start again. */
enum deaf { DEAF_NONE, DEAF_ALL, DEAF_FIRST, DEAF_OLD };

/* What daemons can do beside exclusive locks of one name that all masters are asked for. */
enum feature {
    FEATURE_READERS,
    FEATURE_LISTS,
    FEATURE_SLOTS,
    FEATURE_HANDS, /* locks are handed on */
    FEATURE_FANOUT,
    FEATURE_DOWN,
    FEATURES
};

static inline unsigned feature_if(bool has, enum feature feature)
{
    return has ? 1u << feature : 0;
}

/* Worlds without faults, in which it is judged how long waiters wait: in turns, or while lists wait, too. */
enum calm { CALM_NOT, CALM_TURNS, CALM_LISTS };

/* Worlds in which nothing is wrong but what some clients send: one of them floods, all do at once, or somebody forges
 * letters. */
enum flood { FLOOD_NONE, FLOOD_ONE, FLOOD_ALL, FLOOD_LETTERS };

/* Whether daemons see each other's steps. SMOOTH: they do, nothing is wrong, and all are told of a change at once. */
enum { SET_LEAPS = 1 << SIM_MASTERS }; /* in P_SET: two are replaced at once */
enum listed { LISTED_NOT, LISTED, LISTED_SMOOTH };

enum denied { DENIED_SESSION, DENIED_WAIT, DENIED_LOCK, DENIALS };
enum { RELOADS = 210 };

enum rubbish { RUBBISH_TEXT, RUBBISH_MASTERS, RUBBISH_MAX_TTL, RUBBISH_SHORTER, RUBBISHES };

enum fault_target { TARGET_LINK, TARGET_MASTER, TARGET_DAEMON, TARGET_CLIENT };

/* How an op ends, or how a waiting client gives up (field how, after give_up ms). */
enum op_end {
    END_UNLOCK,       /* by name, on its own connection */
    END_UNLOCK_TOKEN, /* by token, on its own connection */
    END_UNLOCK_VIA,   /* by token, through another daemon */
    END_FIN,          /* closes the connection */
    END_RESET,        /* the connection breaks, the client lives */
    END_CRASH,        /* the process dies, its kernel closes the connection */
    END_LEAVE,        /* the client does nothing: the lock runs out */
    END_CANCEL,       /* give up only: CANCEL */
    END_UNDELIVERED,  /* the reply to LOCK never reaches the kernel: the connection broke before */
    OP_ENDS
};

/* The connection that a lock is bound to, when the lock is RESUMEd on another (field resume_how): */
enum resume_how {
    RESUME_THEN_FIN,    /* is closed when the new connection has the lock */
    RESUME_AFTER_RESET, /* broke before */
    RESUME_AND_FIN,     /* is closed while the answer is under way */
    RESUME_TWICE,       /* two RESUMEs ask at once, at two daemons */
    RESUME_UNDELIVERED, /* the answer never reaches the kernel; RESUME is asked again */
    RESUME_AND_LEAVE,   /* the new connection breaks while the answer is under way; RESUME is asked again */
    RESUME_HOWS
};

/* When the second lock is asked for. */
enum beside_when { BESIDE_AT_ONCE, BESIDE_WHILE_HELD };

struct sim_record {
    uint32_t id;
    int64_t field[PLAN_FIELDS];
};

struct sim_plan {
    uint64_t seed;
    enum mutant mutant;
    int64_t param[P_COUNT];
    unsigned clients, faults, ops;
    struct sim_record client[SIM_CLIENTS];
    struct sim_record fault[PLAN_FAULTS];
    struct sim_record op[PLAN_OPS];
};

/* profile.c */
extern int plan_class_drawn; /* only this class; CLASSES: each seed draws one */
extern bool plan_readers;    /* readers in each seed, whatever its class */
extern bool plan_old;        /* a daemon of the version before the queue, where the class allows one */
void plan_clear(struct sim_plan *plan); /* was zeroed, or used before */
void plan_draw(struct sim_plan *plan, uint64_t seed, int64_t seconds, enum mutant mutant);
enum mutant mutant_by_name(const char *name); /* MUTANT_COUNT: no planted bug */
const char *mutant_name(enum mutant mutant);
const char *mutant_text(enum mutant mutant);
/* The rate of each fault, in events per 1,000 s and target, and its duration. */
struct swarm {
    int64_t rate[FAULT_KINDS];
    int64_t longest_ms[FAULT_KINDS];
    int64_t blackouts; /* all masters and daemons at once, per 1,000 s */
    int64_t rollbacks; /* a majority of masters, with old data */
    int64_t clients, think_ms, keep_ms;
    int64_t lease_pct, wait_pct, give_up_pct, extend_pct, via_pct, long_keep_pct, remote_pct, abandon_pct;
    int64_t resume_pct, sync_ms, shared_pct, list_pct, down_pct, data_pct, watch_pct, beside_pct, kept_pct;
    bool apart; /* the writers are at the first daemon, and readers at all others */
};
/* classes.c: what is special to a class, before and after the clients and faults are drawn. */
void swarm_class(struct sim_plan *plan, struct swarm *swarm, enum plan_class class);
void plan_class(struct sim_plan *plan);
void swarm_slots(struct sim_plan *plan, struct swarm *swarm); /* nothing but many clients who want slots */
void swarm_calm(struct sim_plan *plan, struct swarm *swarm);
void swarm_crowd(struct sim_plan *plan, struct swarm *swarm);
void swarm_lists(struct sim_plan *plan, struct swarm *swarm);
void swarm_flood(struct sim_plan *plan, struct swarm *swarm, enum flood flood);
void swarm_hands(struct sim_plan *plan, struct swarm *swarm); /* many wait for few names */
/* sim_generation.c */
void swarm_generation(struct sim_plan *plan, struct swarm *swarm);
void plan_generation(struct sim_plan *plan);
/* mixture.c: some worlds have three of the features and more. */
void swarm_mixture(struct sim_plan *plan, struct swarm *swarm);
unsigned plan_features(
    const struct sim_plan *plan); /* the features of a world, a bit for each, but for hands */
/* aim.c: turns the swarm towards what a planted bug needs. */
void swarm_aim(struct sim_plan *plan, struct swarm *swarm, enum mutant mutant);

/* plan.c */
unsigned plan_slots(const struct sim_plan *plan, unsigned name); /* the slots of the name; 0: it has none */
void plan_write(const struct sim_plan *plan, FILE *file);
bool plan_read(struct sim_plan *plan, FILE *file, const char *path); /* false: the reason was printed */
const char *fault_kind_name(int64_t kind);
enum fault_target fault_target(enum fault_kind kind);
const char *class_name(int64_t class);
int class_by_name(const char *name); /* CLASSES: no such class */

#endif
