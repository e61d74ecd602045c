/* A master that is gone for good: its name points to an empty server elsewhere, and no daemon is restarted. */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>

#include "tests/integ/harness.h"
#include "tests/integ/steady.h"

#define SETTINGS "restart_guard: on\nmax_ttl: 4s\ndefault_ttl: 4s\n" STEADY

static struct cluster masters, spare;
static struct daemon redlockd;
static struct client a, b;
static char hosts[PATH];

/* Names of this test's own in /etc/hosts, which no other process sees; false: that is not allowed here. */
static bool hosts_enter(void)
{
    snprintf(hosts, sizeof hosts, "%s/hosts", folder_new("hosts"));
    file_write(hosts, "127.0.0.1 localhost master-c.test\n");
    if (unshare(CLONE_NEWNS) < 0)
        return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return false; /* after chroot(2) the root is no mount */
    ck_assert_int_eq(mount(hosts, "/etc/hosts", NULL, MS_BIND, NULL), 0);
    return true;
}

static const char *named(void)
{
    return row_with(show(&b, "NODES"), "node=master-c.test:");
}

static bool named_is(const char *state)
{
    return strcmp(kv(named(), "state"), state) == 0;
}

T(its_name_leads_to_an_empty_server_elsewhere)
{
    char settings[512];
    if (!hosts_enter()) {
        fprintf(stderr, "left out: no mount namespace of its own\n");
        return;
    }
    cluster_start(&masters, 3, TCP);
    cluster_start(&spare, 1, TCP);
    struct server *old = &masters.server[2], *next = &spare.server[0];
    cluster_trust(&masters, 4000);
    snprintf(
        settings, sizeof settings,
        "nodes:\n  - redis://127.0.0.1:%u\n  - redis://127.0.0.1:%u\n  - redis://master-c.test:%u\n" SETTINGS,
        masters.server[0].port, masters.server[1].port, old->port);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(rows_with(show(&b, "NODES"), " state=up ") == 3);
    struct grant held = lock(&a, "held");
    eventually(cluster_holds(&masters, "held", held.token) == 3);

    server_kill(old);
    eventually(named_is("down"));
    ck_assert_str_eq(redis(next, "CONFIG SET bind 127.0.0.2"), "OK");
    ck_assert_str_eq(redis(next, "CONFIG SET port %u", old->port), "OK");
    file_write(hosts, "127.0.0.1 localhost\n127.0.0.2 master-c.test\n");
    eventually(named_is("quarantine"));
    eventually(cluster_holds(&spare, "held", held.token) == 1); /* healed */
    eventually(named_is("up"));
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    server_kill(&masters.server[0]); /* the new master counts for others, too */
    lock(&b, "another");
}
