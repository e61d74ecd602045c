/* Masters that are guarded by quarantine, with clocks that may jump, behind one daemon or two, and what
 * their rows, logs and keys say. */
#ifndef REDLOCKD_TESTS_GUARDED_H
#define REDLOCKD_TESTS_GUARDED_H

#include "tests/integ/only.h"
#include "tests/integ/steady.h"

#include <stdio.h>

/* Quarantines and locks that a test has to see in full last half a minute; the log tells of shorter
 * ones. */
extern const char guarded[];
extern const char guarded_long[];
enum { MAX_TTL_MS = 4000, FULL_MS = 4000 + 42, LONG_MAX_TTL_MS = 30000, LONG_FULL_MS = 30000 + 302 };

extern struct daemon other;
extern struct client a, b, c;

bool state_is(unsigned master, const char *state);
void guarded_begin(unsigned count, enum transport transport, const char *settings);
void begin_other(const char *settings);
/* Waits until the log has told that the master is in quarantine for this reason, for full_ms at most. */
void is_kept_out(unsigned master, const char *why, int64_t full_ms);
/* The master comes back with its dump, if there is one. */
void restart(unsigned master);
unsigned holds(const char *name, const char *token);
bool key_is_free(const char *name);

#endif
