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
    const char *line;
    int64_t end_ms = now_ms() + WAIT_MS;
    do {
        client_send(client, "EXTEND %s token=%s ttl=%d", name, token, ttl_ms);
        line = next_line(client);
    } while (line && strncmp(line, "-NOQUORUM ", 10) == 0 && now_ms() < end_ms);
    ck_assert_msg(line && strncmp(line, "+EXTENDED ", 10) == 0, "%s", line ? line : "closed");
}

/* A lock of a minute, or of max_ttl, which is renewed each third of ttl_ms all the same. */
static inline struct grant lock_steady(struct client *client, const char *name, const char *ttl, int ttl_ms)
{
    struct grant grant = grant_of(ask(client, "+LOCKED *", "LOCK %s ttl=%s wait=14s", name, ttl));
    renew_often(client, name, grant.token, ttl_ms);
    return grant;
}

/* The client's one lock is renewed: of two renewals from now on the second was begun after now. From here on its
 * !RENEWED come in between what it asks. */
static inline void is_renewed(struct client *client)
{
    const char *line;
    client_send(client, "HELLO 1 events=renewed");
    do {
        line = next_line(client);
        ck_assert_msg(line && (line[0] == '+' || strncmp(line, "!RENEWED ", 9) == 0), "%s", line);
    } while (line[0] != '+');
    for (unsigned i = 0; i < 2; i++)
        expect(client, "!RENEWED *");
}

/* Also when its renewals are seen to go on. */
static inline void is_held(struct client *client, const char *name, const char *token)
{
    is_renewed(client);
    client_send(client, "CHECK %s token=%s", name, token);
    const char *line = await(client, "[-+]*");
    ck_assert_msg(strncmp(line, "+HELD ", 6) == 0, "%s", line);
}

/* A daemon listens when it has tried each master once, and a pause may have cost it one. */
static inline bool all_up(struct client *client, unsigned count)
{
    return rows_with(show(client, "NODES"), " state=up ") == count;
}

/* By its own clock; -1: it does not answer. */
static inline int uptime_s(const struct server *server)
{
    const char *uptime = strstr(redis(server, "INFO server"), "uptime_in_seconds:");
    return uptime ? atoi(uptime + strlen("uptime_in_seconds:")) : -1;
}

#endif
