/* A network of the test's own. */
#ifndef REDLOCKD_TESTS_NETWORK_H
#define REDLOCKD_TESTS_NETWORK_H

#include <stdbool.h>

/* Moves this test into a network of its own, which has loopback and this address, which is none of loopback; false:
 * that is not allowed here. */
bool network_enter(const char *address);

#endif
