/* Masters that are guarded by quarantine, with clocks that may jump, a daemon or two in front of them, and what
 * their rows, logs and keys say. */
#ifndef REDLOCKD_TESTS_GUARDED_H
#define REDLOCKD_TESTS_GUARDED_H

#include "tests/integ/steady.h"

#include <stdio.h>

/* What a test has to see before it is over, or must not lose, lasts half a minute; of what is shorter the log tells. */
extern const char guarded[];
extern const char guarded_long[];
enum { MAX_TTL_MS = 4000, FULL_MS = 4000 + 42, LONG_MAX_TTL_MS = 30000, LONG_FULL_MS = 30000 + 302 };

extern struct cluster masters;
extern struct daemon redlockd, other;
extern struct client a, b, c;

bool state_is(unsigned master, const char *state);
void begin(unsigned count, enum transport transport, const char *settings);
void begin_other(const char *settings);
/* For that, and for no longer than in full. */
void is_kept_out(unsigned master, const char *why, int64_t full_ms);
/* From its dump, if there is one. */
void restart(unsigned master);
unsigned holds(const char *name, const char *token);
bool key_is_free(const char *name);

#endif
