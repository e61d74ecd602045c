/* Runs a program's tests. */
#ifndef REDLOCKD_TESTS_SUITE_H
#define REDLOCKD_TESTS_SUITE_H

#include <check.h>

int suite_run(Suite *suite); /* the program's exit status */

#endif
