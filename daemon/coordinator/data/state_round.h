/* Rounds, in which masters vote, and releases. Part of state.h. */
#ifndef REDLOCKD_STATE_ROUND_H
#define REDLOCKD_STATE_ROUND_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/in_flight.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/data/state_lease.h"

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

#endif
