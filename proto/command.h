/* Commands of the coordinator to masters, and votes, which are their answers, as plain values.
 *
 * proto/resp.h turns a command into RESP bytes, once for all masters that get it, and a RESP reply into a
 * vote. */
#ifndef REDLOCKD_PROTO_COMMAND_H
#define REDLOCKD_PROTO_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

enum {
    RUN_ID_HEX = 40,
    FENCE_BUCKETS = 16384, /* names are hashed into buckets, and all names of a bucket share a fence */
};

/* Fences are scores of a sorted set, and scores are doubles, which cannot hold every integer above 2^53. */
#define FENCE_MAX ((UINT64_C(1) << 53) - 1)

/* A master's clock may show any year from 1970 to 5138, so that sums of times stay far from overflow. */
#define CLOCK_MAX_MS INT64_C(99999999999999)
#define GROUP_MAX_MS INT64_C(999999999999999)

enum { GROUP_WORD = 16 /* with its NUL */ };

/* The agreement of the daemons as a master keeps it, at <prefix>,group (see proto/group.h):
 *     1 N=<masters> max_ttl=<ms> run=<run_id> from=<ms of the master's TIME from which it may vote>
 *     2 step=<s> max_ttl=<ms> run=<run_id> from=<ms> since=<ms> [settled] set=<hash> before=<hash>
 * In a value that was read, each number is above 0 and no time is beyond GROUP_MAX_MS.
 * Words for by, why and back may follow, and set in the first. */
struct group {
    uint32_t step;    /* 0: the first text; fields that are only in the second are 0 then */
    uint32_t masters; /* only in the first */
    int64_t max_ttl_ms;
    int64_t from_ms;
    int64_t since_ms; /* the master's TIME when its step was raised */
    bool settled;     /* some daemon votes by this step */
    uint64_t before;  /* the hash of the set of the step before */
    int64_t
        back_ms;  /* the master's TIME when from= lay too far ahead, since its clock was set back; 0: never */
    uint64_t set; /* the hash of the names of all masters; 0: not said */
    char run_id[RUN_ID_HEX];
    char by[GROUP_WORD];  /* the daemon that keeps the master out; "": none does */
    char why[GROUP_WORD]; /* why that daemon keeps it out; "": not said */
};

/* What a master lacks, as TRY found; EVALSHA as its error says. */
enum lacking {
    LACKING_NOTHING,
    LACKING_SET,
    LACKING_PEXPIRE,
    LACKING_PTTL,
    LACKING_KEEPTTL,
    LACKING_GET,
    LACKING_DEL,
    LACKING_EVALSHA,
    LACKING_GETEX, /* or another command of the handshake or the probe: */
    LACKING_TIME,
    LACKING_INFO,
    LACKING_CLIENT_ID,
};
enum { LACKINGS = LACKING_CLIENT_ID + 1 };

/* What each of them does, and which votes it may have, stands in proto/command.def. */
enum command_verb {
#define COMMAND(name, script, vote, words)  COMMAND_##name,
#define FOR_LIST(name, script, vote, words) COMMAND_##name##_ALL,
#define NATIVE(name, form, vote, words)     COMMAND_##name##_##form,
#include "proto/command.def"
};
enum {
#define COMMAND(name, script, vote, words)  +1
#define FOR_LIST(name, script, vote, words) +1
#define NATIVE(name, form, vote, words)     +1
    COMMAND_VERBS = 0
#include "proto/command.def"
};
enum {
#define NATIVE(name, form, vote, words) +1
    NATIVES = 0
#include "proto/command.def"
};

/* Whether the verb is a native command: these are the last of all. */
static inline bool command_is_native(enum command_verb verb)
{
    return (unsigned)verb >= COMMAND_VERBS - NATIVES;
}

static inline bool command_is_probe(enum command_verb verb)
{
    return verb == COMMAND_PROBE || verb == COMMAND_PROBE_LASTING;
}

/* Whether the verb is a question of the handshake about a native command: these stand between the two in the table. */
static inline bool command_is_question(enum command_verb verb)
{
    return verb > COMMAND_TRY && verb < COMMAND_TIME;
}

/* The question of the handshake whether a server knows the native command of that number. */
static inline enum command_verb command_question(unsigned native)
{
    static const uint8_t questions[NATIVES] = {
#define NATIVE(name, form, vote, words) COMMAND_TRY_##form,
#include "proto/command.def"
    };
    return (enum command_verb)questions[native];
}

/* The verb for a list of names that does what this verb does for one name. */
static inline enum command_verb command_for_all(enum command_verb verb)
{
    static const uint8_t all[COMMAND_VERBS] = {
    /* 0: there is none */
#define FOR_LIST(name, script, vote, words) [COMMAND_##name] = COMMAND_##name##_ALL,
#include "proto/command.def"
    };
    return all[verb] != 0 ? (enum command_verb)all[verb] : verb;
}

/* The verb for one name that does by script, or plainly, what this verb does. */
static inline enum command_verb command_for_one(enum command_verb verb)
{
    static const uint8_t one[COMMAND_VERBS] = {
    /* 0: it is for one name */
#define FOR_LIST(name, script, vote, words) [COMMAND_##name##_ALL] = COMMAND_##name,
#define NATIVE(name, form, vote, words)     [COMMAND_##name##_##form] = COMMAND_##name,
#include "proto/command.def"
    };
    return one[verb] != 0 ? (enum command_verb)one[verb] : verb;
}

