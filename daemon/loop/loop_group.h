/* The generations of the masters: what the configuration asks for, what the coordinator says of it, and who is told.
 *
 *     reload --> coordinator_reload() --> TAKEN: new places --> each second: coordinator_group_row() --> log, list of daemons
 *                                    \--> refused, with what to do */
#ifndef REDLOCKD_LOOP_GROUP_H
#define REDLOCKD_LOOP_GROUP_H

#include "daemon/events.h"
#include "daemon/loop/loop_show.h"

enum { GROUP_TEXT_BYTES = 900 };

struct loop_group {
    struct group_row row; /* as it was told last */
    int64_t look_ms;      /* when to look next */
    bool told;            /* row was told at all */
};

/* A list of the configuration as the coordinator has it: nodes, or nodes_before. false: there are not places enough. */
bool group_set(const struct places *places, const struct conf *conf, bool before,
               struct coordinator_set *set);

/* What the coordinator would say to a change to that configuration; changes nothing. The text says what to do; "":
 * nothing. keep: so many masters have to stay; left_ms: until the present change may be over; 0: neither. Returns its
 * word: same, taken, moved, busy, ... */
const char *group_try(const struct loop_view *view, const struct conf *fresh, char text[GROUP_TEXT_BYTES],
                      unsigned *keep, int64_t *left_ms);
/* Asks the coordinator for that change. Logs why it is refused; true: it has begun. */
bool group_take(const struct loop_view *view, struct coordinator *coordinator, const struct conf *fresh);

/* Looks at the steps, each second, and tells what is new to the log, and to the other daemons. */
void group_look(struct loop_group *group, const struct loop_view *view, struct events *events);
/* The list of daemons was read: the coordinator is told what it says. */
void group_daemons(const struct loop_view *view, struct coordinator *coordinator);

const char *group_state_name(enum group_state state);
const char *group_why_name(enum group_why why); /* "" for GROUP_WHY_NONE */
/* Whether it passes by itself in every change. */
bool group_is_usual(const struct group_row *row);
/* What the group waits for, and what to do about it; "": nothing. */
void group_why_text(const struct group_row *row, char out[GROUP_TEXT_BYTES]);

#endif
