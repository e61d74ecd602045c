/* Masters that are reached by TLS, and everything that can be wrong with that. */
#include "tests/integ/certs.h"
#include "tests/integ/http.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client c;
static const char *certs;
static char settings[4096];

static void __attribute__((format(printf, 1, 2))) say(const char *format, ...)
{
    size_t len = strlen(settings);
    va_list args;
    va_start(args, format);
    vsnprintf(settings + len, sizeof settings - len, format, args);
    va_end(args);
}

static void begin(unsigned count)
{
    cluster_start(&masters, count, UNIX);
    certs = certs_make();
    say("node_tls: {ca: %s/ca.pem}\nnodes:\n", certs);
}

static void start(void)
{
    daemon_start(&redlockd, NULL, settings);
    client_open(&c, &redlockd);
}

static bool voting(const char *master)
{
    char name[64];
    snprintf(name, sizeof name, "node=%s ", master);
    const char *row = row_with(show(&c, "NODES"), name);
    return row && strcmp(kv(row, "state"), "up") == 0;
}

TIME_LIMIT_S(120);

/* By number, whose certificate names the number; by name; and by a certificate of our own. */
T(locks)
{
    begin(3);
    for (unsigned i = 0; i < 3; i++)
        certs_secure(&masters.server[i], certs, "server", i == 2 ? "yes" : "no");
    say("  - rediss://127.0.0.1:%u\n", masters.server[0].port);
    say("  - rediss://localhost:%u/1\n", masters.server[1].port);
    say("  - {url: \"rediss://127.0.0.1:%u\", tls: {cert: %s/client.pem, key: %s/client.key, server_name: "
        "localhost}}\n",
        masters.server[2].port, certs, certs);
    start();
    eventually(rows_with(show(&c, "NODES"), "state=up") == 3);
    eventually(rows_with(show(&c, "NODES"), "wake=up") == 3);
    lock(&c, "secret ttl=30s");
    ck_assert_str_ne(redis(&masters.server[0], "GET redlock:secret"), "(nil)");
    ck_assert_str_ne(redis(&masters.server[2], "GET redlock:secret"), "(nil)");
    ask(&c, "+UNLOCKED secret confirmed=[23]/3", "UNLOCK secret");
    for (int i = 0; i < 500; i++) { /* several records in one read */
        client_send(&c, "LOCK many%d", i);
        client_send(&c, "UNLOCK many%d", i);
    }
    client_send(&c, "PING");
    await(&c, "+PONG*");
    eventually(cluster_gave_back(&masters, "many499"));
}

static const struct {
    const char *cert, *auth; /* the server's; NULL: it speaks no TLS */
    const char *url;
    const char *said[3];
} faults[] = {
    {"rogue",
     "no",
     "rediss://127.0.0.1",
     {"why=tls detail=\"its certificate was refused: ",
      "hint=\"name the file of the CA that signed this certificate as ca in node_tls\""}},
    {"wrong",
     "no",
     "rediss://localhost",
     {"why=tls detail=\"the certificate does not name localhost, only DNS:wrong.example, IP:192.0.2.1\"",
      "server_name in node_tls"}},
    {"wrong",
     "no",
     "rediss://127.0.0.1",
     {"the certificate does not name 127.0.0.1, only DNS:wrong.example, IP:192.0.2.1\""}},
    {"expired",
     "no",
     "rediss://127.0.0.1",
     {"certificate has expired",
      "hint=\"renew the master's certificate, and compare the clocks of both hosts\""}},
    {"server",
     "yes",
     "rediss://127.0.0.1",
     {"why=tls", "hint=\"the master wants a certificate from its clients: name cert and key in node_tls\""}},
    {"server",
     "no",
     "redis://127.0.0.1",
     {"node=127.0.0.1:", "hint=\"if TLS is spoken there, write rediss:// in nodes\""}},
    {NULL,
     NULL,
     "rediss://127.0.0.1",
     {"why=tls_timeout", "hint=\"if no TLS is spoken there, write redis:// in nodes\""}},
};

enum { FAULTS = sizeof faults / sizeof faults[0] };

