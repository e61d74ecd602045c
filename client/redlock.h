/* libredlock: locks of redlockd for C and C++ programs.
 *
 *     #include <redlock.h>
 *
 *     struct redlock *redlock = redlock_open(NULL, NULL);
 *     struct redlock_lock *lock = redlock_lock(redlock, "report", NULL);
 *     while (redlock_safe_ms(lock) > 0 && more_to_do())
 *         write_next(redlock_fence(lock));
 *     redlock_close(redlock);
 *
 * No check is missing there: every function takes a NULL handle or lock and answers "no".
 *
 * Two ways to use one handle, which may be mixed:
 *  - blocking: redlock_lock(), _unlock(), _extend(), _check(), _resume(), _show(), _connect(). Each
 *    returns after its timeout at the latest (struct redlock_options), LOCK after its wait and that.
 *  - in an event loop: the redlock_..._begin() functions, none of which blocks, with redlock_fd(),
 *    redlock_events(), redlock_timeout_ms(), redlock_process() and one callback for all that happens.
 *
 * A lock of the default kind, REDLOCK_SESSION, is renewed by redlockd for as long as this program is
 * connected, and given back when it ends, however it ends; where its host dies or the network is cut, it
 * runs out after its TTL. The library learns of renewals, and reconnects and resumes its locks when
 * redlockd was restarted, only inside its functions: a program that holds such a lock calls
 * redlock_safe_ms(), or redlock_process() in a loop, at least three times in each TTL. One that cannot takes
 * a REDLOCK_LEASE that is longer than its work.
 *
 * Units: every time is in milliseconds and says so (_ms). Instants are on CLOCK_BOOTTIME.
 *
 * Ownership: what a function returns as const char * belongs to the object that it was asked of and is
 * good until the next call with that object or its handle. Arguments are copied. Handles are ended by
 * redlock_close(), which also frees the handle's locks; locks by redlock_unlock() and redlock_forget().
 *
 * Errors: functions that return a pointer return NULL on failure, those that return an id 0; why, and
 * what redlockd said, tell redlock_error() and redlock_error_text() of the handle. Others return it.
 * Nothing here ends the program, and no signal is raised.
 *
 * Threads: the library has no globals and starts no threads. A handle and its locks are used by one
 * thread at a time; different handles are independent. Only redlock_valid_ms(), redlock_until_ms() and
 * redlock_fence() may be called from any thread at any time while the lock object lives, so that a
 * worker may ask while another thread runs the handle's loop.
 *
 * fork: a handle belongs to the process that opened it. In a child everything but redlock_close(),
 * which then frees memory and says nothing to redlockd, is refused with REDLOCK_MISUSE. Descriptors are
 * close-on-exec; a child that neither executes nor calls redlock_close() keeps the connection, and with
 * it the locks, when its parent is gone. */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define REDLOCK_DEFAULT_SOCKET "/run/redlockd/redlockd.sock"
#define REDLOCK_DEFAULT_PORT   7335

enum {
    REDLOCK_NAME_BYTES = 200,     /* longest lock name */
    REDLOCK_WORD_BYTES = 64,      /* longest note or client word */
    REDLOCK_TOKEN_HEX = 40,       /* digits of a token */
    REDLOCK_LOCKS_MAX = 65536,    /* lock objects of a handle */
    REDLOCK_REQUESTS_MAX = 65536, /* requests of a handle that are under way */
    REDLOCK_WAIT_LONGEST = -1     /* as wait_ms: 30 days */
};

/* ---- errors ---- */

enum redlock_error {
    REDLOCK_OK = 0,
    /* What redlockd refused. redlock_error_text() is its line, as in
     * "-NOQUORUM job votes=2/5 nodes=++!!? : 3 votes are needed; ...". */
    REDLOCK_BUSY = 1,         /* another has it, and wait_ms was 0 */
    REDLOCK_TIMEOUT = 2,      /* another has it, and wait_ms is over */
    REDLOCK_NOQUORUM = 3,     /* too few masters answered: of UNLOCK, EXTEND, CHECK the outcome is open */
    REDLOCK_NOTHELD = 4,      /* the token does not hold the lock */
    REDLOCK_CANCELLED = 5,    /* by redlock_cancel() or redlock_close() */
    REDLOCK_MODE = 6,         /* held in another mode */
    REDLOCK_LIMIT = 7,        /* a limit of redlockd, or of this handle, is reached; the text says which */
    REDLOCK_DRAINING = 8,     /* redlockd is shutting down */
    REDLOCK_DENIED = 9,       /* not allowed */
    REDLOCK_AUTH = 10,        /* authenticate first */
    REDLOCK_BADREQUEST = 11,  /* redlockd cannot do what was asked, as a TTL beyond its limits */
    REDLOCK_UNSUPPORTED = 12, /* not in this redlockd */
    /* What the library found. redlock_error_text() says it in words. */
    REDLOCK_LOST = 13,     /* the lock was lost before; the text is the reason of !LOST */
    REDLOCK_CONNECT = 14,  /* cannot connect within the timeout; the text says to what and why */
    REDLOCK_NOANSWER = 15, /* asked, but not answered within the timeout: the outcome is open, but a
                                lock that is granted later is given back */
    REDLOCK_PROTOCOL = 16, /* what answers is no redlockd, or not of this protocol */
    REDLOCK_ARGUMENT = 17, /* an argument is not allowed: nothing was asked */
    REDLOCK_NOMEM = 18,    /* out of memory, or of descriptors */
    REDLOCK_MISUSE = 19    /* a blocking call inside a callback, or a call in a forked child */
};

