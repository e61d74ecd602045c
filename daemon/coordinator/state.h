/* What the coordinator knows: its objects and how they hang together. Private to
 * daemon/coordinator/.
 *
 *     session --< wait >-- resource            a request that waits in the FIFO of its name
 *        |                    | |
 *        +--< hold of lease >-+ +-- round      the head's attempt; other rounds extend, check or RESUME
 *                   |           |
 *                   +-- round   +-- release    the head follows at once, or waits until Q masters answered
 *
 *     release: a token is being taken back, until every master that may have it answered (or, after
 *              a RESUME that failed, set back to the one before); what a master still owes of them is
 *              its undo list
 *     master:  what one Redis server may be used for
 *
 * A borrowed pointer says (ref); the pools own everything. */
#ifndef REDLOCKD_STATE_H
#define REDLOCKD_STATE_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/in_flight.h"
#include "daemon/coordinator/base/intern.h"
#include "daemon/coordinator/base/pool.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/table.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/ended.h"
#include "daemon/coordinator/state_master.h"

/* What a deadline in the heap belongs to. */
enum item_kind {
    ITEM_WAIT,
    ITEM_QUEUE,
    ITEM_LEASE,
    ITEM_SESSION,
    ITEM_RELEASE,
    ITEM_MASTER,
    ITEM_DRAIN,
    ITEM_TRIAL,
};

struct wait {
    uint64_t id;              /* grows along the FIFO */
    struct heap_item item;    /* its deadline; none for wait=0 */
    struct wait *next, *prev; /* FIFO of the resource */
    struct wait *session_next, *session_prev;
    struct resource *resource; /* (ref) */
    struct session *session;   /* (ref) */
    uint64_t request;
    int64_t asked_ms;
    int64_t deadline_ms;
    int64_t ttl_ms;
    int64_t max_ms; /* -1: none */
    enum hold_kind hold;
    bool patient;            /* wait > 0 */
    bool tried;              /* its first attempt is over */
    const struct word *note; /* kept; NULL: none, or its lease's by now */
};

/* What became of a round's question to each master: for -NOQUORUM's nodes=. */
struct tally {
    masters_t asked, granted, refused, failed;
};

/* How the head's last attempt ended, for all that ask with wait=0 meanwhile. */
struct verdict {
    enum reply_code code : 8; /* BUSY, NOQUORUM or LIMIT */
    enum limit limit : 8;
    struct tally tally;
    bool split; /* BUSY: nobody won */
};

/* Of a name that was in use here a moment ago: see turn.h. */
enum { TURNS = 1024 };

struct turn {
    uint32_t hash;
    int64_t began_ms; /* 0: it gave way */
    int64_t retry_ms;
    int64_t forgotten_ms;
};

/* Who waits for a name: there is one while anybody does. */
struct queue {
    uint64_t id;
    struct heap_item item;     /* the head's retry, or a sweep */
    struct resource *resource; /* (ref) */
    struct wait *head, *tail;
    struct round *round; /* (ref) the head's attempt */
    uint64_t asked;      /* up to the wait with this id they were there when the last attempt began */
    int64_t marked_ms;   /* when it told other daemons last that it waits; 0: never */
    uint32_t waiters;
    uint32_t impatient; /* of the waiters: those with wait=0 */
    bool release_seen;  /* while the head's round was under way: it may ask again at once */
    bool sweeping;      /* the impatient are being answered as the last head was */
    struct verdict verdict;
};

/* Most have a lease and nobody waiting, and there are as many of these as locks. */
struct resource {
    uint64_t id;
    uint32_t hash;
    bool turn_goes_on;           /* nobody waited here for a moment in between */
    struct queue *queue;         /* (ref) the coordinator's nobody, where nobody waits */
    struct resume *resumes;      /* (ref) of this name's tokens */
    struct lease *lease;         /* (ref) the last one granted here, while its deadline is ahead */
    struct release *giving_back; /* (ref) not answered by Q masters yet */
    int64_t retry_ms;            /* the head may not ask before */
    int64_t turn_ms;             /* when this daemon's turn began; 0: it has none */
    const struct name *name;     /* kept */
};

/* Who has a lease: a session, or for hold=lease whoever shows the token. One a lease as yet; readers that share
 * it, or a hand-over from one waiter here to the next, would bring several. */
