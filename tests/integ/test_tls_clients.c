/* Clients that speak TLS: locks, ends of all kinds, and peers that are up to no good. */
#include "tests/integ/certs.h"
#include "tests/integ/http.h"
#include "tests/integ/secure.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client plain; /* on the Unix socket */
static struct secure a;
static const char *certs;
static uint16_t port;

/* Listens with TLS on a port of its own. ask: with client_ca, and client_cert: as it says. */
static void begin(const char *ask, const char *settings)
{
    static char text[4096], more[PATH + 64];

    cluster_start(&masters, 3, UNIX);
    certs = certs_make();
    if (ask)
        snprintf(more, sizeof more, ", client_ca: %s/ca.pem, client_cert: %s", certs, ask);
    redlockd = (struct daemon){0};
    daemon_configure(&redlockd, &masters, "");
    port = port_free();
    snprintf(
        text, sizeof text,
        "listen:\n  - unix:%s\n  - 127.0.0.1:%u\n  - {address: \"127.0.0.1:%u\", tls: {cert: %s/server.pem, "
        "key: %s/server.key%s}}\n%s",
        redlockd.path, redlockd.port, port, certs, certs, more, settings);
    daemon_configure(&redlockd, &masters, text);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    daemon_listens(&redlockd);
    client_open(&plain, &redlockd);
    eventually(masters_up(&plain, &masters));
}

TIME_LIMIT_S(120);

T(a_session)
{
    begin(NULL, PATIENT);
    secure_open(&a, port, certs, NULL);
    ask(&a.client, "+HELLO proto=1 *", "HELLO 1 client=safe");
    lock(&a.client, "job");
    ask(&plain, "-BUSY job*", "LOCK job");
    ck_assert_ptr_nonnull(row_with(show(&plain, "CLIENTS"), "client=safe"));
    ck_assert_ptr_nonnull(row_with(show(&plain, "STATS"), "tls_handshakes=1"));
    ck_assert_ptr_nonnull(row_with(show(&plain, "VERSION"), "openssl="));
    ask(&a.client, "+UNLOCKED job *", "UNLOCK job");
    lock(&a.client, "job");
    client_send(&a.client, "QUIT");
    await(&a.client, "+BYE*");
    expect_closed(&a.client);
    lock(&plain, "job");
}

/* Many records in one read, and answers of many records. */
T(much_at_once)
{
    begin(NULL, PATIENT "max_output: 1m\n");
    secure_open(&a, port, certs, NULL);
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned i = 0; i < 1000; i++)
            client_write(&a.client, "PING\n", 5);
        for (unsigned i = 0; i < 1000; i++)
            expect(&a.client, "+PONG*");
    }
    for (unsigned i = 0; i < 1000; i++)
        client_send(&a.client, "LOCK many%u ttl=60s", i);
    for (unsigned i = 0; i < 1000; i++)
        expect(&a.client, "+LOCKED *");
    for (unsigned i = 0; i < 10; i++)
        client_send(&a.client, "SHOW LOCKS");
    for (unsigned i = 0; i < 10; i++)
        ck_assert_uint_eq(rows_with(client_rows_at(&a.client, __FILE__, __LINE__), "name=many"), 1000);
}

static void pings(unsigned count)
{
    static char text[5 * 4000];
    for (unsigned i = 0; i < count; i++)
        memcpy(text + strlen("PING\n") * i, "PING\n", strlen("PING\n"));
    client_write(&a.client, text, strlen("PING\n") * count);
    secure_has_sent(&a);
}

/* The daemon takes three records from the kernel at once, which hold more than it reads at once: the last one is
 * then inside TLS, and the kernel has nothing to report. */
T(bytes_that_only_tls_has)
{
    begin(NULL, PATIENT "max_output: 1m\n");
    secure_open(&a, port, certs, NULL);
    ask(&a.client, "+PONG*", "PING");
    daemon_signal(&redlockd, SIGSTOP);
    pings(20);
    pings(3260);
    pings(4);
    daemon_signal(&redlockd, SIGCONT);
    for (unsigned i = 0; i < 20 + 3260 + 4; i++)
        expect(&a.client, "+PONG*");
}

