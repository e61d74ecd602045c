/* The coordinator's state: its objects, and the links between them. Private to daemon/coordinator/.
 *
 *     session --< wait >-- resource            a request that waits in the FIFO of its name
 *        |                    | |
 *        +--< hold of lease >-+ +-- round      the head's attempt; other rounds extend, check or resume
 *                   |           |
 *                   +-- round   +-- release    the head follows at once, or waits for Q masters' replies
 *
 *     list:    several names that are locked as one, with a resource of its own and a link to each name's
 *     release: a token is being taken back from every master that may have it, or after a failed RESUME
 *              replaced by the token before; a master's undo list is the releases that it still owes
 *     master:  one Redis server, and what it may be used for (state_master.h)
 *
 * Pools own all objects. A pointer that only refers to an object is marked (ref). Names and notes are
 * interned: stored once, and counted (intern.h). */
#ifndef REDLOCKD_STATE_H
#define REDLOCKD_STATE_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/in_flight.h"
#include "daemon/coordinator/base/intern.h"
#include "daemon/coordinator/base/pool.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/table.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/data/state_master.h"
#include "daemon/coordinator/keep/ended.h"
#include "daemon/coordinator/mode/mode.h"
#include "proto/names.h"

/* The type of object that owns a deadline in the heap. */
enum item_kind {
    ITEM_WAIT,
    ITEM_QUEUE,
    ITEM_LEASE,
    ITEM_SESSION,
    ITEM_RELEASE,
    ITEM_MASTER,
    ITEM_DRAIN,
    ITEM_TRIAL,
    ITEM_LIST,
    ITEM_LETTER,
    ITEM_WATCHED,
    ITEM_WITNESS,
    ITEM_KEPT,
    ITEM_KEPT_WALK,
    ITEM_REPEAT,
};

struct wait {
    uint64_t id;              /* grows along the FIFO */
    struct heap_item item;    /* the end of wait=; not in the heap for wait=0 */
    struct wait *next, *prev; /* in the FIFO of the resource */
    struct wait *session_next, *session_prev;
    struct resource *resource; /* (ref) */
    struct session *session;   /* (ref) */
    uint64_t request;
    int64_t asked_ms; /* when the request came */
    int64_t deadline_ms;
    int64_t ttl_ms;
    int64_t max_ms; /* max= of the request; -1: none */
    enum hold_kind hold;
    const struct mode *mode; /* (ref) */
    bool patient;            /* the request has wait= above 0 */
    bool tried;              /* its first attempt is over */
    const struct word *note; /* interned; NULL: none, or passed on to the lease */
    uint64_t order;          /* of a list, as in its request */
};

/* The masters that a round asked, and their answers: counted for the decision, and shown as nodes= of
 * -NOQUORUM. */
struct tally {
    masters_t asked, granted, refused, failed;
};

/* How the last attempt of a head ended. Requests with wait=0 that were in the queue when the attempt began
 * get the same answer. So does every request with wait=0 while the head has wait= above 0, or while the name
 * is held here. */
struct verdict {
    enum reply_code code : 8; /* BUSY, NOQUORUM, LIMIT or MODE */
    enum limit limit : 8;
    struct tally tally;
    bool split;      /* BUSY: the votes were split, and no client got the lock */
    bool joined;     /* the head is in the queue on the masters, and nothing more is known by asking again */
    masters_t heard; /* masters that told the holder's daemon so */
    uint16_t slots;  /* MODE: how many slots the name has */
};

/* Turns of names that were in use here a moment ago: see turn.h. */
enum { TURNS = 1024 };

struct turn {
    uint32_t hash;
    int64_t began_ms;     /* 0: this daemon gave way to another */
    int64_t retry_ms;     /* the name's next head may not ask before */
    int64_t forgotten_ms; /* this entry is void from then on */
    bool sought;          /* other daemons wanted the name */
};

/* The last attempt of a head. */
struct attempt {
    uint64_t asked;    /* waits with ids up to this one were there when it began */
    bool asked_alone;  /* it was a writer's: its failure says nothing about readers */
    bool release_seen; /* the name was released during its round: the head may ask again at once */
    enum {
        LOOKED_NOT,
        LOOKED_FREE,  /* the masters were just asked: Q of them have no key */
        LOOKED_UNSURE /* the masters were just asked: neither Q have a key, nor Q have none */
    } looked : 8;
    masters_t ends;   /* masters that told it in ends_ms when the key there ends */
    uint64_t reserve; /* id of the round that reserves fences behind it; 0: none */
    uint64_t ends_ms[MASTERS];
};

/* This daemon in the queue of daemons on the masters, for one name (wake.h). */
struct wake {
    int64_t joined_ms; /* when a head that polls last joined; 0: never */
    int64_t woken_ms;  /* when the first of `woken` woke it */
    int64_t
        cut_ms; /* when a head that polls next cuts keys that live too long (cut.h); 0: it has not polled */
    masters_t queued; /* masters whose queue may contain this daemon */
    masters_t woken;  /* masters that woke it since the last attempt began */
    masters_t late;   /* masters of these at which a daemon that polls comes first */
    masters_t heard;  /* masters that told the holder's daemon of that attempt, or have nobody to tell ... */
    masters_t kept;   /* ... as a mark keeps the name there */
    bool marked;      /* the head has left a mark on masters (mark.h) */
    bool hushed; /* the last release woke nobody, as the head's SETs followed it, and no grant came since */
};

