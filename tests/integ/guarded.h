/* Masters that are guarded by quarantine, with clocks that may jump, a daemon or two in front of them, and what
 * their rows, logs and keys say. */
#ifndef REDLOCKD_TESTS_GUARDED_H
#define REDLOCKD_TESTS_GUARDED_H

#include "tests/integ/steady.h"

#include <stdio.h>

/* What a test has to see before it is over, or must not lose, lasts half a minute; of what is shorter the log tells. */
static const char guarded[] = "restart_guard: on\nmax_ttl: 4s\ndefault_ttl: 3s\n";
static const char guarded_long[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 30s\n" STEADY;
enum { MAX_TTL_MS = 4000, FULL_MS = 4000 + 42, LONG_MAX_TTL_MS = 30000, LONG_FULL_MS = 30000 + 302 };

static struct cluster masters;
static struct daemon redlockd, other;
static struct client a, b, c;

static inline bool state_is(unsigned master, const char *state)
{
    return strcmp(node_state(&b, &masters.server[master]), state) == 0;
}

static inline void begin(unsigned count, enum transport transport, const char *settings)
{
    cluster_start_skewed(&masters, count, transport); /* so that one may jump */
    cluster_trust(&masters, atoi(strstr(settings, "max_ttl: ") + strlen("max_ttl: ")) * 1000);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&b, &masters));
}

static inline void begin_other(const char *settings)
{
    daemon_start(&other, &masters, settings);
    client_open(&c, &other);
    eventually(masters_up(&c, &masters));
}

/* What the log said last of a master that is in quarantine for that; NULL: nothing. */
static inline const char *quarantine_logged(unsigned master, const char *why)
{
    char node[PATH + 64];
    const struct server *server = &masters.server[master];
    if (server->port)
        snprintf(node, sizeof node, "node=127.0.0.1:%u state=quarantine why=%s ", server->port, why);
    else
        snprintf(node, sizeof node, "node=unix:%s state=quarantine why=%s ", server->path, why);
    return row_with(keep(file_read(redlockd.log)), node);
}

/* For that, and for no longer than in full. */
static inline void is_kept_out(unsigned master, const char *why, int64_t full_ms)
{
    eventually(quarantine_logged(master, why) != NULL);
    const char *line = quarantine_logged(master, why);
    ck_assert_msg(number(line, "left") > 0 && number(line, "left") <= full_ms, "%s", line);
}

/* From its dump, if there is one. */
static inline void restart(unsigned master)
{
    server_kill(&masters.server[master]);
    server_start(&masters.server[master]);
}

static inline unsigned holds(const char *name, const char *token)
{
    return cluster_holds(&masters, name, token);
}

static inline bool key_is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}

#endif
