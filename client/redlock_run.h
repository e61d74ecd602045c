/* The parts of `redlock run`.
 *
 *     a shell --- redlock run --- guard --- CMD          CMD leads a process group of its own. All that
 *                                   |        +- ...      descends from the guard is the family: it ends with
 *                                   +- ...   +- ...      the lock.
 *
 * The guard starts the command, reports to us what becomes of it, and inherits its orphans (the guard is a
 * subreaper, see prctl(2)). The guard sleeps until shortly before the lock's deadline; if we are held up in
 * the kernel then, it kills the family in our place. If we are killed, the guard kills the family. The guard
 * also has the connection to redlockd open, so that the lock ends after the family. If the guard is killed,
 * we inherit the family and kill it. */
#ifndef REDLOCK_RUN_H
#define REDLOCK_RUN_H

#include <sys/types.h>

#include "client/redlock_cmd.h"

/* ---- redlock_family.c ---- */

struct family {
    pid_t root;  /* the common ancestor: the guard, or this process when the guard has ended */
    pid_t group; /* the command's process group; 0: it is empty */
    bool whole;  /* processes that left the session belong to the family too */
    bool spares; /* other redlocks are stopped, not killed: each holds a lock for what is below it */
};

/* Call it before anything is started: children that this process already has do not belong to the family. */
void family_begin(void);
/* Sends the signal (0: none) to all of the family and returns how many of its processes were alive.
 * Redlocks that are spared are not counted, nor are another user's processes in other sessions.
 * Returns UINT_MAX if /proc cannot be read; then only the group got the signal, or nobody if .spares is
 * set. */
unsigned family_signal(const struct family *family, int signal);
bool family_is_stopped(const struct family *family);
/* Whether our process group has members other than this process and its ancestors, as in a pipeline. */
bool family_has_siblings(void);

/* ---- redlock_guard.c ---- */

struct guard {
    pid_t pid; /* -1: the guard has ended, and was waited for */
    int fd;    /* -1: the guard has ended */
};
/* The guard reports what became of the command. */
struct report {
    int code, status; /* si_code and si_status of waitid(2) */
    bool overdue;     /* the guard has killed the family because of the deadline */
};
/* The command that the guard starts, and what the guard needs. */
struct start {
    char *const *argv;
    const struct terminal *terminal;
    bool foreground;
    int connection;  /* the socket to redlockd */
    int64_t kill_ms; /* as for guard_set() */
};

/* Starts the guard, which starts the command. Returns the command's pid, or -1 after it has said why. */
pid_t guard_start(struct guard *guard, const struct start *start);
/* Tells the guard from which instant on to kill the family; INT64_MAX: never. The guard also kills the family
 * when this process is gone. */
void guard_set(const struct guard *guard, int64_t kill_ms);
/* Gives the guard another connection to redlockd to hold open until the family has ended; -1: there is
 * none. */
void guard_keep(const struct guard *guard, int connection);
/* Reads the next report; false: there is none now. If guard->fd < 0 afterwards, the guard was killed. */
bool guard_hear(struct guard *guard, struct report *report);
void guard_wake(const struct guard *guard); /* continues the guard if somebody has stopped it */
void guard_end(struct guard *guard);        /* ends the guard, which kills nobody then */

/* ---- redlock_terminal.c ---- */

struct terminal {
    int fd; /* -1: there is none */
};
void terminal_open(struct terminal *terminal);
bool terminal_is_ours(const struct terminal *terminal); /* whether our group is in the foreground */
bool terminal_is_of(const struct terminal *terminal, pid_t group);
void terminal_give(const struct terminal *terminal, pid_t group);
void terminal_take(const struct terminal *terminal, pid_t group); /* takes it from that group, if it has it */

/* ---- redlock_child.c ---- */

/* Starts the command in a process group of its own, which gets the terminal if `foreground` is set. The
 * kernel kills the command when the calling process ends, unless it is set-user-ID. Returns -1 with errno on
 * failure. */
pid_t child_start(char *const argv[], const struct terminal *terminal, bool foreground);

/* ---- redlock_run.c, for redlock_lead.c ---- */

struct run;
/* Takes the lock, runs the command, and returns the exit code. */
int run_term(struct run *run);
#define RUN_BEGIN                                                                                            \
    {                                                                                                        \
        .take = {.options = {.wait_ms = REDLOCK_WAIT_LONGEST}, .conflict_code = -1},                         \
        .every = {.period_ms = -1, .keep_ms = -1}, .grace_ms = -1, .signals = -1, .timer = -1, .terminal = { \
            .fd = -1                                                                                         \
        }                                                                                                    \
    }

