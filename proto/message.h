/* Requests of clients, and the replies and notices to them, as plain values.
 *
 * They are the two ends of a request's way through the daemon:
 *
 *     line -> request -> coordinator -> commands -> votes -> reply -> line
 *
 * proto/line.[ch] turns lines into requests and replies into lines, and the coordinator sees only the
 * values. The values hold no pointers, so they can be queued, copied and printed. Durations are
 * in milliseconds, and an instant (until_ms) is in milliseconds of CLOCK_BOOTTIME. */
#ifndef REDLOCKD_PROTO_MESSAGE_H
#define REDLOCKD_PROTO_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    NAME_BYTES = 200, /* longest lock name */
    LIST_NAMES = 16,  /* most names of a list (proto/names.h) */
    LIST_BYTES = 900,
    SLOT_BYTES = 5,   /* the end of a slot's own name, ",1023" (proto/slot.h) */
    WORD_BYTES = 64,  /* longest note or client word */
    TAG_BYTES = 16,   /* longest tag */
    HOST_BYTES = 65,  /* a host in an answer, with its NUL */
    TOKEN_BYTES = 20, /* written as 40 hex */
    TOKEN_HEX = 2 * TOKEN_BYTES,
    TOKEN_ID_BYTES = 4,       /* the daemon that made the token (see daemon/coordinator/base/token.h) */
    TOKEN_RANDOM_AT = 7,      /* where its random bytes begin ... */
    TOKEN_RANDOM_BYTES = 9,   /* ... and how many there are */
    TOKEN_SHOWN = 6,          /* how many digits logs and SHOW tell (proto/shown.h) */
    DATA_BYTES = 256,         /* longest data= */
    LINE_BYTES = 1024,        /* longest client line, its end included */
    SERVER_LINE_BYTES = 2048, /* longest server line, its end included */
    MASTERS = 15,             /* at most so many can be configured */
    SLOTS_MAX = 1024,         /* of a name, numbered from 0 */
};

#define DURATION_MAX_MS (30LL * 24 * 3600 * 1000) /* 30 days */

/* These texts have no NUL at the end; len 0: not given. */
struct name {
    uint16_t len : 11;
    uint16_t slot : 1; /* the own name of a slot (proto/slot.h) */
    uint16_t more : 4; /* a list, "a,b,c": how many names it has beside the first */
    char text[LIST_BYTES];
};
struct word {
    uint8_t len;
    char text[WORD_BYTES];
};
/* What a holder wants others to know; len 0: nothing. */
struct data {
    uint16_t len;
    char text[DATA_BYTES];
};
struct tag {
    uint8_t len;
    char text[TAG_BYTES];
};

struct token { /* daemon/coordinator/base/token.h tells what its bytes mean */
    uint8_t bytes[TOKEN_BYTES];
};

enum verb {
    VERB_LOCK,
    VERB_UNLOCK,
    VERB_EXTEND,
    VERB_CHECK,
    VERB_RESUME,
    VERB_CANCEL,
    VERB_HELLO,
    VERB_AUTH,
    VERB_PING,
    VERB_HELP,
    VERB_QUIT,
    VERB_SHOW,
    VERB_WHO,
    VERB_BREAK,
    VERB_DATA,
    VERB_WATCH,
    VERB_UNWATCH,
};
enum { VERB_COUNT = VERB_UNWATCH + 1 };

/* Whether a request may be put to the masters now, or is held back for a while. */
enum admission {
    ADMISSION_NOW,
    ADMISSION_PEER,    /* the peer's requests take up its share of the masters: others may go on */
    ADMISSION_MASTERS, /* fewer than Q masters have room for more commands: nobody may */
};

enum hold_kind {
    HOLD_SESSION, /* belongs to the connection; renewed while it lives */
    HOLD_LEASE,   /* lives for its TTL; belongs to any client that shows the token */
};

enum show {
    SHOW_LOCKS,
    SHOW_WAITERS,
    SHOW_CLIENTS,
    SHOW_NODES,
    SHOW_STATS,
    SHOW_CONFIG,
    SHOW_VERSION,
    SHOW_DAEMONS,
    SHOW_GROUP,
    SHOW_RELOAD,
};

