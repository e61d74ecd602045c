/* Coordinator traces. A test says what happens and what the coordinator must do about it:
 *
 *     start(5);
 *     ask(1, "LOCK job ttl=10s");
 *     EXPECT("m0-4 SET job T1 10000", "m0-4 ZADD job 1000007");
 *     vote("0-2", "SET YES, ZADD YES");
 *     EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
 *
 * Time moves only by at() and at_without_work(). A master answers its commands in their order, as on a real
 * connection: a vote for any command but the oldest fails the test. Each step also checks the coordinator's
 * own invariants and these rules: only one attempt sets a token; lock commands go only to masters that may
 * have them; a name's fence grows; no request gets two replies; an ended session is told nothing. A failed
 * test prints its trace since start().
 *
 * Actions as text, in which * stands for anything (Tn: the n-th token that was seen):
 *
 *     m0,2-4 SET <name> <token> <ttl>        m0-4 RELEASE|CHECK <name> <token>
 *     m0-4 ZADD <name> <score>               m0-4 EXTEND <name> <token> <ttl>
 *     m0-4 ZSCORE|GET <name>                 m0-4 ENQUEUE <name> <waited ms>
 *     m0-4 RELEASE <name> <token> WAKE[ STAY]  m0-4 PASS|ALONG|DEQUEUE <name>
 *     m0-4 SHARE <name> <token> <ttl>        m0-4 ENQUEUE <name> <waited ms> READER
 *     m0-4 LETTER <name> <token>             m0-4 RELEASE <list> <token> LETTER
 *     m0-4 RELEASE_DELEX|RELEASE_DELIFEQ <name> <token>
 *     m0-4 LOOK <name> <slots>[ JOIN]
 *     m0-4 DATA <name> <token> <fence> <text>  m0-4 ADOPT <name> <token> <fence> <old token>
 *     m0-4 DOWN <name> <token>|<other> <to> <ttl>
 *     m0 CLIENT_ID | INFO | KILL <id>
 *     s<session> #<request> <line>           s<session> <notice>
 *     s<session> ended                       close m0 silent|backlog|handshake */
#ifndef REDLOCKD_TESTS_TRACE_H
#define REDLOCKD_TESTS_TRACE_H

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"
#include "tests/unit/suite.h"

extern struct coordinator_config config; /* a test changes it before start() */
extern struct peer trace_peer;           /* the peer of all requests; number 0 at the start */
extern struct coordinator *core;
extern int64_t now;                      /* ms; 1000 at the start; the wall clock says now * 1000 + 7 us */
extern int64_t wall_offset_us;           /* is added to the wall clock */
extern int64_t trace_rtts_us[MASTERS];   /* each master's round trip, as told with its TIME */
extern struct master_info info[MASTERS]; /* the words that INFO will say: up for long, a run_id of its own */

/* A master's clock and the group's key on it. While show_probes is false, the trace itself answers TIME,
 * GROUP, PROBE and the commands that write the key, as soon as all commands before them are answered; EXPECT
 * does not see them. */
struct marker {
    int64_t clock_ms; /* the master's TIME is now + clock_ms */
    bool there;
    struct group group;
};
extern struct marker markers[MASTERS];
extern bool show_probes;
extern bool show_letters; /* false: the trace answers LETTER, and EXPECT does not see it */
/* The native commands that the master knows: bit 0 DELEX, bit 1 DELIFEQ, bit 2 IFEQ, bit 3 MSETEX. The trace answers the questions. */
extern unsigned trace_natives[MASTERS];
extern bool show_tries; /* TRY is seen as well; else masters have all that it asks for */

/* Each trace begins with these settings and without a coordinator, and ends with no action left. */
void trace_setup(void);
void trace_teardown(void);
SETUP(trace_setup, trace_teardown);

/* ---- what happens ---- */