struct command {
    enum command_verb verb;
    uint32_t bucket; /* ZADD, ZSCORE; ZADD_ALL, ZSCORE_ALL: the number of buckets[] */
    uint64_t ref;    /* comes back with each vote: the id of the asking round, release or lease; 0: none */
    /* As the table says: a TTL or an instant in ms, a score, or a client id. Of commands that write to the queue: how
     * long it lives, in ms. */
    uint64_t number;
    uint64_t waited_ms; /* ENQUEUE, SHARE, LOOK; GROUP_SET, GROUP_NEW, DATA: see the table */
    uint64_t most_ms;   /* EXTEND, EXTEND_ALL: no longer TTL is left; 0: any */
    bool stays;         /* RELEASE */
    bool shared;        /* ENQUEUE: the head is a reader */
    bool has_other;     /* RELEASE, MOVE, DOWN, ADOPT */
    bool has_third;     /* RELEASE: beside other, the value may be a third one */
    uint16_t slots;     /* LOOK, CUT: how many the name has */
    struct token token;
    struct token to; /* MOVE, SETTLE, DOWN: the new one; others that have it: this daemon */
    struct name name;
    uint32_t buckets[LIST_NAMES];
    struct token other; /* if has_other */
    struct token third; /* if has_third */
    union {
        struct group group; /* GROUP_SET, GROUP_NEW */
        struct data data;   /* DATA */
    };
};

enum vote_kind {
    VOTE_YES,
    VOTE_NO,
    VOTE_NUMBER,
    VOTE_INFO,
    VOTE_GROUP,
    VOTE_UNREADABLE, /* <prefix>,group is there, but no daemon of this version can have written it */
    VOTE_TOKEN,
    VOTE_DATA,    /* ADOPT; number: since when the lock is held, as DATA wrote it */
    VOTE_SEEN,    /* SEE */
    VOTE_LOOKED,  /* LOOK; number: the TTL in ms of the slot whose key ends first, 0: none is told */
    VOTE_HEARD,   /* another daemon got a message */
    VOTE_UNHEARD, /* one waits, or has the key, and got none; error is NOPERM if PUBLISH is not allowed */
    VOTE_NOT_RUN, /* NOSCRIPT: the script is being loaded; send the command again if it still matters */
    VOTE_ERROR,   /* the master refused the command */
};

enum vote_error {
    ERROR_OTHER,
    ERROR_OOM,
    ERROR_READONLY,
    ERROR_MISCONF,
    ERROR_NOREPLICAS,
    ERROR_LOADING,
    ERROR_BUSY,
    ERROR_NOPERM,
    ERROR_NOAUTH,
    ERROR_WRONGTYPE,
};
enum { VOTE_ERRORS = ERROR_WRONGTYPE + 1 };

/* The fields of INFO by which a server is judged; without one of them it may not vote. */
struct master_info {
    char run_id[RUN_ID_HEX]; /* new at every start of the server */
    uint32_t version;        /* 7.0.15 is 0x07000f; Valkey reports its Redis-compatible version */
    int64_t uptime_s; /* by whole seconds of the server's wall clock: also wrong by what that clock jumped */
    uint64_t connections; /* how many it has had in this run; 0: not told */
    bool replica;
    bool cluster;
    bool evicts; /* the maxmemory policy may evict locks */
    bool loading;
};

/* The slots of a name as a master has them. */
struct slots_seen {
    uint16_t slots;               /* how many the name has, as the first daemon said it; 0: not readable */
    uint64_t longest_ms;          /* the TTL of the slot whose key ends last; 0: none is told */
    bool heard;                   /* the daemons of all slots with a key heard that somebody waits */
    uint8_t taken[SLOTS_MAX / 8]; /* bit i % 8 of byte i / 8: slot i has a key */
};

enum seen_kind { SEEN_NOBODY, SEEN_TOKEN, SEEN_READERS, SEEN_SLOTS };

/* Who has a name, as a master has it. */
struct seen {
    enum seen_kind kind;
    struct token token; /* SEEN_TOKEN; a value that is no token of ours is hashed to one */
    uint64_t ttl_ms;    /* SEEN_TOKEN; 0: not known */
    uint64_t fence;     /* SEEN_TOKEN: of what its holder tells ... */
    struct data data;   /* ... which is this; len 0: nothing */
};

/* Fields that do not belong to the kind are undefined. */
struct vote {
    enum vote_kind kind;
    enum vote_error error; /* VOTE_ERROR, VOTE_UNHEARD */
    uint64_t number;       /* VOTE_NUMBER, VOTE_HEARD, VOTE_UNHEARD; VOTE_UNREADABLE: its version, or 0 */
    bool marked;           /* ENQUEUE: a writer's mark was left */
    bool kept;             /* ENQUEUE: nobody holds the name, but it is kept (keep/kept.h) */
    union {
        struct master_info info; /* VOTE_INFO */
        struct group group;      /* VOTE_GROUP */
        struct token token;      /* VOTE_TOKEN; a value that is no token of ours is hashed to one */
        struct slots_seen seen;  /* VOTE_LOOKED */
        struct data data;        /* VOTE_DATA */
        struct seen who;         /* VOTE_SEEN */
    };
};

#endif