/* ---- redlock_every.c ---- */

struct run;

struct every {
    int64_t period_ms; /* --every; -1: not given */
    int64_t keep_ms;   /* --keep: for how long the name is kept, from the LOCK on; -1: not given */
    bool tries;        /* --every-try: the name is kept, whatever the command's end */
    bool waits, says;  /* --wait and --verbose were given */
    int64_t asked_ms;  /* when the LOCK was sent */
    unsigned splits;   /* so often nobody won, of many that asked at once */
};

enum { EVERY_PERIOD = 'y', EVERY_KEEP = 'k', EVERY_TRY = 'T' }; /* the options, which have no letter */
/* Takes one of these; false: it is wrong, and this was said. */
bool every_option(struct run *run, int option, const char *value);
/* All options were read, and the lock is asked for next. Returns false after it has said what is wrong. */
bool every_begin(struct run *run);
/* The lock was not taken, nor by anybody else: whether to ask again, after a pause that this makes. */
bool every_again(struct run *run);
/* The exit code when the lock was not taken: 0 where another has it, since then the job is done. */
int every_busy(struct run *run, int code);
/* The command has ended: gives the lock back, and keeps the name if it is to be kept. */
enum redlock_error every_unlock(struct run *run);

/* ---- redlock_watch.c ---- */

/*   running --CMD ended--> lingering --others go on--> ending --SIGTERM was not enough--> killing
 *     | |                      |                        ^ |                               ^   |
 *     | +---- the deadline is --grace away -------------+ |                               |   |
 *     | |                      |                          |                               |   |
 *     | +------ lost, or the deadline is here, or the guard was killed -------------------+   |
 *     |                        |                          |                                   |
 *     +---- nobody is left ----+--------------------------+-----------------------------------+--> over */
enum run_state { RUN_RUNNING, RUN_LINGERING, RUN_ENDING, RUN_KILLING, RUN_OVER };

/* What becomes of one term of `redlock lead`, in memory that it shares with the process that leads. */
struct term {
    bool began; /* the lock was there, and the command was started */
    bool lost;  /* the command was ended, because the lock was lost */
};

struct run {
    struct take take;
    struct every every;
    const char *address;
    int64_t grace_ms;   /* how long before the deadline SIGTERM comes; -1: not given */
    int64_t margin_ms;  /* how long before the deadline SIGKILL comes */
    int64_t span_ms;    /* how long the lock was valid when it was granted */
    int64_t max_end_ms; /* when --max is over; 0: never */
    char *const *argv;
    char *shell[4]; /* the argv that --command stands for; shell[0] NULL: --command was not given */
    struct redlock *redlock;
    struct redlock_lock *lock;
    int signals, timer;
    struct guard guard;
    int64_t guarded_ms; /* the kill_ms that the guard knows; 0: none */
    int64_t until_ms;   /* the deadline as we saw it last */
    uint64_t fence;     /* the fence at that time */
    int64_t earlier_ms; /* by so much the deadline has become earlier since it was told last */
    struct terminal terminal;
    bool foreground; /* the command is to have the terminal whenever we have it */
    pid_t pid;       /* the command and its group; waited for last, so that nobody else gets the number */
    struct family family;
    bool unguarded; /* the guard was killed */
    enum run_state state;
    int64_t next_ms;     /* ENDING: when KILLING begins */
    int64_t looked_ms;   /* LINGERING: when we looked last */
    int64_t lingered_ms; /* LINGERING: for how long it has lasted, less pauses of this machine */
    bool ended;          /* the command has ended */
    int code;            /* the exit code that the command's end gives */
    int signal;          /* the signal that ended the command; 0: none */
    bool lost;
    char why[32];
    int64_t killing_ms; /* KILLING: when it began */
    bool told;          /* we have said that some processes cannot be killed */
    struct term *term;  /* NULL: of `redlock run` */
};

enum { CLOCK_MS = 50 }; /* from there on redlockd takes a clock for one that stood still */

/* Watches until the command and all of its family are gone. */
void run_watch(struct run *run);
/* When the guard kills the family: a little after we would, since we can say why. */
int64_t run_kill_ms(const struct run *run, int64_t until_ms);

#endif
