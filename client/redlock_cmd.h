/* The command `redlock`: what its parts share.
 *
 *     redlock_main.c     finds the subcommand
 *     redlock_args.c     reads durations, numbers and words of options, and opens the handle
 *     redlock_say.c      prints errors (what, where, what to do) and chooses the exit code
 *     redlock_signals.c  makes signals readable from a descriptor
 *     redlock_take.c     takes a lock, until a signal ends the wait
 *     redlock_waiting.c  says what the wait is for
 *     redlock_run.c      run: a command under a lock, with redlock_watch.c (while the command runs), _child.c
 *                        (its start), _family.c (the command and all that it started), _guard.c (the
 *                        command's parent, which watches when we cannot) and _terminal.c; begin with
 *                        redlock_run.h
 *     redlock_lead.c     lead: run, again and again
 *     redlock_script.c   lock, unlock, extend, check
 *     redlock_show.c     show and who, with redlock_rows.c (rows as a table, as they are, as JSON)
 *     redlock_now.c      watch
 *     redlock_break.c    break
 *     redlock_ping.c     ping
 *     redlock_top.c      top, with redlock_screen.c (the terminal)
 *     redlock_user.c     mkuser
 *
 * Times are in ms; instants are on CLOCK_BOOTTIME, which counts while the host sleeps. */
#ifndef REDLOCK_CMD_H
#define REDLOCK_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "client/redlock.h"
#include "client/redlock_rows.h"

/* Exit codes. A command under `run` has its own, so ours are chosen not to clash: 125 to 127 mean what
 * they mean to timeout(1) and env(1), and programs rarely use 120 to 124. */
enum code {
    CODE_OK = 0,
    CODE_BUSY = 120,     /* another client has the lock, and the command was not to wait (-n) */
    CODE_TIMEOUT = 121,  /* another client has the lock, and the wait is over */
    CODE_NOQUORUM = 122, /* too few masters answered, or too few may vote yet */
    CODE_CONNECT = 123,  /* no redlockd, or it does not answer, or it is shutting down */
    CODE_LOST = 124,     /* the lock was lost, or is not held */
    CODE_FAILED = 125,   /* wrong usage, and whatever else redlock itself could not do */
    CODE_NOEXEC = 126,   /* the command cannot be executed */
    CODE_NOTFOUND = 127, /* the command is not there */
    CODE_SIGNAL = 128,   /* plus the signal's number */
};

typedef int subcommand_main(int argc, char **argv);
subcommand_main cmd_run, cmd_lead, cmd_lock, cmd_unlock, cmd_extend, cmd_check, cmd_show, cmd_who, cmd_watch,
    cmd_break, cmd_ping, cmd_top, cmd_mkuser;

int64_t boot_ms(void); /* CLOCK_BOOTTIME */

static inline int64_t earlier_ms(int64_t a_ms, int64_t b_ms)
{
    return a_ms < b_ms ? a_ms : b_ms;
}

/* ---- redlock_args.c ---- */

