/* HTTP over TLS: page, metrics and probes, who asks by certificate or secret, and peers that are up to no good. */
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/http/head.h"
#include "tests/integ/certs.h"
#include "tests/integ/command.h"
#include "tests/integ/http.h"
#include "tests/integ/network.h"
#include "tests/integ/secure.h"

/* OPS is ops:SECRET as base64 has it. */
#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define OPS    "b3BzOjAxMjM0NTY3ODlhYmNkZWYwMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
#define HASH   "a8ae6e6ee929abea3afcfc5258c8ccd6f85273e0d4626d26c7279f3250f77c8e"

static struct cluster masters;
static struct daemon d;
static struct client plain; /* on the Unix socket */
static const char *certs;
static uint16_t port, open_port; /* with TLS, and without */

static const char *watched = "127.0.0.1"; /* the address of HTTP */

/* ask: with client_ca, and client_cert: as it says; NULL: without. */
static void begin(const char *ask, const char *settings)
{
    static char text[4096], more[PATH + 64];
    cluster_start(&masters, 3, UNIX);
    certs = certs_make();
    if (ask)
        snprintf(more, sizeof more, ", client_ca: %s/ca.pem, client_cert: %s", certs, ask);
    d = (struct daemon){.pid = 0};
    port = port_free();
    open_port = port_free();
    snprintf(text, sizeof text,
             "log_level: debug\nhttp:\n  - {address: \"%s:%u\", tls: {cert: %s/server.pem, key: "
             "%s/server.key%s}}\n  - \"%s:%u\"\n%s",
             watched, port, certs, certs, more, watched, open_port, settings);
    daemon_start(&d, &masters, text);
    client_open(&plain, &d);
    eventually(masters_up(&plain, &masters));
}

/* The whole answer to this text over TLS; "": there is none. name: of the client's certificate; NULL: none. */
static const char *secure_ask(const char *name, const char *text)
{
    struct secure s;
    secure_open(&s, port, certs, name);
    http_send(s.client.fd, text, strlen(text));
    const char *answer = http_rest(s.client.fd);
    ck_assert(secure_was_told(&s) || !*answer);
    return answer;
}

static const char *secure_get(const char *name, const char *path, const char *header)
{
    char text[512];
    snprintf(text, sizeof text, "GET %s HTTP/1.1\r\nHost: localhost:%u\r\n%s\r\n", path, port, header);
    return secure_ask(name, text);
}

TIME_LIMIT_S(120);

T(page_and_probes)
{
    begin(NULL, PATIENT);
    lock(&plain, "job");
    ck_assert_ptr_nonnull(row_with(show(&plain, "CONFIG"), "/server.pem,key="));
    struct command printed, checked;
    ck_assert_int_eq(RUN(&printed, daemon_binary(), "-c", d.config, "--print-config"), 0);
    ck_assert_int_eq(RUN(&checked, daemon_binary(), "-c", printed.out, "--check"), 0);
    ck_assert_str_eq(http_body(secure_get(NULL, "/livez", "")), "alive\n");
    ck_assert_int_eq(http_status(secure_get(NULL, "/readyz", "")), 200);
    ck_assert_ptr_nonnull(strstr(secure_get(NULL, "/status.json", ""), "\"job\""));
    const char *page = secure_get(NULL, "/", "");
    ck_assert_ptr_nonnull(strstr(page, "</html>"));
    ck_assert_int_eq(atoi(strstr(page, "Content-Length: ") + 16), (int)strlen(http_body(page)));
    const char *ok = "\nredlockd_tls_handshakes_total{side=\"http\",result=\"ok\"} ";
    eventually(atoi(strstr(secure_get(NULL, "/metrics", ""), ok) + strlen(ok)) >= 4);
    const char *metrics = secure_get(NULL, "/metrics", "");
    ck_assert_ptr_nonnull(strstr(metrics, "_seconds{use=\"http\"} "));
    ck_assert_ptr_nonnull(
        strstr(metrics, "\nredlockd_tls_handshakes_total{side=\"client\",result=\"ok\"} 0\n"));
}

