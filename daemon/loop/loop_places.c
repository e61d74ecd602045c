#include "daemon/loop/loop_places.h"

#include <assert.h>
#include <string.h>

#include "daemon/conf/conf_set.h"

/* The place of the server with that name; MASTERS: it has none. */
static unsigned place_of_name(const struct places *places, const char *name)
{
    char other[CONF_NAME_BYTES];
    for (unsigned i, left = places->used; place_next(&left, &i);) {
        conf_set_name(&places->node[i], other);
        if (strcmp(other, name) == 0)
            return i;
    }
    return MASTERS;
}

bool places_plan(const struct places *places, const struct conf_node nodes[], unsigned count,
                 unsigned place_of[MASTERS], masters_t *of)
{
    char name[CONF_NAME_BYTES];
    masters_t used = places->used;
    *of = 0;
    for (unsigned i = 0; i < count; i++) {
        if (nodes[i].vacant)
            continue;
        conf_set_name(&nodes[i], name);
        unsigned place = place_of_name(places, name);
        if (place == MASTERS)
            place = (unsigned)__builtin_ctz(~(unsigned)used);
        if (place >= MASTERS)
            return false;
        used |= masters_bit(place);
        *of |= masters_bit(place);
        place_of[i] = place;
    }
    return true;
}

masters_t places_take(struct places *places, const struct conf_node nodes[], unsigned count)
{
    unsigned place_of[MASTERS];
    masters_t of;
    bool fits = places_plan(places, nodes, count, place_of, &of);
    assert(fits);
    (void)fits;
    for (unsigned i = 0; i < count; i++)
        if (!nodes[i].vacant)
            places->node[place_of[i]] = nodes[i];
    places->used |= of;
    return of;
}

void places_free(struct places *places, unsigned place)
{
    explicit_bzero(&places->node[place], sizeof places->node[place]);
    places->used = masters_without(places->used, masters_bit(place));
}
