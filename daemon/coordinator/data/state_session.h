/* Sessions: what a client's connection holds, waits for and asks again. Part of state.h. */
#ifndef REDLOCKD_STATE_SESSION_H
#define REDLOCKD_STATE_SESSION_H

#include "daemon/coordinator/base/heap.h"
#include "daemon/coordinator/base/quorum.h"
#include "daemon/coordinator/base/token.h"
#include "daemon/coordinator/coordinator.h"

enum session_state {
    SESSION_OPEN,
    SESSION_FINISHING, /* its client asks nothing more, and none of its requests may wait */
    SESSION_RELEASING, /* its locks are being released, one a step */
    SESSION_DROPPING,  /* its locks are being unbound, one a step */
    SESSION_DENYING,   /* its requests are being refused, then its locks lost, one a step */
};

/* A request with wait= that is asked again while it is refused (repeat.h). */
struct repeat {
    uint64_t id;
    struct heap_item item;      /* the next attempt, while it pauses */
    struct session *session;    /* (ref) */
    struct repeat *next, *prev; /* of the same session */
    uint64_t request;
    struct peer peer;
    int64_t asked_ms, deadline_ms;
    int64_t ttl_ms, max_ms; /* as in the request */
    uint64_t order;
    struct token token;
    const struct name *name; /* interned */
    const struct word *note; /* interned; NULL: none */
    uint32_t pauses;         /* how many there were so far */
    bool resumes;            /* RESUME; else LOCK mode=shared */
    bool finishes;           /* it was cancelled: the next answer is the last one ... */
    bool denied;             /* ... since its user may not lock the name any more */
};

struct session {
    uint64_t id;
    struct heap_item item; /* due now while the session is being ended */
    uint64_t key;          /* the driver's number for the session */
    uint32_t hash;         /* of key */
    enum session_state state;
    uint16_t peer;
    uint32_t locks, waits;       /* numbers of its holds and waits ... */
    uint32_t resumes, repeating; /* ... and of its RESUMEs under way, and repeats */
    struct hold *holds;          /* the holds bound to it */
    struct wait *waiting;
    struct watcher *watching;
    struct repeat *repeats;
};

#endif
