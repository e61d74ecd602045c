/* The faults and their times, drawn from the seed beforehand: one seed is one plan. The kernel's
 * scheduler decides what comes of it. */
#ifndef CHAOS_PLAN_H
#define CHAOS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

enum { MASTERS = 5, ALL_DAEMONS = 255, FAULTS_PLANNED = 1 << 14 };

#define FAULT_LIST(X)                                                                            \
    X(DELAY, "delay", 16)                                                                        \
    X(CUT, "cut", 8)                                                                             \
    X(CUT_REQUESTS, "cut-requests", 6)                                                           \
    X(CUT_REPLIES, "cut-replies", 8)                                                             \
    X(THROTTLE, "throttle", 6)                                                                   \
    X(RESET, "reset", 8)                                                                         \
    X(ORPHAN, "orphan",                                                                          \
      8) /* requests are held, the daemon's side is reset, then the requests arrive after all */ \
    X(MASTER_STOP, "master-stop", 10)                                                            \
    X(MASTER_KILL, "master-kill", 3) /* the master comes back empty */                           \
    X(MAJORITY_KILL, "majority-kill", 1)                                                         \
    X(ROLLING, "rolling", 1) /* all masters, one after the other, a renewal apart */             \
    X(DAEMON_STOP, "daemon-stop", 6)                                                             \
    X(DAEMON_KILL, "daemon-kill", 3)                                                             \
    X(DAEMON_TERM, "daemon-term", 1)                                                             \
    X(CLIENT_STOP, "client-stop", 14)                                                            \
    X(CLIENT_KILL, "client-kill", 10)                                                            \
    X(BREAK, "break", 10) /* an operator breaks the lock of a name */

enum fault_kind {
#define FAULT_ENUM(id, name, weight) FAULT_##id,
    FAULT_LIST(FAULT_ENUM)
#undef FAULT_ENUM
        FAULT_KINDS
};

struct fault {
    int64_t at_us; /* from the start */
    int64_t for_us;
    int64_t value; /* DELAY, ORPHAN: µs; THROTTLE: bytes/s; MAJORITY_KILL: modulo 3, how many more than 3;
                    * BREAK: the name */
    enum fault_kind kind;
    unsigned master; /* links, masters */
    unsigned daemon; /* links, daemons; links: or ALL_DAEMONS */
    unsigned client;
};

const char *fault_name(enum fault_kind kind);
/* The number of a name; FAULT_KINDS: there is none. */
enum fault_kind fault_named(const char *name);
/* Fills list in order of time, up to length_us; kinds: bit i allows kind i. Returns the number of faults.
 * spare: the faults of masters fall on one master at a time, as a step between two sets of masters spares one. */
unsigned plan_make(struct fault *list, uint64_t seed, int64_t length_us, uint32_t kinds, unsigned daemons,
                   unsigned clients, bool spare);

#endif
