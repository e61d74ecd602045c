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
 * These lines need no further checks, since every function accepts a NULL handle or lock and then answers
 * "no".
 *
 * A handle can be used in two ways, which may be mixed:
 *  - blocking: redlock_lock(), _unlock(), _extend(), _check(), _downgrade(), _tell(), _resume(), _show(), _who(),
 *    _watch(), _ping(), _connect(). Each of them returns after the handle's timeout at the latest (struct
 *    redlock_options), redlock_lock() after its wait and the timeout, and redlock_watch_next() after its wait; only
 *    looking up the name of a host may take longer.
 *  - in an event loop: the redlock_..._begin() functions, none of which blocks, with redlock_fd(),
 *    redlock_events(), redlock_timeout_ms(), redlock_process() and one callback for all that happens.
 *
 * A lock of the default kind, REDLOCK_SESSION, is renewed by redlockd for as long as this program is
 * connected, and given back when the program ends, however it ends (over TLS: when it calls redlock_close(); a
 * program that is killed leaves it until its TTL is over). If the program's host dies or the network
 * is cut, the lock ends after its TTL. Only inside its functions does the library learn of renewals,
 * reconnect, and resume its locks after redlockd was restarted. So a program that holds such a lock calls
 * redlock_safe_ms(), or redlock_process() in a loop, at least three times in each TTL. A program that cannot
 * do so takes a REDLOCK_LEASE that is longer than its work.
 *
 * Units: every time is in milliseconds, and its name ends in _ms. Instants are on CLOCK_BOOTTIME.
 *
 * Ownership: a const char * that a function returns belongs to the handle or lock it was called with, and is
 * valid until the next call with that object or its handle. Arguments are copied. redlock_close() frees a
 * handle with its locks and watches; redlock_unlock() and redlock_forget() free a lock, redlock_unwatch() a watch.
 *
 * Errors: functions that return a pointer return NULL on failure, and functions that return the number of a
 * request return 0; redlock_error() and redlock_error_text() of the handle then tell why (redlock_open() sets
 * errno). The other functions that can fail return the error itself. The library never ends the program and
 * raises no signal.
 *
 * Threads: the library has no globals and starts no threads. A handle and its locks are used by one
 * thread at a time; different handles are independent. A call while another thread waits inside a function of the
 * same handle fails with REDLOCK_MISUSE, and changes neither the handle nor its error. Only redlock_valid_ms(), redlock_until_ms() and
 * redlock_fence() may be called from any thread at any time while the lock object lives, so that a
 * worker may ask while another thread runs the handle's loop.
 *
 * fork: a handle belongs to the process that opened it. In a child every function that would use the
 * connection is refused with REDLOCK_MISUSE; redlock_close() frees the memory there and says nothing to
 * redlockd. Descriptors are close-on-exec. A child that neither executes a program nor calls redlock_close()
 * keeps the connection, and with it the locks, after its parent has ended. */
#ifndef REDLOCK_H
#define REDLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define REDLOCK_DEFAULT_SOCKET   "/run/redlockd/redlockd.sock"
#define REDLOCK_DEFAULT_PORT     7335
#define REDLOCK_DEFAULT_TLS_PORT 7336

enum {
    REDLOCK_NAME_BYTES = 200,   /* longest lock name */
    REDLOCK_NAMES_MAX = 16,     /* names of one lock, with commas between ... */
    REDLOCK_NAMES_BYTES = 800,  /* ... and all of them: in a line of 1024 bytes the options need room, too */
    REDLOCK_SLOTS_MAX = 1024,   /* slots of a name */
    REDLOCK_DATA_BYTES = 256,   /* longest data */
    REDLOCK_WORD_BYTES = 64,    /* longest note or client word */
    REDLOCK_TOKEN_HEX = 40,     /* digits of a token */
    REDLOCK_LOCKS_MAX = 65536,  /* lock objects of a handle */
    REDLOCK_WATCHES_MAX = 4096, /* names that a handle watches */
    REDLOCK_REQUESTS_MAX = 65536, /* other requests under way, for which there is room beside these */
    REDLOCK_WAIT_LONGEST = -1     /* for wait_ms: 30 days */
};

