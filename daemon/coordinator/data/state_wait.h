/* A name that is in use, and the requests that wait for it. Part of state.h. */
#ifndef REDLOCKD_STATE_WAIT_H
#define REDLOCKD_STATE_WAIT_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/intern.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"

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

#endif
