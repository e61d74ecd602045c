/* Masters that refuse CLIENT ID and CLIENT KILL, as some managed services do. */
#include "tests/integ/harness.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { MAX_TTL_MS = 4000 };

static struct cluster masters;
static struct daemon redlockd;
static struct client a, watch;
static const char *rights; /* the rights of the daemon's user on the masters */

static void allow(const struct server *server)
{
    char line[256];
    snprintf(line, sizeof line, "ACL SETUSER locks on nopass %s", rights);
    ck_assert_str_eq(redis_typed(server, line), "OK");
}

static void begin(const char *keys)
{
    static char settings[1024];
    size_t len = 0;
    for (unsigned i = 0; i < 3; i++)
        allow(&masters.server[i]);
    cluster_trust(&masters, MAX_TTL_MS);
    len += (size_t)snprintf(settings, sizeof settings,
                            "restart_guard: on\nmax_ttl: %dms\ndefault_ttl: 2s\nnodes:\n", MAX_TTL_MS);
    for (unsigned i = 0; i < 3; i++)
        len +=
            (size_t)snprintf(settings + len, sizeof settings - len,
                             "  - {url: 'redis://locks:x@127.0.0.1:%u'%s}\n", masters.server[i].port, keys);
    daemon_start(&redlockd, NULL, settings);
    client_open(&a, &redlockd);
    client_open(&watch, &redlockd);
}

/* The end of a user ends its connections. */
static void lose_connections(struct server *server)
{
    ck_assert_str_eq(redis(server, "ACL DELUSER locks"), "1");
    allow(server);
}

static void is_refused(void)
{
    begin("");
    eventually(rows_with(show(&watch, "NODES"), "why=noperm") == 3);
    ask(&a, "-NOQUORUM *", "LOCK job");
    daemon_signal(&redlockd, SIGTERM);
    ck_assert_int_eq(daemon_exit(&redlockd), 0);
}

/* Whether the master is kept out because its connection was lost. */
static bool waits(unsigned master)
{
    const char *row = node_row(&watch, &masters.server[master]);
    return strcmp(kv(row, "state"), "quarantine") == 0 && strcmp(kv(row, "why"), "reconnect") == 0 &&
           number(row, "left") > 0 && kv(row, "by")[0] != 0;
}

static void serves(void)
{
    begin(", no_kill: yes");
    eventually(rows_with(show(&watch, "NODES"), "state=up") == 3);
    ck_assert_uint_eq(rows_with(show(&watch, "NODES"), "no_kill=yes"), 3);
    eventually(rows_with(show(&watch, "NODES"), "wake=up") == 3);
    int64_t lost_ms = now_ms();
    lose_connections(&masters.server[0]);
    eventually(waits(0));
    lock(&a, "job"); /* the two other masters grant it */
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    eventually(strcmp(node_state(&watch, &masters.server[0]), "up") == 0);
    ck_assert_int_ge(now_ms() - lost_ms, MAX_TTL_MS);
    eventually(strcmp(kv(node_row(&watch, &masters.server[0]), "wake"), "up") == 0);
    ask(&a, "+HELLO *", "HELLO 1 events=renewed");
    lock(&a, "job ttl=%d", MAX_TTL_MS);
    for (unsigned i = 0; i < 3; i++)
        lose_connections(&masters.server[i]);
    eventually(waits(0) && waits(1) && waits(2));
    int64_t since_ms = now_ms();
    const char *renewed; /* all the same, as none of them has forgotten the lock */
    do
        renewed = expect(&a, "!RENEWED job *");
    while (number(renewed, "until") - number(renewed, "valid") < since_ms);
}

T(no_right_to_client_id_and_kill)
{
    rights = "~* &* +@all -client|id -client|kill";
    cluster_start(&masters, 3, TCP);
    is_refused();
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "ACL LOG RESET"), 3);
    serves();
    ck_assert_uint_eq(cluster_answers(&masters, "", "ACL LOG"), 3); /* the daemon asked for neither command */
}

T(no_command_client)
{
    rights = "~* &* +@all";
    cluster_start(&masters, 3, TCP);
    for (unsigned i = 0; i < 3; i++)
        server_start_without(&masters.server[i], "CLIENT");
    ck_assert_uint_eq(cluster_answers(&masters,
                                      "ERR unknown command 'CLIENT', with args beginning with: 'ID' ",
                                      "CLIENT ID"),
                      3);
    is_refused();
    serves();
}
