/* "When it is stuck" in conf/OPERATING.md: the reasons that it names. */
#ifndef REDLOCKD_TESTS_STUCK_H
#define REDLOCKD_TESTS_STUCK_H

#include "tests/integ/document.h"
#include "tests/integ/steps.h"

/* Returns what the document says of that reason. */
const char *stuck_bullet(const char *why);
/* The daemon gives the reason, in SHOW GROUP and in the log. */
void stuck_is(unsigned i, const char *state, const char *why);

#endif
