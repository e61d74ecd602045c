/* A client: a process that takes locks through the daemons, one at a time, works under them, gives
 * them back in every way there is, and records what it knew.
 *
 *     own    the connection that its session locks belong to; the way it is closed is part of the test
 *     other  a connection, mostly to another daemon, where locks are extended, checked and released by
 *            their tokens, and where RESUME moves locks: the connection then becomes the own one */
#ifndef CHAOS_CLIENT_H
#define CHAOS_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "tests/chaos/history.h"

enum {
    DAEMONS = 3,
    LINE = 2100,
    LINK_REQUESTS = 4,
    SOCKET_PATH = 104,
    TOKEN_TEXT = 41,
    LIST_NAMES = 4, /* the longest list of names */
    NAMES_TEXT = 32
};

/* Shared by all processes. */
struct shared {
    uint64_t seed;
    atomic_bool stop;
    bool long_holds; /* holders keep more locks over several renewals */
    uint16_t daemon_port[DAEMONS];
    char daemon_path[DAEMONS][SOCKET_PATH];
    /* A BREAK may have taken each lock of the name that was asked for before; INT64_MAX: one is under way. */
    _Atomic int64_t broken_us[CHAOS_NAMES];
    _Atomic uint32_t steady[DAEMONS]; /* 1 + the generation at which a daemon says that it is steady */
    char counter_path[SOCKET_PATH];   /* the Redis that holds the protected counters and balances */
    struct history history;
};

/*   FREE --asked--> ASKED --its reply--> ANSWERED --taken--> FREE
 *                     \-----connection lost--> BROKEN ---------^     */
enum request_state { REQUEST_FREE, REQUEST_ASKED, REQUEST_ANSWERED, REQUEST_BROKEN };

struct request {
    enum request_state state;
    uint32_t tag;
    bool locks;
    char line[LINE]; /* the reply, behind its tag */
};

struct link {
    int fd; /* -1: none */
    unsigned daemon;
    bool tcp;
    bool draining;
    size_t len;
    struct request request[LINK_REQUESTS];
    char buffer[2 * LINE];
};

/* The client's lock, as far as it knows. */
struct hold {
    uint32_t ask; /* 0: none */
    uint8_t name[LIST_NAMES], names, daemon;
    bool lease, shared, granted;
    bool slot;     /* of the name that has slots; its number is known from the grant on, in name[0] */
    bool given_up; /* its release was sent, or its loss was told */
    uint64_t fence;
    int64_t until_us;
    int64_t asked_us; /* of RESUME: when the first lock was asked for */
    char token[TOKEN_TEXT];
};

struct redisContext;

struct client {
    struct shared *shared;
    uint32_t who;
    uint64_t draws;
    uint32_t tags;
    struct link own, other;
    struct hold hold;
    bool left; /* a lease runs out on its own connection: an UNLOCK without a token might end that */
    struct redisContext *counter;
};

/* Runs until shared->stop, or until the history is full; never returns. */
_Noreturn void client_run(struct shared *shared, uint32_t who);

/* Breaks the lock of the name through this daemon, as an operator would; never returns. */
_Noreturn void breaker_run(struct shared *shared, unsigned name, unsigned daemon);

/* ---- client_link.c: connections and lines ---- */

bool link_open(struct client *c, struct link *link, unsigned daemon, bool tcp);
/* NULL: the connection is gone, or has too many requests. */
struct request *link_ask(struct client *c, struct link *link, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void link_finish(struct client *c, struct link *link); /* sends a FIN, reads to the end, closes */
void link_reset(struct link *link);                    /* sends a RST where the connection is TCP */
/* Reads both connections until that time, or until the request (NULL: none) has ended. */
void links_listen(struct client *c, int64_t until_us, const struct request *request);
/* The value behind key= (with its '='), as a number; -1: none. */
int64_t line_number(const char *line, const char *key);

/* ---- client.c: what lines mean ---- */

void client_notice(struct client *c, struct link *link, const char *line);
void client_answer(struct client *c, struct link *link, struct request *request);
void client_wrong(struct client *c, const char *what);
uint64_t client_draw(struct client *c, uint64_t below);

/* ---- client_work.c: counters and balances under the lock ---- */

bool client_believes(const struct client *c);
/* Believes, and no BREAK can have taken the lock: its old holder works on until it hears of that, and only the fence
 * keeps it out. */
bool client_holds(const struct client *c);
void client_record(struct client *c, enum record_kind kind, uint64_t number, const char *text);
/* Reads the counters, sleeps while it listens, writes them one higher; with several names it also moves an
 * amount from the first to the last. A reader reads twice, and must see the same. */
void client_work(struct client *c, int64_t sleep_us);

#endif