/* Says what is wrong and returns CODE_FAILED. */
int usage(const char *subcommand, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for an option that getopt_long() refused; names the option. */
int usage_option(const char *subcommand, char **argv);
/* Reads "30s", "250ms", "5m", "1h" or "0". A number without a unit is refused, since it would be seconds to
 * flock(1) and milliseconds to redlockd. This function and the next three return false after usage(). */
bool arg_duration(const char *subcommand, const char *option, const char *text, int64_t *ms);
/* Reads the value of --wait: the same, and a number without a unit is seconds there, as it is to flock(1). */
bool arg_wait(const char *subcommand, const char *text, int64_t *ms);
bool arg_number(const char *subcommand, const char *option, const char *text, int least, int most,
                int *number);
/* Whether the protocol takes the text as a word. */
bool arg_word(const char *subcommand, const char *option, const char *text);
/* Writes user@host:program/pid, by which SHOW tells people whose lock it is. The parts are cut and odd
 * characters replaced so that the protocol takes it as a word. out has room for REDLOCK_WORD_BYTES + 1. */
const char *arg_client(const char *program, char *out);
/* Opens a handle for the address (NULL: as redlock_open() has it). client NULL: the subcommand is named as
 * the program.
 * Returns NULL after it has said why. */
struct redlock *arg_open(const char *subcommand, const char *address, const char *client);

/* ---- redlock_say.c ---- */

void say_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The exit code of a request that ended so. */
int error_code(enum redlock_error error);
/* Says how the handle's last request about that name (NULL: none) failed, and returns the exit code. */
int say_error(const struct redlock *redlock, const char *name);
/* The same for any request, by its error and its text from redlockd or the library. */
int say_result(enum redlock_error error, const char *text, const char *name);
/* Returns the part of redlockd's line that is for people, behind " : ", or a sentence of the library as it is. */
const char *text_for_people(const char *text);
/* Writes 1500 as "1.5s"; out has room for DURATION_TEXT. */
enum { DURATION_TEXT = 32 };
const char *duration_text(int64_t ms, char *out);

/* ---- redlock_signals.c ---- */

/* Returns a descriptor for signal_next(). From now on the given signals (0 ends the list) have no other
 * effect than to be read there. A signal that was ignored when we were started stays ignored (nohup(1)).
 * Returns -1 after it has said why. */
int signals_open(const int *signals);
bool signals_more(int fd, const int *signals); /* adds signals; false: said why */
int signal_next(int fd);                       /* 0: none now */
/* Whether these signals end this process as if nobody watched them: while it writes to what nobody may read. */
void signals_pass(bool pass);
/* Sets signals back as they were when we started, for a program that is to be executed. */
void signals_restore(void);
/* Ends this process by the signal as if nobody had caught it, so that a shell sees why. */
void signal_die(int signal) __attribute__((noreturn));

/* Stops this process and its group by the signal until somebody continues them. Returns false if it did
 * not stop us: the kernel does not stop a process that nobody could continue. */
bool signal_stop(int signal);

/* ---- redlock_take.c ---- */

struct take {
    const char *name;
    struct redlock_lock_options options;
    const char *client; /* the word for SHOW; NULL: user@host:program/pid */
    int conflict_code;  /* the exit code when another has the lock; -1: CODE_BUSY or CODE_TIMEOUT */
    bool quiet;         /* say nothing when another has the lock, nor what the wait is for */
    bool verbose;       /* say what the wait is for even if standard error is no terminal */
};
/* Returns the lock, or NULL with the exit code in *code. If a signal ends the wait, the process ends by it
 * and the function does not return. */
struct redlock_lock *take_lock(struct redlock *redlock, const struct take *take, int signals, int *code);
extern const int take_signals[];

/* Prints for eval what unsets the variables of `redlock lock` and makes eval end with the code; prints
 * nothing on a terminal. */
void take_failed(int code);

/* Reads an option that run and lock share. Returns 1 if it is such an option, 0 if not, and -1 after
 * usage(). */
int take_option(const char *subcommand, struct take *take, int option, const char *value);
#define TAKE_SHORT "nqvt:w:E:"
#define TAKE_LONG                                                                                     \
    {"nonblock", no_argument, NULL, 'n'}, {"quiet", no_argument, NULL, 'q'},                          \
        {"verbose", no_argument, NULL, 'v'}, {"ttl", required_argument, NULL, 't'},                   \
        {"wait", required_argument, NULL, 'w'}, {"conflict-exit-code", required_argument, NULL, 'E'}, \
        {"timeout", required_argument, NULL, 'w'}, {"client", required_argument, NULL, 'C'},          \
        {"shared", no_argument, NULL, 'S'}, {"slots", required_argument, NULL, 'L'},                  \
    {                                                                                                 \
        "note", required_argument, NULL, 'N'                                                          \
    }

/* ---- redlock_waiting.c ---- */

enum reason { REASON_NONE, REASON_MASTERS, REASON_HOLDER, REASON_DOWN };

struct waiting {
    const char *name;
    int64_t look_ms;  /* when SHOW NODES is due; INT64_MAX: never, since nothing is to be said */
    uint64_t request; /* the SHOW NODES that is under way; 0: none */
    struct rows rows;
    enum reason reason; /* the last reason that was said */
};

void waiting_begin(struct waiting *waiting, const struct take *take);
/* The timeout for poll(2): timeout_ms, or less. */
int waiting_timeout_ms(const struct waiting *waiting, int timeout_ms);
void waiting_turn(struct waiting *waiting, struct redlock *redlock);
void waiting_heard(struct waiting *waiting, const struct redlock_event *event);
void waiting_end(struct waiting *waiting);
/* Writes why too few masters may vote, from the rows of SHOW NODES (which it sorts). Returns false if
 * enough may. */
bool waiting_for_masters(struct rows *rows, char *out, size_t size);

#endif
