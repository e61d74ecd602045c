/* The oracle: it sees everything in true time and says when a promise was broken.
 *
 * Invariants, by their numbers in a report:
 *   1  two clients believe at once that they hold one name
 *   2  before a told deadline Q masters could grant the name to another, or a held lock's
 *      key is deleted though nobody gave it up, or a deadline is told that is no promise
 *   3  a fence does not grow
 *   4  first come, first served is broken
 *   5  a waiter is not served though nothing is in its way
 *   6  a request has not exactly one reply
 *   7  a key stays after its release
 *   8  a release or an extend touches another token's key
 *   9  an acquire or a fence counts a master that may not vote, or fewer than Q
 *  11  something is left when all is quiet
 *  12  a seed gave two traces
 *  14  a watcher is told a fence below an earlier one, or that a held name is free, or not the present state
 *  13  a held lock is lost though masters were only restarted, one after the other
 *  10  a holder's data is told with another holder's token or fence, or not by a quorum when the lock is
 * A lock of several names is all of these locks at once.
 * Readers hold a name together: for them 1 is about readers and writers, and 3 about each reader and the
 * exclusive locks before it, and about each exclusive lock and all before it.
 *
 * Where a master forgets and neither run_id nor uptime shows it (FLUSHALL, a replica's data, another
 * server, a clock set forward), no daemon can keep all of these promises until it sees the loss. Until the
 * longest lock that the master may have forgotten is over, the oracle excuses only these:
 *   9  the master's vote, for a daemon that could not know yet (blind in struct sim_node)
 *   1, 2  two holders, or a holder that is not covered, where the lock would be safe if this master remembered
 *   3  a fence that was told by such a vote, or whose lock was lost in this way before it was told
 * Where the host of a daemon stands still, uncounted by its clock, nobody on it can know before masters tell
 * their TIME: oracle_stall.c says what is excused until then.
 * Where a clock is set back, keys there live longer by as much: the oracle does not judge what is left of a
 * release there, nor how long the heals of the last seconds last. */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/coordinator/coordinator.h"
#include "proto/command.h"
#include "tests/sim/plan.h"
#include "tests/sim/store.h"

enum {
    ORACLE_HOLDERS = 256, /* of a name; a reader that was cut off believes until its deadline */
    ORACLE_FENCES = 128,
    ORACLE_EXTENDS = 1024,
    TOK_TABLE = 1 << 17,
    ORACLE_OUTSTANDING = 256,
    ORACLE_MARKS = 256
};

/* A daemon's knowledge of a token at one master. */
struct sim_tok_master {
    uint32_t conn;                   /* the connection of its SET or MOVE: index + 1 */
    uint32_t epoch;                  /* the master's epoch in which it said yes to them */
    int64_t acked_us, acked_ends_us; /* a yes came, and holds for so long */
    bool acked_late;           /* a yes came, perhaps when its round was over: the daemon need not know */
    int64_t acked_lost_us;     /* this memory of the master said yes ... */
    uint32_t acked_epoch;      /* ... in this run of it */
    int64_t extended_lost_us;  /* this master sent the last "extended" */
    int64_t counted_held_us;   /* a yes counted, and the master has lost nothing since, except by its clock */
    int64_t confirmed_lost_us; /* an "extended" counts from this memory, old enough or not */
    int64_t healed_us;         /* its last HEAL was sent */
};