/* ---- errors ---- */

enum redlock_error {
    REDLOCK_OK = 0,
    /* redlockd refused the request. redlock_error_text() is redlockd's line, as
     * "-NOQUORUM job votes=2/5 nodes=++!!? : 3 votes are needed; ...". LIMIT and CANCELLED may also come from
     * the library, with a sentence. */
    REDLOCK_BUSY = 1,         /* another client has it (split=1: many asked at once), and wait_ms was 0 */
    REDLOCK_TIMEOUT = 2,      /* another client has the lock, and wait_ms is over */
    REDLOCK_NOQUORUM = 3,     /* too few masters answered, or too few may vote yet: the outcome of UNLOCK,
                                 EXTEND and CHECK is not known; for a downgrade see redlock_downgrade() */
    REDLOCK_NOTHELD = 4,      /* the token does not hold the lock */
    REDLOCK_CANCELLED = 5,    /* by redlock_cancel(), redlock_forget() or redlock_close() */
    REDLOCK_MODE = 6,         /* held in another mode */
    REDLOCK_LIMIT = 7,        /* a limit of redlockd, or of this handle, is reached; the text says which */
    REDLOCK_DRAINING = 8,     /* redlockd is shutting down */
    REDLOCK_DENIED = 9,       /* the user that this program is may not do that */
    REDLOCK_AUTH = 10,        /* redlockd wants a user and a secret, or has refused the given ones */
    REDLOCK_BADREQUEST = 11,  /* redlockd does not allow what was asked, as a TTL beyond its limits */
    REDLOCK_UNSUPPORTED = 12, /* this redlockd cannot do what was asked */
    /* The library found an error. redlock_error_text() is a sentence about it, except for LOST. */
    REDLOCK_LOST = 13,     /* the lock was lost before; for an unlock the text is why, as of REDLOCK_ON_LOST,
                             or redlockd's line */
    REDLOCK_CONNECT = 14,  /* there is no connection to redlockd; the text says why */
    REDLOCK_NOANSWER = 15, /* no answer within the timeout: the outcome is not known, but a lock that is
                              granted later is given back */
    REDLOCK_PROTOCOL = 16, /* the program that answers is not redlockd, or speaks another protocol */
    REDLOCK_ARGUMENT = 17, /* an argument is not allowed, or the lock is not held: nothing was asked */
    REDLOCK_NOMEM = 18,    /* out of memory */
    REDLOCK_MISUSE =
        19,             /* a blocking call inside a callback, a call in a forked child or while another thread
                              is inside, or a secret that must not be sent there or cannot be read */
    REDLOCK_CLOSED = 20 /* redlock_quit() was called before */
};

/* "ok", "busy", "timeout", "noquorum" ...; "unknown" for any other number. */
const char *redlock_error_name(enum redlock_error error);

/* ---- handles ---- */

struct redlock;      /* a connection to one redlockd, made anew when it breaks */
struct redlock_lock; /* a lock that is asked for, is held, or was lost */

/* Structs of options: set them to zero as a whole, as an initializer of any member does: {.timeout_ms = 2000}. A member
 * that is 0 or NULL takes its default.
 *
 * The size of these structs never changes within one soname. A later version of the library takes a new member from
 * the end of the reserved space, with 0 for what was before: so a program that was compiled earlier goes on as it did.
 * A program that uses a newer member with an older library is refused (EINVAL, REDLOCK_ARGUMENT), since reserved
 * space has to be 0. Structs that the library gives to the program (struct redlock_event) may grow at their end. */
