/* Names as indexes and sets. */
#ifndef SIM_NAMES_H
#define SIM_NAMES_H

#include <stdint.h>

#include "proto/message.h"

/* A name is its index, or the set of several names that are locked as one: SIM_LIST and a bit for each index. */
enum { SIM_NAMES = LIST_NAMES, SIM_LIST = 1 << SIM_NAMES };

static inline uint64_t names_of(unsigned name)
{
    return name & SIM_LIST ? name & (SIM_LIST - 1) : UINT64_C(1) << name;
}

static inline unsigned first_name(unsigned name)
{
    return name & SIM_LIST ? (unsigned)__builtin_ctz(name) : name;
}

/* Each n of the names in turn; left: a variable of the loop's own. */
#define FOR_NAMES(n, name)                                                                        \
    for (unsigned n##_left = (name)&SIM_LIST ? (name) & (SIM_LIST - 1) : 1, n = first_name(name); \
         n##_left != 0;                                                                           \
         n##_left &= n##_left - 1, n = n##_left != 0 ? (unsigned)__builtin_ctz(n##_left) : SIM_NAMES)

#endif