/* The requests that wait for a name. A resource without any shares the queue `nobody`. */
struct queue {
    uint64_t id;
    struct heap_item item;     /* the head's next attempt or re-ask, or the next part of a sweep */
    struct heap_item look;     /* in c->looks */
    struct resource *resource; /* (ref) */
    struct slots *slots;       /* (ref) of which this is a part (slots.h); NULL: of none */
    struct wait *head, *tail;
    struct round *round; /* (ref) the head's attempt */
    uint32_t waiters;
    uint32_t impatient; /* waiters with wait=0 */
    bool sweeping;      /* impatient waiters are being given the last head's answer, a few in each step */
    struct verdict verdict;
    struct wake wake;
    struct attempt attempt;
};

enum { HANDED = 2047 };

/* A lock name in use. Most resources have a lease and no waiters, and there are as many resources as
 * locks: so queues are separate objects. */
struct resource {
    uint64_t id;
    uint32_t hash;
    bool turn_goes_on;       /* the turn began before the name was last unused: see turn_recall() */
    bool contended;          /* other daemons want the name: a release must look into the queue */
    bool sought;             /* other daemons wanted it lately: the head joins the queue before it asks */
    bool hands : 1;          /* this daemon's last lease of it was to be handed on */
    bool lettered : 1;       /* letters came about its lease: struct letter has them */
    struct queue *queue;     /* (ref) &c->nobody without waiters */
    const struct mode *mode; /* (ref) a writer's, also where readers have the name */
    struct resume *resumes;  /* (ref) RESUMEs of this name's tokens that are under way */
    struct lease *lease; /* (ref) the last lease granted here, until its deadline; of readers see shared.h */
    struct release *giving_back; /* (ref) a release that Q masters have not answered yet */
    int64_t retry_ms;            /* the head may not ask the masters before */
    int64_t turn_ms;             /* when this daemon's turn began; 0: it has none */
    uint64_t reserved : 53;      /* proposals for this name begin above it; at most FENCE_MAX */
    uint64_t handed : 11;        /* how often that lease was handed on, at most HANDED */
    /* A single name's places in the lists that are in use; NULL: none. A list's own places (names.h). */
    struct link *links;
    const struct name *name; /* interned */
};

/* A name's place in a list: one of the lists that it belongs to. */
struct link {
    struct resource *resource; /* (ref) of the single name */
    struct list *list;         /* (ref) */
    struct link *next, *prev;  /* of the same name, in other lists; the one granted last stands first */
};

/* Several names that are locked as one (names.h). The resource of all of them has the queue, the lease and the
 * rounds; here is what joins it to the resources of the single names. The sets have a bit for each place. */
struct list {
    uint64_t id;
    struct heap_item item;     /* due now while names are being passed on, one a step; else at firm_ms */
    struct resource *resource; /* (ref) */
    uint64_t order;            /* of the request that the lease was granted to */
    int64_t firm_ms;           /* until then it stands firm, if it does */
    uint32_t count;
    bool firm;                    /* the heads that came later wait behind it at all of its names */
    uint16_t passed;              /* grants of its names to others since it last stood firm, or was granted */
    uint16_t patience;            /* after so many of them it stands firm */
    uint16_t refused;             /* names in use when it was last refused or blocked */
    uint16_t contended;           /* names that other daemons want: a release must look into their queues */
    uint16_t passing;             /* names whose next daemon is to be woken */
    uint8_t refusals[LIST_NAMES]; /* masters that refused the last attempt because of the name */
    struct link link[LIST_NAMES];
};

/* The holder of a lease: a session, or with hold=lease any client that shows the token. */
struct hold {
    struct session *session; /* (ref) NULL: bound to no session */
    struct hold *session_next, *session_prev;
    uint64_t request;   /* the LOCK or RESUME that was granted */
    struct token token; /* the holder was told this token; the key's value, too, if the lease has no secret */
    uint64_t fence;
    int64_t ends_ms;         /* when max= ends it; INT64_MAX: never */
    uint32_t depth;          /* how often it was locked */
    enum hold_kind kind : 8; /* eight bytes together with depth, warned and peer, to save memory */
    bool warned;             /* !EXPIRING was sent */
    uint16_t peer;           /* the peer whose limits count it, even after its session ended */
    const struct word *note; /* interned; NULL: none */
};

/* The data that a RESUME needs beside its round. The round owns this object until the round is decided; then
 * the lease keeps it until the lease ends, in case the grant cannot be delivered. */
struct resume {
    uint64_t id;
    struct resume *next, *prev; /* in the resource's list, while the RESUME is under way */
    int64_t max_ms;             /* max= of the request; -1: none */
    const struct word *note;    /* interned; NULL: none. The lease takes it over */
    struct token old;
    struct token key; /* if has_key: the secret token that the key may have instead of the old one */
    bool has_key;
    uint64_t order;  /* of a list, as in the request */
    masters_t may;   /* masters that may have the new token */
    bool given_back; /* the old token was given back while the RESUME was under way */
};

