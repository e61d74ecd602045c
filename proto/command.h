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
 * In a value that was read, each number is above 0 and no time is beyond GROUP_MAX_MS.
 * Words for by, why, set and back may follow from=. */
struct group {
    uint32_t masters;
    int64_t max_ttl_ms;
    int64_t from_ms;
    int64_t
        back_ms;  /* the master's TIME when from= lay too far ahead, since its clock was set back; 0: never */
    uint64_t set; /* the hash of the names of all masters; 0: not said */
    char run_id[RUN_ID_HEX];
    char by[GROUP_WORD];  /* the daemon that keeps the master out; "": none does */
    char why[GROUP_WORD]; /* why that daemon keeps it out; "": not said */
};

/* command          on the wire                                     vote
 * CLIENT_ID        CLIENT ID                                       NUMBER
 * INFO             INFO                                            INFO
 * KILL             CLIENT KILL ID <number>                         NUMBER (0: it was gone)
 * TRY              script: what scripts for locks call, tried on     YES, NO (number: enum lacking)
 *                  <prefix>,try:<id of to>
 * TIME             TIME                                            NUMBER: its wall clock in ms, 1000 or
 *                                                                  more, up to CLOCK_MAX_MS
 * GROUP            GETEX <prefix>,group                            GROUP, NO (absent), UNREADABLE
 * PROBE            GETEX <prefix>,group PX <number>                as GROUP
 * GROUP_SET        script: writes group, if there is one of the    YES, NO (it is gone, or another group's)
 *                  same N, max_ttl and set: keeps the later
 *                  from of the same run, and lives for
 *                  <number> ms; a full quarantine has waited_ms
 * GROUP_NEW        the same, if there is none                      YES, NO
 * SET              SET <prefix><name> <token> NX PX <number>       YES, NO
 * HEAL             SET <prefix><name> <token> NX PXAT <number>     YES, NO
 * GET              GET <prefix><name>                              TOKEN (of its holder), NO (absent)
 * ZADD             ZADD <prefix>,fences GT CH <number> <bucket>    YES (higher than before), NO
 * ZSCORE           ZSCORE <prefix>,fences <bucket>                 NUMBER (0: none)
 * SHARE            script: to adds the token as a reader for           YES, NO (another client has the name, or
 *                  <number> ms, after it has waited waited_ms      a writer of another daemon came sooner)
 * SHARE_AT         the same until the instant <number>, unless     YES, NO (or that instant is over)
 *                  the token is a reader already
 * DEQUEUE          ZREM <prefix>,queue:<name> <id of to>           YES, NO (it was not there)
 * ENQUEUE          script: to joins the queue, as if it had        HEARD, UNHEARD (number: the TTL that
 *                  come waited_ms sooner; the daemon that set      the key has left, in ms; 0: none), NO
 *                  the key is told. A writer leaves a mark         (no key; with shared set, also: only
 *                  where it finds readers                          readers, and no mark in the way)
 * LETTER           PUBLISH <prefix>,wake:<id of the token>         YES (it is heard), NO
 *                  "g <name>": somebody else ended that lock
 * LOOK             script: which of the slots of a name have     LOOKED
 *                  a key, and how many slots other daemons
 *                  say it has; if to is not zero, to joins the
 *                  queue, as with ENQUEUE, and if all slots
 *                  have keys, the daemons that set them are told
 * PASS             script: wakes the first of the queue but to     YES (nobody waits), HEARD, UNHEARD, NO
 *                  if there is no key, or a slot has none; else    (the keys are there)
 *                  tells the daemon that set it, unless the name
 *                  has slots
 * ALONG            PASS that also removes the mark of to, and      as PASS
 *                  wakes others though readers have the name
 * RELEASE          script: delete if the value is the token, or    YES, NO (not ours); HEARD (number: for
 *                  with has_other the other one; if to is not      how long the woken one had waited, in
 *                  zero, then wake the first of the queue but      ms), UNHEARD
 *                  to, which goes to its end if stays is set,
 *                  and leaves it otherwise; another daemon whose
 *                  token it is gets a letter
 * EXTEND           script: PEXPIRE <number> if the value is the    NUMBER: the TTL that the key has now,
 *                  token and the TTL becomes longer; if the TTL    in ms; NO (not ours)
 *                  is above most_ms, it becomes that. Up to 64
 *                  EXTENDs in a row to the same masters become
 *                  one command
 * CUT              script: PEXPIRE <number> if a daemon made the   NUMBER: how many it cut
 *                  value, which is no mark, and the TTL is above
 *                  that; the same for each name of a list, or
 *                  each slot
 * CHECK            script: PTTL if the value is the token          as EXTEND
 * MOVE             script: if the value is the token, or with      YES, NO (not ours)
 *                  has_other the other one, set to in its
 *                  place and keep the TTL
 * SETTLE           script: if the value is the token or to:        as EXTEND
 *                  PEXPIRE <number> where that is longer, and
 *                  to in the place of the token
 * DOWN             script: if the value is the token or the        as EXTEND
 *                  other one, to becomes the only reader in
 *                  its place, for as long; then EXTEND of to
 * Where readers have the name, RELEASE, EXTEND, CHECK and MOVE are for the reader with that token alone.
 *
 * The same for a list of names, which are all there, or count as none (name.more is not 0):
 *
 * SET_ALL          script: unless one of the keys is there, set    YES, NO (number: which one is there, or
 * HEAL_ALL         all of them as SET or HEAL would                more of them: the first)
 * ZADD_ALL         ZADD <prefix>,fences GT CH with all buckets     NUMBER: so many became higher
 * ZSCORE_ALL       script: the highest score of the buckets        NUMBER (0: none)
 * RELEASE_ALL      script: delete each whose value is the token;   YES, NO (none was ours)
 *                  if to is not zero, another daemon whose token
 *                  it is gets a letter
 * EXTEND_ALL,      script: if all values are the token, as EXTEND  NUMBER: the shortest TTL; NO
 * CHECK_ALL        and CHECK
 * MOVE_ALL         script: if all values are the token, as MOVE    YES, NO
 * any command                                                      ERROR; for the scripts also NOT_RUN */
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

