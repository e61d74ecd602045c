/* Shared by the files of this folder only. Each file calls only files above it in this list, but answer.c
 * takes the snapshot from http.c:
 *
 *     body.c      text under construction, escaped
 *     head.c      the head of a request; host.c: its Host
 *     rates.c     the last minute, a sample a second
 *     words.c     durations, clients and the like, in words
 *     troubles.c  what is wrong, in words
 *     process.c   what the kernel knows of this process
 *     metrics.c   a snapshot for Prometheus
 *     status.c    a snapshot as JSON
 *     page.c      a snapshot as a page, with page_table.c and page_curve.c
 *     viewer.c    who asks, and what it may see
 *     answer.c    a request -> its answer
 *     http_tell.c what the log tells of connections
 *     http_conn.c one connection
 *     http.c      all of them */
#ifndef REDLOCKD_HTTP_PRIVATE_H
#define REDLOCKD_HTTP_PRIVATE_H

#include <event2/event_struct.h>
#include <sys/queue.h>

#include "daemon/http/body.h"
#include "daemon/http/head.h"
#include "daemon/http/http.h"
#include "daemon/wire/wire.h"

enum {
    HTTP_LIFE_MS = 5000,        /* at most, of a connection: from accept to close */
    HTTP_GUESS_MS = 1000,       /* for which the answer to a wrong secret is held back, as AUTH's is */
    HTTP_DRAIN_BYTES = 1 << 20, /* at most, read behind a request, so that its answer arrives */
    HTTP_SNAPSHOT_MS = 1000,    /* age of a snapshot that is shown again */
    HTTP_NAME_BYTES = 256,
    RATES = 60,
};

/* The last minute. Begins zeroed. */
struct rates {
    struct snapshot_sample last;           /* as the handler told it */
    bool known;                            /* last was told */
    unsigned count;                        /* seconds that are known, at most RATES */
    unsigned next;                         /* where the next second goes */
    struct snapshot_sample seconds[RATES]; /* granted, refused and lost in that second */
};

void rates_add(struct rates *rates, const struct snapshot_sample *sample);
/* The second that was i seconds before the last one; NULL: not known. */
const struct snapshot_sample *rates_second(const struct rates *rates, unsigned i);

struct trouble {
    enum event_tone tone;
    char text[2 * EVENT_TEXT_BYTES]; /* not escaped yet */
};
enum { TROUBLES = MASTERS + 16 };

/* ---- troubles.c ---- */

/* Finds what is wrong: the quorum first, then lost locks, masters, limits and the rest. Returns how many. */
unsigned troubles_find(const struct snapshot *snapshot, const struct rates *rates,
                       struct trouble troubles[TROUBLES]);
/* Says what the word behind why= of a master means; NULL: the page shows the word itself. */
const char *troubles_advice(const char *why);

/* ---- words.c ---- */

enum { DURATION_BYTES = 40, VERSION_BYTES = 24 };
const char *words_duration(int64_t ms, char out[DURATION_BYTES]); /* "1.4 s", "3 min 5 s" */
/* A text that was read from a master, if it is a word of our grammar; "?" for any other. */
const char *words_foreign(const char *text, size_t size, char out[WORD_BYTES + 1]);
const char *words_version(const struct snapshot_master *master,
                          char out[VERSION_BYTES]); /* "" if not known */
/* Why the master is in its state, with the daemon that said so: "restart, by 1a2b3c"; "": not known. */
enum { WHY_BYTES = 128 };
const char *words_why(const struct snapshot_master *master, char out[WHY_BYTES]);
/* A client as people know it: its word, or else the number of its session. Session 0 stands for whoever has
 * the token. */
enum { CLIENT_BYTES = WORD_BYTES + 32 };
const char *words_client(const struct word *client, uint64_t session, char out[CLIENT_BYTES]);
/* How a lock is held: "session", "shared lease", "slot 3, session". */
enum { KIND_BYTES = 40 };
const char *words_kind(const struct snapshot_lock *lock, char out[KIND_BYTES]);
const char *words_time(int64_t wall_ms, char out[DURATION_BYTES]); /* "2026-11-22 14:03:05Z" */
const char *words_tone(enum event_tone tone);                      /* as in JSON, and in the page's style */

/* ---- metrics.c, status.c, page.c ---- */