struct redlock_options {
    const char *client; /* the name of this program in SHOW CLIENTS and SHOW LOCKS, a word; default: none */
    int64_t timeout_ms; /* for connecting and for each answer; default 10,000; at most 30 days */
    /* The user that this program is, and the file with its secret in one line, which is read on each connection;
     * default: $REDLOCK_USER and $REDLOCK_SECRET_FILE (if the program is not set-user-ID), or none. A secret is
     * sent only through a Unix socket, over TLS, or to a loopback address that was given: see redlock_open(). */
    const char *user;
    const char *secret_file;
    /* Files in PEM, for addresses with "tls://". Defaults: $REDLOCK_CA, $REDLOCK_CERT and $REDLOCK_KEY,
     * else the CAs of the system, and no certificate of this program. */
    const char *tls_ca;   /* the CAs that may have signed redlockd's certificate */
    const char *tls_cert; /* where redlockd asks for a certificate; the key may stand in the same file */
    const char *tls_key;
    int64_t reserved[4]; /* 0; else the struct is refused */
};

/* Opens a handle, without connecting: the first blocking call or redlock_process() connects. Returns NULL
 * with errno ENOMEM, EMFILE or ENFILE, EINVAL if an argument is not allowed, or EPROTONOSUPPORT for TLS in a
 * library that was built without it. options may be NULL.
 *
 * address: "unix:/path", "/path", "host:port", "[::1]:port" or "host". "tls://host:port", "tls://[::1]:port" and
 * "tls://host" speak TLS 1.2 or newer (port 7336 if none is given); redlockd's certificate has to name the host, a number
 * as an IP address.
 * NULL means $REDLOCK_ADDRESS if it is set and not empty (and the program is not set-user-ID), else
 * REDLOCK_DEFAULT_SOCKET, and 127.0.0.1:7335 if connecting there fails and no secret is set: another program may
 * listen on that port while redlockd is away. A host that is not a numeric address is looked up each time the
 * library connects, which may block, even in redlock_process(). */
struct redlock *redlock_open(const char *address, const struct redlock_options *options);

/* Ends the connection as redlock_quit() does, if that was not called before, and frees the handle and its locks. Neither
 * may be used any more. */
void redlock_close(struct redlock *redlock);

/* Says QUIT, upon which redlockd gives back the session locks, waits for the answer for a second at most, and closes the
 * connection. Leases go on. The handle and its locks stay, for the parts of the program that still know them: the locks are
 * REDLOCK_STATE_LOST, every request is refused as REDLOCK_CLOSED, and redlock_close() frees all of them. The callback is not
 * called any more. Called inside a callback, both functions take effect when the outermost function of the library returns.
 * Returns REDLOCK_OK, or why nothing was done: REDLOCK_CLOSED, REDLOCK_MISUSE, REDLOCK_ARGUMENT (NULL). */
enum redlock_error redlock_quit(struct redlock *redlock);

/* The timeout of requests from now on; 0: the default. */
void redlock_set_timeout(struct redlock *redlock, int64_t timeout_ms);

/* Blocks until redlockd has answered on a connection, or the timeout is over, or, if redlockd has never
 * answered on this handle, an attempt to connect has failed. Other blocking calls connect by themselves. */
enum redlock_error redlock_connect(struct redlock *redlock);

/* "redlockd/0.1.0"; NULL while there is no connection. */
const char *redlock_server(const struct redlock *redlock);
/* The address of the connection or, without one, of the last attempt to connect, as
 * "unix:/run/redlockd/redlockd.sock"; before any attempt, the address that is tried first. */
const char *redlock_address(const struct redlock *redlock);

/* How the last request of the handle ended, blocking or not, or why it was refused at once. The text is
 * never NULL: it is "", redlockd's line without its tag, or a sentence of the library. */
enum redlock_error redlock_error(const struct redlock *redlock);
const char *redlock_error_text(const struct redlock *redlock);
/* After how many ms asking again may help (retry= of a refusal); -1: not known. */
int64_t redlock_error_retry_ms(const struct redlock *redlock);

/* ---- locks: blocking ---- */

enum redlock_hold {
    REDLOCK_SESSION = 0, /* redlockd renews the lock while this program is connected, then gives it back */
    REDLOCK_LEASE = 1    /* the lock lives for its TTL, nobody renews it, and it survives the program */
};