/* One master of three: the log says what is wrong and what to do, and the other two serve. */
T_EACH(each_fault_has_its_line, FAULTS)
{
    begin(3);
    for (unsigned i = 0; i < 2; i++) {
        certs_secure(&masters.server[i], certs, "server", "no");
        say("  - rediss://127.0.0.1:%u\n", masters.server[i].port);
    }
    struct server *bad = &masters.server[2];
    if (faults[_i].cert) {
        certs_secure(bad, certs, faults[_i].cert, faults[_i].auth);
    } else {
        bad->port = port_free();
        char port[8];
        snprintf(port, sizeof port, "%u", bad->port);
        ck_assert_str_eq(redis(bad, "CONFIG SET port %s", port), "OK");
    }
    say("  - %s:%u\n", faults[_i].url, bad->port);
    start();
    lock(&c, "job");
    for (unsigned i = 0; i < 3 && faults[_i].said[i]; i++)
        ck_assert_msg(daemon_logged(&redlockd, faults[_i].said[i]), "no %s in %s", faults[_i].said[i],
                      file_read(redlockd.log));
    ck_assert_str_eq(redis(bad, "GET redlock:job"), "(nil)");
}

/* Each handshake is counted once, also where a master refuses our certificate after it, as TLS 1.3 does. */
T(handshakes_are_counted)
{
    static const char done[] = "\nredlockd_tls_handshakes_total{side=\"master\",result=\"ok\"} ",
                      failed[] = "\nredlockd_tls_handshakes_total{side=\"master\",result=\"failed\"} ";
    uint16_t http = port_free();
    begin(2);
    certs_secure(&masters.server[0], certs, "server", "no");
    certs_secure(&masters.server[1], certs, "server", "yes");
    say("  - rediss://127.0.0.1:%u\n  - rediss://127.0.0.1:%u\n", masters.server[0].port,
        masters.server[1].port);
    say("http: 127.0.0.1:%u\n", http);
    start();
    eventually(rows_with(show(&c, "NODES"), "wake=up") == 1);
    const char *text = NULL; /* one connection for commands, and one that listens */
    eventually((text = strstr(http_get(http, "/metrics"), failed)) && atoi(text + strlen(failed)) >= 4);
    ck_assert_ptr_nonnull(text = strstr(http_get(http, "/metrics"), done));
    ck_assert_int_eq(atoi(text + strlen(done)), 2);
}

/* A master gets a right certificate: it comes up without a restart of anything. */
T(a_renewed_certificate)
{
    char name[64];
    begin(1);
    certs_secure(&masters.server[0], certs, "expired", "no");
    say("  - rediss://127.0.0.1:%u\n", masters.server[0].port);
    start();
    snprintf(name, sizeof name, "127.0.0.1:%u", masters.server[0].port);
    ck_assert(!voting(name));
    ck_assert_str_eq(kv(row_with(show(&c, "NODES"), name), "why"), "tls");
    certs_secure(&masters.server[0], certs, "server", "no");
    eventually(voting(name));
    lock(&c, "job");
}

/* The master dies, and comes back, with TLS as without. */
T(a_master_that_restarts)
{
    begin(1);
    certs_secure(&masters.server[0], certs, "server", "no");
    say("  - rediss://127.0.0.1:%u\n", masters.server[0].port);
    start();
    eventually(rows_with(show(&c, "NODES"), "state=up") == 1);
    uint16_t port = masters.server[0].port;
    masters.server[0].port = 0;
    server_kill(&masters.server[0]);
    eventually(rows_with(show(&c, "NODES"), "state=down") == 1);
    server_start(&masters.server[0]);
    masters.server[0].port = port;
    certs_secure(&masters.server[0], certs, "server", "no");
    eventually(rows_with(show(&c, "NODES"), "state=up") == 1);
}

/* The system's CAs are those of the file that SSL_CERT_FILE names: OpenSSL's own variable. */
T(the_systems_cas)
{
    char path[PATH];
    begin(1);
    settings[0] = '\0';
    certs_secure(&masters.server[0], certs, "server", "no");
    say("nodes: [\"rediss://localhost:%u\"]\n", masters.server[0].port);
    snprintf(path, sizeof path, "%s/ca.pem", certs);
    setenv("SSL_CERT_FILE", path, 1);
    start();
    eventually(rows_with(show(&c, "NODES"), "state=up") == 1);
}

T(a_config_that_names_no_such_file)
{
    begin(1);
    settings[0] = '\0';
    say("node_tls: {ca: %s/none.pem}\nnodes: [\"rediss://localhost:1\"]\n", certs);
    redlockd = (struct daemon){0};
    daemon_configure(&redlockd, NULL, settings);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, "--check", NULL});
    ck_assert_int_eq(daemon_exit(&redlockd), 1);
    ck_assert(daemon_logged(&redlockd, ":1:1: node_tls: /"));
    ck_assert(daemon_logged(&redlockd, "/none.pem: No such file or directory\n"));
}
