/* Patterns of lock names: a name, or its beginning with a * behind it. */
#ifndef REDLOCKD_PATTERN_H
#define REDLOCKD_PATTERN_H

#include <stdbool.h>
#include <stddef.h>

/* Returns NULL, or what is wrong: a pattern that no name can match would look as if it did something. */
const char *pattern_wrong(const char *pattern);
bool pattern_fits(const char *pattern, const char *name, size_t len);

#endif