/* A redlockd without these modes refuses them as REDLOCK_UNSUPPORTED. */
enum redlock_mode {
    REDLOCK_EXCLUSIVE = 0,
    REDLOCK_SHARED = 1 /* any number of readers, or one writer */
};

/* As struct redlock_options. */
struct redlock_lock_options {
    int64_t ttl_ms;         /* how long the lock lasts if nobody renews it; default: redlockd's default_ttl */
    int64_t wait_ms;        /* how long to wait for it; 0: not at all; REDLOCK_WAIT_LONGEST: 30 days */
    int64_t max_ms;         /* for how long a session lock may be renewed; 0: without end */
    enum redlock_hold hold; /* default: REDLOCK_SESSION */
    const char *note;       /* a word that SHOW LOCKS prints; default: none */
    enum redlock_mode mode; /* default: REDLOCK_EXCLUSIVE */
    uint32_t slots;         /* asks for one of so many places, see redlock_slot(); default: none */
    int64_t reserved[4];    /* 0; else the struct is refused */
    /* What others are to know of the holder, and read with redlock_who(): 1 to 256 visible characters except ". For one
     * exclusive session lock. Whoever holds the name next tells nothing of it. Default: nothing */
    const char *data;
};

/* Takes a lock, waiting for it up to wait_ms. name may be several names, as "from,to": all are taken or none, as one lock
 * with one token, one fence and one end, in neither of the two other modes. Returns NULL if it was not taken. If the connection breaks
 * meanwhile, the request is made again on the next connection with the rest of the wait. But if redlockd has
 * never answered on this handle, the first attempt to connect that fails ends the request with
 * REDLOCK_CONNECT. options may be NULL. */
struct redlock_lock *redlock_lock(struct redlock *redlock, const char *name,
                                  const struct redlock_lock_options *options);

/* Takes over a lock of which this program has the token, as a session lock of this handle. The lock gets a
 * new token and fence, and its former holder loses it. wait_ms and hold of the options are not used. Returns
 * NULL if the lock was not taken over. */
struct redlock_lock *redlock_resume(struct redlock *redlock, const char *name, const char *token,
                                    const struct redlock_lock_options *options);

/* Makes a lock object for a token from elsewhere, to extend, check or unlock that lock, without asking
 * redlockd. The lock is treated as a lease of which nothing is known: it is valid for 0 ms until
 * redlock_check() or redlock_extend(), and its fence is 0. */
struct redlock_lock *redlock_attach(struct redlock *redlock, const char *name, const char *token);

/* Gives the lock back and frees the object, whatever redlockd answers. REDLOCK_OK: given back.
 * REDLOCK_LOST or REDLOCK_NOTHELD: the lock was lost before, and another may have had it while you worked.
 * REDLOCK_NOQUORUM, _NOANSWER, _CONNECT: not known, as when the connection broke before the answer; the lock is free
 * when its TTL is over at the latest.
 * REDLOCK_ARGUMENT (the lock is still waited for, or already being given back) and REDLOCK_MISUSE: nothing
 * was done. */
enum redlock_error redlock_unlock(struct redlock_lock *lock);

/* The same for a lock that was lost to the program before its deadline, so that it stops: redlockd counts and logs the
 * loss, and says why. A redlockd that is older is told nothing. */
enum redlock_loss {
    REDLOCK_LOSS_EXPIRED, /* nobody renewed it */
    REDLOCK_LOSS_CLOCK,   /* a clock stood still, so that its deadline came earlier */
};
enum redlock_error redlock_unlock_lost(struct redlock_lock *lock, enum redlock_loss loss);

/* The same, and for keep_ms from now on nobody gets the name, though nobody holds it: so a job that is done is not done
 * again by the next host. It is for an exclusive lock of one name. REDLOCK_OK: the name is kept. REDLOCK_BADREQUEST, _LIMIT
 * and _UNSUPPORTED: redlockd would not keep it, and the lock was given back. Others as of redlock_unlock(); the name is not
 * kept, unless the connection broke meanwhile. REDLOCK_ARGUMENT also if keep_ms is not 1 to 30 days. */
