/* The masters and the daemon of a test that needs no others. */
#ifndef REDLOCKD_TESTS_ONLY_H
#define REDLOCKD_TESTS_ONLY_H

#include "tests/integ/harness.h"

extern struct cluster masters;
extern struct daemon redlockd;

#endif
