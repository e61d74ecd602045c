/* What the coordinator asks of masters and what they answer, as plain values.
 *
 * proto/resp.[ch] turns a command into RESP bytes (once, for all masters that
 * get it) and a RESP reply into a vote. */
#ifndef REDLOCKD_PROTO_COMMAND_H
#define REDLOCKD_PROTO_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/message.h"

enum {
    RUN_ID_HEX = 40,
    FENCE_BUCKETS = 16384, /* a fence counts for all names of a bucket */
};

/* A score is a double: above this its steps are larger than one. */
#define FENCE_MAX ((UINT64_C(1) << 53) - 1)

/* Masters' clocks are read from 1970 to 5138: what is counted from them stays far from overflow. */
#define CLOCK_MAX_MS INT64_C(99999999999999)
#define GROUP_MAX_MS INT64_C(999999999999999)

enum { GROUP_WORD = 16 /* with its NUL */ };

/* What a master keeps of the daemons' agreement, at <prefix>,group:
 *     1 N=<masters> max_ttl=<ms> run=<run_id> from=<ms of the master's TIME from which it may vote>
 * As it is read: each number above 0, and no time beyond GROUP_MAX_MS. */
struct group {
    uint32_t masters;
    int64_t max_ttl_ms;
    int64_t from_ms;
    char run_id[RUN_ID_HEX];
    char by[GROUP_WORD];  /* the daemon that keeps the master out; "": none */
    char why[GROUP_WORD]; /* ... and why; "": none, or not said */
};

/* command          on the wire                                     vote
 * CLIENT_ID        CLIENT ID                                       NUMBER
 * INFO             INFO                                            INFO
 * KILL             CLIENT KILL ID <number>                         NUMBER (0: it was gone)
 * TIME             TIME                                            NUMBER: its wall clock in ms, 1000 to CLOCK_MAX_MS
 * GROUP            GET <prefix>,group                              GROUP, NO (absent), UNREADABLE
 * PROBE            GETEX <prefix>,group PX <number>                as GROUP
 * GROUP_SET        SET <prefix>,group <group> PX <number>          YES
 * GROUP_LATER      SET <prefix>,group <group> XX PX <number>       YES, NO (it is gone)
 * GROUP_NEW        SET <prefix>,group <group> NX PX <number>       YES, NO
 * SET              SET <prefix><name> <token> NX PX <number>       YES, NO
 * HEAL             SET <prefix><name> <token> NX PXAT <number>     YES, NO
 * GET              GET <prefix><name>                              TOKEN (whose it is), NO (nobody's)
 * ZADD             ZADD <prefix>,fences GT CH <number> <bucket>    YES (higher than before), NO
 * ZSCORE           ZSCORE <prefix>,fences <bucket>                 NUMBER (0: none)
 * WANT             SET <prefix>,want:<name> <to> PX <number>       YES
 * RELEASE          script: delete if the value is the token        YES, NO (not ours), and where to is
 *                                                                  not zero WANTED: deleted, and a daemon
 *                                                                  other than to has its WANT there
 * EXTEND           script: PEXPIRE <number> if the value is the    NUMBER: the TTL that it has now,
 *                  token, and only if that lengthens; of up to     in ms; NO (not ours)
 *                  64 keys that are asked for in a row at once
 * CHECK            script: PTTL if the value is the token          as EXTEND
 * MOVE             script: if the value is the token, set to in    YES, NO (not ours)
 *                  its place and keep the TTL
 * Any of them:     ERROR, and of the scripts NOT_RUN. */
enum command_verb {
    COMMAND_CLIENT_ID,
    COMMAND_INFO,
    COMMAND_KILL,
    COMMAND_TIME,
    COMMAND_GROUP,
    COMMAND_PROBE,
    COMMAND_GROUP_SET,
    COMMAND_GROUP_LATER,
    COMMAND_GROUP_NEW,
    COMMAND_SET,
    COMMAND_HEAL,
    COMMAND_GET,
    COMMAND_ZADD,
    COMMAND_ZSCORE,
    COMMAND_WANT,
    COMMAND_RELEASE,
    COMMAND_EXTEND,
    COMMAND_CHECK,
    COMMAND_MOVE,
};

struct command {
    enum command_verb verb;
    uint32_t bucket; /* ZADD, ZSCORE */
    uint64_t ref;    /* comes back with each vote; never reused; 0: nobody waits for it */
    uint64_t number; /* see above: TTL or instant in ms, score or client id */
    struct name name;
    struct token token;
    struct token to;    /* MOVE: the new one; WANT, RELEASE: this daemon */
    struct group group; /* GROUP_SET, GROUP_LATER, GROUP_NEW */
};

enum vote_kind {
    VOTE_YES,
    VOTE_NO,
    VOTE_NUMBER,
    VOTE_INFO,
    VOTE_GROUP,
    VOTE_UNREADABLE, /* <prefix>,group is there, but nothing that we wrote */
    VOTE_TOKEN,
    VOTE_WANTED,
    VOTE_NOT_RUN, /* NOSCRIPT: the script is being loaded; ask again if it is still wanted */
    VOTE_ERROR,   /* the master refused: no vote */
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

/* What INFO says of a server, as far as it decides whether it may vote. */
struct master_info {
    char run_id[RUN_ID_HEX]; /* new at every start of the server */
    uint32_t version;        /* 7.0.15 is 0x07000f; Valkey tells its Redis-compatible number */
    int64_t uptime_s;        /* by the server's wall clock: up to a second wrong either way */
    bool replica;
    bool cluster;
    bool evicts; /* its maxmemory policy may throw locks away */
    bool loading;
};

/* What its kind does not name is undefined. */
struct vote {
    enum vote_kind kind;
    enum vote_error error; /* VOTE_ERROR */
    uint64_t number;       /* VOTE_NUMBER */
    union {
        struct master_info info; /* VOTE_INFO */
        struct group group;      /* VOTE_GROUP */
        struct token token;      /* VOTE_TOKEN; of a value that is no token of ours, one made of its bytes */
    };
};

#endif
