/* Connections that have not got so far that they could hold a lock: TLS is not open yet, or they have no user where
 * each needs one. Where there is no room for one more client, the largest group of them loses its oldest one, so that
 * nobody fills the table before having shown a certificate or a secret. A client that has got so far never becomes a
 * newcomer again, also where a reload takes its user away: it may hold locks. */
#include <assert.h>
#include <stdlib.h>

#include "daemon/conn/conn_private.h"

/* The newcomers of one origin, see conns_group(). */
struct newcomer_group {
    uint32_t count;
    uint16_t number;
    TAILQ_HEAD(, newcomer) newcomers; /* the oldest first */
    LIST_ENTRY(newcomer_group) same;
};

struct newcomer {
    struct conn *conn;
    struct newcomer_group *group;
    TAILQ_ENTRY(newcomer) next;
};

LIST_HEAD(newcomer_size, newcomer_group);

struct newcomers {
    uint32_t largest;             /* of the counts */
    struct newcomer_size *groups; /* by their counts */
    struct newcomer_group *found[UINT16_MAX + 1];
};

int newcomers_new(struct conns *all)
{
    struct newcomers *n = all->newcomers = calloc(1, sizeof *n);

    if (n)
        n->groups = calloc(all->capacity + 1, sizeof *n->groups);
    return n && n->groups ? 0 : -1;
}

void newcomers_free(struct conns *all)
{
    if (all->newcomers)
        free(all->newcomers->groups);
    free(all->newcomers);
}

/* Counts change by one, so the largest is found without a search. */
static void group_resize(struct newcomers *n, struct newcomer_group *group, uint32_t count)
{
    if (group->count > 0)
        LIST_REMOVE(group, same);
    if (count > 0)
        LIST_INSERT_HEAD(&n->groups[count], group, same);
    group->count = count;
    if (count > n->largest)
        n->largest = count;
    if (n->largest > 0 && LIST_EMPTY(&n->groups[n->largest]))
        n->largest--;
}

static struct newcomer_group *group_of(struct newcomers *n, uint16_t number)
{
    struct newcomer_group *group = n->found[number];

    if (group)
        return group;
    group = calloc(1, sizeof *group);
    if (!group)
        return NULL;
    group->number = number;
    TAILQ_INIT(&group->newcomers);
    n->found[number] = group;
    return group;
}

void newcomer_join(struct conn *c, uint16_t number)
{
    struct newcomer *newcomer = calloc(1, sizeof *newcomer);
    struct newcomer_group *group = newcomer ? group_of(c->all->newcomers, number) : NULL;

    assert(!c->newcomer);
    if (!group) { /* no memory: nothing takes its place from it */
        free(newcomer);
        return;
    }
    *newcomer = (struct newcomer){.conn = c, .group = group};
    c->newcomer = newcomer;
    TAILQ_INSERT_TAIL(&group->newcomers, newcomer, next);
    group_resize(c->all->newcomers, group, group->count + 1);
}

void newcomer_leave(struct conn *c)
{
    struct newcomers *n = c->all->newcomers;

    if (!c->newcomer)
        return;
    struct newcomer_group *group = c->newcomer->group;
    TAILQ_REMOVE(&group->newcomers, c->newcomer, next);
    free(c->newcomer);
    c->newcomer = NULL;
    group_resize(n, group, group->count - 1);
    if (group->count > 0)
        return;
    n->found[group->number] = NULL;
    free(group);
}

struct conn *newcomer_oldest(const struct conns *all)
{
    const struct newcomers *n = all->newcomers;
    const struct newcomer_group *group = n->largest > 0 ? LIST_FIRST(&n->groups[n->largest]) : NULL;

    return group ? TAILQ_FIRST(&group->newcomers)->conn : NULL;
}

struct conn *newcomer_oldest_of(const struct conn *c, uint16_t number)
{
    const struct newcomer_group *group = c->all->newcomers->found[number];
    const struct newcomer *newcomer = group ? TAILQ_FIRST(&group->newcomers) : NULL;

    while (newcomer && newcomer->conn->peer_number != c->peer_number)
        newcomer = TAILQ_NEXT(newcomer, next);
    return newcomer ? newcomer->conn : NULL;
}
