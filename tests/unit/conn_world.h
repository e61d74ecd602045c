/* Connections with real sockets and a handler that plays the coordinator:
 *
 *     a name that begins with "wait"   answered by answer() or CANCEL, or when the session finishes
 *     any other name                   granted or done at once
 *
 * Each request and each end that the handler hears of is appended to world.heard as a line. */
#ifndef REDLOCKD_TESTS_CONN_WORLD_H
#define REDLOCKD_TESTS_CONN_WORLD_H

#include <arpa/inet.h>
#include <assert.h>
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/conn/conns.h"
#include "daemon/log.h"
#include "proto/line.h"

enum { PATIENCE_MS = 10000, PENDING = 512, HEARD_BYTES = 65536 };

struct pending {
    uint64_t session, request;
    struct name name;
};

struct world {
    struct event_base *base;
    struct conf conf;
    struct conf_listener listener; /* the listener that accepts the clients */
    struct conns *conns;
    struct conn_handler handler;
    struct pending pending[PENDING];
    unsigned pendings;
    struct pending looking; /* the last WHO or BREAK */
    uint64_t finishing[64];
    unsigned finishings;
    unsigned places;       /* 0, or so many requests may be under way */
    bool share;            /* a Unix socket's requests may take one of these */
    bool late_end;         /* the test calls conns_ended() itself */
    bool unready;          /* PING is answered ready=0 */
    bool tell_lost;        /* a released session hears !LOST held first */
    uint64_t rows;         /* rows of SHOW LOCKS */
    uint64_t hidden_rows;  /* of which so many, the first ones, are hidden */
    uint32_t locks, waits; /* every session that is known has so many */
    bool rows_later;       /* the rows are not known yet; rows_asked: so often they were asked for */
    uint64_t rows_made, rows_asked;
    uint64_t requests;
    char heard[HEARD_BYTES];
    size_t heard_len;
};

struct name world_name(const char *text);
void look_up_answer(struct world *w); /* the last WHO or BREAK, by as many rows as SHOW LOCKS has */
void __attribute__((format(printf, 2, 3))) heard(struct world *w, const char *fmt, ...);
/* Answers the request that waits for that name; false: no request waits. */
bool answer(struct world *w, const char *name, enum reply_code code);
void on_request(void *arg, uint64_t session, uint64_t request, uint64_t target, const struct request *what);
void on_finish(void *arg, uint64_t session);
void world_make(struct world *w);
/* Starts the connections; the test has changed its limits before. */
void world_start(struct world *w);
void world_free(struct world *w);
void world_turn(struct world *w);
/* A client on a Unix socket; its side is blocking. */
int client_unix(struct world *w);
int client_tcp(struct world *w);
/* Closes a TCP socket with a reset. */
void reset_close(int fd);
void say_bytes(int fd, const char *bytes, size_t len);
void say(int fd, const char *text);
/* The next bytes that the client reads are these. */
void expect(struct world *w, int fd, const char *text);
/* The refusal of this line, whose text is tested with proto/line. */
const char *refused(const char *line);
void __attribute__((format(printf, 3, 4))) expectf(struct world *w, int fd, const char *fmt, ...);
/* Nothing comes but the end of the stream. */
void expect_end(struct world *w, int fd);
/* Turns the loop until the handler has heard exactly this text since world_make(). */
void expect_heard(struct world *w, const char *text);
/* Reads until these are the last bytes; what comes before them does not matter. */
void expect_last(struct world *w, int fd, const char *text);
void expect_count(struct world *w, unsigned count);
/* Turns the loop a few times, for what must not happen. */
void settle(struct world *w);
/* Reads lines up to and including this one; returns their number. */
unsigned read_lines(struct world *w, int fd, const char *last);

#define LOCKED(name) \
    "+LOCKED " name " token=0000000000000000000000000000000000000000 fence=7 valid=1000 until=5000\n"
#define UNLOCKED(name) "+UNLOCKED " name " confirmed=5/5\n"

#endif