/* A lease whose key has a token that no client is told (secret.h), and that may be handed on (hand.h). */
struct secret {
    uint64_t id;
    struct token key;          /* the key's value, until the lease is settled */
    int64_t set_ms;            /* when the key was granted */
    bool settling;             /* the told token takes its place: either may be on a master */
    bool is_settled;           /* Q masters acknowledged that */
    masters_t settled;         /* masters that acknowledged it in their present memory */
    masters_t granting;        /* masters that granted its SET, and have not lost their memory since */
    uint64_t reserving;        /* id of the round that reserves fences; 0: none */
    uint64_t reserved;         /* fences up to this one may be told */
    uint64_t reserved_at_once; /* how many the last reserve brought */
    bool down;                 /* the lease was made a reader's (downgrade.h) */
    bool down_told;            /* ... and its client knows the new token */
    struct token was;          /* ... and the token that was told before, which a key may have, too */
};

/* The place of a reader's lease among those of its name (shared.h), and what joins it to others (join.h). */
struct shared {
    struct lease *next, *prev; /* (ref) a ring */
    uint64_t joins;            /* JOINED: id of the lease that it relies on */
    /* COMMON: */
    int64_t shown_ms;  /* Q masters were asked then or later, and had its key */
    int64_t kept_ms;   /* until then a reader that did not give its part back may believe in it */
    uint32_t memories; /* c->memories when it was granted */
    uint32_t readers;  /* leases that rely on it */
    uint32_t bound;    /* of these: with a session */
    int32_t said_ms;   /* the longest TTL that one of them has named since ... */
    int64_t said_since_ms;
};

/* The readers of a name. */
struct crowd {
    struct lease *latest;   /* (ref) the latest COMMON lease, which readers may join; NULL: none */
    struct lease *home;     /* (ref) the COMMON lease that the readers of the others go over to; NULL: none */
    struct lease *lettered; /* (ref) the next one to be asked about because of a letter; NULL: none */
    uint32_t readers;       /* leases of readers, without the COMMON ones */
};

/* What other daemons wrote about a name that is lettered (letter.h). There is one for each slot of the resources. */
struct letter {
    struct heap_item item; /* when its leases are asked, or looked at */
    uint64_t resource;     /* id */
    int64_t first_ms;      /* when this second of letters began */
    int64_t anew_ms;       /* when one was last cut short by letters after a new grant */
    int64_t retry_ms;      /* not before, as they could not be asked */
    int64_t doubted_ms;    /* what Q masters said until then may be over */
    masters_t from;        /* masters that published a letter in this second */
    bool news;             /* a letter came since the leases were asked */
    bool asked;            /* in this second they were asked, by letters of few masters or of many ... */
    bool asked_many;       /* ... by letters of so many that no quorum may be left */
    bool again;            /* one of them could not be asked */
    bool walking;          /* they are being looked at, a few in a step */
};

/* What the holder of a lease tells others (data.h), or a request that waits wants told; data.len 0: nothing. */
struct told {
    uint64_t since_ms; /* since when it is held, in ms of the wall clock of the daemon that granted it */
    uint8_t votes;     /* of masters that tell this rather than anything else, behind a RESUME ... */
    bool settled;      /* ... unless the holder has said it */
    struct data data;
};

/* What the masters know of a lease: its key there, and what they acknowledged. */
struct copies {
    masters_t granted; /* masters that acknowledged the key */
    masters_t may;     /* masters that may have the key: asked, and did not refuse */
    /* Masters that were sent the key by the grant and did not refuse it then, that were sent a heal, or that
     * extended the key. Each owes the release, even if it reports later that it has no key. */
    masters_t sent;
    masters_t healing;   /* masters whose acknowledged[] is the deadline of a heal without a reply */
    masters_t confirmed; /* masters whose "extended" counts even in quarantine */
    /* Masters on which another client deleted the key before its TTL ended; the key is never set there
     * again. */
    masters_t released_elsewhere;
    uint32_t memories;  /* c->memories when the masks and acknowledged[] were last brought up to date */
    int32_t longest_ms; /* longest TTL that a master was asked to keep it for */
    /* fanout: quorum: whether the key is still to be set on the masters that were not asked. NOT: all were. */
    enum { SPREAD_NOT, SPREAD_SOON, SPREAD_AGAIN, SPREAD_DONE } spread : 8;
    /* Per master: when the last TTL ends that it acknowledged in its present memory; 0: it acknowledged
     * none. */
    uint32_t acknowledged[];
};

/* A lock that was granted here. There are as many leases as locks, so they are kept small: rare data is
 * stored elsewhere, and times near until_ms are stored as 32-bit distances from it (heal.c). */
struct lease {
    uint64_t id;
    struct heap_item item;     /* the next renewal, warning or deadline */
    struct resource *resource; /* (ref) */
    int64_t granted_ms;        /* when this daemon granted it, or took it over by RESUME */
    int64_t until_ms;          /* the deadline that the holder was told last; never beyond hold.ends_ms */
    int64_t renew_ms;          /* the next renewal; INT64_MAX: none */
    int32_t ttl_ms;
    uint32_t extending : 30; /* EXTEND requests under way */
    bool renewing : 1;       /* a renewal is under way */
    bool lettered : 1;       /* ... because of a letter */
    struct hold hold;
    const struct mode *mode;       /* (ref) */
    const struct keeping *keeping; /* (ref) how it is kept on the masters */
    struct resume *resume;         /* how to set back an undelivered RESUME; NULL: nothing to set back */
    struct secret *secret;         /* NULL: none */
    struct copies copies;          /* the last member, since there is one acknowledged[] for each master */
};