enum command_verb {
    COMMAND_CLIENT_ID,
    COMMAND_INFO,
    COMMAND_KILL,
    COMMAND_TRY,
    COMMAND_TIME,
    COMMAND_GROUP,
    COMMAND_PROBE,
    COMMAND_GROUP_SET,
    COMMAND_GROUP_NEW,
    COMMAND_SET,
    COMMAND_HEAL,
    COMMAND_GET,
    COMMAND_ZADD,
    COMMAND_ZSCORE,
    COMMAND_DEQUEUE,
    COMMAND_LETTER,
    COMMAND_ENQUEUE,
    COMMAND_LOOK,
    COMMAND_PASS,
    COMMAND_RELEASE,
    COMMAND_EXTEND,
    COMMAND_CHECK,
    COMMAND_MOVE,
    COMMAND_SETTLE,
    COMMAND_SHARE,
    COMMAND_SHARE_AT,
    COMMAND_ALONG,
    COMMAND_DOWN,
    COMMAND_CUT,
    COMMAND_SET_ALL,
    COMMAND_HEAL_ALL,
    COMMAND_ZADD_ALL,
    COMMAND_ZSCORE_ALL,
    COMMAND_RELEASE_ALL,
    COMMAND_EXTEND_ALL,
    COMMAND_CHECK_ALL,
    COMMAND_MOVE_ALL,
};
enum { COMMAND_VERBS = COMMAND_MOVE_ALL + 1 };

/* The verb for a list of names that does what this verb does for one name. */
static inline enum command_verb command_for_all(enum command_verb verb)
{
    switch (verb) {
    case COMMAND_SET: return COMMAND_SET_ALL;
    case COMMAND_HEAL: return COMMAND_HEAL_ALL;
    case COMMAND_ZADD: return COMMAND_ZADD_ALL;
    case COMMAND_ZSCORE: return COMMAND_ZSCORE_ALL;
    case COMMAND_RELEASE: return COMMAND_RELEASE_ALL;
    case COMMAND_EXTEND: return COMMAND_EXTEND_ALL;
    case COMMAND_CHECK: return COMMAND_CHECK_ALL;
    case COMMAND_MOVE: return COMMAND_MOVE_ALL;
    default: return verb;
    }
}

/* The same the other way round; a verb for one name stays as it is. */
static inline enum command_verb command_for_one(enum command_verb verb)
{
    static const uint8_t ones[] = {COMMAND_SET,     COMMAND_HEAL,   COMMAND_ZADD,  COMMAND_ZSCORE,
                                   COMMAND_RELEASE, COMMAND_EXTEND, COMMAND_CHECK, COMMAND_MOVE};
    return verb < COMMAND_SET_ALL ? verb : (enum command_verb)ones[verb - COMMAND_SET_ALL];
}

struct command {
    enum command_verb verb;
    uint32_t bucket; /* ZADD, ZSCORE; ZADD_ALL, ZSCORE_ALL: the number of buckets[] */
    uint64_t ref;    /* comes back with each vote: the id of the asking round, release or lease; 0: none */
    /* See above: a TTL or an instant in ms, a score, or a client id. Of commands that write to the queue: how
     * long it lives, in ms. */
    uint64_t number;
    uint64_t waited_ms; /* ENQUEUE, SHARE, LOOK; GROUP_SET, GROUP_NEW: see above */
    uint64_t most_ms;   /* EXTEND, EXTEND_ALL: no longer TTL is left; 0: any */
    bool stays;         /* RELEASE */
    bool shared;        /* ENQUEUE: the head is a reader */
    bool has_other;     /* RELEASE, MOVE, DOWN */
    bool has_third;     /* RELEASE: beside other, the value may be a third one */
    uint16_t slots;     /* LOOK, CUT: how many the name has */
    struct token token;
    struct token to; /* MOVE, SETTLE, DOWN: the new one; others that have it: this daemon */
    struct name name;
    uint32_t buckets[LIST_NAMES];
    struct token other; /* if has_other */
    struct token third; /* if has_third */
    struct group group; /* GROUP_SET, GROUP_NEW */
};

enum vote_kind {
    VOTE_YES,
    VOTE_NO,
    VOTE_NUMBER,
    VOTE_INFO,
    VOTE_GROUP,
    VOTE_UNREADABLE, /* <prefix>,group is there, but no daemon of this version can have written it */
    VOTE_TOKEN,
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

/* Fields that do not belong to the kind are undefined. */
struct vote {
    enum vote_kind kind;
    enum vote_error error; /* VOTE_ERROR, VOTE_UNHEARD */
    uint64_t number;       /* VOTE_NUMBER, VOTE_HEARD, VOTE_UNHEARD; VOTE_UNREADABLE: its version, or 0 */
    bool marked;           /* ENQUEUE: a writer's mark was left */
    union {
        struct master_info info; /* VOTE_INFO */
        struct group group;      /* VOTE_GROUP */
        struct token token;      /* VOTE_TOKEN; a value that is no token of ours is hashed to one */
        struct slots_seen seen;  /* VOTE_LOOKED */
    };
};

#endif