enum redlock_error redlock_unlock_keep(struct redlock_lock *lock, int64_t keep_ms);

/* Makes the lock last ttl_ms from now (0: its own TTL again), but never makes it end earlier. A session
 * lock is renewed with this TTL from now on. */
enum redlock_error redlock_extend(struct redlock_lock *lock, int64_t ttl_ms);

/* Asks redlockd, which for a lease asks the masters, whether the lock is still held and until when. */
enum redlock_error redlock_check(struct redlock_lock *lock);

/* Makes a session lock that this program has alone one that it shares with readers, and lets no other writer in
 * between: for a program that has written and goes on reading. From this call on the program is a reader, and must
 * not write; redlock_mode() says REDLOCK_SHARED. A reader never becomes a writer: unlock the lock, and lock anew. The
 * lock keeps its fence and gets a new token, and lasts as after redlock_extend(). REDLOCK_OK: the readers that wait
 * are let in (or the lock was a reader's before).
 * REDLOCK_NOQUORUM (too few masters know yet), _NOANSWER, _CONNECT, _DRAINING: the lock is held, as a reader's, and
 * stays so, but other readers may still be kept out. The library goes on asking redlockd, on a new connection too;
 * call this function again to hear when that was done.
 * REDLOCK_LOST, _NOTHELD: the lock was lost. That also happens if the connection breaks before the answer has come,
 * and the next one leads to another redlockd, since nobody has told the library the token that is good there.
 * REDLOCK_ARGUMENT: nothing was asked, since the lock is a lease, has several names or slots, or is waited for or
 * being given back.
 * REDLOCK_MODE (the lock was entered more than once), _LIMIT, _BADREQUEST and others: refused. This program has the
 * lock alone as before; but if an earlier downgrade of it ended as REDLOCK_NOQUORUM or the like, it is a reader for
 * good: redlock_mode() tells. */
enum redlock_error redlock_downgrade(struct redlock_lock *lock);

/* Changes what others are told of the holder (.data of struct redlock_lock_options), for a lock that was taken with some.
 * REDLOCK_OK: a majority of masters has it. REDLOCK_NOQUORUM, _NOANSWER, _CONNECT: they may have this text or the one
 * before; ask again. REDLOCK_MODE: the lock was taken without. REDLOCK_LOST, _NOTHELD: the lock was lost. REDLOCK_UNSUPPORTED:
 * this redlockd is too old. */
enum redlock_error redlock_tell(struct redlock_lock *lock, const char *data);

/* Frees the object without waiting. A lease goes on until its TTL is over or somebody unlocks it by its
 * token; a session lock is given back; a wait is cancelled. */
void redlock_forget(struct redlock_lock *lock);

/* ---- what a lock knows, without I/O ---- */

/* For how many ms the lock is surely still held; 0: it is not held, or that is not known. The result is
 * never longer than what redlockd grants: over a Unix socket both read the same clock, otherwise the
 * library allows for the difference of the clocks. Ask before each step of the work, and stop at 0. */
int64_t redlock_valid_ms(const struct redlock_lock *lock);

/* Like redlock_valid_ms(), but does what redlock_process() does first, for programs without an event loop.
 * The function waits for nothing else, except while the lock is being resumed after the connection broke:
 * then it waits for at most 100 ms, since resuming takes several steps and each of them would otherwise wait
 * for the next call. */
int64_t redlock_safe_ms(struct redlock_lock *lock);

/* The deadline behind redlock_valid_ms(), in ms on this machine's CLOCK_BOOTTIME; 0: the lock is not held, or
 * that is not known. Renewals make it later, and it becomes earlier if a clock is found to have stood still
 * (a host was paused): read it when you use it. */
int64_t redlock_until_ms(const struct redlock_lock *lock);

/* The fencing token, which grows with every grant of the name, whoever gets it: pass it to what the lock
 * protects. 0: the lock is not held yet, or attached. A lock that was resumed after a reconnection has a
 * new fence and token (REDLOCK_ON_RESUMED), and a downgraded one has a new token: read them when you use them. */
