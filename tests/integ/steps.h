/* Two daemons whose masters change from generation to generation while they run, and who takes locks meanwhile. */
#ifndef REDLOCKD_TESTS_STEPS_H
#define REDLOCKD_TESTS_STEPS_H

#include "tests/integ/only.h"

/* Every setting but the group's: a short max_ttl makes the steps short. */
#define STEPS_CONF "restart_guard: on\ndefault_ttl: 1500ms\nmin_ttl: 500ms\nnode_timeout: 250ms\n"

enum { DAEMONS = 2, STEPS_MS = 60000, STEPS_TTL_S = 2 };

extern struct daemon daemons[DAEMONS];
extern struct client clients[DAEMONS];

/* "nodes: [...]" of these masters, by their digits; '-' is a vacant place. */
const char *steps_list(const char *key, const char *digits);
void steps_configure(unsigned i, unsigned generation, const char *digits, const char *before,
                     unsigned max_ttl_s);

/* Starts `count` servers, and daemons on those of them that are named, at generation 0. */
void steps_begin(unsigned count, const char *digits, enum transport transport);
/* The same, at generation 1 from the first: the servers have never heard of another. */
void steps_begin_at_one(unsigned count, const char *digits);
void steps_run(unsigned i);
void steps_run_with(unsigned i, const char *option);
void steps_stop(unsigned i);
void steps_kill(unsigned i);
void steps_hup(unsigned i); /* returns when the daemon has read its file */
void steps_reload(unsigned i, unsigned generation, const char *digits, const char *before);
/* All files are written before the first daemon reads its own. */
void steps_reload_all(unsigned generation, const char *digits, const char *before, unsigned max_ttl_s);
void steps_restart(unsigned i, unsigned generation, const char *digits, const char *before);

const char *steps_row(unsigned i); /* SHOW GROUP */
/* Whether each word of these is in the row: "step=1 why=daemon host=...", where "..." is any value. */
bool steps_shows(unsigned i, const char *words);
bool steps_are_steady(unsigned step);
bool steps_have_master(unsigned i, unsigned master);
/* Whether the daemon's log has it; if not, the log is shown. */
void steps_logged(unsigned i, const char *text);

/* Both daemons take a lock and give it back; neither is refused. */
void steps_grant(void);
extern unsigned steps_granted; /* so often each of them has done so */
/* Both take and give back locks until the condition holds. */
#define steps_grants_until(condition)                                                                   \
    do {                                                                                                \
        for (int64_t end_ms_ = now_ms() + STEPS_MS; !(condition); nap()) {                              \
            if (now_ms() > end_ms_)                                                                     \
                fail_at(__FILE__, __LINE__, "never: %s\n%s%s", #condition, steps_row(0), steps_row(1)); \
            steps_grant();                                                                              \
        }                                                                                               \
    } while (0)

#endif
