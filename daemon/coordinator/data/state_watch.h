/* These objects tell who has a name to the clients that watch it (watch.h). Part of state.h. */
#ifndef REDLOCKD_STATE_WATCH_H
#define REDLOCKD_STATE_WATCH_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/coordinator/data/state_lease.h"

/* These masters tell the same of the token's holder. Q masters do so only if at most N - Q tell something else. */
enum { TELLINGS = MASTERS / 2 + 1 };

struct telling {
    masters_t masters;
    struct token token;
    uint64_t fence;
    struct data data;
};

/* A sight is all that the masters have told a look so far (sight.h). */
struct sight {
    masters_t keys, readers, slots; /* masters with a key of that kind */
    uint64_t ttl_ms;                /* of the key that ends first; 0: not known */
    struct token token[MASTERS];    /* of keys */
    unsigned tellings;
    struct telling telling[TELLINGS];
};

struct watched {
    uint64_t id;
    struct heap_item item; /* the next look; due now while there are watchers to be told */
    uint32_t hash;
    uint32_t serial;              /* of the present state: watchers with another one are still to be told */
    const struct name *name;      /* interned */
    struct watcher *first, *last; /* those that are still to be told stand first */
    uint64_t round;               /* id of the look under way; 0: none */
    bool again;                   /* something has changed since it began */
    bool asked;                   /* a watcher has come since the last look */
    bool known;                   /* a state was found */
    uint8_t patience;             /* looks in a row that were unsure */
    int32_t pause_ms;             /* before the next look while the next holder is looked for ... */
    int64_t hurry_until_ms;       /* ... until then */
    int64_t look_ms;
    uint64_t fence;      /* the highest that was told */
    struct now now;      /* the state that is told ... */
    struct token holder; /* ... and whose that is, if one key says so */
    struct sight seen;
};

struct watcher {
    uint64_t id;
    struct watched *watched; /* (ref) */
    struct watcher *next, *prev;
    struct session *session; /* (ref) */
    struct watcher *session_next, *session_prev;
    uint64_t request; /* the WATCH; 0: answered */
    uint32_t serial;
    uint16_t peer;
    bool once; /* a second WATCH of the session, which is only answered */
};

/* The daemons that watch a name whose lock is, or was, held here (witness.h). */
enum { WITNESSES = 16 };

struct witness {
    uint64_t id;
    struct heap_item item; /* when the last one is forgotten; due now while they are to be told */
    uint32_t hash;
    uint32_t telling;        /* the next one to be told; WITNESSES: none */
    const struct name *name; /* interned */
    int64_t until_ms[WITNESSES];
    struct token daemon[WITNESSES]; /* the first bytes say which */
};

#endif