/* A head in many records, several of them in one read, and one that is longer than 4 KiB. */
T(heads_in_records)
{
    static char text[64 << 10];
    struct secure s;
    begin(NULL, PATIENT);
    secure_open(&s, port, certs, NULL);
    for (const char *at = "GET /livez HTTP/1.0\r\n\r\n"; *at; at++) {
        http_send(s.client.fd, at, 1);
        secure_has_sent(&s);
    }
    ck_assert_str_eq(http_body(http_rest(s.client.fd)), "alive\n");
    memset(text, 'a', sizeof text - 1);
    memcpy(text, "GET /livez HTTP/1.0\r\nA: ", 24);
    ck_assert_int_eq(http_status(secure_ask(NULL, text)), 431);
    eventually(daemon_logged(&d, "the header of its request is longer than 4096 bytes"));
    memcpy(text + HEAD_BYTES - 4, "\r\n\r\n", 5);
    ck_assert_int_eq(http_status(secure_ask(NULL, text)), 200);
}

/* A client that others wrote. */
T(by_curl)
{
    struct command curl;
    char ca[2 * PATH], url[64], cert[2 * PATH], key[2 * PATH];
    begin("required", PATIENT);
    snprintf(ca, sizeof ca, "%s/ca.pem", certs);
    snprintf(cert, sizeof cert, "%s/client.pem", certs);
    snprintf(key, sizeof key, "%s/client.key", certs);
    snprintf(url, sizeof url, "https://localhost:%u/readyz", port);
    ck_assert_int_eq(RUN(&curl, "curl", "-sS", "--fail", "--cacert", ca, "--cert", cert, "--key", key, url),
                     0);
    ck_assert_str_eq(output(&curl), "ready\n");
    ck_assert_int_ne(RUN(&curl, "curl", "-sS", "--cacert", ca, url), 0);
    ck_assert_ptr_nonnull(strstr(errors(&curl), "ertificate"));
    snprintf(url, sizeof url, "https://127.0.0.1:%u/", open_port);
    ck_assert_int_ne(RUN(&curl, "curl", "-sS", "--cacert", ca, url), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%u/", port);
    ck_assert_int_eq(RUN(&curl, "curl", "-sS", url), 0);
    ck_assert_str_eq(output(&curl), "This address takes only TLS: ask with https://.\n");
}

/* A secret is taken from another host over TLS, and not over plain TCP. */
T(a_secret_from_another_host)
{
    struct command curl;
    static const char login[] = "ops:" SECRET;
    char file[PATH + 16], ca[2 * PATH], url[64], to[64], settings[512];
    if (!network_enter(watched = "10.9.8.7")) {
        printf("left out: a client of another address (it needs root)\n");
        return;
    }
    snprintf(file, sizeof file, "%s/ops.sha256", folder_new("secret"));
    file_write(file, HASH "\n");
    ck_assert_int_eq(chmod(file, 0600), 0);
    snprintf(settings, sizeof settings,
             "users:\n  - {name: ops, secret_file: %s, show: ['*']}\n"
             "  - {name: me, uid: [%u], show: ['*']}\n",
             file, (unsigned)getuid());
    begin(NULL, settings);
    snprintf(ca, sizeof ca, "%s/ca.pem", certs);
    snprintf(url, sizeof url, "https://localhost:%u/metrics", port);
    snprintf(to, sizeof to, "localhost:%u:%s:%u", port, watched, port);
    ck_assert_int_eq(
        RUN(&curl, "curl", "-sS", "--fail", "--cacert", ca, "--connect-to", to, "-u", login, url), 0);
    ck_assert_ptr_nonnull(strstr(output(&curl), "redlockd_masters_voting"));
    snprintf(url, sizeof url, "http://%s:%u/metrics", watched, open_port);
    ck_assert_int_ne(RUN(&curl, "curl", "-sS", "--fail", "-u", login, url), 0);
    eventually(daemon_logged(&d, "not over plain TCP; this secret has been seen, make a new one"));
}

static const struct {
    const char *ask, *name, *logged; /* logged: NULL: it is answered */
} strangers[] = {
    {"required", "client", NULL},
    {"optional", NULL, NULL},
    {"required", NULL, "peer did not return a certificate: the client needs a certificate of client_ca"},
    {"optional", "rogue", "client_ca has to hold the CA that signed this client's certificate"},
    {"required", "expired", "renew the client's certificate, and compare the clocks of both hosts"},
};

T_EACH(client_certificates, sizeof strangers / sizeof strangers[0])
{
    begin(strangers[_i].ask, PATIENT);
    const char *answer = secure_get(strangers[_i].name, "/livez", "");
    ck_assert_int_eq(http_status(answer), strangers[_i].logged ? 0 : 200);
    if (strangers[_i].logged == NULL)
        return;
    eventually(daemon_logged(&d, strangers[_i].logged));
    eventually(strstr(http_get(open_port, "/metrics"), "\nredlockd_http_dropped_total{reason=\"tls\"} 1\n"));
    ck_assert_ptr_nonnull(strstr(http_get(open_port, "/metrics"),
                                 "\nredlockd_tls_handshakes_total{side=\"http\",result=\"failed\"} 1\n"));
}

/* A certificate says who asks; so does a secret, which TLS keeps from others. */
T(who_asks)
{
    char file[PATH + 16], settings[1024];
    snprintf(file, sizeof file, "%s/ops.sha256", folder_new("secret"));
    file_write(file, HASH "\n");
    ck_assert_int_eq(chmod(file, 0600), 0);
    snprintf(settings, sizeof settings,
             PATIENT "users:\n  - {name: report, cert: client.example, show: ['report/*']}\n"
                     "  - {name: me, uid: [%u], lock: ['*'], show: ['*'], admin: yes}\n"
                     "  - {name: ops, secret_file: %s, show: ['*'], admin: yes}\n",
             (unsigned)getuid(), file);
    begin("optional", settings);
    lock(&plain, "report/day");
    lock(&plain, "hidden");
    const char *page = secure_get("client", "/", "");
    ck_assert_int_eq(http_status(page), 200);
    ck_assert(strstr(page, ">report/day<") && !strstr(page, "hidden"));
    page = secure_get("client", "/", "Authorization: Basic " OPS "\r\n"); /* a secret says more */
    ck_assert(strstr(page, ">report/day<") && strstr(page, ">hidden<"));
    page = secure_get(NULL, "/", "");
    ck_assert_int_eq(http_status(page), 401);
    ck_assert_ptr_nonnull(strstr(page, "\r\nWWW-Authenticate: Basic realm=\"redlockd\"\r\n"));
    ck_assert_int_eq(http_status(secure_get(NULL, "/", "Authorization: Basic " OPS "\r\n")), 200);
    /* A wrong secret makes nobody the certificate's user. */
    ck_assert_int_eq(http_status(secure_get("client", "/", "Authorization: Basic b3BzOjE=\r\n")), 401);
    ck_assert(daemon_logged(&d, "event=auth_failed address=127.0.0.1:"));
    ck_assert_int_eq(http_status(secure_get(NULL, "/livez", "")), 200);
}

T(a_new_certificate)
{
    char command[3 * PATH];
    begin(NULL, PATIENT);
    ck_assert_int_eq(http_status(secure_get(NULL, "/livez", "")), 200);
    snprintf(command, sizeof command, "cd %s && cat wrong.pem >server.pem && cat wrong.key >server.key",
             certs);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): in a test */
    daemon_signal(&d, SIGHUP);
    eventually(daemon_logged(&d, "certificates or keys have changed, and were read"));
    ck_assert_int_eq(http_status(secure_get(NULL, "/livez", "")), 0); /* a certificate of another host */
    snprintf(command, sizeof command, "echo nonsense >%s/server.pem", certs);
    ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): in a test */
    daemon_signal(&d, SIGHUP);
    eventually(strstr(http_get(open_port, "/metrics"), "\nredlockd_config_last_reload_successful 0\n"));
}