/* A name that is kept though nobody holds it: its key has a token that no client is told, the mark (keep/kept.h). */
struct kept {
    uint64_t id;
    struct heap_item item; /* its end, or a look because of letters; not in the heap before it is told */
    uint32_t hash;         /* of the name */
    uint16_t peer;         /* who asked for it */
    bool told;             /* its client was told, and the mark is in the table */
    bool asking;           /* a round asks the masters about it */
    bool doubted;          /* letters came since it was last asked about */
    int64_t keep_ms;       /* for so long */
    int64_t ends_ms;       /* when it ends on all masters, at the latest; 0: not known yet */
    int64_t asked_ms;      /* when the masters were last asked about it */
    masters_t had;         /* masters that acknowledged the mark in their present memory */
    masters_t healing;     /* masters that were sent a heal without a reply */
    masters_t brief;       /* masters where the mark would end before its time */
    masters_t confirmed;   /* masters whose answer counts even in quarantine */
    masters_t gone;    /* masters that had acknowledged it, or the lock, and lost it: it was released there */
    masters_t sent;    /* masters that were sent it, and so owe its release */
    uint32_t memories; /* c->memories when these sets were last brought up to date */
    struct token token;      /* the mark */
    struct token key, other; /* of the lock: the tokens that its key had ... */
    bool has_other;          /* ... if it had two */
    const struct name *name; /* interned */
};

/* The marks that this daemon made: how they are looked after (keep/kept_look.c). */
struct keeps {
    struct heap_item item; /* the next step of a walk */
    struct table names;    /* of those that were told */
    masters_t extenders;   /* c->extenders and c->memories when a walk last began */
    uint32_t memories;
    uint32_t cursor;  /* the slot of c->kepts that the walk has come to */
    uint32_t asking;  /* rounds under way */
    bool walking;     /* the walk has not come to the end */
    bool unhealed;    /* a mark that it has passed is still missing somewhere */
    int64_t pause_ms; /* before the next walk because of that */
};

