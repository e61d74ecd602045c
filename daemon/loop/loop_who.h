/* WHO, BREAK and UNLOCK kept: questions to all masters beside the coordinator, whose answers are rows for people.
 *
 *     WHO, BREAK --> the script of WHO, on each master in service --> WHO: rows
 *                                                                |
 *                                        others: the decision (loop_holders.h) --> the script of BREAK --> +BROKEN
 *
 * Each question ends when all have answered, or after node_timeout. */
#ifndef REDLOCKD_LOOP_WHO_H
#define REDLOCKD_LOOP_WHO_H

#include <event2/event_struct.h>

#include "daemon/coordinator/base/quorum.h"
#include "daemon/loop/loop_holders.h"
#include "daemon/loop/loop_show.h"
#include "proto/resp.h"

enum {
    WHO_QUERIES = 8, /* at a time */
    WHO_ROWS = 64,   /* of one answer */
};

struct who_query {
    struct loop_who *all;
    struct event timer;
    uint64_t ref; /* of the questions under way; 0: this place is free */
    uint64_t session, request;
    enum verb verb;
    int slot;
    struct name name;
    masters_t asked, answered, refused;
    masters_t read;         /* BREAK deletes: those that had answered before */
    masters_t had, deleted; /* BREAK deletes: those that had the lock, and do not any more */
    bool touched;           /* something was deleted there, though perhaps not all */
    bool deletes, cut;
    uint32_t slots;
    unsigned count, capacity;
    struct who_entry *entries;
    struct who_told told[MASTERS];
    struct holder holder; /* BREAK deletes: the first holder ... */
    unsigned others;      /* ... and how many more */
};

struct loop_who {
    const struct loop_view *view;
    struct conns *conns;
    struct event_base *base;
    uint64_t last_ref;
    struct who_query queries[WHO_QUERIES];
};

/* All of these are borrowed. */
void loop_who_start(struct loop_who *who, struct event_base *base, const struct loop_view *view,
                    struct conns *conns);
void loop_who_stop(struct loop_who *who);
void loop_who_ask(struct loop_who *who, uint64_t session, uint64_t request, const struct request *what);
void loop_who_answered(struct loop_who *who, unsigned master, uint64_t ref, const struct resp_reply *reply);

#endif