T(the_wrong_protocol)
{
    struct secure s;
    begin(NULL, PATIENT);
    const char *answer = http_get(port, "/livez");
    ck_assert_int_eq(http_status(answer), 400);
    ck_assert_str_eq(http_body(answer), "This address takes only TLS: ask with https://.\n");
    eventually(daemon_logged(&d, "the client speaks plain HTTP: this address takes https:// alone"));
    ck_assert_str_eq(http_ask(port, "LOCK job\n"), ""); /* a request that is neither TLS nor HTTP */
    secure_open(&s, open_port, certs, NULL);
    expect_closed(&s.client);
    eventually(daemon_logged(&d, "it speaks TLS to an address that has no tls in http"));
    eventually(strstr(http_get(open_port, "/metrics"), "\nredlockd_http_answers_total{code=\"400\"} 2\n"));
    const char *metrics = http_get(open_port, "/metrics");
    ck_assert_ptr_nonnull(strstr(metrics, "\nredlockd_http_dropped_total{reason=\"tls\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(metrics, "\nredlockd_tls_handshakes_total{side=\"http\",result=\"failed\"} 2\n"));
}

static int dial_from(uint32_t address)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&from, sizeof from), 0);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
    return fd;
}

/* A peer that begins handshakes and never ends them has 8 of them for 2 s each; others are answered meanwhile, and
 * the ones that had to wait have their 5 s in all. */
