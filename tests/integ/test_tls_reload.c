/* Files that change while the daemon runs: certificates, keys, CAs, and the masters' password. */
#include "tests/integ/certs.h"
#include "tests/integ/http.h"
#include "tests/integ/secure.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client plain; /* on the Unix socket */
static struct secure a, b;
static const char *certs;
static uint16_t port, http;

/* certs/<to> becomes a copy of certs/<from>, by a rename, as renewal tools do. */
static void put(const char *from, const char *to)
{
    char command[3 * PATH];
    snprintf(command, sizeof command, "cd %s && cp -p %s new && mv new %s", certs, from, to);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): in a test */
}

static void put_pair(const char *name)
{
    char file[64];
    snprintf(file, sizeof file, "%s.pem", name);
    put(file, "now.pem");
    snprintf(file, sizeof file, "%s.key", name);
    put(file, "now.key");
}

static void start(const char *more, bool skewed)
{
    static char text[4096];
    redlockd = (struct daemon){0};
    daemon_configure(&redlockd, &masters, "");
    if (skewed)
        redlockd.skew = skew_make(redlockd.folder);
    port = port_free();
    http = port_free();
    snprintf(
        text, sizeof text,
        "listen:\n  - unix:%s\n  - {address: \"127.0.0.1:%u\", tls: {cert: %s/now.pem, key: %s/now.key%s}}\n"
        "  - {address: \"127.0.0.1:0\", tls: {cert: %s/now.pem, key: %s/now.key}}\n"
        "http: 127.0.0.1:%u\nnode_timeout: 100ms\nmin_ttl: 1s\nlog_level: debug\n",
        redlockd.path, port, certs, certs, more, certs, certs, http);
    daemon_configure(&redlockd, &masters, text);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    eventually(daemon_logged(&redlockd, "event=ready"));
    client_open(&plain, &redlockd);
}

static void begin_with(const char *cert, bool asks, bool skewed)
{
    char text[PATH + 64] = "";
    cluster_start(&masters, 3, UNIX);
    certs = certs_make();
    put_pair(cert);
    put("ca.pem", "now-ca.pem");
    if (asks)
        snprintf(text, sizeof text, ", client_ca: %s/now-ca.pem", certs);
    start(text, skewed);
    eventually(masters_up(&plain, &masters));
}

static void begin(const char *cert, bool asks)
{
    begin_with(cert, asks, false);
}

/* Whether a new client takes the daemon's certificate. */
static bool welcomes(const char *name)
{
    struct secure c;
    char reply[64];
    secure_open(&c, port, certs, name);
    client_send(&c.client, "PING");
    const char *line = next_line(&c.client);
    snprintf(reply, sizeof reply, "%s", line ? line : "");
    client_close(&c.client);
    secure_kill(&c);
    return strncmp(reply, "+PONG", 5) == 0;
}

T(a_new_certificate)
{
    begin("server", false);
    secure_open(&a, port, certs, NULL);
    lock(&a.client, "job");
    put_pair("wrong");
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, "certificates or keys have changed, and were read"));
    ck_assert(!welcomes(NULL)); /* the new certificate names another host */
    ask(&a.client, "+PONG*", "PING");
    put_pair("server");
    eventually(welcomes(NULL)); /* within 10 s, without a signal */
    ask(&a.client, "+UNLOCKED job *", "UNLOCK job");
}

T(a_bad_file)
{
    char path[2 * PATH];
    begin("server", false);
    snprintf(path, sizeof path, "%s/now.pem", certs);
    file_write(path, "not a certificate\n");
    eventually(daemon_logged(&redlockd, "event=tls_files address=127.0.0.1:")); /* by itself */
    ck_assert(daemon_logged(&redlockd, "no certificate in PEM that can be used"));
    ck_assert(welcomes(NULL));
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, "event=reload file="));
    ck_assert(daemon_logged(&redlockd, "nothing was changed"));
    ck_assert(welcomes(NULL));
    put_pair("wrong");
    put_pair("server");
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, "certificates or keys have changed, and were read"));
    ck_assert(welcomes(NULL));
}

/* The client holds a lock and waits for another one. */
static struct grant holds_and_waits(void)
{
    lock(&plain, "other");
    struct grant job = lock(&a.client, "job ttl=60s");
    client_send(&a.client, "#w LOCK other wait=10m");
    client_send(&a.client, "#x LOCK other wait=10m");
    eventually(rows_with(show(&plain, "WAITERS"), "name=other ") == 2);
    return job;
}

/* The client is told what it loses, and closed. The key stays, since the client may not have read that
 * yet. */
static void is_denied(const struct grant *job)
{
    expect(&a.client, "#[wx] -DENIED other *");
    expect(&a.client, "#[wx] -DENIED other *");
    expect(&a.client, "!LOST job token=* reason=denied");
    expect_closed(&a.client);
    ck_assert_uint_ge(cluster_holds(&masters, "job", job->token), 2);
    ask(&plain, "-BUSY job*", "LOCK job");
    ck_assert_ptr_null(row_with(show(&plain, "LOCKS"), "name=job "));
    eventually(strstr(http_get(http, "/metrics"), "\nredlockd_locks_lost_total{reason=\"denied\"} 1\n") !=
               NULL);
    ask(&plain, "+UNLOCKED other *", "UNLOCK other"); /* nobody waits for it any more */
    ck_assert_ptr_null(row_with(show(&plain, "WAITERS"), "name="));
}