/* A token and its true state. Index 0 is no token. RESUME makes a new token of the same family. */
struct sim_tok {
    struct token token;
    uint32_t name;
    uint8_t daemon;
    uint32_t parent, root;     /* RESUME: the token that it replaced, and the family's first; 0: itself */
    uint32_t secret;           /* the token that its key has instead, until it is settled; 0: none */
    uint32_t told;             /* a secret: the token that was told last instead of it; 0: none */
    bool settles;              /* a secret: its daemon has sent SETTLE */
    uint32_t down_of, down_to; /* a downgrade: the token before, and the one after it (oracle_down.c) */
    bool down_asked;           /* its client asked for that, and is a reader from then on */
    bool resumed;              /* a RESUME of it was sent to masters */
    int64_t tried_us;          /* RESUME: the attempt that made it began */
    int64_t refused_us;        /* the last RESUME of it that all masters of refused_by refused was so */
    uint8_t refused_by;
    int64_t set_us;    /* its SET was sent */
    bool granted;      /* +LOCKED was said */
    bool excused;      /* masters forgot it unseen: the name may be granted to others too */
    bool broken;       /* BREAK deleted its key ... */
    uint16_t lettered; /* ... and its daemon has heard so from these masters */
    bool given_up;     /* a client with the right to do so asked for its release, or its session ended */
    bool released;     /* its daemon sent a release */
    bool lease, shared;
    bool forgotten;   /* its daemon has no record of it: the deadline is over, or it was reported lost */
    bool maxed;       /* its daemon said that its max= is over */
    bool owed;        /* released while its daemon knew it: an unacknowledged release is sent again */
    bool common;      /* the key of readers that joined it; nobody is told it */
    bool joined;      /* a reader's, without a key of its own */
    bool moved;       /* RESUME replaced this token, which holds nothing any more */
    bool undelivered; /* RESUME: no byte of its grant reached the kernel */
    uint16_t sent;    /* masters that its SET was sent to */
    uint16_t yes;     /* ... masters that said yes, as the daemon heard */
    uint16_t valid;   /* ... whose memory was old enough for it, as far as that daemon could know */
    uint16_t blind;   /* ... of these: masters where it could not know better */
    uint16_t blocked; /* ... masters where a release did not run */
    uint16_t ran;     /* ... masters where a release ran */
    uint16_t unmoved; /* RESUME: masters that said that the key is not there */
    uint32_t incarnation, session, request;
    struct sim_tok_master at[SIM_MASTERS];
    uint32_t session_next; /* next token of its session */
    uint64_t fence;
    int64_t released_us;
    int64_t deleted_us; /* a release, of any daemon, or BREAK first deleted a key of it; 0: none did */
    int64_t
        unheard_us; /* ... in a second of letters, so that its daemon may hear of it as late as then; 0: it was not */
    int64_t renewed_us; /* the first time it was renewed; 0: not yet */
    bool outlived;      /* a master crashed while it was held ... */
    bool thin;          /* ... and the first time fewer than Q others had its key */
    int64_t told_ms;    /* the deadline that its daemon told last, on that daemon's clock */
    int64_t ends_ms;    /* max=, on its daemon's clock; 0: none */
    int64_t until_us;   /* true time until which a client believes in it; 0: no client does */
    uint32_t believer;  /* the client that believes in it */
    int64_t heard_ms;   /* until= as its daemon told it */
    uint8_t teller;     /* the daemon that told it last ... */
    uint32_t told_on;   /* ... and its session */
    unsigned extending; /* its daemon's last sim_extending of it; 0: none */
    int64_t asked_us;   /* it was renewed so many times since */
    uint16_t asks;
    /* Of a mark (oracle_kept.c): */
    uint32_t kept_of;      /* the token that it took the place of; 0: it is no mark */
    int64_t keep_ms;       /* for so long */
    int64_t kept_sent_us;  /* it was first extended */
    int64_t kept_us;       /* +KEPT was said; 0: it was not */
    int64_t kept_until_us; /* ... and until when, in true time */
    int64_t kept_sure_us;  /* ... and until when masters have it: a stall or a heal may end it sooner */
    uint16_t kept_had;     /* ... and masters that had it then */
    int64_t lag_us;        /* part of until_us, since its host's clock stood still and nobody there knows */
};

/* The masters that stored a fence that one daemon proposed. */
struct sim_fence_acks {
    uint32_t bucket;
    uint32_t name;
    int64_t sent_us;
    uint64_t number;
    uint16_t valid;
    uint16_t blind; /* masters among them that forgot what they had stored, and the daemon could not know */
    uint32_t epoch[SIM_MASTERS];
};

