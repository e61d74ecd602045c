/* The parts of `redlock run`.
 *
 *     a shell --- redlock run --- CMD            CMD leads a process group of its own. Group, and whoever of
 *                     |            +- ...        the session became our child when its parent ended, are the
 *                     +- guard     +- ...        family: it ends with the lock.
 *
 * The guard is a child in a session of its own. It sleeps until the lock's deadline, and does what we
 * would, should we be stopped, killed, or held up in the kernel then. */
#ifndef REDLOCK_RUN_H
#define REDLOCK_RUN_H

#include <sys/types.h>

#include "client/redlock_cmd.h"

/* ---- redlock_family.c ---- */

/* Before anything of ours is started: the children that we have already do not belong to it. */
void family_begin(void);
/* Sends the signal (0: none) to all of the family, and says how many of it were alive. UINT_MAX: /proc
 * cannot be read; the group had its signal. */
unsigned family_signal(pid_t group, int signal);
bool family_is_stopped(pid_t group);
/* Whether our own process group has others than us and those above us, as in a pipeline. */
bool family_has_siblings(void);

/* ---- redlock_guard.c ---- */

struct guard {
    pid_t pid; /* -1: it has ended, and was waited for */
    int fd;
};
/* False: said why. */
bool guard_start(struct guard *guard);
/* From that instant on the group is killed; INT64_MAX: never. Killed too when this process is gone. */
void guard_set(const struct guard *guard, pid_t group, int64_t kill_ms);
/* By the command's process before it becomes the command: we may be gone before we could. */
void guard_tell(const struct guard *guard);
void guard_end(struct guard *guard); /* it ends, and kills nobody */

/* ---- redlock_terminal.c ---- */

struct terminal {
    int fd; /* -1: there is none */
};
void terminal_open(struct terminal *terminal);
bool terminal_is_ours(const struct terminal *terminal); /* our group is in the foreground */
bool terminal_is_of(const struct terminal *terminal, pid_t group);
void terminal_give(const struct terminal *terminal, pid_t group);
void terminal_take(const struct terminal *terminal, pid_t group); /* from that group, if it has it */

/* ---- redlock_child.c ---- */

/* Starts the command, in a process group of its own that has the terminal if `foreground`. When we are
 * gone, it is killed. -1: said why. */
pid_t child_start(char *const argv[], const struct guard *guard, const struct terminal *terminal,
                  bool foreground);
/* ---- redlock_watch.c ---- */

/*   running --CMD ended--> lingering --others go on--> ending --SIGTERM was not enough--> killing
 *     | |                      |                        ^ |                               ^   |
 *     | +---- the deadline is --grace away -------------+ |                               |   |
 *     | |                      |                          |                               |   |
 *     | +------------- lost, or the deadline is here -----+-------------------------------+   |
 *     |                        |                          |                                   |
 *     +---- nobody is left ----+--------------------------+-----------------------------------+--> over */
enum run_state { RUN_RUNNING, RUN_LINGERING, RUN_ENDING, RUN_KILLING, RUN_OVER };

static inline int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

struct run {
    struct take take;
    const char *address;
    int64_t grace_ms;   /* SIGTERM comes as long before the deadline; -1: not given */
    int64_t margin_ms;  /* and SIGKILL */
    int64_t span_ms;    /* how long the lock was valid when it was granted */
    int64_t max_end_ms; /* when --max is over; 0: never */
    char **argv;
    struct redlock *redlock;
    struct redlock_lock *lock;
    int signals, timer;
    struct guard guard;
    int64_t guarded_ms; /* what the guard knows; 0: nothing */
    struct terminal terminal;
    bool foreground; /* the command is to have the terminal whenever we have it */
    pid_t pid; /* the command and its group; not waited for before all is over, so that the number stays */
    enum run_state state;
    int64_t next_ms;                /* ENDING: when the next state comes */
    int64_t looked_ms, lingered_ms; /* LINGERING: when we looked last, and for how long it lasts */
    bool ended;
    int code;   /* the command's */
    int signal; /* that it ended by; 0: it ended by itself */
    bool lost;
    char why[32];
    int64_t killing_ms; /* KILLING: since when */
    bool told;          /* that some of it cannot be killed */
};

/* Until the command and all of its family are gone. */
void run_watch(struct run *run);

#endif
