#include "tests/integ/guarded.h"

const char guarded[] = "restart_guard: on\nmax_ttl: 4s\ndefault_ttl: 3s\n";
const char guarded_long[] = "restart_guard: on\nmax_ttl: 30s\ndefault_ttl: 30s\n" STEADY;

struct daemon other;
struct client a, b, c;

bool state_is(unsigned master, const char *state)
{
    return strcmp(node_state(&b, &masters.server[master]), state) == 0;
}

void guarded_begin(unsigned count, enum transport transport, const char *settings)
{
    cluster_start_skewed(&masters, count, transport); /* so that a master's clock can jump */
    cluster_trust(&masters, atoi(strstr(settings, "max_ttl: ") + strlen("max_ttl: ")) * 1000);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&b, &masters));
}

void begin_other(const char *settings)
{
    daemon_serves(&other, &masters, settings, &c);
}

/* The first line of the log about a master that is in quarantine for this reason; NULL: none. */
static const char *quarantine_logged(unsigned master, const char *why)
{
    char node[PATH + 64];
    const struct server *server = &masters.server[master];
    if (server->port)
        snprintf(node, sizeof node, "node=127.0.0.1:%u state=quarantine why=%s ", server->port, why);
    else
        snprintf(node, sizeof node, "node=unix:%s state=quarantine why=%s ", server->path, why);
    return row_with(keep(file_read(redlockd.log)), node);
}

void is_kept_out(unsigned master, const char *why, int64_t full_ms)
{
    eventually(quarantine_logged(master, why) != NULL);
    const char *line = quarantine_logged(master, why);
    ck_assert_msg(number(line, "left") > 0 && number(line, "left") <= full_ms, "%s", line);
}

void restart(unsigned master)
{
    server_kill(&masters.server[master]);
    server_start(&masters.server[master]);
}

unsigned holds(const char *name, const char *token)
{
    return cluster_holds(&masters, name, token);
}

bool key_is_free(const char *name)
{
    return cluster_answers(&masters, "(nil)", "GET redlock:%s", name) == masters.count;
}
