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
static inline void renew_often(struct client *client, const char *name, const char *token, int ttl_ms)
{
    ask_again(client, "+EXTENDED *", "EXTEND %s token=%s ttl=%d", name, token, ttl_ms);
    client->renew_ttl_ms = ttl_ms;
}

/* A lock of a minute, or of max_ttl, which is renewed each third of ttl_ms all the same. */
static inline struct grant lock_steady(struct client *client, const char *name, const char *ttl, int ttl_ms)
{
    struct grant grant = grant_of(ask(client, "+LOCKED *", "LOCK %s ttl=%s wait=14s", name, ttl));
    renew_often(client, name, grant.token, ttl_ms);
    return grant;
}

/* The client's one lock, from lock_steady(), is renewed from now on, and so often that it would live by that TTL. It
 * lives longer, so its until= stays; until= less valid= is when the daemon renewed it. From here on its !RENEWED come
 * in between what it asks. */
static inline void is_renewed(struct client *client)
{
    enum { RENEWALS = 10 }; /* some of which a machine that stands still may delay */
    int64_t distance_ms = INT64_MAX;
    const char *line;
    ck_assert_int_gt(client->renew_ttl_ms, 0);
    client_send(client, "HELLO 1 events=renewed");
    do {
        line = next_line(client);
        ck_assert_msg(line && (line[0] == '+' || strncmp(line, "!RENEWED ", 9) == 0), "%s", line);
    } while (line[0] != '+');
    line = expect(client, "!RENEWED *"); /* which may have been begun before */
    int64_t last_ms = number(line, "until") - number(line, "valid");
    for (unsigned i = 1; i < RENEWALS && distance_ms > client->renew_ttl_ms; i++) {
        line = expect(client, "!RENEWED *");
        distance_ms = number(line, "until") - number(line, "valid") - last_ms;
        last_ms += distance_ms;
    }
    ck_assert_msg(distance_ms <= client->renew_ttl_ms, "%lld ms after the one before: %s",
                  (long long)distance_ms, line);
}

/* Also when its renewals are seen to go on. */
static inline void is_held(struct client *client, const char *name, const char *token)
{
    is_renewed(client);
    client_send(client, "CHECK %s token=%s", name, token);
    const char *line = await(client, "[-+]*");
    ck_assert_msg(strncmp(line, "+HELD ", 6) == 0, "%s", line);
}

/* By its own clock; -1: it does not answer. */
static inline int uptime_s(const struct server *server)
{
    const char *uptime = strstr(redis(server, "INFO server"), "uptime_in_seconds:");
    return uptime ? atoi(uptime + strlen("uptime_in_seconds:")) : -1;
}

#endif