/* "ok", "busy", "timeout", "noquorum" ...; "unknown" for any other number. */
const char *redlock_error_name(enum redlock_error error);

/* ---- handles ---- */

struct redlock;      /* a connection to one redlockd, made anew when it breaks */
struct redlock_lock; /* a lock that was asked for, is held, or was lost */

/* What is 0 or NULL takes its default. */
struct redlock_options {
    const char *client;  /* a word that SHOW CLIENTS and SHOW LOCKS tell; default: none */
    int64_t timeout_ms;  /* for connecting and for each answer; default 10,000; at most 30 days */
    int64_t reserved[6]; /* 0 */
};

/* A handle; NULL: out of memory or descriptors, or an argument that is not allowed (errno: ENOMEM,
 * EMFILE, EINVAL). It does not connect yet: the first request, redlock_connect() or redlock_process()
 * does.
 *
 * address: "unix:/path", "/path", "host:port", "[::1]:port" or "host". NULL: $REDLOCK_ADDRESS where it
 * is set (and the program is not set-user-ID), else REDLOCK_DEFAULT_SOCKET, and where nobody listens
 * there, 127.0.0.1:7335. A host that is not a numeric address is looked up at each connecting, which may
 * block, also in redlock_process(). */
struct redlock *redlock_open(const char *address, const struct redlock_options *options);

/* Gives back its session locks (redlockd does, at the connection's end) and frees handle and locks.
 * Leases stay. Does not block and calls nobody back. Inside a callback it is done when the outermost
 * function of the library returns. */
void redlock_close(struct redlock *redlock);

/* For requests from now on; 0: the default. */
void redlock_set_timeout(struct redlock *redlock, int64_t timeout_ms);

/* Blocks until redlockd has answered on a connection, or the timeout is over. Nobody needs to call it. */
enum redlock_error redlock_connect(struct redlock *redlock);

/* "redlockd/0.1.0", NULL while there is no connection; and the address of the last attempt, as
 * "unix:/run/redlockd/redlockd.sock". */
const char *redlock_server(const struct redlock *redlock);
const char *redlock_address(const struct redlock *redlock);

/* How the last request of the handle ended, blocking or not, or why it was refused at once. The text is
 * never NULL: "", redlockd's line without its tag, or a sentence of the library. */
enum redlock_error redlock_error(const struct redlock *redlock);
const char *redlock_error_text(const struct redlock *redlock);
/* When asking again may help (retry= of -BUSY and -NOQUORUM), in ms; -1: not known. */
int64_t redlock_error_retry_ms(const struct redlock *redlock);

/* ---- locks: blocking ---- */

enum redlock_hold {
    REDLOCK_SESSION = 0, /* redlockd renews it while this program is connected; free when it ends */
    REDLOCK_LEASE = 1    /* lives for its TTL, nobody renews it, survives the program */
};

/* What is 0 or NULL takes its default. */
struct redlock_lock_options {
    int64_t ttl_ms;         /* how long it lasts if nobody renews it; default: redlockd's default_ttl */
    int64_t wait_ms;        /* how long to wait while another has it; 0: not at all */
    int64_t max_ms;         /* for how long a session lock may be renewed; 0: without end */
    enum redlock_hold hold; /* default REDLOCK_SESSION */
    const char *note;       /* a word that SHOW LOCKS tells; default: none */
    int64_t reserved[6];    /* 0 */
};

/* Takes a lock, waiting for it up to wait_ms. NULL: not taken. When the connection breaks meanwhile, the
 * request is made again on the next one with what is left of the wait; but where redlockd has never
 * answered on this handle, the first failing attempt to connect ends the requests with REDLOCK_CONNECT.
 * options may be NULL. */