/* close_notify gives back, at once: its TTL is far longer than the test waits. */
T(close_notify_gives_back)
{
    begin(NULL, PATIENT);
    secure_open(&a, port, certs, NULL);
    lock(&a.client, "job ttl=60s");
    client_close(&a.client);
    eventually(cluster_gave_back(&masters, "job"));
    lock(&plain, "job");
}

/* Anybody on the way can end a TCP connection: that gives nothing back. */
T(an_end_without_close_notify_gives_nothing_back)
{
    begin(NULL, "node_timeout: 100ms\nmin_ttl: 1s\ndefault_ttl: 30s\n");
    secure_open(&a, port, certs, NULL);
    lock(&a.client, "job ttl=4s");
    int64_t locked_ms = now_ms();
    secure_kill(&a);
    eventually(rows_with(show(&plain, "CLIENTS"), "locks=1") == 0);
    ck_assert(daemon_logged(&redlockd, "event=client_dropped"));
    ck_assert(daemon_logged(&redlockd, "ended without close_notify"));
    if (now_ms() - locked_ms < 3000)
        ask(&plain, "-BUSY job*", "LOCK job");
    lock(&plain, "job wait=30s"); /* it runs out */
    ck_assert_int_ge(now_ms() - locked_ms, 3500);
}

/* The same while the client is not read, because more requests wait than its queue takes. What lies before the
 * end is read first: it may be close_notify, or QUIT. */
static void not_read(const char *last)
{
    begin(NULL, PATIENT);
    lock(&plain, "busy ttl=60s");
    secure_open(&a, port, certs, NULL);
    lock(&a.client, "kept ttl=60s");
    client_send(&a.client, "LOCK busy wait=60s");
    for (unsigned i = 0; i < 5000; i++)
        client_send(&a.client, "PING");
    if (last)
        client_send(&a.client, "%s", last);
    eventually(rows_with(show(&plain, "CLIENTS"), "waits=1") == 1);
    secure_has_sent(&a);
    nap();
}

T(the_end_of_one_that_is_not_read)
{
    not_read(NULL);
    secure_kill(&a);
    eventually(rows_with(show(&plain, "CLIENTS"), "address=") == 1);
    ask(&plain, "-BUSY kept*", "LOCK kept");
}

T(close_notify_of_one_that_is_not_read)
{
    not_read(NULL);
    client_close(&a.client);
    eventually(cluster_gave_back(&masters, "kept"));
}

T(quit_of_one_that_is_not_read)
{
    not_read("QUIT");
    ck_assert(client_silent(&a.client));
    secure_kill(&a);
    eventually(cluster_gave_back(&masters, "kept"));
}

static void expect_refused(struct secure *secure, const char *logged)
{
    expect_closed(&secure->client);
    eventually(daemon_logged(&redlockd, logged));
}

static const struct {
    const char *ask, *name, *logged; /* logged: NULL: it may lock */
} strangers[] = {
    {"required", "client", NULL},
    {"optional", NULL, NULL},
    {"required", NULL, "peer did not return a certificate: the client needs a certificate of client_ca"},
    {"required", "rogue", "client_ca has to hold the CA that signed this client's certificate"},
    {"optional", "rogue", "client_ca has to hold the CA that signed this client's certificate"},
    {"required", "expired", "renew the client's certificate, and compare the clocks of both hosts"},
    {"required", "wrong", "issue the client a certificate for clientAuth"},
};

T_EACH(client_certificates, sizeof strangers / sizeof strangers[0])
{
    begin(strangers[_i].ask, PATIENT);
    secure_open(&a, port, certs, strangers[_i].name);
    if (strangers[_i].logged)
        expect_refused(&a, strangers[_i].logged);
    else
        lock(&a.client, "job");
    ask(&plain, strangers[_i].logged ? "+LOCKED job *" : "-BUSY job*", "LOCK job");
}

/* A certificate says which user a client is; without one it is nobody. */
T(a_user_by_certificate)
{
    char settings[512];
    snprintf(settings, sizeof settings,
             PATIENT "users:\n  - {name: billing, cert: client.example, lock: [\"billing/*\"]}\n"
                     "  - {name: me, uid: [%u], lock: [\"*\"], show: [\"*\"], admin: yes}\n",
             (unsigned)getuid());
    begin("optional", settings);
    secure_open(&a, port, certs, "client");
    lock(&a.client, "billing/run");
    ask(&a.client, "-DENIED job : user billing may not lock it", "LOCK job");
    secure_open(&a, port, certs, NULL);
    ask(&a.client, "-AUTH job : this connection is no user's: AUTH <user> <secret> first", "LOCK job");
}