void start(unsigned masters); /* all masters are connected and up */
void start_alone(unsigned masters);
/* A new connection; its client id is 100 * (master + 1) + its number. */
void dial(unsigned master);
void shake(unsigned master); /* answers the handshake */
void reach_all(void);        /* dials each master, and answers its handshake */
/* Time comes to ms, a second a step, and the connected masters answer what they are asked: INFO. */
void handshakes_until(int64_t ms);
/* A daemon with this N and max_ttl writes the group's key. The master may vote from from_ms, on its own clock. */
void marker_set(unsigned master, unsigned masters, int64_t max_ttl_ms, int64_t from_ms);
/* Writes the group's key as a daemon does that has just started and never knew this master: the master may
 * vote from now on. */
void newcomer_writes(unsigned master);
void lose(unsigned master);
void backlog(unsigned master);
/* Loses the connection; the master is empty and has another run_id at the next one. */
void restart(unsigned master, int64_t uptime_s);

/* vote("0,2-4", "SET YES, ZADD NO"): each of these masters answers its oldest commands with YES, NO,
 * NO:<place>, HEARD, HEARD:<ms>, HEARD:<ms>:marked or HEARD:<ms>:kept, UNHEARD, 0110 (to LOOK: the slots with a key; 1111h: all heard; 0110n8: of 8),
 * a number, OK (to CLIENT_ID, INFO, TIME, GROUP ...), Tn, X or Y (to GET), NOT_RUN, or an error:
 * OOM, READONLY, ... */
void vote(const char *masters, const char *votes);
/* hears("0-1", "woke job"): on its channel at each of these masters the daemon hears "woke <name>", "late
 * <name>" or "told <name>", or "letter <name>", or it "listens" there from now on, or is "deaf". */
void hears(const char *masters, const char *what);
unsigned unanswered(unsigned master);
const char *unanswered_verb(unsigned master); /* the oldest unanswered command's; "": none */

/* Time comes to ms, and all work that is due until then is done. */
void at(int64_t ms);
/* Time comes to ms and no work is done, as if the daemon slept, or had events to read first. */
void at_without_work(int64_t ms);
void work(void);      /* does all that is due now */
void work_once(void); /* does one step of that work */
/* The number that the random bytes give from now on: a delay of low to high is low + number % (high - low
 * + 1). */
void chance(uint64_t number);

/* In the line token=Tn stands for a token that was seen, token=X and token=Y for two strangers' tokens.
 * Returns the request's number. */
uint64_t ask(uint64_t session, const char *line);
uint64_t cancel(uint64_t session, uint64_t request);
void finish(uint64_t session);
void release(uint64_t session);
void drop(uint64_t session);
void undelivered(uint64_t session, uint64_t request);
/* A right was taken away: to the lock that the session has, or to what it waits for. */
void deny_lock(uint64_t session, const char *name, const char *token);
void deny_wait(uint64_t session, uint64_t request);
void deny_session(uint64_t session); /* its client may not be here any more */
void drain(void);

/* All masters grant the lock; the actions on the way are forgotten. */
void grant(uint64_t session, const char *line);

/* ---- what must have come of it ---- */

/* All actions since the last EXPECT, in order, and no other. */
#define EXPECT(...)      trace_expect(__FILE__, __LINE__, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_NOTHING() trace_expect(__FILE__, __LINE__, (const char *const[]){NULL})
void trace_expect(const char *file, int line, const char *const *actions);

/* The last action since the last EXPECT; the others do not matter. */
#define EXPECT_LAST(action) trace_expect_last(__FILE__, __LINE__, action)
void trace_expect_last(const char *file, int line, const char *action);

/* "up", "quarantine restart left=60602 undo=1": the state, its reason, and each figure that is not 0. */
#define EXPECT_MASTER(master, text) trace_expect_master(__FILE__, __LINE__, master, text)
void trace_expect_master(const char *file, int line, unsigned master, const char *text);

/* Asserts that for an hour nothing but probes is sent. */
#define EXPECT_REST() (at(now + 3600000), trace_expect(__FILE__, __LINE__, (const char *const[]){NULL}))

/* The coordinator's next deadline. */
#define EXPECT_DEADLINE(ms) trace_expect_deadline(__FILE__, __LINE__, ms)
void trace_expect_deadline(const char *file, int line, int64_t ms);

void forget(void); /* drops the actions so far */

#endif