struct request {
    enum verb verb;
    enum hold_kind hold;
    union {
        enum show show; /* SHOW */
        int32_t slot;   /* BREAK; -1: not given */
    };
    struct tag tag;    /* len 0: untagged */
    struct tag target; /* CANCEL <tag>; len 0: the untagged LOCK */
    union {
        struct word note;
        struct word secret; /* AUTH; len 0: it has not the form of a secret */
    };
    union {
        struct word client; /* HELLO */
        struct word user;   /* AUTH; len 0: no user has such a name */
    };
    struct token token;
    bool has_token;
    bool shared;         /* LOCK mode=shared */
    bool events_renewed; /* HELLO events=renewed */
    bool has_lost;       /* UNLOCK lost= */
    uint8_t lost;        /* the same: an enum lost_reason */
    bool kept;           /* UNLOCK <name> kept */
    uint16_t slots;      /* LOCK slots=; 0: not given */
    int64_t ttl_ms;      /* -1: not given */
    int64_t wait_ms;     /* 0: answer now */
    int64_t max_ms;      /* -1: not given */
    int64_t keep_ms;     /* UNLOCK keep=; 0: not given */
    uint64_t order;      /* of a list: how the client wrote it (proto/names.h) */
    struct name name;    /* here and below only len bytes of the text are cleared and copied */
    struct data data;    /* LOCK, DATA */
};

/* In the order of protocol.txt. Codes up to REPLY_BYE are "+", the others "-". */
enum reply_code {
    REPLY_LOCKED,
    REPLY_UNLOCKED,
    REPLY_KEPT,
    REPLY_EXTENDED,
    REPLY_HELD,
    REPLY_DATA,
    REPLY_WATCHING,
    REPLY_OK,
    REPLY_HELLO,
    REPLY_PONG,
    REPLY_BROKEN,
    REPLY_BYE,
    REPLY_BUSY,
    REPLY_TIMEOUT,
    REPLY_NOQUORUM,
    REPLY_NOTHELD,
    REPLY_CANCELLED,
    REPLY_MODE,
    REPLY_LIMIT,
    REPLY_DRAINING,
    REPLY_DENIED,
    REPLY_AUTH,
    REPLY_BADVERB,
    REPLY_BADARG,
    REPLY_BADLINE,
    REPLY_BADTAG,
    REPLY_TOOLONG,
    REPLY_UNSUPPORTED,
};
enum { REPLY_CODES = REPLY_UNSUPPORTED + 1 };

enum limit {
    LIMIT_NONE,
    LIMIT_MAX_LOCKS,
    LIMIT_MAX_WAITERS,
    LIMIT_MAX_LOCKS_PER_CLIENT,
    LIMIT_MAX_WAITS_PER_CLIENT,
    LIMIT_MAX_CLIENTS_PER_PEER,
    LIMIT_MAX_LOCKS_PER_PEER,
    LIMIT_MAX_WAITS_PER_PEER,
    LIMIT_MAX_CLIENTS_PER_USER,
    LIMIT_MAX_LOCKS_PER_USER,
    LIMIT_MAX_WAITS_PER_USER,
    LIMIT_MAX_CLIENTS,
    LIMIT_MAX_WATCHES,
    LIMIT_MAX_ROUNDS,
    LIMIT_FENCE,
    LIMIT_MAX_MARKS,
    LIMIT_DEPTH,
};

/* The reason for a reply, where the code alone does not say it. */
enum text {
    TEXT_NONE,
    TEXT_LOST_BEFORE_RELEASE, /* UNLOCK of a lock that N-Q+1 masters no longer had */
    TEXT_TTL_TOO_SHORT,       /* limit_ms: min_ttl */
    TEXT_TTL_TOO_LONG,        /* limit_ms: max_ttl, which is also the quarantine */
    TEXT_MAX_BELOW_TTL,       /* limit_ms: the TTL */
    TEXT_EXPIRING,            /* the masters have the token, but no validity is left */
    TEXT_EXPIRED,             /* the lock's deadline is over */
    TEXT_MAX_OVER,            /* the lock's max= is over */
    TEXT_NOT_BOUND,           /* LOCK with a token of no session lock of this connection */
    TEXT_NOT_SHOWN,           /* WATCH: its user may see the name no more */
    TEXT_NOT_YOURS,           /* UNLOCK without token of a lock that this connection lacks */
    TEXT_IS_SHARED,           /* LOCK with the token of a shared lock, but without mode=shared */
    TEXT_NO_SLOTS,            /* the name is in use without slots */
    TEXT_LIST_OF_SLOTS,       /* one of several names is in use with slots */
    TEXT_SLOT_ALONE,          /* LOCK mode=shared of a slot, or of several names */
    TEXT_LIST_ALONE,          /* LOCK slots= of several names */
    TEXT_ENTERED_TWICE,       /* LOCK mode=shared with the token of an exclusive lock of depth 2 or more */
    TEXT_DATA_ALONE,          /* LOCK data= of a lease, of readers, of a slot, or of several names */
    TEXT_NO_DATA,             /* DATA of a lock that was taken without data= */
    TEXT_KEEP_TOO_LONG,       /* limit_ms: max_keep */
    TEXT_KEEP_ALONE,          /* UNLOCK keep= of a slot, of several names, or of a reader */
    TEXT_SHARED_NOW,          /* NOQUORUM to such a LOCK: too few masters know yet that it is shared */
};