void metrics_write(struct body *b, const struct snapshot *snapshot, bool openmetrics);
void status_write(struct body *b, const struct snapshot *snapshot, const struct rates *rates);
void page_write(struct body *b, const struct snapshot *snapshot, const struct rates *rates);

/* ---- page_table.c, page_curve.c ---- */
void page_masters(struct body *b, const struct snapshot *snapshot);
void page_daemons(struct body *b, const struct snapshot *snapshot);
void page_waits(struct body *b, const struct snapshot *snapshot);
void page_locks(struct body *b, const struct snapshot *snapshot);
void page_leaders(struct body *b, const struct snapshot *snapshot);
void page_kept(struct body *b, const struct snapshot *snapshot);
void page_events(struct body *b, const struct snapshot *snapshot);
void page_curves(struct body *b, const struct rates *rates);

struct http_conn;

/* ---- viewer.c ---- */

struct viewer {
    const struct users *users; /* (ref) NULL: everybody may see everything */
    const struct user *user;   /* (ref) NULL: none */
    bool may_prove;            /* a secret would not cross a network */
};

struct viewer viewer_find(struct http_conn *c, const struct head *head);
bool viewer_may_see(const struct viewer *viewer, enum conf_serves what);
/* The part that a viewer that may see the page is shown: all itself, or a copy in filtered. */
const struct snapshot *viewer_filter(const struct viewer *viewer, const struct snapshot *all,
                                     struct snapshot *filtered);

/* ---- answer.c ---- */

/* Writes the whole answer to a head of that length, or (len 0) the refusal of one that is too long. */
void answer_write(struct body *b, struct http_conn *c, size_t head_len);
/* Writes a refusal of whatever was said: 400, and why. */
void answer_refuse(struct body *b, struct http_conn *c, const char *why);
/* Fills in how often each status was answered. */
void answer_counts(const struct http *http, struct snapshot *snapshot);

/* ---- http_tell.c ---- */

/* At most once a second, but for log_level debug; why is without quotes in it. */
void http_tell(struct http_conn *c, const char *event, const char *why);

/* ---- http_conn.c ---- */

/*              a whole head, or too long a one        all written        the client closed
 *   READING ------------------------------> WRITING -----------> ENDING ----------------> closed
 *      '--- with a wrong secret --> HELD -----^ after a second
 *
 * In each state, an error or the end of its time closes the connection. So does the need of room for another
 * one, except in WRITING, and the end of the client's bytes in READING. READING begins with the handshake where
 * TLS is spoken. */
enum http_state { HTTP_READING, HTTP_HELD, HTTP_WRITING, HTTP_ENDING };

struct http_conn {
    TAILQ_ENTRY(http_conn) all; /* the oldest first */
    struct http *http;
    const struct conf_listener *listener; /* (ref) the entry through which it came */
    struct wire wire;
    struct handshake *handshake; /* TLS is not open yet: nothing else watches the socket */
    char *certificate;           /* (owned) the names of the client's; NULL: it has none */
    enum http_state state;
    bool guessed; /* the request had a wrong secret */
    struct event io, timer;
    size_t len, drained;
    struct body answer;
    char head[HEAD_BYTES];
};

/* See http_accept(). false: no memory, and fd is closed. */
bool http_conn_open(struct http *http, int fd, const struct conf_listener *listener, struct wire_context *tls,
                    uint16_t peer);
void http_conn_close(struct http_conn *c);
/* Logs and counts why, and closes it. */
void http_conn_drop(struct http_conn *c, enum http_drop why, const char *text);

/* ---- http.c ---- */

struct http {
    struct event_base *base;
    const struct conf *conf;
    const struct http_handler *handler;
    struct handshakes *handshaker; /* (ref) */
    struct event tick;
    TAILQ_HEAD(http_conns, http_conn) conns;
    unsigned count;
    uint64_t answered[HTTP_STATUSES]; /* by status, see answer.c */
    uint64_t dropped[HTTP_DROPS];
    struct http_stats stats;
    int64_t told_ms;            /* when the log told last of a connection; 0: never */
    uint64_t untold;            /* how many it has left out since then */
    char host[HTTP_NAME_BYTES]; /* the name of this host */
    struct snapshot snapshot;
    struct snapshot filtered; /* for the viewer of the present request */
    bool has_snapshot;
    struct rates rates;
};

/* The present snapshot, at most HTTP_SNAPSHOT_MS old. */
const struct snapshot *http_snapshot(struct http *http);

#endif
