/* Locks and answers for tests that are not about pauses: a machine that stands still for a second or two
 * does not make them fail. */
#ifndef REDLOCKD_TESTS_STEADY_H
#define REDLOCKD_TESTS_STEADY_H

#include "tests/integ/harness.h"

#include <stdlib.h>
#include <string.h>

/* With these settings such a pause makes no master slow. */
#define STEADY "node_timeout: 2s\nmin_ttl: 4s\n"

/* Renews this session's lock each third of ttl_ms, though the lock keeps its longer TTL: EXTEND never
 * shortens a lock, but sets the TTL by which it is renewed. */
void renew_often(struct client *client, const char *name, const char *token, int ttl_ms);
/* Takes a lock of the given TTL, mostly a minute or max_ttl, that is renewed each third of ttl_ms. */
struct grant lock_steady(struct client *client, const char *name, const char *ttl, int ttl_ms);
/* Asserts that the client's only lock, from lock_steady(), is still renewed, and often enough for its
 * short TTL. The lock lives longer than that, so until= does not move: until= less valid= is the time at
 * which the daemon renewed it. From here on !RENEWED lines come between the answers. */
void is_renewed(struct client *client);
/* Asserts that the lock is held and its renewals go on. */
void is_held(struct client *client, const char *name, const char *token);
/* The server's uptime by its own clock; -1: no answer. */
int uptime_s(const struct server *server);

#endif