struct redlock_lock *redlock_lock(struct redlock *redlock, const char *name,
                                  const struct redlock_lock_options *options);

/* Takes over a lock of which this program has the token, as a session lock of this handle. Token and
 * fence become new; who held it before loses it (!LOST reason=moved). Of options wait_ms and hold are
 * not read. NULL: not taken. */
struct redlock_lock *redlock_resume(struct redlock *redlock, const char *name, const char *token,
                                    const struct redlock_lock_options *options);

/* A lock object for a token from elsewhere, to extend, check or unlock it; nobody is asked. It is treated
 * as a lease of which nothing is known: valid 0 until redlock_check() or redlock_extend(), fence 0. */
struct redlock_lock *redlock_attach(struct redlock *redlock, const char *name, const char *token);

/* Gives it back and frees the object, whatever the result is. REDLOCK_OK: given back. REDLOCK_LOST or
 * REDLOCK_NOTHELD: it was lost before, and another may have had it while you worked. REDLOCK_NOQUORUM,
 * _NOANSWER, _CONNECT: not known; it is free when its TTL is over. */
enum redlock_error redlock_unlock(struct redlock_lock *lock);

/* Makes it last ttl_ms from now (0: its own TTL again), never shorter; a session lock is renewed with
 * this TTL from now on. */
enum redlock_error redlock_extend(struct redlock_lock *lock, int64_t ttl_ms);

/* Asks redlockd (and that the masters, of a lease) whether it is still held, and until when. */
enum redlock_error redlock_check(struct redlock_lock *lock);

/* Frees the object and waits for nobody. A lease goes on until its TTL is over or somebody unlocks it by
 * its token; a session lock is given back; a wait is cancelled. */
void redlock_forget(struct redlock_lock *lock);

/* ---- what a lock knows, without I/O ---- */

/* How long it is surely still held, in ms; 0: not, or not any more, or not known. Never longer than
 * redlockd itself means it: by the same clock over a Unix socket, else by a conservative offset. Ask before
 * each step of the work, and stop at 0. */
int64_t redlock_valid_ms(const struct redlock_lock *lock);

/* The same after redlock_process(), for programs without an event loop. It does not block, except while
 * the lock is being resumed after the connection broke: then for 100 ms at most, so that what takes a
 * few steps does not take as many calls. */
int64_t redlock_safe_ms(struct redlock_lock *lock);

/* The instant of the same on this machine's CLOCK_BOOTTIME; 0: not held. Renewals make it later; it becomes
 * earlier when a clock is found to have stood still (a host that was paused): read it when you use it. */
int64_t redlock_until_ms(const struct redlock_lock *lock);

/* Grows with every grant of the name, whoever gets it: hand it to what the lock protects. 0: not held yet
 * or attached. A lock that was resumed after a reconnection has a new fence and token (REDLOCK_ON_RESUMED):
 * read them when you use them. */
uint64_t redlock_fence(const struct redlock_lock *lock);
const char *redlock_token(const struct redlock_lock *lock); /* 40 hex digits, "" while there is none */
const char *redlock_name(const struct redlock_lock *lock);
struct redlock *redlock_of(const struct redlock_lock *lock); /* its handle */

enum redlock_state {
    REDLOCK_STATE_NONE,     /* no lock (NULL) */
    REDLOCK_STATE_WAITING,  /* asked for */
    REDLOCK_STATE_HELD,     /* as far as is known; redlock_valid_ms() decides */
    REDLOCK_STATE_DETACHED, /* held, but the connection is gone: to be resumed */
    REDLOCK_STATE_LOST      /* told LOST; it will never be held again */
};
enum redlock_state redlock_state(const struct redlock_lock *lock);

/* A pointer of the program's own. */
void redlock_set_data(struct redlock_lock *lock, void *data);
void *redlock_data(const struct redlock_lock *lock);

/* ---- looking around ---- */

/* One row of key=value words, without "* " and line end; good during the call. */
typedef void redlock_row(const char *row, void *user);

/* what: "locks", "waiters", "clients", "nodes", "stats", "config" or "version". Rows come in
 * redlockd's order; some may have been given when the result is an error. */
enum redlock_error redlock_show(struct redlock *redlock, const char *what, redlock_row *row, void *user);

/* The words of a row, or of redlock_error_text(), one after the other: start with at = row; false: there
 * are no more. Words without "=" and the text behind " : " are passed over. Nothing is copied, and neither
 * key nor value ends with NUL. */
struct redlock_pair {
    const char *key;
    size_t key_len;
    const char *value;
    size_t value_len;
};
bool redlock_next_pair(const char **at, struct redlock_pair *pair);

/* ---- in an event loop ---- */