enum now_state {
    NOW_UNKNOWN, /* fewer than Q masters answered */
    NOW_FREE,
    NOW_HELD,
    NOW_KEPT, /* nobody has it, and nobody can take it */
};

/* Who has a name that is watched. */
struct now {
    enum now_state state;
    bool shared;     /* NOW_HELD: by readers */
    bool is_known;   /* NOW_HELD: daemon says through which daemon */
    uint32_t daemon; /* its id: the first bytes of its tokens, the highest first */
    uint64_t fence;  /* NOW_HELD, where its holder tells something: data.len is not 0 */
    struct data data;
    char host[HOST_BYTES]; /* the daemon's, filled in by the driver; "": not known */
};

/* An answer. The comments say for which codes a field counts. */
struct reply {
    enum reply_code code;
    struct name name;    /* len 0: left out */
    struct token token;  /* LOCKED */
    uint64_t fence;      /* LOCKED */
    int64_t valid_ms;    /* LOCKED, EXTENDED, HELD: what is left */
    int64_t until_ms;    /* LOCKED, EXTENDED, HELD: when valid_ms are over; KEPT: when the name is free */
    uint32_t depth;      /* LOCKED, UNLOCKED; 0: left out */
    uint16_t slot;       /* 1 + the number of the name's slot; 0: left out */
    uint16_t slots;      /* MODE: how many slots the name has; 0: left out */
    uint8_t confirmed;   /* UNLOCKED, KEPT, DATA */
    uint8_t masters;     /* N: UNLOCKED, KEPT, DATA, NOQUORUM */
    bool handed;         /* UNLOCKED: a waiter of this daemon has the lock now */
    uint8_t needed;      /* NOQUORUM: votes that are needed; 0: more than half of masters */
    uint8_t votes;       /* NOQUORUM: how many of nodes[] are '+' */
    char nodes[MASTERS]; /* NOQUORUM: + - ? ! or ~ for each master */
    uint8_t quarantined; /* NOQUORUM: masters in quarantine, if that is the reason; else 0 */
    bool split;          /* BUSY: the votes were split and nobody won */
    bool ready;          /* PONG: this daemon can grant locks now */
    bool shared;         /* LOCKED: the token is a reader's */
    int64_t retry_ms;    /* BUSY, NOQUORUM; -1: not known */
    int64_t waited_ms;   /* TIMEOUT */
    int64_t limit_ms;    /* BADARG with a TEXT_TTL_*, TEXT_MAX_BELOW_TTL or TEXT_KEEP_TOO_LONG */
    enum limit limit;    /* LIMIT */
    enum text text;
    uint64_t order; /* of a list, as in its request */
    struct now now; /* WATCHING; undefined otherwise */
};

enum notice_kind {
    NOTICE_EXPIRING,
    NOTICE_LOST,
    NOTICE_RENEWED,
    NOTICE_DRAIN,
    NOTICE_CLOCK,
    NOTICE_NOW,
};

enum lost_reason {
    LOST_EXPIRED,  /* the deadline passed */
    LOST_MAX,      /* max= is over */
    LOST_GONE,     /* N-Q+1 masters say that the lock is not ours */
    LOST_RELEASED, /* an UNLOCK from another connection showed the token */
    LOST_MOVED,    /* another connection took the lock over by RESUME */
    LOST_CLOSED,   /* the connection ended in a way that gives its locks back */
    LOST_DRAIN,    /* the daemon stops */
    LOST_DENIED,   /* the right to the lock was taken away */
    LOST_CLOCK,    /* a clock stood still: the client gave it back with lost=clock */
};
enum { LOST_REASONS = LOST_CLOCK + 1 };

/* A message that answers no request. DRAIN and CLOCK go to every session and are about no lock; the others
 * go to the session that holds the lock. */
struct notice {
    enum notice_kind kind;
    enum lost_reason reason; /* LOST */
    struct name name;        /* not in DRAIN, CLOCK */
    struct token token;      /* not in DRAIN, CLOCK */
    uint16_t slot;           /* as in a reply */
    int64_t valid_ms;        /* EXPIRING, RENEWED */
    int64_t until_ms;        /* RENEWED */
    int64_t behind_ms;       /* CLOCK: for how long the daemon's clock has stood still in all */
    uint64_t order;          /* of a list, as in the request that was granted */
    struct now now;          /* NOW; undefined otherwise */
};

#endif