/* Connections without a handshake are not anyone's yet, so they keep nobody out who has a certificate. */
T(a_user_beside_silent_connections)
{
    struct client silent;
    char settings[512];
    snprintf(settings, sizeof settings,
             PATIENT "users:\n  - {name: billing, cert: client.example, lock: [\"billing/*\"]}\n"
                     "  - {name: me, uid: [%u], lock: [\"*\"], show: [\"*\"], admin: yes}\n"
                     "  - {name: anyone, max_clients: 1}\n",
             (unsigned)getuid());
    begin("optional", settings);
    uint16_t plain_port = redlockd.port;
    redlockd.port = port;
    client_open_tcp(&silent, &redlockd);
    redlockd.port = plain_port;
    eventually(row_with(show(&plain, "CLIENTS"), "address=127.0.0.1:") != NULL);
    secure_open(&a, port, certs, NULL);
    ask(&a.client, "+PONG*", "PING");
    secure_open(&a, port, certs, "client");
    lock(&a.client, "billing/run");
    secure_open(&a, port, certs, NULL);
    expect(&a.client, "-LIMIT limit=max_clients_per_user");
    expect_closed(&a.client);
}

T(metrics)
{
    char settings[128];
    uint16_t http = port_free();
    snprintf(settings, sizeof settings, PATIENT "http: 127.0.0.1:%u\n", http);
    begin("required", settings);
    secure_open(&a, port, certs, "client");
    ask(&a.client, "+PONG*", "PING");
    secure_open(&a, port, certs, NULL);
    expect_closed(&a.client);
    const char *text = "redlockd_tls_handshakes_total{side=\"client\",result=\"failed\"} 1\n";
    eventually(strstr(http_get(http, "/metrics"), text) != NULL);
    const char *answer = http_get(http, "/metrics");
    ck_assert_ptr_nonnull(strstr(answer, "redlockd_tls_handshakes_total{side=\"client\",result=\"ok\"} 1\n"));
    ck_assert_ptr_nonnull(
        strstr(answer, "\nredlockd_tls_certificate_expiry_timestamp_seconds{use=\"clients\"} "));
    ck_assert_ptr_null(strstr(answer, "{use=\"masters\"}")); /* there is no certificate for masters */
}

/* Bytes of a peer that speaks no TLS, or plain text where TLS is spoken. */
T(no_tls_where_tls_is_spoken)
{
    struct client c;
    begin(NULL, PATIENT "log_level: debug\n"); /* else one such line a second */
    uint16_t plain_port = redlockd.port;
    redlockd.port = port;
    client_open_tcp(&c, &redlockd);
    client_send(&c, "LOCK job");
    expect_closed(&c);
    eventually(daemon_logged(&redlockd, "give it a tls: address, or connect it to a plain one"));
    redlockd.port = plain_port;
    secure_open(&a, plain_port, certs, NULL);
    expect_refused(&a, "it speaks TLS to an address that has no tls in listen");
    lock(&plain, "job");
}

/* New keys without end, and nobody had to say who it is: the connection ends, and the others are served. */
T(new_keys_without_end)
{
    begin(NULL, PATIENT);
    secure_flood(&a, port, certs);
    expect_closed(&a.client);
    eventually(daemon_logged(&redlockd, "it sends TLS messages, such as new keys, and no data between them"));
    lock(&plain, "job");
}

/* The daemon waits for the rest of a record without work. */
T(a_part_of_a_record)
{
    begin(NULL, PATIENT);
    secure_half(&a, port, certs);
    expect(&a.client, "sent");
    ask(&plain, "+PONG*", "PING");
    long began_ms = daemon_cpu_ms(&redlockd);
    for (int64_t end_ms = now_ms() + 1000; now_ms() < end_ms;)
        nap();
    ck_assert_int_lt(daemon_cpu_ms(&redlockd) - began_ms, 400);
    lock(&plain, "job");
}

