/* Locks and answers that a machine which stands still for a second or two, and then goes on, does not change: where
 * such a pause is not what a test is about, it must not fail by it. */
#ifndef REDLOCKD_TESTS_STEADY_H
#define REDLOCKD_TESTS_STEADY_H

#include "tests/integ/harness.h"

#include <stdlib.h>
#include <string.h>

/* Masters do not seem slow for that. */
#define STEADY "node_timeout: 2s\nmin_ttl: 4s\n"

/* From now on this session's lock is renewed each third of that time, though it lives for as long as before: EXTEND
 * never shortens, but says with which TTL to renew. */
void renew_often(struct client *client, const char *name, const char *token, int ttl_ms);
/* A lock of a minute, or of max_ttl, which is renewed each third of ttl_ms all the same. */
struct grant lock_steady(struct client *client, const char *name, const char *ttl, int ttl_ms);
/* The client's one lock, from lock_steady(), is renewed from now on, and so often that it would live by that TTL. It
 * lives longer, so its until= stays; until= less valid= is when the daemon renewed it. From here on its !RENEWED come
 * in between what it asks. */
void is_renewed(struct client *client);
/* Also when its renewals are seen to go on. */
void is_held(struct client *client, const char *name, const char *token);
/* By its own clock; -1: it does not answer. */
int uptime_s(const struct server *server);

#endif
