/* The parts of `redlock run`.
 *
 *     a shell --- redlock run --- guard --- CMD          CMD leads a process group of its own. All that
 *                                   |        +- ...      descends from the guard is the family: it ends with
 *                                   +- ...   +- ...      the lock.
 *
 * The guard starts the command, tells us what becomes of it, and inherits its orphans (it is a subreaper,
 * see prctl(2)). It sleeps until the lock's deadline, and does what we would, should we be stopped or held
 * up in the kernel then. When we are killed, it kills the family. It has the connection to redlockd open,
 * too, so that the lock ends behind the family, not before it. When the guard is killed, we inherit the
 * family, and end it. */
#ifndef REDLOCK_RUN_H
#define REDLOCK_RUN_H

#include <sys/types.h>

#include "client/redlock_cmd.h"

/* ---- redlock_family.c ---- */

struct family {
    pid_t root;  /* whose descendants they are: the guard, or we when the guard has ended */
    pid_t group; /* the command's own; 0: nobody is left in it */
    bool whole;  /* with those that left the session */
    bool spares; /* other redlocks, which hold locks of what is below them: they are stopped instead */
};

/* Before anything of ours is started: the children that we have already do not belong to it. */
void family_begin(void);
/* Sends the signal (0: none) to all of the family, and says how many of it were alive. UINT_MAX: /proc
 * cannot be read; the group had its signal. */
unsigned family_signal(const struct family *family, int signal);
bool family_is_stopped(const struct family *family);
/* Whether our own process group has others than us and those above us, as in a pipeline. */
bool family_has_siblings(void);

/* ---- redlock_guard.c ---- */

struct guard {
    pid_t pid; /* -1: it has ended, and was waited for */
    int fd;    /* -1: the same */
};
/* The guard's word on what became of the command. */
struct report {
    int code, status; /* si_code and si_status of waitid(2) */
    bool overdue;     /* the deadline came, and the guard has killed the family */
};
/* The command that the guard starts, and what the guard needs for it. */
struct start {
    char *const *argv;
    const struct terminal *terminal;
    bool foreground;
    int connection;  /* to redlockd */
    int64_t kill_ms; /* as guard_set() has it */
};

/* With the command, whose pid it returns. -1: said why. */
pid_t guard_start(struct guard *guard, const struct start *start);
/* From that instant on the family is killed; INT64_MAX: never. Killed too when this process is gone. */
void guard_set(const struct guard *guard, int64_t kill_ms);
/* Another connection to redlockd, to be open until the family has ended; -1: there is none. */
void guard_keep(const struct guard *guard, int connection);
/* The next report; false: there is none now. With guard->fd < 0 the guard was killed. */
bool guard_hear(struct guard *guard, struct report *report);
void guard_wake(const struct guard *guard); /* where somebody stopped it */
void guard_end(struct guard *guard);        /* it ends, and kills nobody */

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

/* Starts the command, in a process group of its own that has the terminal if `foreground`. When the caller
 * is gone, it is killed. -1: errno says why. */
pid_t child_start(char *const argv[], const struct terminal *terminal, bool foreground);

/* ---- redlock_watch.c ---- */

/*   running --CMD ended--> lingering --others go on--> ending --SIGTERM was not enough--> killing
 *     | |                      |                        ^ |                               ^   |
 *     | +---- the deadline is --grace away -------------+ |                               |   |
 *     | |                      |                          |                               |   |
 *     | +------ lost, or the deadline is here, or the guard was killed -------------------+   |
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
    char *const *argv;
    char *shell[4]; /* the argv that --command stands for; shell[0] NULL: --command was not given */
    struct redlock *redlock;
    struct redlock_lock *lock;
    int signals, timer;
    struct guard guard;
    int64_t guarded_ms; /* what the guard knows; 0: nothing */
    int64_t until_ms;   /* the deadline, when we looked last, or as it was granted */
    bool earlier;       /* it came before the one that we knew until then */
    struct terminal terminal;
    bool foreground; /* the command is to have the terminal whenever we have it */
    pid_t pid; /* the command and its group; not waited for before all is over, so that the number stays */
    struct family family;
    bool unguarded; /* the guard was killed */
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
int64_t run_kill_ms(const struct run *run,
                    int64_t until_ms); /* when the guard kills: a little after redlock would */

#endif