/* An EXTEND of a daemon's lock, and the votes on it. */
struct sim_extending {
    uint64_t ref;
    unsigned before; /* the number of the last one of its token; 0: none */
    uint32_t tok;
    uint16_t yes, counts; /* masters that said yes, and those whose votes count */
    bool told;
};

enum { SESSION_OPEN, SESSION_FINISHING, SESSION_OVER, SESSION_ENDED };

/* What a session that watches a name was told last. */
struct sim_watch {
    unsigned name; /* 1 + it; 0: it watches none */
    bool known;
    unsigned state;
    uint64_t told, fence; /* the last fence (0: none), and the highest */
    uint32_t text;        /* the request that wanted told what was told last; 0: none */
};

/* Who has a name in truth. */
struct sim_truth {
    unsigned state;
    uint32_t tok;
    uint64_t fence;
    uint32_t text; /* the request that wanted it told */
    bool unsure;   /* an attempt is under way, or left something */
    int64_t since_us;
};

/* Since when a master has some key of a name, as its last command left it. */
struct sim_taken {
    bool there;
    int64_t expires_ms, since_us;
};

struct sim_session {
    uint8_t client, daemon, state;
    bool remote;      /* the client reads another clock than the daemon */
    bool client_gone; /* the client closed its end */
    uint32_t incarnation, unanswered;
    uint32_t toks;         /* its locks: chain of tokens */
    int64_t hello_sent_us; /* on the client's clock */
    int64_t hello_now_ms;  /* on the daemon's */
    int64_t unmeasured_us; /* stalls of the client's host that its last HELLO here is older than */
    int64_t behind_ms;     /* as the client heard last */
    int64_t
        found_us; /* its daemon has stopped: so much of what the host stood still was known to the client */
    struct sim_watch watch;
    uint32_t first[2], last[2]; /* messages on their way: index + 1 */
};

struct sim_asked { /* a request */
    uint8_t verb, daemon;
    uint32_t name;
    bool reentry, down, up, answered, cancelled, undelivered, lease, shared, tells;
    bool unaware; /* its daemon could not know that its lock was given back elsewhere */
    uint32_t session, tok, incarnation;
    uint16_t slots; /* as it says; 0: it names none */
    uint32_t from;  /* RESUME: the replaced token */
    uint16_t had;   /* masters that have had what it wants told */
    int64_t wait_ms, max_ms, at_us;
    int64_t keep_ms; /* UNLOCK keep= ... */
    uint32_t mark;   /* ... the mark that was made for it; 0: none yet */
    int64_t over_us; /* it stands in its daemon's queue no more; 0: it does, or never did */
};