struct hold {
    struct session *session; /* (ref) NULL: bound to none */
    struct hold *session_next, *session_prev;
    uint64_t request; /* that was granted it */
    int64_t ends_ms;  /* max=; INT64_MAX: none */
    uint32_t depth;
    enum hold_kind kind : 8; /* with its neighbours in eight bytes: there are as many of these as locks */
    bool warned;             /* !EXPIRING was said */
    uint16_t peer;           /* whose session asked for it: counted there, also when that is over */
    const struct word *note; /* kept; NULL: none */
};

/* Of a RESUME: its round's, and then the lease's that it brought. */
struct resume {
    uint64_t id;
    struct resume *next, *prev; /* of the resource's, while it is under way */
    int64_t max_ms;             /* -1: none */
    const struct word *note;    /* kept; NULL: none. The lease has it then */
    struct token old;
    masters_t may;   /* may have the new token */
    bool given_back; /* the old token's holder gave it back meanwhile */
};

/* What the masters keep for us. There are as many of these as locks: rare things are kept elsewhere, and
 * instants near until_ms as a distance from it (see heal.c). */
struct lease {
    uint64_t id;
    struct heap_item item;     /* the next of: renewal, warning, deadline */
    struct resource *resource; /* (ref) */
    int64_t until_ms;          /* what the holder was told last; never beyond the hold's end */
    int64_t renew_ms;          /* next renewal; INT64_MAX: none */
    int32_t ttl_ms;
    int32_t longest_ms; /* longest TTL that was sent for it */
    uint32_t memories;  /* c->memories of which the masks below and acknowledged[] tell */
    uint32_t extending; /* EXTEND requests under way */
    struct token token;
    masters_t granted;   /* acknowledged the key */
    masters_t may;       /* may have the key: all that were asked and did not refuse */
    masters_t sent;      /* was sent the key, and did not refuse it: owes a release (see lease_give_back) */
    masters_t healing;   /* acknowledged[] is the deadline of a heal that is not answered yet */
    masters_t confirmed; /* what it says counts though it is in quarantine */
    masters_t
        released_elsewhere; /* the key was deleted there before its TTL ended: it is never set there again */
    struct hold hold;
    uint64_t fence;
    struct resume *resume;   /* goes back to its token old, if nobody is told of it; NULL: it does not */
    bool renewing;           /* its renewal is under way */
    uint32_t acknowledged[]; /* of each master, in its present memory: end of the last TTL; 0: never */
};

