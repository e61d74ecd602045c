/* This daemon and the others of its group, as the masters list them (proto/daemons.h). The list is for
 * people: nothing of it decides about a lock.
 *
 *     10 s, or a new connection ----> the script: writes this daemon; once a minute with a page of the list
 *                                        \--> id taken, at the start: another id
 *     SHOW DAEMONS, WHO, the page --> the script, page by page to the end
 *
 * Thousands of daemons that each read the list all the time would keep the masters busy with nothing else. */
#ifndef REDLOCKD_LOOP_DAEMONS_H
#define REDLOCKD_LOOP_DAEMONS_H

#include <event2/event.h>

#include "daemon/conf/conf.h"
#include "daemon/coordinator/coordinator.h"
#include "daemon/loop/loop_places.h"
#include "daemon/node/node.h"
#include "proto/daemons.h"
#include "proto/resp.h"

enum { DAEMONS_HEADS = 1024 };

struct daemons_entry {
    struct daemon_row row;
    uint32_t next;      /* in its list; UINT32_MAX: it is the last */
    int64_t written_ms; /* when the daemon wrote it, on this host's CLOCK_BOOTTIME */
    uint32_t reading;   /* the last one that found it */
};

/* The list of one master. */
struct daemons_of {
    struct daemons_entry *list;
    unsigned count, capacity;
    uint32_t heads[DAEMONS_HEADS]; /* lists of entries, by the id: the first one */
    int64_t page_ms;               /* when a page is due that nobody asked for */
    unsigned pages;                /* of a reading that may still follow; 0: none is under way */
    uint32_t reading;              /* readings that began */
    bool broken;                   /* an answer of this reading was no page */
    int64_t whole_ms;              /* when the whole list was read last; 0: never */
    bool begins;                   /* a reading begins when the present answer has come */
    bool asked;                    /* the answer of the present connection is awaited */
    bool refused;                  /* its refusal was logged, and it has not answered well since */
};

struct daemons_shown {
    const struct daemons_entry *entry; /* (ref) the one that was written last */
    unsigned masters;                  /* how many have it */
};

struct loop_daemons {
    const struct conf *conf;
    const struct places *places;
    struct node *const *nodes;
    const struct resp_format *format;
    struct event *timer;
    struct daemon_row self;
    struct daemons_of of[MASTERS];
    struct daemons_shown *shown; /* by id */
    unsigned shown_count, shown_capacity;
    bool stale;                                /* shown is not of what the masters have said last */
    void (*taken)(void *arg, unsigned master); /* another daemon has this one's id */
    void (*known)(void *arg);                  /* the list was read, as far as it can be */
    struct event *late;
    bool reading;    /* the list is being read */
    int64_t read_ms; /* when that began last; 0: never */
    void *arg;
};

/* nodes, format, conf and places are borrowed; taken, known and arg are set before. self has all words but the id. false: no
 * memory. */
bool loop_daemons_start(struct loop_daemons *daemons, struct event_base *base, const struct conf *conf,
                        const struct places *places, struct node *const *nodes,
                        const struct resp_format *format);
void loop_daemons_stop(struct loop_daemons *daemons);
/* This daemon's id, from the first bytes of its token. */
void loop_daemons_id(struct loop_daemons *daemons, const struct token *self);

/* A connection to the master is there: writes this daemon there. */
void loop_daemons_connected(struct loop_daemons *daemons, unsigned master);
void loop_daemons_lost(struct loop_daemons *daemons, unsigned master); /* it is gone */
/* The master leaves its place. */
void loop_daemons_forget(struct loop_daemons *daemons, unsigned master);
/* This daemon ends: it is forgotten at once, and not after a minute. */
void loop_daemons_leave(struct loop_daemons *daemons);
/* Writes this daemon to each master that owes no answer. */
void loop_daemons_write(struct loop_daemons *daemons);
void loop_daemons_answered(struct loop_daemons *daemons, unsigned master, const struct resp_reply *reply);

/* Whether the list is one of the last 10 s. If not, it is being read from now on, and known() will tell. */
bool loop_daemons_read(struct loop_daemons *daemons);
/* The same for a list that is at most so old. */
bool loop_daemons_read_since(struct loop_daemons *daemons, int64_t fresh_ms);
/* Tells what the lists say of the steps of the other daemons. A daemon that any master lists counts, with the highest step
 * that it says of itself, unless it was killed and started again meanwhile. Returns how many lists were read from end to
 * end this time. */
unsigned loop_daemons_steps(const struct loop_daemons *daemons, struct coordinator_daemons *seen);
/* This daemon tells something else of itself: it writes itself anew. */
void loop_daemons_at(struct loop_daemons *daemons, const struct daemon_step *at);
/* The daemons that a quorum of masters lists, by id; valid until the next call of another function here
 * than loop_daemons_age_ms(). */
const struct daemons_shown *loop_daemons_list(struct loop_daemons *daemons, unsigned *count);
/* Where the first daemon of this or a higher id stands in the list; its end if there is none. */
unsigned loop_daemons_from(struct loop_daemons *daemons, uint64_t id);
/* The host of the daemon with that id; "?": not known. Valid as long as the list. */
const char *loop_daemons_host(struct loop_daemons *daemons, const char *id);
/* For how long the daemon has not written itself. */
int64_t loop_daemons_age_ms(const struct daemons_shown *shown);

#endif
