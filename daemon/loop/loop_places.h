/* The places of the masters: master i of the coordinator is the server in place i. A server keeps its place as long as
 * the coordinator uses it, whatever order the configuration has. */
#ifndef REDLOCKD_LOOP_PLACES_H
#define REDLOCKD_LOOP_PLACES_H

#include "daemon/conf/conf.h"
#include "daemon/coordinator/base/quorum.h"

struct places {
    struct conf_node node[MASTERS];
    masters_t used;
};

/* Which places the masters of a list have, and would get. false: there are not places enough. */
bool places_plan(const struct places *places, const struct conf_node nodes[], unsigned count,
                 unsigned place_of[MASTERS], masters_t *of);
/* Puts the masters of a list into their places, with their present users, passwords and TLS. Returns the list's places.
 * There are places enough. */
masters_t places_take(struct places *places, const struct conf_node nodes[], unsigned count);
void places_free(struct places *places, unsigned place);

/* The next place of a set, in order: for (unsigned i, left = places->used; place_next(&left, &i);) */
static inline bool place_next(unsigned *left, unsigned *place)
{
    if (*left == 0)
        return false;
    *place = (unsigned)__builtin_ctz(*left);
    *left &= *left - 1;
    return true;
}

#endif