uint64_t redlock_fence(const struct redlock_lock *lock);
const char *redlock_token(const struct redlock_lock *lock); /* 40 hex digits, "" while there is none */
const char *redlock_name(const struct redlock_lock *lock);
/* REDLOCK_SHARED: this program only reads. That is so from redlock_downgrade() on, for a lock that was taken over by
 * redlock_resume() and was a reader's, and for NULL and a lock of redlock_attach(), of which nothing is known. */
enum redlock_mode redlock_mode(const struct redlock_lock *lock);
/* With .slots: which of the places it is, from 0 on, as the number of a licence, a shard or a port; else -1. */
int redlock_slot(const struct redlock_lock *lock);
struct redlock *redlock_of(const struct redlock_lock *lock); /* its handle */

enum redlock_state {
    REDLOCK_STATE_NONE,     /* no lock (NULL) */
    REDLOCK_STATE_WAITING,  /* asked for */
    REDLOCK_STATE_HELD,     /* held, as far as is known; redlock_valid_ms() decides */
    REDLOCK_STATE_DETACHED, /* held, but the connection is gone: to be resumed */
    REDLOCK_STATE_LOST      /* lost, or being given back: this object will never hold the lock again */
};
enum redlock_state redlock_state(const struct redlock_lock *lock);

/* A pointer that the library keeps for the program and does not use. */
void redlock_set_data(struct redlock_lock *lock, void *data);
void *redlock_data(const struct redlock_lock *lock);

/* ---- names ---- */

/* Writes a name that is built of parts, whatever is in them: {"order", "17"} becomes order:17, and {"file", "a b:c"}
 * file:a%20b%3Ac. Each byte that a name may not have, and each : and %, becomes %XX, so different parts have different
 * names; the libraries for other languages do the same. REDLOCK_ARGUMENT: the name would be longer than
 * REDLOCK_NAME_BYTES, or its first part is empty. */
enum redlock_error redlock_name_of(char name[REDLOCK_NAME_BYTES + 1], const char *const parts[],
                                   size_t count);
/* The same for people: each %XX is the byte again, but for control characters and for what is no UTF-8. */
void redlock_name_shown(char text[REDLOCK_NAME_BYTES + 1], const char *name);

/* ---- looking around ---- */

/* Gets a row of key=value words, without "* " and line end; valid during the call. */
typedef void redlock_row(const char *row, void *user);

/* what: "locks", "waiters", "clients", "nodes", "daemons", "stats", "config" or "version". Rows come in redlockd's
 * order. If the result is an error, some rows may have been given before. */
enum redlock_error redlock_show(struct redlock *redlock, const char *what, redlock_row *row, void *user);

/* Asks who has the name and who waits for it. The masters say that, so any redlockd can tell: protocol.txt has the
 * rows of WHO. The row of a holder that tells something has data=, fence= and since=. */
enum redlock_error redlock_who(struct redlock *redlock, const char *name, redlock_row *row, void *user);

/* Watching a name: who has it, and when that changes, without any part in it. Whoever watches misses what lies between two
 * states at times, is told fences in order, and knows the present state within 1.2 s at the latest. When the
 * connection breaks, the library watches again on the next one by itself, and tells a state only if it is another. */
struct redlock_watch; /* a name that is watched */

enum redlock_now_state {
    REDLOCK_NOW_UNKNOWN, /* too few masters answer to say */
    REDLOCK_NOW_FREE,    /* nobody has it */
    REDLOCK_NOW_HELD,    /* somebody has it, or readers, or one of its slots is taken */
    REDLOCK_NOW_KEPT     /* nobody has it, and nobody can take it, see redlock_unlock_keep() */
};

struct redlock_now {
    enum redlock_now_state state;
    enum redlock_mode mode; /* REDLOCK_SHARED: readers have it */
    uint64_t fence;         /* of a holder that tells something (data); else 0 */
    const char *host;       /* of the redlockd through which it is held; NULL: not known */
    const char *data; /* what the holder tells: another program's text, not to be trusted; NULL: nothing */
};

