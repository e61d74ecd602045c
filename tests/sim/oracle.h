/* The oracle: it sees everything in true time and says when a promise was broken.
 *
 * Invariants, by their numbers in a report:
 *   1  two holders of one name believe at once
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
 * (10 belongs to locks of several names, which do not exist yet.) */
#ifndef SIM_ORACLE_H
#define SIM_ORACLE_H

#include <stdbool.h>
#include <stdint.h>

#include "proto/command.h"
#include "tests/sim/plan.h"

enum { ORACLE_HOLDERS = 16, ORACLE_FENCES = 128, TOK_TABLE = 1 << 17, ORACLE_OUTSTANDING = 256 };

/* A token and all that is true of it. Index 0 is none. */
struct tok {
    struct token token;
    uint8_t name, daemon;
    bool granted;  /* +LOCKED was said */
    bool given_up; /* somebody who may has asked for its release, or its session ended */
    bool released; /* its daemon sent a release */
    bool lease;
    bool forgotten;   /* its daemon has no record of it: past its deadline, or said to be lost */
    bool owed;        /* released while its daemon knew it: where that is not acknowledged, again later */
    uint16_t sent;    /* masters that its SET was sent to */
    uint16_t yes;     /* ... that said yes, as the daemon heard */
    uint16_t valid;   /* ... and whose memory was old enough when they did */
    uint16_t blocked; /* ... where a release did not run */
    uint16_t ran;     /* ... where one did */
    uint32_t incarnation, session, request;
    uint32_t conn[SIM_MASTERS];  /* that the SET went by: index + 1 */
    uint32_t epoch[SIM_MASTERS]; /* in which the yes was said */
    uint32_t session_next;       /* next token of its session */
    uint64_t fence;
    int64_t released_us;
    int64_t told_ms;   /* deadline, on its daemon's clock, as that said it last */
    int64_t ends_ms;   /* max=, on its daemon's clock; 0: none */
    int64_t until_us;  /* true time until which somebody believes; 0: nobody */
    uint32_t believer; /* client + 1 */
};

/* Which masters stored a fence that one daemon proposed. */
struct fence_acks {
    uint32_t bucket;
    uint64_t number;
    uint16_t valid;
    uint32_t epoch[SIM_MASTERS];
};

enum { SESSION_OPEN, SESSION_FINISHING, SESSION_OVER, SESSION_ENDED };

struct session {
    uint8_t client, daemon, state;
    bool remote;      /* its client reads another clock than its daemon */
    bool client_gone; /* the client closed its end */
    uint32_t incarnation, unanswered;
    uint32_t toks;              /* its locks: chain of tokens */
    int64_t hello_sent_us;      /* on the client's clock */
    int64_t hello_now_ms;       /* on the daemon's */
    uint32_t first[2], last[2]; /* messages on their way: index + 1 */
};

struct asked { /* a request */
    uint8_t verb, daemon, name;
    bool reentry, answered, cancelled, undelivered, lease;
    uint32_t session, tok, incarnation;
    int64_t wait_ms, max_ms;
};

struct oracle {
    struct tok *tok;
    uint32_t toks, tok_capacity;
    uint32_t *tok_table;
    struct session *session;
    uint32_t sessions, session_capacity;
    struct asked *asked;
    uint32_t asks, ask_capacity;
    uint32_t holder[SIM_NAMES][ORACLE_HOLDERS];
    unsigned holders[SIM_NAMES];
    uint64_t fence[SIM_NAMES];
    uint32_t fence_tok[SIM_NAMES];
    struct fence_acks fences[SIM_DAEMONS][ORACLE_FENCES];
    unsigned fence_next[SIM_DAEMONS];
    /* LOCKs without an answer, in order of arrival */
    uint32_t outstanding[SIM_DAEMONS][ORACLE_OUTSTANDING];
    unsigned outstandings[SIM_DAEMONS];
    int64_t served_us[SIM_NAMES]; /* last grant or last time that nobody waited, in the second phase */
    uint64_t grants, requests;
};

struct world;
struct msg;
struct conn;
struct sim_master;
struct sim_daemon;
struct action;

void oracle_begin(struct world *w);
uint32_t oracle_tok(struct world *w, const struct token *token, unsigned name);
uint32_t session_new(struct world *w, unsigned client, unsigned daemon);
uint32_t asked_new(struct world *w, uint32_t session, unsigned verb, unsigned name);

/* what it is told of, each when it happens */
enum mark { MARK_RELEASED, MARK_SETTLED };
void oracle_send(struct world *w, struct sim_daemon *d, const struct action *action, uint32_t tok);
void oracle_runs(struct world *w, struct sim_master *m, const struct msg *msg, uint32_t before);
void oracle_ran(struct world *w, struct sim_master *m, const struct msg *msg, uint32_t before,
                struct vote *vote);
void oracle_memory(struct world *w);                /* a master's memory changed otherwise */
void oracle_covers(struct world *w, unsigned name); /* invariant 2 of the holders of a name */
void oracle_mark(struct world *w, struct sim_master *m, const struct msg *msg);
void oracle_heard(struct world *w, struct sim_daemon *d, const struct msg *msg);
void oracle_asked(struct world *w, struct sim_daemon *d, uint32_t request);
void oracle_replied(struct world *w, struct sim_daemon *d, const struct action *action);
void oracle_noticed(struct world *w, struct sim_daemon *d, const struct action *action);
void oracle_daemon_gone(struct world *w, struct sim_daemon *d);
void oracle_session_over(struct world *w, uint32_t session, bool given_up);

/* what clients believe */
void oracle_holds(struct world *w, unsigned client, uint32_t tok, int64_t until_us);
void oracle_gives_up(struct world *w, unsigned client, uint32_t tok); /* sends a release, or dies */
void oracle_hears_lost(struct world *w, unsigned client, uint32_t tok);
void oracle_slept(struct world *w, unsigned daemon, int64_t for_us);
bool oracle_held(struct world *w, unsigned name);

/* the second phase */
void oracle_waiters(struct world *w);
void oracle_quiet(struct world *w);

#endif