struct sim_oracle {
    unsigned marks; /* of the present step */
    struct {
        uint32_t conn, tok;
    } mark[ORACLE_MARKS];
    uint32_t
        refused; /* the tok of a native release that a master refused, as the present step hears; 0: none */
    struct sim_tok *tok;
    uint32_t toks, tok_capacity;
    uint32_t *tok_table;
    struct sim_session *session;
    uint32_t sessions, session_capacity;
    struct sim_asked *asked;
    uint32_t asks, ask_capacity;
    uint32_t unanswered[SIM_CLIENTS];
    uint32_t holder[SIM_KEYS][ORACLE_HOLDERS];
    unsigned holders[SIM_KEYS];
    uint64_t fence[SIM_KEYS], alone[SIM_KEYS]; /* the highest, and the highest of an exclusive lock */
    uint32_t fence_tok[SIM_KEYS], alone_tok[SIM_KEYS];
    uint32_t last_set[SIM_DAEMONS][SIM_KEYS];  /* the token of a daemon's last SET */
    uint32_t asked_tok[SIM_DAEMONS][SIM_KEYS]; /* ... also of a list that has the name */
    int64_t refused_us[SIM_DAEMONS][SIM_KEYS]; /* a daemon heard that a master refused the name */
    int64_t given_us[SIM_DAEMONS][SIM_KEYS];   /* a daemon gave the name's lock back, or was asked to */
    uint32_t broke[SIM_DAEMONS][SIM_KEYS];     /* the last key of a daemon's that BREAK deleted */
    int64_t letter_us[SIM_DAEMONS][SIM_KEYS];  /* a letter about the name came, last */
    uint32_t kept[SIM_KEYS];                   /* the mark that was told last; 0: a lock was granted since */
    uint64_t handed, joined;
    struct sim_fence_acks fences[SIM_DAEMONS][ORACLE_FENCES];
    uint64_t fence_number[SIM_DAEMONS][ORACLE_FENCES]; /* theirs once more, to be found by */
    unsigned fence_next[SIM_DAEMONS];
    /* Rings, by their numbers, which count from 1. */
    struct sim_extending extending[SIM_DAEMONS][ORACLE_EXTENDS];
    unsigned extendings[SIM_DAEMONS];
    /* LOCKs without an answer, in order of arrival */
    uint32_t outstanding[SIM_DAEMONS][ORACLE_OUTSTANDING];
    unsigned outstandings[SIM_DAEMONS];
    int64_t served_us[SIM_NAMES]; /* the last grant or the last time without a waiter, in the second phase */
    int64_t ends_us[SIM_KEYS][SIM_MASTERS]; /* when a key of the name ends */
    int64_t freed_us[SIM_NAMES];            /* a key of the name ended, last */
    int64_t given_back_us[SIM_KEYS]; /* the last key of a slot was released; 0: it has one, or never had */
    int64_t writer_us[SIM_NAMES];    /* a writer that asked for the name was answered, or gave up, last */
    int64_t turn_us[SIM_DAEMONS][SIM_NAMES];  /* the last grant by a daemon */
    int64_t unreleased_us[SIM_NAMES];         /* a key of the name ended by itself, last */
    int64_t heard_us[SIM_DAEMONS][SIM_NAMES]; /* it heard that its lock was given back elsewhere */
    struct {                                  /* since a key of the name was set or released */
        int64_t since_us;
        uint32_t asks[SIM_DAEMONS], joins[SIM_DAEMONS][SIM_MASTERS]; /* LOCKs, and ENQUEUEs that ran */
    } still[SIM_NAMES];
    struct {
        unsigned asks, grants;
        bool counts;    /* the name was free */
    } crowd[SIM_NAMES]; /* requests that came at once */
    struct sim_truth truth[SIM_NAMES];
    struct sim_taken taken[SIM_NAMES][SIM_MASTERS];
    int64_t crashed_us; /* the last master that crashed */
    struct store_key key_before;
    struct store_group group_before;
    uint64_t grants, requests;
};

/* The time by which a loss of memory must have been noticed where nothing else is wrong with the master: the probe's
 * second, 200 ms for each of a trial's two questions, which wait for other masters, and the delays of links and
 * timers. */
enum {
    ORACLE_NOTICE_US = 1450000,
    ORPHAN_US = 1000 /* a set-back is sent within this time */,
    ORACLE_DRIFT_US = 15000000
};

struct sim_world;
struct sim_msg;
struct sim_conn;
struct sim_master;
struct sim_daemon;
struct sim_node;
struct action;
struct reply;
struct notice;
struct group;

void oracle_begin(struct sim_world *w);
uint32_t oracle_tok(struct sim_world *w, const struct token *token, unsigned name);
static inline uint16_t oracle_bit(unsigned i)
{
    return (uint16_t)(1u << i);
}
/* Notes by which connections the action goes to the masters for this token; returns these masters. */
uint16_t oracle_sent(const struct sim_daemon *d, const struct action *action, struct sim_tok *t);
uint32_t session_new(struct sim_world *w, unsigned client, unsigned daemon);
uint32_t asked_new(struct sim_world *w, uint32_t session, unsigned verb, unsigned name);

/* Notifications of the oracle, each at the time of its event: */
enum mark { MARK_RELEASED, MARK_SETTLED };
void oracle_send(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok,
                 unsigned name);
void oracle_proposes(struct sim_world *w, const struct sim_daemon *d, uint64_t fence);
void oracle_runs(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg);
/* before: the tokens of the keys of its names, before it ran. */
void oracle_ran(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg,
                const uint32_t before[SIM_KEYS], struct vote *vote);
