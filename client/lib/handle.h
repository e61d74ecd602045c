/* struct redlock from the inside: the core, its socket, and the program's callback. Private to client/lib. */
#ifndef REDLOCK_LIB_HANDLE_H
#define REDLOCK_LIB_HANDLE_H

#include <sys/types.h>

#include "client/lib/core.h"
#include "client/lib/link.h"

/* The result that a blocking call waits for. */
struct awaited {
    struct redlock_lock *lock;   /* its ON_LOCK is awaited; NULL: the result of .request */
    uint64_t request;            /* its result is awaited; 0: the ON_LOCK of .lock */
    struct redlock_watch *watch; /* its first ON_NOW is awaited; NULL: none */
    bool over;
    enum redlock_error error;
    redlock_row *row;
    void *row_user;
};

struct redlock {
    struct core *core;
    struct link link;
    struct link next; /* after !DRAIN: to another redlockd */
    bool next_asked;  /* PING was said there */
    size_t next_len;  /* bytes that came in answer */
    char next_line[256];
    pid_t pid;                     /* the process that opened the handle */
    char *auth_user, *secret_file; /* for AUTH; NULL: none */
    redlock_callback *callback;
    void *user;
    struct awaited *awaited;      /* (ref in the blocking call's stack) */
    unsigned depth;               /* functions of the library that are under way */
    _Atomic(const void *) inside; /* the thread in which they are, as handle_thread() says; NULL: none is */
    bool telling;                 /* inside the callback */
    bool ending;                  /* the connection ends when the outermost of these functions returns */
    bool ended;                   /* it has ended */
    bool closing;                 /* the handle is freed then, too */
    enum redlock_error error;
    int64_t retry_ms;
    char text[SERVER_LINE_BYTES + 1];
};

int64_t handle_now_ms(void);
/* Whether this version knows all that the program has set: else it would leave it out silently. */
bool handle_is_unused(const int64_t *reserved, size_t count); /* CLOCK_BOOTTIME */

/* Called before and after all that may call the callback: a redlock_close() inside takes effect in the last
 * handle_leave(). */
void handle_enter(struct redlock *redlock);
void handle_leave(struct redlock *redlock);
/* Does all that can be done without waiting: reads, looks at the clock, calls the callback, connects,
 * writes. */
void handle_turn(struct redlock *redlock);
/* Goes on with the move to another redlockd, if this one shuts down. */
void handle_move(struct redlock *redlock);
/* For how many ms to wait before the next turn is due; INT64_MAX: without end. */
int64_t handle_wait_ms(const struct redlock *redlock);

/* Takes the user and the secret's file from the options, or else from the environment. Returns 0 or an errno. */
int handle_take_credentials(struct redlock *redlock, const struct redlock_options *options);
/* Reads the secret, if there is one, for the connection that begins. false: it cannot be made, and the core was
 * told why. */
bool handle_credentials(struct redlock *redlock);

/* Keeps the error for redlock_error(), with a copy of the text, and returns it. */
enum redlock_error handle_says(struct redlock *redlock, enum redlock_error error, const char *text);
/* Asks WHO or BREAK. Returns the request's number; 0: refused, and the handle has the error. */
uint64_t handle_ask_who(struct redlock *redlock, enum ask_verb verb, const char *name, int slot);
/* Why a request could not begin, for redlock_error(). */
void handle_refused(struct redlock *redlock, enum redlock_error error);
/* For a blocking call: gives the handle its turns until the result is there. Returns REDLOCK_CANCELLED if a callback has
 * closed the handle, which may then be freed already. */
enum redlock_error handle_await(struct redlock *redlock, struct awaited *awaited);
/* Waits until the next turn is due, or for most_ms. */
void handle_sleep(struct redlock *redlock, int64_t most_ms);
/* REDLOCK_OK if the handle may be used here, and, for a blocking function, if waiting is allowed; else the
 * error. */
enum redlock_error handle_usable(struct redlock *redlock, bool blocking);

#endif
