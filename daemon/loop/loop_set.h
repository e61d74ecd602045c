/* The names of the masters, as this daemon has them and as other daemons do. The group's key has only their hash;
 * <prefix>,set:<hash> on each master has the names, for people: those of this generation, of the one before, and for
 * the step between those of the list that it leads to.
 *
 *     a new connection, a change --> SET ... NX      a minute --> GETEX
 *     another hash in the group's key --> GET --> log */
#ifndef REDLOCKD_LOOP_SET_H
#define REDLOCKD_LOOP_SET_H

#include <event2/event.h>

#include "daemon/conf/conf_set.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/loop/loop_places.h"
#include "daemon/node/node.h"
#include "proto/resp.h"

enum {
    LOOP_SET_SHOWN_BYTES = 600, /* names are cut to so many bytes where they are shown */
    LOOP_SET_KEY_BYTES = CONF_PREFIX_BYTES + 32,
};

/* The names of the daemons that refuse this one, or that it refuses. */
struct set_theirs {
    uint64_t set; /* 0: nobody has another set */
    char names[LOOP_SET_SHOWN_BYTES];
};

/* A list of masters, as its key tells it. */
struct set_text {
    uint64_t hash; /* 0: there is none */
    char text[CONF_SET_BYTES + 120];
};

struct loop_set {
    const struct conf *conf;
    const struct places *places;
    struct node *const *nodes;
    struct event *timer;
    uint64_t set; /* the hash of `now` */
    struct set_text now, before;
    uint64_t
        between;   /* the hash of the step that leads to `now`: its key has the same text; 0: there is none */
    uint64_t gone; /* of the generation before that one: deleted when all is steady; 0: none */
    bool lasts;    /* there are generations, so the keys stay until they are deleted */
    struct set_theirs theirs[MASTERS];
};

/* conf, places and nodes are borrowed. false: no memory. */
bool loop_set_start(struct loop_set *set, struct event_base *base, const struct conf *conf,
                    const struct places *places, struct node *const *nodes);
void loop_set_stop(struct loop_set *set);

/* A connection to the master is there, and nothing was sent on it: the names come before the group's key. */
void loop_set_connected(struct loop_set *set, unsigned master);
/* Masters changed their state: asks those whose key has another set for its names. */
void loop_set_look(struct loop_set *set, const struct coordinator *coordinator);
/* The answer to a question of this file; false: the ref is none of its. */
bool loop_set_answered(struct loop_set *set, unsigned master, uint64_t ref, const struct resp_reply *reply);

/* The configuration was read again. */
void loop_set_change(struct loop_set *set);
/* How the group is: the step between is named by the list that it leads to, and once all is steady, the list of the
 * generation before the last goes. */
void loop_set_group(struct loop_set *set, const struct group_row *row);
/* The master leaves its place. */
void loop_set_forget(struct loop_set *set, unsigned master);

/* Our names, cut, with a comma between them. */
void loop_set_names(const struct loop_set *set, char out[LOOP_SET_SHOWN_BYTES]);

#endif