T(half_handshakes)
{
    enum { HALVES = 12, PEER = 0x7f000002 };
    static const char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};
    int fds[HALVES];
    int64_t began_ms = now_ms();
    begin(NULL, PATIENT);
    for (unsigned i = 0; i < HALVES; i++) {
        fds[i] = dial_from(PEER);
        http_send(fds[i], hello, sizeof hello);
    }
    ck_assert_int_eq(http_status(secure_get(NULL, "/livez", "")), 200);
    ask(&plain, "+LOCKED job *", "LOCK job");
    for (unsigned i = 0; i < HALVES; i++)
        ck_assert_str_eq(http_rest(fds[i]), "");
    ck_assert_int_ge(now_ms() - began_ms, 2 * 2000);
    ck_assert(daemon_logged(&d, "no TLS handshake within 2 s"));
    const char *dropped = "\nredlockd_http_dropped_total{reason=\"tls\"} 12\n";
    eventually(strstr(http_get(open_port, "/metrics"), dropped) != NULL);
}

T(new_keys_without_end)
{
    static struct secure a;
    begin(NULL, PATIENT);
    secure_flood(&a, port, certs);
    expect_closed(&a.client);
    ck_assert(!daemon_logged(&d, "no whole request within 5 s"));
    ck_assert_int_eq(http_status(secure_get(NULL, "/livez", "")), 200);
}

/* More handshakes at once than HTTP has connections. */
T(many_at_once)
{
    enum { MANY = 100 };
    static struct secure many[MANY];
    unsigned answered = 0;
    begin(NULL, PATIENT);
    for (unsigned i = 0; i < MANY; i++)
        secure_open(&many[i], port, certs, NULL);
    for (unsigned i = 0; i < MANY; i++)
        http_send(many[i].client.fd, "GET /livez HTTP/1.0\r\n\r\n", 23);
    for (unsigned i = 0; i < MANY; i++)
        answered += http_status(http_rest(many[i].client.fd)) == 200;
    ck_assert_uint_gt(answered, 0);
    ck_assert_int_eq(http_status(secure_get(NULL, "/livez", "")), 200);
    ask(&plain, "+LOCKED job *", "LOCK job");
}