/* Begins handshakes from so many addresses and never ends them. Returns after how long all of them were closed. */
static int64_t half_handshakes_ms(unsigned count, unsigned addresses)
{
    static struct client slow[72];
    static const unsigned char hello[] = {0x16, 0x03, 0x01, 0x02, 0x00, 0x01};
    int64_t began_ms = now_ms();
    for (unsigned i = 0; i < count; i++) {
        struct sockaddr_in from = {.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(0x7f000002 + i % addresses)};
        struct sockaddr_in to = {
            .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        slow[i].len = slow[i].used = 0;
        slow[i].fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(bind(slow[i].fd, (struct sockaddr *)&from, sizeof from), 0);
        ck_assert_int_eq(connect(slow[i].fd, (struct sockaddr *)&to, sizeof to), 0);
        client_write(&slow[i], hello, sizeof hello);
    }
    ask(&plain, "+LOCKED job *", "LOCK job");
    ask(&plain, "+UNLOCKED job *", "UNLOCK job");
    for (unsigned i = 0; i < count; i++)
        expect_closed(&slow[i]);
    return now_ms() - began_ms;
}

/* Half a handshake for ever: each has 2 s, and only 8 of one peer and 64 in all have them at once. The others are
 * served. */
T(half_handshakes)
{
    begin(NULL, PATIENT);
    ck_assert_int_ge(half_handshakes_ms(20, 1), 3 * 2000);
    ck_assert(daemon_logged(&redlockd, "no TLS handshake within 2 s"));
    ck_assert_int_ge(half_handshakes_ms(72, 9), 2 * 2000);
    secure_open(&a, port, certs, NULL);
    ask(&a.client, "+PONG*", "PING");
}

/* A client that only connects takes no place. */
T(silent_connections)
{
    static struct client idle[100];
    begin(NULL, PATIENT);
    uint16_t plain_port = redlockd.port;
    redlockd.port = port;
    for (unsigned i = 0; i < 100; i++)
        client_open_tcp(&idle[i], &redlockd);
    redlockd.port = plain_port;
    secure_open(&a, port, certs, NULL);
    ask(&a.client, "+PONG*", "PING");
    ck_assert_uint_eq(rows_with(show(&plain, "CLIENTS"), "address=127.0.0.1:"), 101);
}

/* Silent connections have every place that there is: clients that shake hands get in, and stay. */
T(a_port_that_is_full)
{
    static struct client idle[30];
    static struct secure many[10];
    begin(NULL, "node_timeout: 250ms\nmin_ttl: 1s\nmax_clients: 20\nmax_clients_per_peer: 20\n");
    uint16_t plain_port = redlockd.port;
    redlockd.port = port;
    for (unsigned i = 0; i < 30; i++)
        client_open_tcp(&idle[i], &redlockd);
    redlockd.port = plain_port;
    for (unsigned i = 0; i < 10; i++) {
        secure_open(&many[i], port, certs, NULL);
        ask(&many[i].client, "+PONG*", "PING");
    }
    ask(&plain, "+PONG*", "PING");
    for (unsigned i = 0; i < 10; i++)
        ask(&many[i].client, "+PONG*", "PING");
    expect_closed(&idle[0]);
    ck_assert(daemon_logged(&redlockd, "another client needed its place"));
}

/* Many handshakes in a row: the renewals of a lock go on. */
T(a_flood_of_handshakes)
{
    static struct secure many[64];
    begin(NULL, "node_timeout: 250ms\nmin_ttl: 1s\nmax_clients: 2000\nmax_clients_per_peer: 2000\n");
    struct grant grant = lock(&plain, "job ttl=5s");
    for (unsigned round = 0; round < 5; round++) {
        for (unsigned i = 0; i < 64; i++)
            secure_open(&many[i], port, certs, NULL);
        for (unsigned i = 0; i < 64; i++)
            ask(&many[i].client, "+PONG*", "PING");
        for (unsigned i = 0; i < 64; i++)
            client_close(&many[i].client);
    }
    ask(&plain, "+HELD job *", "CHECK job token=%s", grant.token);
    eventually(row_with(show(&plain, "STATS"), "tls_handshakes=320") != NULL);
}
