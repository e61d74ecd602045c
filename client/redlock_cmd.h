/* The command `redlock`: what its parts share.
 *
 *     redlock_main.c     which subcommand
 *     redlock_args.c     options that several have: durations, numbers, words
 *     redlock_say.c      errors: what, where, what to do, and the exit code
 *     redlock_signals.c  signals as things to read
 *     redlock_take.c     asks for a lock; a signal ends the wait, and redlock_waiting.c says what it is for
 *     redlock_run.c      run: a command under a lock, with redlock_watch.c (while it runs), _child.c (its
 *                        start), _family.c (it and all that it started), _guard.c (its parent, which
 *                        watches when we cannot), _terminal.c; begin with redlock_run.h
 *     redlock_script.c   lock, unlock, extend, check
 *     redlock_show.c     show, with redlock_rows.c (rows as a table, as they are, as JSON)
 *     redlock_top.c      top, with redlock_screen.c (the terminal)
 *
 * Times are in ms; instants are on CLOCK_BOOTTIME, which counts while the host sleeps. */
#ifndef REDLOCK_CMD_H
#define REDLOCK_CMD_H

#include <stdbool.h>
#include <stdint.h>

#include "client/redlock.h"
#include "client/redlock_rows.h"

/* A command that ran under `run` has its own, so ours keep out of the way: 124 to 127 mean what they
 * mean to timeout(1) and env(1), and those below are rarely a program's. */
enum code {
    CODE_OK = 0,
    CODE_BUSY = 120,     /* another has it, and waiting was not wanted */
    CODE_TIMEOUT = 121,  /* another had it for all the time that was waited */
    CODE_NOQUORUM = 122, /* too few masters answered */
    CODE_CONNECT = 123,  /* no redlockd, or it is shutting down */
    CODE_LOST = 124,     /* the lock was lost, or is not held */
    CODE_FAILED = 125,   /* wrong usage, and whatever else redlock itself could not do */
    CODE_NOEXEC = 126,   /* the command cannot be executed */
    CODE_NOTFOUND = 127, /* the command is not there */
    CODE_SIGNAL = 128,   /* plus the signal's number */
};

typedef int subcommand_main(int argc, char **argv);
subcommand_main cmd_run, cmd_lock, cmd_unlock, cmd_extend, cmd_check, cmd_show, cmd_top;

int64_t boot_ms(void); /* CLOCK_BOOTTIME */

/* ---- redlock_args.c ---- */

/* What is wrong is said; the caller returns CODE_FAILED. */
int usage(const char *subcommand, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* For getopt_long()'s '?': names the option. */
int usage_option(const char *subcommand, char **argv);
/* "30s", "250ms", "5m", "1h", "0". A number without a unit would be seconds to flock(1) and milliseconds
 * to redlockd: refused. */
bool arg_duration(const char *subcommand, const char *option, const char *text, int64_t *ms);
bool arg_number(const char *subcommand, const char *option, const char *text, int least, int most,
                int *number);
/* Whether the protocol takes the text as a word; if not, usage() has said why. */
bool arg_word(const char *subcommand, const char *option, const char *text);
/* Writes user@host:program/pid, by which SHOW tells people whose lock it is. The parts are cut and odd characters
 * replaced so that the protocol takes it as a word. out has room for REDLOCK_WORD_BYTES + 1. */
const char *arg_client(const char *program, char *out);
/* Opens a handle for the address (NULL: the usual ones). client NULL: the subcommand is named as the program.
 * Returns NULL after it has said why. */
struct redlock *arg_open(const char *subcommand, const char *address, const char *client);

/* ---- redlock_say.c ---- */

void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* What became of the handle's last request, about that name (NULL: none), and the exit code. */
int say_error(const struct redlock *redlock, const char *name);
/* The same of another request, with its text from redlockd or the library. */
int say_result(enum redlock_error error, const char *text, const char *name);
/* 1500 -> "1.5s"; out has room for DURATION_TEXT. */
enum { DURATION_TEXT = 32 };
const char *duration_text(int64_t ms, char *out);

/* ---- redlock_signals.c ---- */

/* The signals given (0 ends the list) are read from the result, a descriptor for signal_next(), and do
 * nothing else any more; but those that whoever started us wants ignored stay so (nohup(1)). -1: said why. */
int signals_open(const int *signals);
bool signals_more(int fd, const int *signals); /* from now on these too */
int signal_next(int fd);                       /* 0: none now */
/* As it was when we started, for a program that is to be executed. */
void signals_restore(void);
/* Ends as if nobody had caught it, so that a shell knows why. */
void signal_die(int signal) __attribute__((noreturn));

/* Our group and we stop as the signal says, until somebody continues us. False: it did not stop us, since
 * nobody could continue us. */
bool signal_stop(int signal);

/* ---- redlock_take.c ---- */

struct take {
    const char *name;
    struct redlock_lock_options options;
    const char *client; /* the word for SHOW; NULL: user@host:program/pid */
    int conflict_code;  /* of "busy" and "timed out"; -1: the usual ones */
    bool quiet;         /* no word about those two, nor about what it waits for */
    bool verbose;       /* that, where nobody sits in front of it, too */
};
/* The lock, or NULL and *code. Ends with a signal that comes meanwhile (does not return then). */
struct redlock_lock *take_lock(struct redlock *redlock, const struct take *take, int signals, int *code);
extern const int take_signals[];

/* Prints for eval what unsets the variables of `redlock lock` and makes eval end with the code; prints
 * nothing on a terminal. */
void take_failed(int code);

/* Options that run and lock share: 1 it was one, 0 not, -1 wrong and said. */
int take_option(const char *subcommand, struct take *take, int option, const char *value);
#define TAKE_SHORT "nqvt:w:E:"
#define TAKE_LONG                                                                                     \
    {"nonblock", no_argument, NULL, 'n'}, {"quiet", no_argument, NULL, 'q'},                          \
        {"verbose", no_argument, NULL, 'v'}, {"ttl", required_argument, NULL, 't'},                   \
        {"wait", required_argument, NULL, 'w'}, {"conflict-exit-code", required_argument, NULL, 'E'}, \
        {"timeout", required_argument, NULL, 'w'}, {"client", required_argument, NULL, 'C'},          \
    {                                                                                                 \
        "note", required_argument, NULL, 'N'                                                          \
    }

/* ---- redlock_waiting.c ---- */

enum reason { REASON_NONE, REASON_MASTERS, REASON_HOLDER, REASON_DOWN };

struct waiting {
    const char *name;
    int64_t look_ms;  /* when the masters are asked for next; INT64_MAX: never, it says nothing */
    uint64_t request; /* SHOW NODES; 0: it is not under way */
    struct rows rows;
    enum reason reason; /* that was said */
};

void waiting_begin(struct waiting *waiting, const struct take *take);
int waiting_timeout_ms(const struct waiting *waiting, int timeout_ms); /* for poll(2): the shorter one */
void waiting_turn(struct waiting *waiting, struct redlock *redlock);
void waiting_heard(struct waiting *waiting, const struct redlock_event *event);
void waiting_end(struct waiting *waiting);
/* The caller gives the rows of SHOW NODES. False: enough masters may vote. */
bool waiting_for_masters(struct rows *rows, char *out, size_t size);

#endif
