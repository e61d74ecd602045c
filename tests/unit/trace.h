/* Coordinator traces. A test says what happens and what the coordinator must do about it:
 *
 *     start(5);
 *     ask(1, "LOCK job ttl=10s");
 *     EXPECT("m0-4 SET job T1 10000", "m0-4 ZADD job 1000007");
 *     vote("0-2", "SET YES, ZADD YES");
 *     EXPECT("s1 #1 +LOCKED job token=T1 fence=1000007 valid=9897 until=10897");
 *
 * Time stands still but for at(). Votes come in the order of the commands, as on a real
 * connection: to answer another command than a master's oldest fails. After each step the
 * coordinator's own invariants are checked, and: a token is set by one attempt only; lock commands go
 * only to masters that may have them; a name's fence grows; one reply a request; nothing is
 * said to a session that has ended. A test that fails prints its whole trace.
 *
 * Actions as text, in which * stands for anything (Tn: the n-th token that was seen):
 *
 *     m0,2-4 SET <name> <token> <ttl>        m0-4 RELEASE|CHECK <name> <token>
 *     m0-4 ZADD <name> <score>               m0-4 EXTEND <name> <token> <ttl>
 *     m0-4 ZSCORE|GET <name>                 m0-4 WANT <name> <ms>
 *     m0-4 RELEASE <name> <token> ASK        m0 CLIENT_ID | INFO | KILL <id>
 *     s<session> #<request> <line>           s<session> <notice>
 *     s<session> ended                       close m0 silent|backlog|handshake */
#ifndef REDLOCKD_TESTS_TRACE_H
#define REDLOCKD_TESTS_TRACE_H

#include <check.h>

#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"

static struct coordinator_config config; /* change it before start() */
static struct coordinator *core;
static int64_t now;                      /* ms; 1000 at the start; the wall clock says now * 1000 + 7 us */
static int64_t wall_offset_us;           /* ... and this more */
static struct master_info info[MASTERS]; /* what INFO will say: up for long, a run_id of its own */

/* A master's clock and the group's key on it. Until show_probes is set, TIME, GROUP, PROBE and the key's writes are
 * answered from here as soon as all before them is answered, and no EXPECT sees them. */
static struct marker {
    int64_t clock_ms; /* its TIME is now + this */
    bool there;
    struct group group;
} markers[MASTERS];
static bool show_probes;

static inline void trace_setup(void); /* a checked fixture, both of them */
static inline void trace_teardown(void);
static inline int trace_run(const char *suite, const TTest *const *tests); /* main(); NULL ends the list */

/* ---- what happens ---- */

static inline void start(unsigned masters); /* all of them connected and up */
static inline void start_alone(unsigned masters);
/* A new connection; its client id is 100 * (master + 1) + its number. */
static inline void dial(unsigned master);
static inline void shake(
    unsigned master); /* answers the handshake; as OK does: CLIENT_ID, INFO, TIME, GROUP ... */
static inline void lose(unsigned master);
static inline void backlog(unsigned master);
static inline void restart(unsigned master,
                           int64_t uptime_s); /* lose, and empty, with another run_id the next time */

/* vote("0,2-4", "SET YES, ZADD NO"): each of these masters answers its oldest commands.
 * YES, NO, WANTED, a number, OK (CLIENT_ID, INFO), Tn, X or Y (GET), NOT_RUN, or an error:
 * OOM, READONLY, ... */
static inline void vote(const char *masters, const char *votes);
static inline unsigned unanswered(unsigned master);

/* Time comes to ms; what is due until then, and then, is done ... */
static inline void at(int64_t ms);
/* ... or not, as if the daemon slept, or had events to read first. */
static inline void at_without_work(int64_t ms);
static inline void work(void);      /* what is due now */
static inline void work_once(void); /* one step of it */
/* Drawn from now on: a delay of low to high becomes low + number % (high - low + 1). */
static inline void chance(uint64_t number);

/* token=Tn is one that was seen, token=X a stranger's, and Y another's. Returns the request's number. */
static inline uint64_t ask(uint64_t session, const char *line);
static inline uint64_t cancel(uint64_t session, uint64_t request);
static inline void finish(uint64_t session);
static inline void release(uint64_t session);
static inline void drop(uint64_t session);
static inline void undelivered(uint64_t session, uint64_t request);
static inline void drain(void);

/* A whole grant by all masters; what was said on the way is forgotten. */
static inline void grant(uint64_t session, const char *line);

/* ---- what must have come of it ---- */

/* All actions since the last EXPECT, in order, and no other. */
#define EXPECT(...)      trace_expect(__FILE__, __LINE__, (const char *const[]){__VA_ARGS__, NULL})
#define EXPECT_NOTHING() trace_expect(__FILE__, __LINE__, (const char *const[]){NULL})
static inline void trace_expect(const char *file, int line, const char *const *actions);

/* The last of them; the others are of no interest. */
#define EXPECT_LAST(action) trace_expect_last(__FILE__, __LINE__, action)
static inline void trace_expect_last(const char *file, int line, const char *action);

/* "up", "quarantine restart left=60602 undo=1": state, why, and what is not 0. */
#define EXPECT_MASTER(master, text) trace_expect_master(__FILE__, __LINE__, master, text)
static inline void trace_expect_master(const char *file, int line, unsigned master, const char *text);

/* Nothing is left to be done, but for the probes. */
#define EXPECT_REST() (at(now + 3600000), trace_expect(__FILE__, __LINE__, (const char *const[]){NULL}))

/* The coordinator's next deadline. */
#define EXPECT_DEADLINE(ms) trace_expect_deadline(__FILE__, __LINE__, ms)
static inline void trace_expect_deadline(const char *file, int line, int64_t ms);

static inline void forget(void); /* the actions so far are of no interest */

#include "tests/unit/trace_text.h"

#include "tests/unit/trace_steps.h"

#include "tests/unit/trace_events.h"

#endif
