/* SIGHUP: the daemon reads its configuration again, and no lock is lost by it. */
#include "tests/integ/steady.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b;
static unsigned reloads; /* asked for */

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    client_open(&b, &redlockd);
    eventually(masters_up(&a, &masters));
}

static unsigned logged(const char *text)
{
    return rows_with(keep(file_read(redlockd.log)), text);
}

/* Returns when the daemon has read its present file. */
static void hup(void)
{
    reloads++;
    daemon_signal(&redlockd, SIGHUP);
    eventually(logged(" event=reload ") == reloads);
}

static void reload(const char *settings)
{
    daemon_configure(&redlockd, &masters, settings);
    hup();
}

T(what_may_change_does)
{
    begin("node_timeout: 5s\nmin_ttl: 10s\n");
    struct grant held = lock(&a, "held");
    reload("node_timeout: 5s\ndefault_ttl: 30s\nmin_ttl: 20s\nmax_waits_per_client: 1\nretry_max: 150ms\n");
    ck_assert(daemon_logged(&redlockd, "event=conf_changed key=default_ttl was=\"10s\" is=\"30s\""));
    ck_assert(daemon_logged(&redlockd, "changed=4 left=0"));
    struct grant grant = lock(&b, "new");
    ck_assert_msg(grant.valid_ms > 10000 && grant.valid_ms < 30000, "%d", (int)grant.valid_ms);
    ask(&b, "-BADARG short *", "LOCK short ttl=19999ms");
    client_send(&b, "#1 LOCK held wait=30s");
    ask(&b, "#2 -LIMIT new limit=max_waits_per_client*", "#2 LOCK new wait=30s");
    const char *config = show(&a, "CONFIG");
    ck_assert_ptr_nonnull(strstr(config, "* default_ttl=30s\n"));
    ck_assert_ptr_nonnull(strstr(config, "* retry_max=150ms\n"));
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ask(&a, "+UNLOCKED held *", "UNLOCK held");
    expect(&b, "#1 +LOCKED held *");
}

T(what_cannot_is_named)
{
    begin("node_timeout: 5s\nmin_ttl: 10s\n");
    reload("max_ttl: 2m\ndefault_ttl: 90s\nmax_locks: 5\nunix_mode: \"0600\"\nkey_prefix: 'app:'\n"
           "node_timeout: 4s\nmin_ttl: 10s\n");
    const char *log = keep(file_read(redlockd.log));
    ck_assert_uint_eq(rows_with(log, "event=conf_left"), 6);
    static const char *const said[][2] = {
        {"key=max_ttl is=\"1m\" file=\"2m\"", "raise generation to 1"},
        {"key=default_ttl is=\"10s\" file=\"90s\"", "max_ttl"},
        {"key=max_locks is=\"100000\" file=\"5\"", "restart this daemon"},
        {"key=unix_mode is=\"0660\" file=\"0600\"", "restart this daemon"},
        {"key=key_prefix is=\"redlock:\" file=\"app:\"", "stop them all"},
        {"key=node_timeout is=\"5s\" file=\"4s\"", "max_ttl"},
    };
    for (unsigned i = 0; i < 6; i++) {
        const char *row = row_with(log, said[i][0]);
        ck_assert_msg(row && strstr(row, said[i][1]), "%s in\n%s", said[i][0], log);
    }
    ask(&a, "-BADARG long *", "LOCK long ttl=61s");
    struct grant grant = lock(&a, "same");
    eventually(cluster_holds(&masters, "same", grant.token) == 3);
    ck_assert_ptr_nonnull(strstr(show(&a, "CONFIG"), "* max_ttl=1m\n"));
}

T(bad_file_changes_nothing)
{
    begin("");
    struct grant held = lock(&a, "held ttl=60s wait=10s");
    lock_steady(&b, "renewed", "60s", 600);
    daemon_configure(&redlockd, &masters, "default_ttl: 5s\nmin_ttl: never\ncolour: red\n");
    hup();
    char place[PATH + 32];
    snprintf(place, sizeof place, "%s:2:10: min_ttl: ", redlockd.config);
    ck_assert_uint_eq(logged(place), 1);
    snprintf(place, sizeof place, "%s:3:1: ", redlockd.config);
    ck_assert_uint_eq(logged(place), 1);
    ck_assert(daemon_logged(&redlockd, "errors=2 why=\"nothing was changed\""));
    ck_assert_ptr_nonnull(strstr(show(&a, "CONFIG"), "* default_ttl=10s\n"));

    /* The daemon also keeps its configuration where the file is missing, a folder, or a pipe that never
     * ends. */
    ck_assert_int_eq(unlink(redlockd.config), 0);
    hup();
    ck_assert_int_eq(mkdir(redlockd.config, 0700), 0);
    hup();
    ck_assert_int_eq(rmdir(redlockd.config), 0);
    ck_assert_int_eq(mkfifo(redlockd.config, 0600), 0);
    hup();
    ck_assert_uint_eq(logged("why=\"nothing was changed\""), 4);
    is_renewed(&b);
    ask(&a, "+HELD held *", "CHECK held token=%s", held.token);
    ck_assert_int_eq(unlink(redlockd.config), 0);
    reload("default_ttl: 5s\n");
    ck_assert_ptr_nonnull(strstr(show(&a, "CONFIG"), "* default_ttl=5s\n"));
}

