/* The daemon's knowledge at one moment, as values: all that is written about it as a page, as JSON and as
 * metrics comes from here. The loop fills it in, at most once a second for all requests together. */
#ifndef REDLOCKD_HTTP_SNAPSHOT_H
#define REDLOCKD_HTTP_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/counts.h"
#include "daemon/events.h"
#include "daemon/figures.h"
#include "daemon/histogram.h"
#include "proto/daemons.h"
#include "proto/message.h"

enum {
    SNAPSHOT_ROWS = 20,
    SNAPSHOT_LEADERS_OF = 1000,
    SNAPSHOT_DAEMONS = 64,
    SNAPSHOT_ERRORS = 32,
    SNAPSHOT_BY_BYTES = 24
};

struct snapshot_error {
    const char *word;
    uint64_t count;
};

struct snapshot_master {
    const char *address;        /* as configured, without its password */
    const char *state;          /* up, slow, quarantine, refused or down */
    const char *why;            /* its word in SHOW NODES; "": none */
    char by[SNAPSHOT_BY_BYTES]; /* the daemon that keeps it out, as read from the master; "": none */
    uint32_t version;           /* 0: not known */
    bool voting, evicts;
    int64_t for_ms, left_ms, rtt_us; /* rtt_us -1: not known */
    uint64_t pending, undo, reconnects;
    struct histogram rtts;
    unsigned error_count;
    struct snapshot_error errors[SNAPSHOT_ERRORS];
};

struct snapshot_lock {
    struct name name;
    struct word client, note;
    struct data data; /* what its holder tells */
    uint64_t session; /* 0: bound to no connection */
    int64_t held_ms, valid_ms;
    uint32_t waiters;
    bool lease, shared;
    uint16_t slot; /* 1 + its number; 0: it is none */
};

/* A lock whose holder tells others something. */
struct snapshot_leader {
    struct name name;
    struct word client;
    struct data data;
    uint64_t session, fence;
    int64_t since_ms; /* by the clock of the day */
};

struct snapshot_kept {
    struct name name;
    int64_t left_ms;
};

struct snapshot_wait {
    struct name name;
    struct word client, holder; /* holder: the client that has the lock here */
    uint64_t session, holder_session;
    bool held;
    int64_t waited_ms, left_ms;
    uint32_t position;
};

struct snapshot_daemon {
    struct daemon_row row;
    int64_t seen_ms; /* since it wrote itself last */
    unsigned masters;
    bool self;
};

/* How many of something there are, and how many there may be. */
struct snapshot_limit {
    const char *key; /* in the configuration */
    uint64_t used, limit;
};

enum { SNAPSHOT_LIMITS = 4 };

/* The peers to which our own certificates are shown. */
enum snapshot_cert { CERT_CLIENTS, CERT_HTTP, CERT_MASTERS, SNAPSHOT_CERTS };

/* Why an HTTP connection was closed without an answer. */
enum http_drop { HTTP_DROP_TIME, HTTP_DROP_ROOM, HTTP_DROP_TLS, HTTP_DROPS };

enum { HTTP_STATUSES = 11 };

struct snapshot_answers {
    int status;
    uint64_t count;
};

/* At which step between two generations of the masters this daemon is. */
struct snapshot_group {
    uint32_t step, generation;
    const char *state, *why; /* as in SHOW GROUP; why "": it waits for nothing */
    bool usual;              /* it passes by itself */
    char text[320];          /* what it waits for and what to do, in words; "": nothing */
    int64_t left_ms;
};

struct snapshot {
    const char *version;
    const char *host; /* the name of this host */
    int64_t boot_ms, wall_ms, up_ms;
    const char *unready; /* why no lock can be granted, as one word; NULL: locks are granted */
    bool draining, reload_failed;
    struct snapshot_group group;
    unsigned master_count, voters, voting,
        quorum; /* with those that come or go; of these vote; may now; needed */
    struct snapshot_master masters[MASTERS];

    unsigned daemon_count, daemon_rows; /* how many a quorum of masters lists; rows for the first ones */
    struct snapshot_daemon daemons[SNAPSHOT_DAEMONS];

    struct figures figures;
    struct snapshot_limit limits[SNAPSHOT_LIMITS];
    int64_t longest_wait_ms;
    unsigned lock_rows, wait_rows; /* the oldest first */
    struct snapshot_lock oldest_locks[SNAPSHOT_ROWS];
    struct snapshot_wait oldest_waits[SNAPSHOT_ROWS];

    /* Of the SNAPSHOT_LEADERS_OF locks that are held longest; and names that are kept, in no order. */
    unsigned leader_rows, kept_rows;
    struct snapshot_leader leaders[SNAPSHOT_ROWS];
    struct snapshot_kept kept[SNAPSHOT_ROWS];

    uint64_t lost[LOST_REASONS];
    bool wall_known;       /* else wall_ahead_ms is not known */
    int64_t wall_ahead_ms; /* this host's clock of the day, ahead of the median of the masters' */
    struct snapshot_answers http_answers[HTTP_STATUSES];
    uint64_t http_dropped[HTTP_DROPS];
    int64_t cert_end_s[SNAPSHOT_CERTS]; /* when the first certificate ends; INT64_MAX: there is none */
    const struct counts *counts;
    const struct histogram *held, *renewal_left, *lag;
    const struct events *events;
};

/* Cheap enough for once a second, whether anybody looks or not. */
struct snapshot_sample {
    uint64_t granted, refused, lost; /* since the start */
    uint64_t waiters;
    int64_t rtt_us; /* the slowest master that answers has this; 0: none */
};

#endif