enum redlock_event_kind {
    /* Results of requests; error says how each ended. */
    REDLOCK_ON_LOCK = 1, /* of redlock_lock_begin(), redlock_resume_begin() */
    REDLOCK_ON_UNLOCK = 2,
    REDLOCK_ON_EXTEND = 3,
    REDLOCK_ON_CHECK = 4,
    REDLOCK_ON_SHOW = 5, /* after its last row */
    REDLOCK_ON_ROW = 6,  /* text is the row */
    /* What happens to a lock. */
    REDLOCK_ON_RENEWED = 7,  /* redlock_valid_ms() is longer now */
    REDLOCK_ON_EXPIRING = 8, /* less than a third is left, and nobody has renewed it */
    REDLOCK_ON_LOST = 9,     /* stop; text is why: expired max gone released moved closed, or refused
                                (a lock that could not be resumed on a new connection) */
    REDLOCK_ON_RESUMED = 10, /* on a new connection, without a gap: token and fence are new */
    /* What happens to the connection. */
    REDLOCK_ON_UP = 11,   /* redlockd answered HELLO */
    REDLOCK_ON_DOWN = 12, /* text is why; the library tries again by itself */
    REDLOCK_ON_DRAIN = 13 /* redlockd will shut down; locks are resumed on the next one */
};

struct redlock_event {
    enum redlock_event_kind kind;
    enum redlock_error error;  /* of results; ON_LOST: REDLOCK_LOST; ON_DOWN: why; else REDLOCK_OK */
    uint64_t request;          /* of results: what ..._begin() returned; of ON_LOCK 0 */
    struct redlock_lock *lock; /* NULL: it concerns none */
    const char *text;          /* never NULL; of results as redlock_error_text(), "" when REDLOCK_OK */
    int64_t retry_ms;          /* of results: as redlock_error_retry_ms() */
};

/* Called from within the library's functions (blocking ones too), never from elsewhere; the results of
 * blocking calls are not reported to it. Inside, everything is allowed but blocking calls, which answer
 * REDLOCK_MISUSE. The event and its text are good during the call; so is the lock when ON_LOCK says that
 * it was not taken, and in ON_UNLOCK: it is freed behind the callback. NULL: nobody is called. */
typedef void redlock_callback(struct redlock *redlock, const struct redlock_event *event, void *user);
void redlock_set_callback(struct redlock *redlock, redlock_callback *callback, void *user);

/* Each returns at once; the result comes to the callback, within the timeout (of LOCK: within wait_ms
 * and the timeout), however the connection fares. NULL and 0: refused at once, see redlock_error().
 * Many may be under way. redlock_unlock_begin() frees the lock as redlock_unlock() does, behind
 * the callback. */
struct redlock_lock *redlock_lock_begin(struct redlock *redlock, const char *name,
                                        const struct redlock_lock_options *options);
struct redlock_lock *redlock_resume_begin(struct redlock *redlock, const char *name, const char *token,
                                          const struct redlock_lock_options *options);
uint64_t redlock_unlock_begin(struct redlock_lock *lock);
uint64_t redlock_extend_begin(struct redlock_lock *lock, int64_t ttl_ms);
uint64_t redlock_check_begin(struct redlock_lock *lock);
uint64_t redlock_show_begin(struct redlock *redlock, const char *what);

/* Ends a LOCK that waits: ON_LOCK says REDLOCK_CANCELLED, or REDLOCK_OK if the grant was faster. */
void redlock_cancel(struct redlock_lock *lock);

/* What to wait for: redlock_fd() is one descriptor for the handle's whole life (an epoll one, so that it
 * stays the same over reconnections), redlock_events() the bits of poll(2) to wait for, and
 * redlock_timeout_ms() for how long at most: 0: call redlock_process() now; -1: no limit. Ask for the
 * timeout before each wait: all functions of the handle may change it. */
int redlock_fd(const struct redlock *redlock);
short redlock_events(const struct redlock *redlock);
int redlock_timeout_ms(const struct redlock *redlock);

/* The socket to redlockd, another one on each connection (see REDLOCK_ON_UP); -1: there is none. Never read
 * or write it. A process that has a duplicate of it (dup(2), SCM_RIGHTS) keeps the session locks when this
 * program is killed, and redlockd renews them: for who has something to end before others may have the lock. */
int redlock_socket(const struct redlock *redlock);

/* Reads, writes, connects, and calls the callback for what has happened; never blocks (but see
 * redlock_open() about names of hosts). May be called at any time. REDLOCK_OK, or REDLOCK_MISUSE. */
enum redlock_error redlock_process(struct redlock *redlock);

/* The version of the library, as "0.1.0". */
const char *redlock_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