T(another_client_ca)
{
    begin("server", true);
    secure_open(&a, port, certs, "client");
    secure_open(&b, port, certs, "rogue");
    expect_closed(&b.client);
    struct grant job = holds_and_waits();
    put("other-ca.pem", "now-ca.pem");
    daemon_signal(&redlockd, SIGHUP);
    is_denied(&job);
    ck_assert(daemon_logged(&redlockd, "event=client_dropped"));
    ck_assert(daemon_logged(&redlockd, "its certificate was refused: "));
    ck_assert(welcomes("rogue"));
    ck_assert(!welcomes("client"));
}

T(a_clients_certificate_ends)
{
    enum { DAY_S = 86400 };
    begin_with("server", true, true);
    certs_sign(certs, "brief", "DNS:brief.example", 10);
    secure_open(&a, port, certs, "brief");
    secure_open(&b, port, certs, "client"); /* its certificate has longer to go */
    ask(&b.client, "+PONG*", "PING");
    struct grant job = holds_and_waits();
    redlockd.skew->wall_us = (int64_t)11 * DAY_S * 1000000;
    is_denied(&job);
    ck_assert(daemon_logged(&redlockd, "its certificate has ended"));
    ask(&b.client, "+PONG*", "PING");
}

/* The same CAs in a new file, and a new certificate of our own, part nobody. */
T(the_same_client_ca)
{
    begin("server", true);
    secure_open(&a, port, certs, "client");
    lock(&a.client, "job");
    put("ca.pem", "now-ca.pem");
    put_pair("wrong");
    daemon_signal(&redlockd, SIGHUP);
    eventually(daemon_logged(&redlockd, "certificates or keys have changed, and were read"));
    ask(&a.client, "+UNLOCKED job *", "UNLOCK job");
}

T(an_end_that_is_near)
{
    begin("expired", false);
    ck_assert(daemon_logged(&redlockd, "event=tls_certificate file="));
    ck_assert_uint_eq(rows_with(keep(file_read(redlockd.log)), "why=\"it has ended\""),
                      1); /* of two listeners */
    certs_sign(certs, "soon", "DNS:localhost", 10);
    put_pair("soon"); /* a fresh file is judged at once, not only a day after the last warning */
    eventually(daemon_logged(&redlockd, "days=9 why=\"it ends soon\"") ||
               daemon_logged(&redlockd, "days=10 why=\"it ends soon\""));
    ck_assert(welcomes(NULL));
}

/* ---- the masters' password ---- */

static char password_path[2 * PATH];

static void password_put(const char *text)
{
    char fresh[2 * PATH + 8];
    snprintf(fresh, sizeof fresh, "%s.new", password_path);
    file_write(fresh, text);
    ck_assert_int_eq(rename(fresh, password_path), 0);
}

static void password_begin(const char *password)
{
    static char text[2 * PATH + 256];
    cluster_start(&masters, 1, UNIX);
    ck_assert_str_eq(redis(&masters.server[0], "ACL SETUSER locks on allkeys allcommands >%s", password),
                     "OK");
    snprintf(password_path, sizeof password_path, "%s/password", folder_new("secret"));
    password_put(password);
    snprintf(text, sizeof text, "node_user: locks\nnode_password_file: %s\n" PATIENT, password_path);
    daemon_serves(&redlockd, &masters, text, &plain);
}

static bool is_logged_in(void)
{
    return strstr(redis(&masters.server[0], "CLIENT LIST"), "user=locks") != NULL;
}

/* A token of 3,000 bytes, and the one after it: AUTH goes out on the live connection, and the next login
 * reads the file anew. */
T(a_password_that_rotates)
{
    static char first[3001], second[3001];
    memset(first, 'a', sizeof first - 1);
    memset(second, 'b', sizeof second - 1);
    password_begin(first);
    ck_assert(is_logged_in());
    ck_assert_str_eq(redis(&masters.server[0], "ACL SETUSER locks >%s <%s", second, first), "OK");
    password_put(second);
    eventually(daemon_logged(&redlockd, "node_password_file has changed"));
    lock(&plain, "job");
    ck_assert(!daemon_logged(&redlockd, "event=node_lost"));
    ck_assert(!daemon_logged(&redlockd, "why=refused"));
    server_kill(&masters.server[0]);
    eventually(daemon_logged(&redlockd, "event=node_lost"));
    server_start(&masters.server[0]);
    ck_assert_str_eq(redis(&masters.server[0], "ACL SETUSER locks on allkeys allcommands >third"), "OK");
    password_put("third\n"); /* no look is waited for */
    eventually(is_logged_in());
    ck_assert(!daemon_logged(&redlockd, "bbbb"));
}

T(a_password_that_is_refused)
{
    password_begin("first");
    password_put("other");
    eventually(daemon_logged(&redlockd, "event=node_auth node=unix:"));
    eventually(daemon_logged(&redlockd, "why=refused"));
    ck_assert(daemon_logged(&redlockd, "the connection goes on as before, but the next login will fail"));
    lock(&plain, "job"); /* the connection goes on */
    ck_assert(!daemon_logged(&redlockd, "event=node_lost"));
    ck_assert(unlink(password_path) == 0);
    eventually(daemon_logged(&redlockd, "event=node_password_file why=\"No such file or directory\""));
    lock(&plain, "another");
}