/* With a place for each master. */
static inline size_t lease_bytes(unsigned masters)
{
    size_t bytes = offsetof(struct lease, acknowledged) + masters * sizeof(uint32_t);
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

/*   acquire:  ASKING --Q granted, Q of them took the proposal------------> DECIDED
 *               |   \--else Q granted---> READING --> RAISING -----------> DECIDED
 *               |                          ^
 *               +--a retry: Q granted --> FENCING --as after ASKING
 *               |                          ^
 *               +--wait=0, split votes: REASKING, until Q granted
 *             (in READING, a late answer may still make the proposal the fence: DECIDED)
 *   extend:   EXTENDING, or CHECKING --Q hold it--> EXTENDING -----------> DECIDED
 *   check:    CHECKING --------------------------------------------------> DECIDED
 *   resume:   MOVING --Q moved--> RESUMING --as after ASKING-------------> DECIDED
 *
 * DECIDED is over for the client and only waits for late votes. An acquire or RESUME that fails
 * becomes a release instead. */
enum round_phase {
    ROUND_ASKING,   /* SET, and on a request's first attempt ZADD behind it */
    ROUND_REASKING, /* SET again and GET, where it was not granted */
    ROUND_FENCING,  /* ZADD of a fresh proposal on the granting masters */
    ROUND_READING,  /* ZSCORE: what stands in the proposal's way */
    ROUND_RAISING,  /* ZADD above that */
    ROUND_CHECKING,
    ROUND_EXTENDING,
    ROUND_MOVING,   /* MOVE of the old token to the new one */
    ROUND_RESUMING, /* EXTEND of the new one, and ZADD behind it */
    ROUND_DECIDED,
};

enum round_purpose { ROUND_ACQUIRE, ROUND_RENEW, ROUND_EXTEND, ROUND_CHECK, ROUND_RESUME };

/* An attempt's fence: who was asked to store the proposal of this phase, and what they said. */
struct fence {
    masters_t asked;    /* got this phase's ZADD */
    masters_t pending;  /* did not answer one yet: this phase's, or where not asked the one before */
    masters_t answered; /* this phase's, 0 or 1 alike */
    masters_t accepted; /* of those: 1, it stands there and is the highest */
    masters_t reading;  /* did not answer ZSCORE yet */
    masters_t scored;   /* numbers[] holds its score */
};

/* An attempt whose votes were split: the master that decides gave it to us. */
struct split {
    masters_t decider;
    masters_t getting; /* did not answer the last re-ask's GET yet */
    masters_t fresh;   /* were asked again after the phase's time-out had begun: not late by it */
    masters_t held;    /* numbers[] holds the beginning of the token that another has there */
    uint8_t reasks;    /* sent */
    bool in_vain;      /* all of them: nobody won */
};

struct round {
    uint64_t id;
    struct in_flight in_flight; /* until the phase's time-out */
    enum round_purpose purpose : 8;
    enum round_phase phase : 8;
    bool over : 1;  /* EXTEND: its lock was given back or lost in the meantime */
    bool held : 1;  /* EXTEND, renewal: Q masters said so */
    bool ready : 1; /* acquire, RESUME: it is granted, and waits until the trial is over */
    int32_t ttl_ms;
    int64_t t0_ms;             /* before the first byte of what validity counts from */
    struct resource *resource; /* (ref) acquire, RESUME, until it is decided */
    uint64_t lease;            /* id: what it renews, extends or was granted; 0: none */
    uint64_t session, request; /* EXTEND, CHECK and RESUME; request 0: answered */
    uint32_t memories;         /* c->memories when it began */
    struct tally tally;        /* of SET, EXTEND, CHECK or MOVE */
    masters_t votes;  /* extend, check, RESUME: masters that count (of those in quarantine, the confirmed) */
    masters_t voided; /* lost or doubted since: a grant there counts no more */
    uint32_t told_ms; /* the longest TTL that a master told: EXTEND, RESUME */
    struct fence fence;
    struct split split;
    struct token token;
    uint64_t proposal;
    const struct name *name; /* kept */
    struct resume *resume;   /* RESUME, until it is decided; NULL: none */
    uint64_t numbers[];      /* of each master: scores (acquire, RESUME) or TTLs (extend, check) */
};

/* A master owes a release while it may have the key and has not acknowledged that the key is gone there.
 * Once the client has its answer and no reply can come in time, the release is only owed: it is kept until
 * no master owes it. A master has caught up when nothing that was sent to it before can run any more: a
 * key there ends with its TTL. */
struct release {
    uint64_t id;
    struct heap_item item; /* when nothing of it can be left anywhere */
    struct in_flight in_flight;
    bool only_owed;  /* in releases_owed */
    bool answered;   /* the client has its reply, or never wanted one */
    bool bound;      /* +UNLOCKED by the rule for a lock bound here */
    bool known;      /* of a lock that was granted here */
    bool sets_back;  /* of a RESUME that failed: the token becomes to again, instead of being deleted */
    bool hands_over; /* the head's SETs follow at once, before its answers */
    bool wanted;     /* another daemon waits for the name */
    int64_t ttl_ms;
    int64_t until_ms;     /* keys are gone by then on masters that have caught up */
    masters_t asked;      /* got it on their present connection, at least once */
    masters_t unanswered; /* of those */
    masters_t owed;       /* by these */
    masters_t caught_up;  /* of these */
    masters_t deleted, missing;
    masters_t repeated;        /* NOSCRIPT: sent a second time on this connection */
    struct resource *resource; /* (ref) until Q masters answered; NULL: none */
    uint64_t session, request; /* UNLOCK */
    const struct name *name;   /* kept */
    struct token token, to;
};

enum session_state {
    SESSION_OPEN,
    SESSION_FINISHING, /* asks nothing more; nothing may wait */
    SESSION_RELEASING, /* its locks are being released, one a step */
    SESSION_DROPPING,  /* its locks are being unbound, one a step */
};

struct session {
    uint64_t id;
    struct heap_item item; /* work to do now */
    uint64_t key;          /* the shell's number */
    uint32_t hash;         /* of key */
    enum session_state state;
    uint16_t peer;
    uint32_t locks, waits, resumes; /* resumes: RESUMEs under way */
    struct hold *holds;             /* bound to it */
    struct wait *waiting;
};

struct coordinator {
    struct coordinator_config config;
    unsigned quorum;
    int64_t full_ms;       /* quarantine in full: max_ttl and its drift */
    int64_t now_ms;        /* BOOTTIME and behind_ms */
    int64_t behind_ms;     /* for so long BOOTTIME stood still, all in all */
    int64_t stall_seen_ms; /* when behind_ms grew last ... */
    int64_t stall_ms;      /* ... and by how much, within a full quarantine */
    struct trial trial;
    const struct coordinator_event *event; /* (ref) the step's */
    struct actions *actions;               /* (ref) the step's */
    bool token_drawn;                      /* in this step */

    struct heap deadlines;
    struct pool waits, queues, resources, leases, rounds, resumes, releases, sessions;
    struct queue nobody; /* of names for which nobody waits: all zero, for ever */
    struct intern intern;
    uint32_t peer_locks[PEERS], peer_waits[PEERS]; /* leases, and waits of sessions */
    struct table names, session_keys;
    struct in_flight_list rounds_pending;
    struct in_flight_list releases_pending; /* not answered, and not late */
    struct in_flight_list releases_owed;    /* in order of age; they have no time-out */
    uint32_t setting_back;                  /* of both: those that set back */

    struct master masters[MASTERS];
    masters_t voters;    /* MASTER_UP */
    masters_t extenders; /* those, and MASTER_QUARANTINE */
    masters_t releasers; /* those, MASTER_SLOW and MASTER_UNDOING */
    masters_t
        differing; /* their group has another N or max_ttl, or cannot be read: while there is one, none votes */
    masters_t
        fast; /* their clocks jump again and again: keys end early there, and what they extend counts for nothing */
    uint32_t memories; /* how often a master's memory was new */

    struct turn turns[TURNS]; /* by hash; the last one stays */
    struct ended ended;       /* by max= */

    uint64_t proposal;  /* the last one made */
    uint64_t lead_us;   /* ahead of our wall clock: how far the fastest daemon's is */
    uint32_t acquiring; /* attempts and RESUMEs: each may become a lease */
    uint32_t renewing;  /* renewals under way */
    uint32_t bound;     /* session locks bound to sessions */
    uint32_t asking;    /* EXTEND, CHECK, RESUME and UNLOCK requests that have no reply yet */

    bool draining;
    bool ending; /* drain_timeout is over: holders are told */
    struct heap_item drain;
    int64_t drain_ms;
    uint32_t drain_cursor;

    struct coordinator_stats stats;
};

/* ---- questions that an object's own data answer (state.c) ---- */

static inline int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

struct lease *lease_of_hold(struct hold *hold);
/* The lease is bound to a live session, which renews it: nobody else can have the name meanwhile. */
bool lease_is_kept(const struct lease *lease);
/* This wait ends without the lock: its client left, its time ran out or the daemon stops. */
bool wait_is_over(const struct coordinator *c, const struct wait *wait);
/* The head may not ask before a release of the name is answered. */
bool release_is_awaited(const struct resource *resource);
/* A RESUME of this token is under way: until it is over, what masters say of the token tells nothing. */
bool resume_is_under_way(const struct resource *resource, const struct token *token);
/* The token was given back while a RESUME of it is under way: if that fails, the new token is released too. */
void resume_given_back(struct resource *resource, const struct token *token);
/* Masters that are kept out because their clocks jumped, by whichever daemon. */
masters_t masters_clock_doubted(const struct coordinator *c);
bool trial_is_open(const struct coordinator *c);

/* ---- actions ---- */

/* The next action, its kind set and the rest undefined but for what its kind needs. */
struct action *action_push(struct coordinator *c, enum action_kind kind);
void action_send(struct coordinator *c, masters_t masters, const struct command *command);
/* A reply with every optional field left out; fill it in before the step ends. */
struct reply *action_reply(struct coordinator *c, uint64_t session, uint64_t request, enum reply_code code,
                           const struct name *name);
struct notice *action_notice(struct coordinator *c, uint64_t session, enum notice_kind kind,
                             const struct name *name, const struct token *token);
void action_noquorum(const struct coordinator *c, struct reply *reply, const struct tally *tally);
void name_copy(struct name *to, const struct name *from);

/* The step's 32 random bytes: 20 make a token, 8 all jitter of the step. */
void random_token(struct coordinator *c, struct token *token);
int64_t random_between(struct coordinator *c, int64_t low, int64_t high);

#endif