void oracle_crashed(struct sim_world *w,
                    const struct sim_master *m); /* the master's memory is as it was just now */
void oracle_memory(struct sim_world *w);         /* a master's memory changed in another way */
/* oracle_memory.c: what a daemon can know of masters' memories */
/* When the key lets the master vote, by that master's clock: a time that lies too far ahead has back= beside it, the
 * time at which a daemon found that, and a whole quarantine after that is enough. */
int64_t oracle_votes_from_ms(const struct sim_daemon *d, const struct group *group);
void oracle_learns(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg);
/* sim_flood.c */
void oracle_flood_replied(struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                          const struct reply *reply);
void oracle_flood_lost(struct sim_world *w, const struct sim_daemon *d, uint32_t tok,
                       const struct notice *notice);
void oracle_flood_sent(struct sim_world *w, const struct sim_daemon *d, const struct action *action,
                       uint32_t tok);
/* oracle_fresh.c: those of these masters that the daemon probed lately; notes an answer to a probe. */
uint16_t oracle_fresh(const struct sim_world *w, const struct sim_daemon *d, uint16_t masters);
void oracle_probed(struct sim_node *node, const struct sim_msg *msg);
bool oracle_may_vote(const struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg);
bool oracle_is_blind(const struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg);
void oracle_noticed_loss(struct sim_world *w, const struct sim_master *m, uint32_t loss);
void oracle_overlaps(struct sim_world *w, unsigned name);    /* checks invariant 1 for the present holders */
void oracle_covers_each(struct sim_world *w, unsigned name); /* the same for each of the names */
void oracle_covers(struct sim_world *w, unsigned name); /* checks invariant 2 for the holders of a name */
/* The token would be safe until then if the masters remembered it, and it is not, because masters that
 * granted it forgot it unseen. */
bool oracle_is_excused(const struct sim_world *w, uint32_t tok, int64_t until_us);
void oracle_mark(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg);
void oracle_heard(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg);
void oracle_asked(struct sim_world *w, struct sim_daemon *d, uint32_t request);
void oracle_replied(struct sim_world *w, struct sim_daemon *d, const struct action *action);
void oracle_noticed(struct sim_world *w, struct sim_daemon *d, const struct action *action);
void oracle_daemon_gone(struct sim_world *w, struct sim_daemon *d);
/* oracle_hand.c: secret tokens, and locks that are handed on */
uint32_t oracle_key(const struct sim_world *w,
                    uint32_t tok); /* the token of its key: the secret one, or itself */
uint32_t oracle_holder(const struct sim_world *w, uint32_t tok); /* the token that was told for a key's */
bool oracle_keeps(const struct sim_world *w, uint32_t key,
                  uint32_t tok); /* whether the key keeps the name for the token */
void oracle_handed(struct sim_world *w, struct sim_daemon *d, uint32_t tok, unsigned name);
void oracle_sends_settle(struct sim_world *w, struct sim_daemon *d, const struct action *action,
                         uint32_t tok);
/* sim_break.c */
void oracle_breaks(struct sim_world *w, uint32_t key, unsigned name);
void oracle_broke(struct sim_world *w, unsigned name);
/* A daemon asks about a name once in a second of letters: of what ends in a second that had letters before it hears when
 * that is over. */