/* Begins to watch one name, and returns when its state is known: redlock_now() has it. NULL: REDLOCK_UNSUPPORTED (this
 * redlockd is too old), _LIMIT (of redlockd, or REDLOCK_WATCHES_MAX), _DENIED and others. */
struct redlock_watch *redlock_watch(struct redlock *redlock, const char *name);
/* Waits for a state that this function and redlock_watch() have not told yet, for wait_ms at most (REDLOCK_WAIT_LONGEST:
 * without end), also while there is no connection. REDLOCK_OK: redlock_now() has it. REDLOCK_TIMEOUT: there was
 * none. Any other error: the watch has ended, as redlockd refuses it on a new connection. */
enum redlock_error redlock_watch_next(struct redlock_watch *watch, int64_t wait_ms);
/* The last state that redlockd told; valid until the library is called again with the handle. Until the first one it is
 * REDLOCK_NOW_UNKNOWN. */
const struct redlock_now *redlock_now(const struct redlock_watch *watch);
const char *redlock_watch_name(const struct redlock_watch *watch);
/* Ends it, without waiting, and frees the object. Nothing is told of it any more. */
void redlock_unwatch(struct redlock_watch *watch);

/* For operators, as a last resort: takes the name from its holder, who learns of it a few round trips later, or at the next
 * renewal only, and works on until then. redlockd refuses (REDLOCK_DENIED) unless it is configured with allow_break: yes. slot is the one that is
 * meant, -1 without slots. After REDLOCK_OK redlock_error_text() is redlockd's line, which says whose lock it was. */
enum redlock_error redlock_break(struct redlock *redlock, const char *name, int slot);

/* Whether redlockd can grant locks now: REDLOCK_OK, or REDLOCK_NOQUORUM if it answers and cannot (too few
 * masters may vote, or it is shutting down). Any other error: it does not answer. */
enum redlock_error redlock_ping(struct redlock *redlock);

/* Gives the key=value words of a row, or of redlock_error_text(), one after the other; start with *at =
 * row. Returns false when there are no more. Words without "=" and the text behind " : " are skipped.
 * Nothing is copied, and neither key nor value ends with NUL. */
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
    REDLOCK_ON_LOCK = 1, /* from redlock_lock_begin() or redlock_resume_begin() */
    REDLOCK_ON_UNLOCK = 2,
    REDLOCK_ON_EXTEND = 3,
    REDLOCK_ON_CHECK = 4,
    REDLOCK_ON_SHOW = 5, /* after the last row */
    REDLOCK_ON_ROW = 6,  /* text is the row */
    /* Events of a lock. */
    REDLOCK_ON_RENEWED = 7,  /* redlock_valid_ms() is longer now */
    REDLOCK_ON_EXPIRING = 8, /* less than a third is left, and nobody has renewed it */
    REDLOCK_ON_LOST = 9,     /* stop; text is why: expired max gone released moved closed denied unknown, or
                                refused (the lock could not be resumed on a new connection) */
    REDLOCK_ON_RESUMED = 10, /* held without a gap on a new connection: token and fence are new */
    /* Events of the connection. */
    REDLOCK_ON_UP = 11,    /* redlockd answered HELLO */
    REDLOCK_ON_DOWN = 12,  /* text is why; the library tries again by itself */
    REDLOCK_ON_DRAIN = 13, /* redlockd will shut down; locks are resumed on the next connection */
    /* The result of redlock_downgrade_begin(). */
    REDLOCK_ON_DOWNGRADE = 14,
    REDLOCK_ON_TELL = 15, /* the result of redlock_tell_begin() */
    /* Of a watch. REDLOCK_OK: redlock_now() has another state than before, or the first one. An error: the watch has
     * ended, and why; redlock_unwatch() frees it, here or later. */
    REDLOCK_ON_NOW = 16
};

