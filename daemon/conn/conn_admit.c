/* Requests that ask the masters take turns: while the masters, or the share of their peer, have no room, they stay
 * in the connections, and these are not read.
 *
 *     held[URGENT] --> group --> group --> ...        groups of one peer or user each, whose turns go round
 *     held[OTHERS]       |
 *                        +--> conn --> conn ...       its connections whose next line is held back, one turn each
 *
 * EXTEND and UNLOCK keep or end locks that are held, so they go first; but one turn in four is for others. */
#include <assert.h>
#include <stdlib.h>

#include "daemon/conn/conn_private.h"

enum {
    URGENT,
    OTHERS,
    URGENT_TURNS = 3, /* in a row, while others are held back, too */
    GROUPS = UINT16_MAX + 1 + USER_NUMBERS,
};

int admit_new(struct conns *all)
{
    for (unsigned i = 0; i < HELD_CLASSES; i++) {
        TAILQ_INIT(&all->held[i]);
        all->groups[i] = calloc(GROUPS, sizeof *all->groups[i]);
        if (!all->groups[i])
            return -1;
    }
    return 0;
}

void admit_free(struct conns *all)
{
    for (unsigned i = 0; i < HELD_CLASSES; i++)
        free(all->groups[i]);
}

static bool asks_masters(enum verb verb)
{
    return verb == VERB_LOCK || verb == VERB_UNLOCK || verb == VERB_EXTEND || verb == VERB_CHECK ||
           verb == VERB_RESUME || verb == VERB_DATA;
}

static unsigned class_of(enum verb verb)
{
    return verb == VERB_EXTEND || verb == VERB_UNLOCK ? URGENT : OTHERS;
}

static unsigned group_of(const struct conn *c)
{
    return c->user == NO_USER ? c->peer_number : UINT16_MAX + 1u + c->user;
}

static void hold(struct conn *c, struct held_group *group, unsigned class, enum verb verb)
{
    struct conns *all = c->all;

    assert(!c->held);
    c->held = group;
    c->held_class = (uint8_t) class;
    c->held_verb = (uint8_t)verb;
    if (TAILQ_EMPTY(&group->conns)) {
        TAILQ_INIT(&group->conns);
        TAILQ_INSERT_TAIL(&all->held[class], group, ring);
    }
    TAILQ_INSERT_TAIL(&group->conns, c, held_next);
    all->held_count++;
    all->stats.held_back++;
    c->blocked = !c->eof;
}

void admit_forget(struct conn *c)
{
    struct held_group *group = c->held;

    if (!group)
        return;
    c->held = NULL;
    TAILQ_REMOVE(&group->conns, c, held_next);
    if (TAILQ_EMPTY(&group->conns))
        TAILQ_REMOVE(&c->all->held[c->held_class], group, ring);
    c->all->held_count--;
}

/* A line that comes while others wait for their turn must not take the place that the next of these is to get. */
bool admit(struct conn *c, const struct request *what)
{
    struct conns *all = c->all;
    const struct conn_handler *handler = all->handler;
    unsigned class = class_of(what->verb);
    struct held_group *group = &all->groups[class][group_of(c)];

    if (!asks_masters(what->verb))
        return true;
    bool turn = c->its_turn;
    c->its_turn = false;
    if (turn)
        return true;
    if (!all->short_of_room && TAILQ_EMPTY(&group->conns)) {
        enum admission admission = handler->admits(handler->arg, c->session, what->verb);
        all->short_of_room = admission == ADMISSION_MASTERS;
        if (admission == ADMISSION_NOW)
            return true;
    }
    hold(c, group, class, what->verb);
    return false;
}

static struct conn *next_of(struct conns *all, unsigned class)
{
    const struct conn_handler *handler = all->handler;
    struct held_group *group;

    TAILQ_FOREACH(group, &all->held[class], ring)
    {
        struct conn *c = TAILQ_FIRST(&group->conns);
        enum admission admission = handler->admits(handler->arg, c->session, (enum verb)c->held_verb);
        if (admission == ADMISSION_NOW)
            return c;
        if (admission == ADMISSION_MASTERS) {
            all->short_of_room = true;
            return NULL;
        }
    }
    return NULL;
}

static struct conn *next_turn(struct conns *all)
{
    unsigned first = all->urgent_turns < URGENT_TURNS ? URGENT : OTHERS;
    struct conn *c = next_of(all, first);

    if (!c)
        c = next_of(all, !first);
    if (c)
        all->urgent_turns = c->held_class == URGENT ? all->urgent_turns + 1 : 0;
    return c;
}

struct conn *admit_next(struct conns *all)
{
    all->short_of_room = false;
    struct conn *c = next_turn(all);

    if (!c)
        return NULL;
    struct held_group *group = c->held;
    admit_forget(c);
    if (!TAILQ_EMPTY(&group->conns)) { /* the next turn is another peer's */
        TAILQ_REMOVE(&all->held[c->held_class], group, ring);
        TAILQ_INSERT_TAIL(&all->held[c->held_class], group, ring);
    }
    c->its_turn = true;
    all->short_of_room = true; /* its further lines wait for their turn */
    return c;
}