/* The size of a lease, with acknowledged[] for each master. */
static inline size_t lease_bytes(unsigned masters)
{
    size_t bytes =
        offsetof(struct lease, copies) + offsetof(struct copies, acknowledged) + masters * sizeof(uint32_t);
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

/*   acquire:  QUEUING --fewer than Q have a key--> freed, and another round: ASKING
 *             LOOKING --Q have none of a slot----> freed, and another round: ASKING
 *             ASKING --Q granted, Q of them took the proposal------------> DECIDED
 *               |   \--else Q granted---> READING --> RAISING -----------> DECIDED
 *               |                          ^
 *               +--a retry: Q granted --> FENCING --as after ASKING
 *               |                          ^
 *               +--wait=0, split votes: REASKING, until Q granted
 *             (in READING, a late answer may still make the proposal the fence: DECIDED)
 *   extend:   EXTENDING, or CHECKING --Q hold it--> EXTENDING -----------> DECIDED
 *   check:    CHECKING --------------------------------------------------> DECIDED
 *   resume:   MOVING --Q moved--> RESUMING --as after ASKING-------------> DECIDED
 *   reserve:  RESERVING --Q stored it------------------------------------> DECIDED
 *   tell:     TELLING --Q have it----------------------------------------> DECIDED
 *   see:      SEEING --who has it is known-------------------------------> DECIDED
 *   (an acquire whose holder tells something goes through TELLING before it is DECIDED)
 *   keep:     MOVING --Q moved--> EXTENDING --Q extended-----------------> DECIDED
 *   mark:     CHECKING --all answered, or late---------------------------> DECIDED
 *
 * A round in DECIDED is answered and only waits for late votes. An acquire or RESUME that fails becomes a
 * release instead. */
enum round_phase {
    ROUND_QUEUING,  /* ENQUEUE: is there a key? */
    ROUND_LOOKING,  /* LOOK: which slots have none? */
    ROUND_ASKING,   /* SET; on a request's first attempt ZADD follows it */
    ROUND_REASKING, /* SET again, and GET, on masters that did not grant it */
    ROUND_FENCING,  /* ZADD of a fresh proposal on the granting masters */
    ROUND_READING,  /* ZSCORE on masters whose score is no lower than the proposal */
    ROUND_RAISING,  /* ZADD of a fence above all these scores */
    ROUND_CHECKING,
    ROUND_EXTENDING,
    ROUND_MOVING,    /* MOVE: the old token is replaced by the new one, or by a mark */
    ROUND_RESUMING,  /* EXTEND of the new token; ZADD follows it */
    ROUND_RESERVING, /* ZADD of the highest fence that a lease may need to be handed on */
    ROUND_TELLING,   /* DATA: what the holder tells */
    ROUND_SEEING,    /* SEE: who has a name that is watched */
    ROUND_DECIDED,
};

enum round_purpose {
    ROUND_ACQUIRE,
    ROUND_RENEW,
    ROUND_EXTEND,
    ROUND_CHECK,
    ROUND_RESUME,
    ROUND_RESERVE,
    ROUND_TELL,
    ROUND_SEE,
    ROUND_KEEP, /* of a mark: it is made, or looked for */
};

/* The fence of an attempt or RESUME: which masters were asked to store the proposal of the present phase,
 * and what they answered. In TELLING, the same of the data. */
struct fence {
    masters_t asked;    /* masters that were sent this phase's ZADD */
    masters_t pending;  /* masters with a ZADD unanswered: an earlier phase's, if not in asked */
    masters_t answered; /* masters that answered this phase's ZADD, with 0 or 1 */
    masters_t accepted; /* masters that answered 1: the proposal is stored, and is the highest there */
    masters_t reading;  /* masters with a ZSCORE unanswered */
    masters_t scored;   /* masters whose score is in numbers[] */
};

/* An attempt whose votes were split (acquire_split.h). */
struct split {
    masters_t decider; /* the master that decides, as a set; 0: none yet */
    masters_t getting; /* masters with a GET unanswered */
    masters_t fresh;   /* masters asked again after the phase's time-out began: not late when it ends */
    masters_t held;    /* masters that hold another token, whose random bytes begin in numbers[] */
    uint8_t reasks;    /* re-asks sent so far */
    bool in_vain;      /* all re-asks were in vain: no client got the lock */
};

struct round {
    uint64_t id;
    struct in_flight in_flight; /* with the phase's time-out */
    enum round_purpose purpose : 8;
    enum round_phase phase : 8;
    bool over : 1;   /* EXTEND: its lock was given back or lost meanwhile */
    bool held : 1;   /* EXTEND, renewal: Q masters extended the lock */
    bool joined : 1; /* acquire: as in struct verdict */
    bool ready : 1;  /* acquire, RESUME: could be granted, but waits until the trial is over */
    bool narrow : 1; /* acquire: only Q masters were asked so far (fanout.h) */
    bool woken : 1;  /* acquire: other daemons may wait behind the wake that it followed */
    bool down : 1;   /* extend: of a lease that was made a reader's, for the LOCK that asked for it */
    int32_t ttl_ms;
    int64_t t0_ms;           /* validity counts from here, before the first byte of SET or EXTEND was sent */
    const struct mode *mode; /* (ref) acquire, RESUME */
    struct resource *resource; /* (ref) acquire, RESUME, until the round is decided */
    uint64_t lease;            /* id of the lease that the round renews, extends or brought; 0: none */
    uint64_t session, request; /* EXTEND, CHECK and RESUME; request 0: answered */
    union {
        uint32_t memories;     /* c->memories when the round began */
        int32_t reader_ttl_ms; /* EXTEND: the TTL that the reader is to have */
    };
    struct tally tally; /* votes on SET, EXTEND, CHECK or MOVE */
    masters_t votes;    /* extend, check, RESUME: masters whose votes count (in quarantine: if confirmed) */
    masters_t voided; /* masters whose grants do not count: lost or failed since, or (RESUME) in quarantine */
    uint32_t told_ms; /* the longest TTL that a master's reply to EXTEND or CHECK told */
    struct fence fence;
    struct split split;
    uint16_t peer; /* whose request it is, until that is answered (admission.h) */
    struct token token;
    union {
        uint64_t proposal; /* the fence that is proposed, and in the end granted */
        uint64_t reader; /* EXTEND: id of the JOINED lease that is meant; 0: none. SEE: of the watched name */
        uint64_t kept;   /* KEEP: id of the mark */
    };
    const struct name *name; /* interned */
    struct resume *resume;   /* RESUME, until the round is decided; NULL: none */
    uint64_t numbers[];      /* per master: score, TTL left (extend, check), or see split.held */
};

/* A token that is being taken back. A master owes the release while it may have the key and has not
 * acknowledged that the key is gone. When the client has its answer and every reply has come or is late,
 * the release is `only_owed`: it is kept until no master owes it or no key can be left, or until its place is
 * needed for another release. A master has caught up with a release when no command that was sent there
 * before can run any more, so that a key there ends within its TTL. */
struct release {
    uint64_t id;
    struct heap_item item; /* when the key cannot be on any master any more */
    struct in_flight in_flight;
    bool only_owed; /* in the list releases_owed */
    bool answered;  /* the client has its reply, or wanted none */
    bool bound; /* UNLOCK of a lock bound to a session here: masters without the key count for +UNLOCKED */
    bool known; /* the lock was granted here */
    bool sets_back;       /* a RESUME failed: token is replaced by to, instead of deleted */
    bool hands_over;      /* the next head's SETs follow at once, before the replies */
    bool one_of_many;     /* others may hold the lock as well, at any daemon */
    bool wakes;           /* the release looks into the queue on the masters */
    bool stays;           /* if it wakes: this daemon goes to the end of that queue */
    bool wanted;          /* another daemon waits for the name */
    bool woke;            /* that daemon was woken */
    int64_t waited_ms;    /* for so long it had waited */
    int64_t ttl_ms;       /* longest that a key with this token can live */
    int64_t until_ms;     /* when the key is gone from all masters that have caught up */
    masters_t asked;      /* masters that were sent the release */
    masters_t unanswered; /* masters whose reply is still to come, on their present connection */
    masters_t owed;       /* masters that owe the release */
    masters_t caught_up;  /* masters that have caught up */
    masters_t deleted;    /* masters that deleted the key (or set it back) */
    masters_t missing;    /* masters that did not have it */
    masters_t repeated;   /* masters that were sent it twice on this connection, since they did not run it */
    masters_t scripted;   /* ... after NOSCRIPT */
    struct resource *resource; /* (ref) until Q masters answered; NULL: none */
    uint64_t session, request; /* UNLOCK's */
    uint16_t peer;             /* UNLOCK's, until it is answered (admission.h) */
    const struct name *name;   /* interned */
    struct token token, to;
    bool has_other; /* the key may have another token instead */
    bool has_third; /* ... or this one */
    struct token other, third;
};

enum session_state {
    SESSION_OPEN,
    SESSION_FINISHING, /* its client asks nothing more, and none of its requests may wait */
    SESSION_RELEASING, /* its locks are being released, one a step */
    SESSION_DROPPING,  /* its locks are being unbound, one a step */
    SESSION_DENYING,   /* its requests are being refused, then its locks lost, one a step */
};

/* A request with wait= that is asked again while it is refused (repeat.h). */
struct repeat {
    uint64_t id;
    struct heap_item item;      /* the next attempt, while it pauses */
    struct session *session;    /* (ref) */
    struct repeat *next, *prev; /* of the same session */
    uint64_t request;
    struct peer peer;
    int64_t asked_ms, deadline_ms;
    int64_t ttl_ms, max_ms; /* as in the request */
    uint64_t order;
    struct token token;
    const struct name *name; /* interned */
    const struct word *note; /* interned; NULL: none */
    uint32_t pauses;         /* how many there were so far */
    bool resumes;            /* RESUME; else LOCK mode=shared */
    bool finishes;           /* it was cancelled: the next answer is the last one ... */
    bool denied;             /* ... since its user may not lock the name any more */
};

struct session {
    uint64_t id;
    struct heap_item item; /* due now while the session is being ended */
    uint64_t key;          /* the driver's number for the session */
    uint32_t hash;         /* of key */
    enum session_state state;
    uint16_t peer;
    uint32_t locks, waits;       /* numbers of its holds and waits ... */
    uint32_t resumes, repeating; /* ... and of its RESUMEs under way, and repeats */
    struct hold *holds;          /* the holds bound to it */
    struct wait *waiting;
    struct watcher *watching;
    struct repeat *repeats;
};

/* ---- who has a name, for those who watch it (watch.h) ---- */

/* These masters tell the same of the token's holder. Q masters do so only if at most N - Q tell something else. */
enum { TELLINGS = MASTERS / 2 + 1 };

struct telling {
    masters_t masters;
    struct token token;
    uint64_t fence;
    struct data data;
};

/* A sight is all that the masters have told a look so far (sight.h). */
struct sight {
    masters_t keys, readers, slots; /* masters with a key of that kind */
    uint64_t ttl_ms;                /* of the key that ends first; 0: not known */
    struct token token[MASTERS];    /* of keys */
    unsigned tellings;
    struct telling telling[TELLINGS];
};

struct watched {
    uint64_t id;
    struct heap_item item; /* the next look; due now while there are watchers to be told */
    uint32_t hash;
    uint32_t serial;              /* of the present state: watchers with another one are still to be told */
    const struct name *name;      /* interned */
    struct watcher *first, *last; /* those that are still to be told stand first */
    uint64_t round;               /* id of the look under way; 0: none */
    bool again;                   /* something has changed since it began */
    bool asked;                   /* a watcher has come since the last look */
    bool known;                   /* a state was found */
    uint8_t patience;             /* looks in a row that were unsure */
    int32_t pause_ms;             /* before the next look while the next holder is looked for ... */
    int64_t hurry_until_ms;       /* ... until then */
    int64_t look_ms;
    uint64_t fence;      /* the highest that was told */
    struct now now;      /* the state that is told ... */
    struct token holder; /* ... and whose that is, if one key says so */
    struct sight seen;
};

struct watcher {
    uint64_t id;
    struct watched *watched; /* (ref) */
    struct watcher *next, *prev;
    struct session *session; /* (ref) */
    struct watcher *session_next, *session_prev;
    uint64_t request; /* the WATCH; 0: answered */
    uint32_t serial;
    uint16_t peer;
    bool once; /* a second WATCH of the session, which is only answered */
};

/* The daemons that watch a name whose lock is, or was, held here (witness.h). */
enum { WITNESSES = 16 };

struct witness {
    uint64_t id;
    struct heap_item item; /* when the last one is forgotten; due now while they are to be told */
    uint32_t hash;
    uint32_t telling;        /* the next one to be told; WITNESSES: none */
    const struct name *name; /* interned */
    int64_t until_ms[WITNESSES];
    struct token daemon[WITNESSES]; /* the first bytes say which */
};

struct coordinator {
    struct coordinator_config config;
    const struct mode *modes[MODES];
    struct quorum quorum; /* who votes, and how many of them are needed */
    struct generation generation;
    int64_t longest_ttl_ms; /* the largest max_ttl of the steps s-1, s and s+1: every bound is made from it */
    int64_t ttl_most_ms;    /* the smaller max_ttl of s and s+1: what locks get */
    int64_t full_ms;        /* length of a full quarantine: longest_ttl_ms and its drift */
    int64_t now_ms;         /* CLOCK_BOOTTIME plus behind_ms */
    int64_t behind_ms;      /* for how long CLOCK_BOOTTIME stood still in all */
    int64_t stall_seen_ms;  /* when behind_ms grew last */
    int64_t stall_ms;       /* by how much it grew then; growth less than full_ms before is included */
    struct trial trial;
    const struct coordinator_event *event; /* (ref) the present step's event */
    struct actions *actions;               /* (ref) the present step's actions */
    bool token_drawn;                      /* the present step's random bytes made a token */

    struct heap deadlines;
    struct heap looks; /* heads that are due (queue_due()), by the ids of their waits */
    int64_t looks_ms;  /* since when one of them is due */
    struct pool waits, queues, resources, slots, leases, secrets, rounds, resumes, releases, sessions, lists,
        kepts, repeats;
    struct pool watched, watchers, witnesses;
    struct table watched_names, witness_names;
    uint32_t peer_watches[PEERS], peer_marks[PEERS], peer_repeats[PEERS];
    struct shared *sharing; /* for each slot of the leases: of readers */
    struct told *telling;   /* for each slot of the waits: of leaders */
    struct told *told;      /* for each slot of the leases: of leaders */
    struct crowd *crowds;   /* for each slot of the resources: where readers have the name */
    struct letter *letters; /* for each slot of the resources: where letters came */
    uint32_t commons;       /* COMMON leases */
    struct queue nobody;    /* the queue of every name without waiters: all zero, never written */
    struct intern intern;
    uint32_t peer_locks[PEERS], peer_waits[PEERS]; /* leases and waits of each peer */
    uint32_t peer_asking[PEERS]; /* requests of each peer that ask the masters (admission.h) */
    struct table names, session_keys;
    struct in_flight_list rounds_pending;
    struct in_flight_list releases_pending; /* releases before their time-out */
    struct in_flight_list releases_owed;    /* releases that are only owed, the oldest first: no time-out */
    uint32_t setting_back;                  /* how many releases of both lists set back */
    struct keeps keeps;

    struct master masters[MASTERS];
    masters_t up;        /* masters in MASTER_UP that may have keys of this step, or of one beside it */
    masters_t renewers;  /* masters in MASTER_UP that vote by this step */
    masters_t voters;    /* the same; none while masters differ */
    masters_t extenders; /* masters up, and masters in MASTER_QUARANTINE */
    masters_t releasers; /* extenders, and masters in MASTER_SLOW and MASTER_UNDOING */
    /* Masters whose group has another N, max_ttl or set, and those (of them) where a later version wrote the key:
     * see master_agree.c. */
    masters_t differing, later;
    int64_t differ_ms;     /* when the first of them was read so */
    int64_t differ_ttl_ms; /* the smallest max_ttl of all, this daemon's included */
    /* Masters whose clocks jump again and again. Keys end early there, so in quarantine not even a
     * confirmed "extended" counts. */
    masters_t fast;
    masters_t stale;        /* voters and extenders that were not probed for long: no round is decided */
    int64_t fresh_until_ms; /* no other one of them becomes stale before */
    masters_t listening;    /* masters that publish to this daemon */
    /* For each native command, the masters that get it, and those that know it, but deny it: master/native.h */
    masters_t natives[NATIVES], natives_denied[NATIVES];
    uint32_t memories; /* how often a master began a new memory: see struct master */

    struct turn turns[TURNS]; /* indexed by the name's hash; a later name overwrites an earlier one */
    struct ended ended;       /* tokens of locks that max= ended */

    struct {               /* clocks, as their distance from now_ms: wall.h */
        int64_t own_ms;    /* this host's, when a master told its TIME last */
        int64_t median_ms; /* the masters' */
        int64_t until_ms;  /* until then Q of the TIMEs are fresh; 0: they never were */
    } wall;
    uint64_t proposal; /* the highest fence proposed so far */
    uint64_t lead_us; /* how far fences seen on masters were ahead of this host's wall clock, up to a limit */
    uint32_t acquiring;               /* attempts and RESUMEs under way: each may become a lease */
    uint32_t renewing;                /* renewals under way */
    uint32_t lettered;                /* of these: because of letters */
    uint32_t unsettled;               /* leases with a secret that fewer than Q masters have settled */
    uint32_t bound;                   /* leases with hold=session that are bound to a session */
    uint32_t holds[HOLD_LEASE + 1];   /* leases by their kind of hold */
    uint32_t readers[HOLD_LEASE + 1]; /* of these: shared */
    uint32_t asking;                  /* EXTEND, CHECK, RESUME and UNLOCK requests without a reply so far */

    bool draining;
    bool settles; /* secret leases are being settled, the first thing of a drain */
    bool ending;  /* drain_timeout is over: holders are told that their locks are lost */
    struct heap_item drain;
    int64_t drain_ms;      /* when drain_timeout is over */
    uint32_t drain_cursor; /* next slot of the pool that the drain works through */

    struct coordinator_stats stats;
    struct coordinator_times times;
};

/* ---- questions that an object's own data answers (state.c) ---- */

static inline int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* The mode of the resource of a name that nothing uses yet: a LOCK may say that the name has slots. */
static inline const struct mode *mode_of_name(const struct coordinator *c, const struct name *name)
{
    return c->modes[name->more != 0 ? MODE_LIST : name->slot ? MODE_SLOT : MODE_WRITER];
}

/* Of a reader, or else of the resource: a list, or a name with slots, has no readers. */
static inline const struct mode *mode_of(const struct coordinator *c, const struct resource *resource,
                                         bool shared)
{
    return shared && resource->mode == c->modes[MODE_WRITER] ? c->modes[MODE_READER] : resource->mode;
}

/* The mode of the lease that a RESUME of this token brings. */
static inline const struct mode *mode_of_token(const struct coordinator *c, const struct resource *resource,
                                               const struct token *token)
{
    if (token_tells(token) && resource->mode == c->modes[MODE_WRITER])
        return c->modes[MODE_LEADER];
    return mode_of(c, resource, token_is_shared(token));
}

static inline struct told *told_of_wait(const struct coordinator *c, const struct wait *wait)
{
    return &c->telling[pool_slot(&c->waits, wait)];
}

static inline struct told *told_in(const struct coordinator *c, const struct lease *lease)
{
    return &c->told[pool_slot(&c->leases, lease)];
}

/* NULL: its holder tells nothing. */
static inline struct told *told_of_lease(const struct coordinator *c, const struct lease *lease)
{
    return lease->mode->tells ? told_in(c, lease) : NULL;
}

static inline void told_to(struct command *command, const struct told *told)
{
    command->waited_ms = told->since_ms;
    data_copy(&command->data, &told->data);
}

struct lease *lease_of_hold(struct hold *hold);
/* The token that the lease's client knows: of a downgraded one (downgrade.h) perhaps the one before still. */
const struct token *lease_told(const struct lease *lease);
/* The token before the downgrade; of other leases the present one. */
const struct token *lease_was(const struct lease *lease);
/* Whether the lease had this token before it was downgraded. */
bool lease_was_known_by(const struct lease *lease, const struct token *token);
/* Whether the lease has hold=session and still its session. Such a lease is renewed, and the head of its name
 * does not ask the masters. */
bool lease_is_bound(const struct lease *lease);
/* Whether the wait must end without the lock: its client left, the time of wait= passed and the first attempt
 * is over, or the daemon drains. */
bool wait_is_over(const struct coordinator *c, const struct wait *wait);
/* Whether the head must not ask before Q masters answered the name's release. */
bool release_is_awaited(const struct resource *resource);
/* Whether a RESUME of the lease's token is under way. Until that is decided, a master without the token proves
 * nothing. */
bool lease_is_resumed(const struct lease *lease);
/* Notes that the token was given back while a RESUME of it is under way: if the RESUME fails, its new
 * token is released instead of set back. */
void resume_given_back(struct resource *resource, const struct token *token);
/* Masters whose clocks jumped: seen by this daemon, or kept out for it by any daemon. */
masters_t masters_clock_doubted(const struct coordinator *c);
/* By how much the coordinator's clock was put forward lately, since this host stood still: a deadline that was told
 * before is over here, but not yet for whoever was not told of the stall, or if it was none. */
int64_t stall_lately_ms(const struct coordinator *c);
/* Whether a trial (trial.h) is open: no lock is granted until it is decided. */
bool trial_is_open(const struct coordinator *c);

/* ---- actions ---- */

/* Appends an action. Only its kind is set: the caller sets the fields that this kind needs. */
struct action *action_push(struct coordinator *c, enum action_kind kind);
/* Appends a command to these masters, of which there is at least one. Its other fields are zero, and the
 * caller fills them in before the step ends; the group stays as it is. */
struct command *action_command(struct coordinator *c, masters_t masters, enum command_verb verb,
                               const struct name *name);
/* The same for a command that is complete; does nothing for an empty set. */
void action_send(struct coordinator *c, masters_t masters, const struct command *command);
/* Appends a reply without optional fields, which the caller may fill in before the step ends. */
void action_refusal(struct reply *reply, enum reply_code code); /* in place of what it said; the name stays */
struct reply *action_reply(struct coordinator *c, uint64_t session, uint64_t request, enum reply_code code,
                           const struct name *name);
/* Fills in what +LOCKED tells of the lease. */
void action_locked(const struct coordinator *c, struct reply *reply, const struct lease *lease);
/* +UNLOCKED of a lock that another holder here has now; request 0: nobody is answered. */
void action_handed(struct coordinator *c, uint64_t session, uint64_t request, const struct name *name);
/* Lets the client of a -NOQUORUM ask again after a random time, unless retry= is known. */
void action_retry(struct coordinator *c, struct reply *reply);
/* Appends a notice without deadline to the lease's session; its reason is LOST_EXPIRED unless the caller sets
 * another. */
struct notice *action_notice(struct coordinator *c, enum notice_kind kind, const struct lease *lease);
/* Fills in what -NOQUORUM tells: nodes= and votes= from the tally (NULL: no master was asked; a + then
 * stands for a master that may vote), and retry= if a quorum only waits for a quarantine. */
void action_noquorum(const struct coordinator *c, struct reply *reply, const struct tally *tally);
void name_copy(struct name *to, const struct name *from);

/* A step has 32 random bytes: 9 go into a token of the resource, at most one in a step, and 8 give all its random
 * numbers.
 * random_between() includes both bounds. */
void random_token(struct coordinator *c, const struct resource *resource, struct token *token,
                  const struct mode *mode);
/* A mark for a name that is kept; it counts as the step's token. */
void random_mark(struct coordinator *c, struct token *token);
int64_t random_between(struct coordinator *c, int64_t low, int64_t high);

#endif