struct redlock_event {
    enum redlock_event_kind kind;
    enum redlock_error
        error;        /* results: how it ended; ON_LOST: REDLOCK_LOST; ON_DOWN: why; else REDLOCK_OK */
    uint64_t request; /* results: the number that ..._begin() returned; ON_LOCK: 0 */
    struct redlock_lock *lock;   /* NULL: the event is about no lock */
    const char *text;            /* never NULL; results: as redlock_error_text(), "" for REDLOCK_OK */
    int64_t retry_ms;            /* results: as redlock_error_retry_ms() */
    struct redlock_watch *watch; /* ON_NOW; else NULL */
};

/* The callback is called only from within functions of the library, blocking ones too. The results of
 * blocking calls are not reported to it. Inside the callback every function may be called except the blocking
 * ones and redlock_process(), which fail with REDLOCK_MISUSE. The event and its text are valid during the
 * call. After ON_UNLOCK, and after ON_LOCK with an error, the lock is freed when the callback returns. NULL:
 * no callback. */
typedef void redlock_callback(struct redlock *redlock, const struct redlock_event *event, void *user);
void redlock_set_callback(struct redlock *redlock, redlock_callback *callback, void *user);

/* Each function returns at once, and its result is reported to the callback within the timeout (for LOCK:
 * within wait_ms and the timeout), whatever becomes of the connection. NULL and 0 mean that the request
 * was refused at once, see redlock_error(). Many requests may be under way at a time.
 * redlock_unlock_begin() frees the lock as redlock_unlock() does, after the callback. */
struct redlock_lock *redlock_lock_begin(struct redlock *redlock, const char *name,
                                        const struct redlock_lock_options *options);
struct redlock_lock *redlock_resume_begin(struct redlock *redlock, const char *name, const char *token,
                                          const struct redlock_lock_options *options);
uint64_t redlock_unlock_begin(struct redlock_lock *lock);
uint64_t redlock_unlock_keep_begin(struct redlock_lock *lock, int64_t keep_ms);
uint64_t redlock_extend_begin(struct redlock_lock *lock, int64_t ttl_ms);
uint64_t redlock_check_begin(struct redlock_lock *lock);
uint64_t redlock_downgrade_begin(struct redlock_lock *lock);
uint64_t redlock_tell_begin(struct redlock_lock *lock, const char *data);
uint64_t redlock_show_begin(struct redlock *redlock, const char *what);
uint64_t redlock_who_begin(struct redlock *redlock,
                           const char *name); /* reported as a redlock_show_begin() */
/* Reported by ON_NOW, again and again. */
struct redlock_watch *redlock_watch_begin(struct redlock *redlock, const char *name);

/* Ends a LOCK that waits: ON_LOCK then has REDLOCK_CANCELLED, or REDLOCK_OK if the grant was faster. */
void redlock_cancel(struct redlock_lock *lock);

/* redlock_fd() is the descriptor to wait for, the same for the handle's whole life (it is an epoll
 * descriptor, so that reconnections do not change it). redlock_events() has the bits of poll(2) to wait
 * for. redlock_timeout_ms() is for how many ms to wait at most; 0: call redlock_process() now; -1: no
 * limit. Ask for the timeout before each wait, since every function of the handle may change it. */
int redlock_fd(const struct redlock *redlock);
short redlock_events(const struct redlock *redlock);
int redlock_timeout_ms(const struct redlock *redlock);

/* The socket to redlockd, a new one on each connection (see REDLOCK_ON_UP); -1: there is none. Never read
 * or write it. A process that has a duplicate of it (dup(2), SCM_RIGHTS) keeps the session locks alive if
 * this program is killed, since redlockd goes on renewing them: so a guard can end what the program has
 * started before others may have the lock. */
int redlock_socket(const struct redlock *redlock);

/* Reads, writes, connects, and calls the callback for what has happened. The function never blocks, except
 * to look up the name of a host (see redlock_open()). It may be called at any time outside the callback.
 * Returns REDLOCK_OK, or why the handle cannot be used here: REDLOCK_MISUSE, REDLOCK_ARGUMENT (NULL) or
 * REDLOCK_CLOSED. */
enum redlock_error redlock_process(struct redlock *redlock);

/* The library's version, as "0.1.0". */
const char *redlock_version(void);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#endif
