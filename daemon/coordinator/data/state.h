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
 * The objects are in the parts of this header: state_wait.h, state_lease.h, state_round.h, state_session.h,
 * state_watch.h and state_master.h. Pools own all of them. A pointer that only refers to an object is marked (ref).
 * Names and notes are interned: stored once, and counted (intern.h). */
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
#include "daemon/coordinator/data/state_lease.h"
#include "daemon/coordinator/data/state_master.h"
#include "daemon/coordinator/data/state_round.h"
#include "daemon/coordinator/data/state_session.h"
#include "daemon/coordinator/data/state_wait.h"
#include "daemon/coordinator/data/state_watch.h"
#include "daemon/coordinator/keep/ended.h"
#include "daemon/coordinator/mode/mode.h"
#include "proto/names.h"

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