bool oracle_is_lettered(const struct sim_world *w, unsigned daemon, unsigned name);
void oracle_deleted(struct sim_world *w, struct sim_tok *t);
void oracle_hears_letter(struct sim_world *w, const struct sim_daemon *d, unsigned master, unsigned name);
void oracle_relies(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t key, bool again);
/* oracle_down.c: writers that become readers */
void oracle_down_asked(struct sim_world *w, uint32_t tok);
void oracle_heals_down(struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
void oracle_sends_down(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok);
void oracle_reentered(struct sim_world *w, struct sim_daemon *d, uint32_t request, const struct reply *reply);
bool oracle_is_forgotten(const struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
/* Of two tokens of a downgrade, the other one; 0: none. */
uint32_t oracle_other(const struct sim_world *w, uint32_t tok);
bool oracle_lost_wrongly(const struct sim_world *w, uint32_t tok);
/* oracle_shared.c: names that readers have */
/* Until when the master keeps the name for the token, or for another of its family; 0: not at all. */
int64_t oracle_kept_ms(const struct sim_world *w, const struct sim_master *m, int64_t now_ms, uint32_t tok);
/* Whether the key is that of the readers whom the token's reader joined. */
bool oracle_joined_by(const struct sim_world *w, uint32_t key, uint32_t tok);
void oracle_joins(struct sim_world *w, struct sim_daemon *d, uint32_t tok, unsigned name);
void oracle_joined_again(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t from);
void oracle_ran_readers(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                        unsigned readers); /* so many were in key_before */
/* oracle_move.c: RESUME */
uint32_t oracle_family(const struct sim_world *w, uint32_t tok);
void oracle_sends_move(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok);
void oracle_ran_move(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg, uint32_t before,
                     const struct vote *vote);
void oracle_heard_move(struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg);
void oracle_resumed(struct sim_world *w, struct sim_daemon *d, uint32_t request, const struct reply *reply);
void oracle_resume_refused(struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                           const struct reply *reply);
void oracle_orphans(struct sim_world *w, struct sim_daemon *d, uint32_t tok);
/* oracle_repeat.c: requests that the daemon repeats */
void oracle_repeated(struct sim_world *w, const struct sim_daemon *d, const struct sim_asked *a,
                     const struct reply *reply);
void oracle_repeats(struct sim_world *w, const struct sim_daemon *d, uint32_t tok, uint32_t to);
void oracle_refused(struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
/* oracle_heal.c: healing, and which "extended" count */
void oracle_sends_heal(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok);
void oracle_ran_heal(struct sim_world *w, struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote);
void oracle_heard_extend(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg);
void oracle_told_extended(struct sim_world *w, struct sim_daemon *d, uint32_t tok);
/* oracle_stall.c: hosts whose clock stands still */
int64_t oracle_believes_us(const struct sim_world *w,
                           const struct sim_tok *t); /* true time until which its holder believes in it */
void oracle_told_by(struct sim_world *w, uint32_t tok, uint32_t session);
void oracle_stalls(struct sim_world *w, struct sim_daemon *d, int64_t for_us);
void oracle_stall_shows(struct sim_world *w, struct sim_daemon *d, const struct sim_msg *msg);
void oracle_measured(struct sim_world *w, uint32_t session);
void oracle_stall_hello(struct sim_world *w, struct sim_daemon *d, uint32_t number);
void oracle_stall_over(struct sim_world *w, struct sim_daemon *d, uint32_t number);
void oracle_drift_seen(struct sim_world *w, const struct sim_master *m, uint32_t fault);
void oracle_behind(struct sim_world *w, struct sim_daemon *d, int64_t stall_ms);
void oracle_hears_behind(struct sim_world *w, unsigned client, unsigned daemon, int64_t by_ms);
/* oracle_turns.c: waiters of several daemons */
/* whether all slots of the name are held, or the name itself */
bool oracle_full(struct sim_world *w, unsigned name);
void oracle_turn(struct sim_world *w, const struct sim_daemon *d, unsigned name);
void oracle_key_ends(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote);
void oracle_joined(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg);
void oracle_was_free(struct sim_world *w, unsigned name, int64_t asked_us, bool shared);
void oracle_writer_gone(struct sim_world *w, const struct sim_asked *a); /* its request is over */
void oracle_has_waited(struct sim_world *w, uint32_t request, bool granted);
void oracle_crowd_asks(struct sim_world *w, const struct sim_daemon *d, struct sim_asked *a);
void oracle_crowd_answered(struct sim_world *w, const struct sim_asked *a, bool granted);
/* oracle_busy.c: -BUSY */
void oracle_busy_sent(struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
void oracle_busy_heard(struct sim_world *w, const struct sim_daemon *d, const struct sim_msg *msg);
void oracle_busy(struct sim_world *w, const struct sim_daemon *d, uint32_t request,
                 const struct reply *reply);
bool oracle_is_unaware(struct sim_world *w, const struct sim_daemon *d, unsigned name);
/* oracle_marker.c: what the markers say, and what a handshake finds */
void oracle_marker_heard(struct sim_daemon *d, const struct sim_world *w, const struct sim_msg *msg);
/* The masters whose markers differ, as the daemon read them last. */
uint16_t oracle_differing(const struct sim_daemon *d);
void oracle_marker_granted(struct sim_world *w, const struct sim_daemon *d, unsigned name);
void oracle_marker_extends(struct sim_world *w, const struct sim_daemon *d, const struct action *action,
                           uint32_t tok);
void oracle_marker_ran(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg);
/* The daemon has the master in quarantine. */
void oracle_kept_out(struct sim_world *w, const struct sim_daemon *d, unsigned master, enum master_why why);
void oracle_lacking(struct sim_world *w, const struct sim_daemon *d, unsigned master,
                    enum master_state state);
/* oracle_told.c: what holders tell; a request with data= gets its own number as what is told */
void oracle_tells(struct request *what, uint32_t request);
uint32_t oracle_teller(const struct data *data); /* that request */
void oracle_ran_told(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg);
void oracle_told_granted(struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
/* oracle_watch.c */
void oracle_watch_told(struct sim_world *w, const struct sim_daemon *d, uint32_t session, unsigned name,
                       const struct now *now);
void oracle_watch_ran(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg);
void oracle_watch_broke(struct sim_world *w, unsigned name);
void oracle_watchers(struct sim_world *w); /* where all is well */
/* oracle_kept.c: names that are kept though nobody holds them */
bool oracle_is_mark(const struct sim_world *w, uint32_t tok);
bool oracle_is_kept(const struct sim_world *w, unsigned name);
void oracle_sends_keep(struct sim_world *w, struct sim_daemon *d, const struct action *action, uint32_t tok);
void oracle_extends_kept(struct sim_world *w, const struct sim_daemon *d, const struct action *action,
                         uint32_t tok);
void oracle_kept_healed(struct sim_world *w, const struct sim_master *m, uint32_t tok);
void oracle_ran_kept(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg);
void oracle_kept(struct sim_world *w, const struct sim_daemon *d, const struct reply *reply,
                 const struct sim_asked *asked);
void oracle_kept_granted(struct sim_world *w, const struct sim_daemon *d, unsigned name, uint32_t tok);
void oracle_heals_kept(struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
void oracle_drops_kept(struct sim_world *w, const struct sim_daemon *d, uint32_t tok);
/* oracle_cut.c: keys that live longer than any lock may */
void oracle_ran_long(struct sim_world *w, const struct sim_master *m, const struct sim_msg *msg,
                     const struct vote *vote);
/* oracle_keys.c */
void oracle_gives_back(struct sim_world *w, struct sim_daemon *d, uint32_t tok);
/* At the end of a step: a release may go out in several pieces, natively and by script, and its marks follow all of
 * them. */
void oracle_send_marks(struct sim_world *w);
/* sim_native.c: before and after the daemon's step that hears a master's answer. */
void oracle_native_heard(struct sim_world *w, const struct sim_msg *msg);
void oracle_native_stepped(struct sim_world *w, struct sim_daemon *d, unsigned master);
bool oracle_is_ours(const struct sim_tok *t, const struct sim_daemon *d);
void oracle_session_over(struct sim_world *w, uint32_t session, bool given_up);

/* what clients believe */
void oracle_holds(struct sim_world *w, unsigned client, uint32_t session, uint32_t tok, int64_t until_us);
void oracle_gives_up(struct sim_world *w, unsigned client, uint32_t tok); /* the client claims tok no more */
void oracle_hears_lost(struct sim_world *w, unsigned client, uint32_t tok);
void oracle_slept(struct sim_world *w, unsigned daemon, int64_t for_us);
bool oracle_held(struct sim_world *w, unsigned name);

/* the second phase */
void oracle_waiters(struct sim_world *w);
void oracle_quiet(struct sim_world *w);

#endif