T(log_level)
{
    begin("log_level: error\n");
    daemon_configure(&redlockd, &masters, "log_level: debug\n");
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, " event=reload "));
    redis(&masters.server[0], "CLIENT KILL TYPE normal SKIPME yes");
    eventually(daemon_logged(&redlockd, "level=debug"));
}

/* The password of the masters changes first; connections that are logged in stay so until they break. */
T(password)
{
    char secret[PATH + 16], settings[256];
    snprintf(secret, sizeof secret, "%s/secret", folder_new("secret"));
    snprintf(settings, sizeof settings, PATIENT "node_user: locker\nnode_password_file: %s\n", secret);
    file_write(secret, "first\n");
    chmod(secret, 0600);
    cluster_start(&masters, 3, UNIX);
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "ACL SETUSER locker on >first ~* +@all"), 3);
    daemon_start(&redlockd, &masters, settings);
    client_open(&a, &redlockd);
    lock(&a, "one wait=10s");
    file_write(secret, "second\n");
    ck_assert_uint_eq(cluster_answers(&masters, "OK", "ACL SETUSER locker >second <first"), 3);
    hup();
    ck_assert(daemon_logged(&redlockd, "event=conf_changed key=password for=\"the next login"));
    for (unsigned i = 0; i < 3; i++)
        redis(&masters.server[i], "CLIENT KILL USER locker");
    lock(&a, "two wait=10s");
    eventually(rows_with(show(&a, "NODES"), "state=up") == 3);
    ck_assert(!daemon_logged(&redlockd, "\"first") && !daemon_logged(&redlockd, "second"));
}

T(time_outs_of_clients_that_are_there)
{
    begin("idle_line_timeout: 1h\n");
    client_write(&a, "LOCK ha", 7);
    ask(&b, "+PONG ready=1", "PING");
    reload("idle_line_timeout: 100ms\n");
    expect_closed(&a);
    ask(&b, "+PONG ready=1", "PING");
}

/* A thousand locks come and go while the daemon gets as many signals as fit in. */
T(in_the_middle_of_work)
{
    begin("");
    lock_steady(&b, "renewed", "60s", 600);
    reload(PATIENT);
    for (int i = 0; i < 1000; i++) {
        client_send(&a, "LOCK work");
        if (i % 10 == 0) {
            daemon_configure(&redlockd, &masters,
                             i % 20 ? PATIENT "retry_min: 1ms\n"
                                    : "node_timeout: 4s\nmin_ttl: 9s\nmax_output: 1m\n");
            daemon_signal(&redlockd, SIGHUP);
        }
        expect(&a, "+LOCKED work *");
        ask(&a, "+UNLOCKED work *", "UNLOCK work");
        if (i % 500 == 490) /* in the middle, and near the end */
            is_renewed(&b);
    }
    ck_assert_uint_gt(logged("event=reload"), 0);
    ck_assert_uint_eq(logged("nothing was changed"), 0);
}

/* The path of a Unix socket is gone: a reload makes it again, also for clients that connected before. */
T(a_socket_whose_path_is_gone)
{
    struct client c;
    begin("");
    lock(&a, "job ttl=30s");
    ck_assert_int_eq(unlink(redlockd.path), 0);
    hup();
    eventually(daemon_logged(&redlockd, "why=\"its path was gone: made again\""));
    client_open(&c, &redlockd);
    ask(&c, "-BUSY job*", "LOCK job");
    ask(&a, "+UNLOCKED job *", "UNLOCK job");
    hup();
    ck_assert_uint_eq(logged("its path was gone"), 1);
}

/* A browser or a probe at the wrong port: the log says so. */
T(http_to_the_wrong_port)
{
    struct client c;
    begin("");
    client_open_tcp(&c, &redlockd);
    client_send(&c, "GET / HTTP/1.1");
    expect_closed(&c);
    eventually(daemon_logged(&redlockd, "event=client_foreign"));
    ck_assert(daemon_logged(&redlockd, "why=\"it speaks HTTP to an address of listen"));
}
