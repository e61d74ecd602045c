/* Linked into a redlockd with planted bugs: REDLOCKD_MUTANT names the active one. If chaos did not find
 * it, it would not find the same mistake made by accident. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/mutant.h"

enum mutant mutant_active;

static const char *const names[] = {
#define MUTANT_NAME(id, name, text) [MUTANT_##id] = (name),
    MUTANT_LIST(MUTANT_NAME)
#undef MUTANT_NAME
};

__attribute__((constructor)) static void mutant_choose(void)
{
    const char *name = getenv("REDLOCKD_MUTANT");
    for (unsigned i = 1; name != NULL && i < MUTANT_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            mutant_active = (enum mutant)i;
    if (name == NULL || mutant_active != MUTANT_NONE)
        return;
    fprintf(stderr, "redlockd: REDLOCKD_MUTANT=%s is no planted bug\n", name);
    exit(2);
}
