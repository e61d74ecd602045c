#include "tests/integ/stuck.h"

#include <stdio.h>

#define PAGE "conf/OPERATING.md"

const char *stuck_bullet(const char *why)
{
    return document_bullet(document_section(PAGE, "### When it is stuck"), why);
}

void stuck_is(unsigned i, const char *state, const char *why)
{
    char words[64];
    stuck_bullet(why);
    snprintf(words, sizeof words, "state=%s why=%s", state, why);
    eventually_within(steps_shows(i, words), STEPS_MS);
    snprintf(words, sizeof words, " why=%s", why);
    eventually(daemon_logged(&daemons[i], words));
}
