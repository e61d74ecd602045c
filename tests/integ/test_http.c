/* HTTP beside the locks: what it answers, what it refuses, and that nothing a client does there takes
 * more than its share. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/http/head.h"
#include "daemon/http/http.h"
#include "tests/integ/command.h"
#include "tests/integ/http.h"

#define REQUEST "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"

static void expect_status(uint16_t port, int status, const char *text)
{
    const char *answer = http_ask(port, text);
    ck_assert_msg(http_status(answer) == status, "%s answers %s", text, answer);
}

T(probes_and_page)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    cluster_start(&cluster, 3, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    ck_assert_str_eq(http_body(http_get(port, "/livez")), "alive\n");
    eventually(http_status(http_get(port, "/readyz")) == 200);
    ck_assert_str_eq(http_body(http_get(port, "/readyz")), "ready\n");
    const char *page = http_get(port, "/?any=query");
    ck_assert_ptr_nonnull(strstr(page, "<h1>"));
    ck_assert_ptr_nonnull(strstr(page, "\r\nContent-Security-Policy: default-src 'none'; style-src "
                                       "'unsafe-inline'; frame-ancestors 'none'\r\n"));
    ck_assert_ptr_nonnull(strstr(page, "\r\nX-Content-Type-Options: nosniff\r\n"));
    ck_assert_ptr_nonnull(strstr(page, "\r\nCache-Control: no-store\r\n"));
    ck_assert_ptr_nonnull(strstr(page, "\r\nReferrer-Policy: no-referrer\r\n"));
    ck_assert_ptr_nonnull(strstr(page, "\r\nRefresh: 5\r\n"));
    ck_assert_ptr_nonnull(strstr(page, "\r\nConnection: close\r\n"));
    ck_assert_ptr_null(strstr(page, "Access-Control"));
    ck_assert_ptr_null(strcasestr(http_body(page), "<script"));
    ck_assert_ptr_null(strcasestr(page, "token"));

    /* HEAD: the same header, and nothing else. */
    const char *get = http_ask(port, "GET /metrics HTTP/1.0\r\n\r\n");
    const char *head = http_ask(port, "HEAD /metrics HTTP/1.0\r\n\r\n");
    ck_assert_int_eq(http_status(head), 200);
    ck_assert_str_eq(http_body(head), "");
    ck_assert_ptr_nonnull(strstr(head, "Content-Type: text/plain; version=0.0.4"));
    ck_assert_int_gt(atoi(strstr(head, "Content-Length: ") + 16), 10000);
    ck_assert_int_eq(atoi(strstr(get, "Content-Length: ") + 16), (int)strlen(http_body(get)));
}

T(refusals)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    char text[512];
    cluster_start(&cluster, 1, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT "http_hosts: locks.example\n");
    expect_status(port, 404, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_status(port, 404, "GET /livez/ HTTP/1.1\r\nHost: localhost\r\n\r\n");
    expect_status(port, 405, "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ck_assert_ptr_nonnull(
        strstr(http_ask(port, "OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n"), "\r\nAllow: GET, HEAD\r\n"));
    expect_status(port, 400, "nonsense\r\n\r\n");
    expect_status(port, 400, "LOCK a\nLOCK b\n\r\n\r\n");
    expect_status(port, 505, "GET / HTTP/2.0\r\nHost: localhost\r\n\r\n");
    /* A name that an attacker's DNS lets point here. */
    expect_status(port, 421, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    expect_status(port, 421, "GET /livez HTTP/1.1\r\nHost: evil.example:80\r\n\r\n");
    expect_status(port, 200, "GET /livez HTTP/1.1\r\nHost: locks.example:80\r\n\r\n");
    expect_status(port, 200, "GET /livez HTTP/1.1\r\nHost: 10.1.2.3\r\n\r\n");
    static const char *const sites[] = {"cross-site", "same-site", "none", "same-origin"};
    for (unsigned i = 0; i < 4; i++) {
        snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: localhost\r\nSec-Fetch-Site: %s\r\n\r\n",
                 sites[i]);
        expect_status(port, i < 2 ? 403 : 200, text);
    }
    ck_assert(!daemon_logged(&d, "client_foreign"));
}

/* A second request behind the first one, and a body, are not looked at. */
T(one_request_a_connection)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    cluster_start(&cluster, 1, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    const char *answer = http_ask(port, REQUEST REQUEST "and more");
    ck_assert_int_eq(http_status(answer), 200);
    ck_assert_str_eq(http_body(answer), "alive\n");
    int fd = http_dial(port);
    for (const char *at = REQUEST; *at; at++)
        http_send(fd, at, 1);
    ck_assert_str_eq(http_body(http_rest(fd)), "alive\n");
}

T(a_long_head_is_refused)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    enum { BYTES = 1 << 20 };
    char *megabyte = keep(malloc(BYTES));
    cluster_start(&cluster, 1, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    memset(megabyte, 'a', BYTES);
    memcpy(megabyte, "GET / HTTP/1.1\r\nA: ", 19);
    int fd = http_dial(port);
    http_send(fd, megabyte, BYTES / 2);
    ck_assert_int_eq(http_status(http_rest(fd)), 431);
    eventually(daemon_logged(&d, "why=\"the header of its request is longer than 4096 bytes\""));
    eventually(strstr(http_get(port, "/metrics"), "\nredlockd_http_answers_total{code=\"431\"} 1\n"));
    /* More than is read behind an answer: the connection is closed, with or without the answer. */
    fd = http_dial(port);
    for (unsigned i = 0; i < 16; i++)
        http_send(fd, megabyte, BYTES);
    http_rest(fd);
    /* 4096 bytes are allowed. */
    memcpy(megabyte, "GET /livez HTTP/1.0\r\nA: ", 24);
    memcpy(megabyte + HEAD_BYTES - 4, "\r\n\r\n", 5);
    fd = http_dial(port);
    http_send(fd, megabyte, HEAD_BYTES);
    ck_assert_int_eq(http_status(http_rest(fd)), 200);
}

/* The 33rd connection closes the oldest of those that owe their request, and no other. */
T(the_oldest_makes_room)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    int fds[HTTP_CONNECTIONS];
    cluster_start(&cluster, 1, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    for (unsigned i = 0; i < HTTP_CONNECTIONS; i++) {
        fds[i] = http_dial(port);
        http_send(fds[i], "GET /livez HT", 13);
    }
    ck_assert(!http_closed(fds[0], 0));
    ck_assert_str_eq(http_body(http_get(port, "/livez")), "alive\n");
    ck_assert(http_closed(fds[0], WAIT_MS));
    ck_assert(!http_closed(fds[1], 0));
    http_send(fds[1], "TP/1.0\r\n\r\n", 10);
    ck_assert_str_eq(http_body(http_rest(fds[1])), "alive\n");
}

/* How many connections were closed without an answer, for that reason. */
static int dropped(uint16_t port, const char *reason)
{
    char line[64];
    int len = snprintf(line, sizeof line, "\nredlockd_http_dropped_total{reason=\"%s\"} ", reason);
    return atoi(strstr(http_get(port, "/metrics"), line) + len);
}

/* A client that sends a byte now and then, one that sends half a request and goes, a thousand that send
 * nothing: each is closed, while locks come as before. */
T(slow_clients_are_closed)
{
    enum { MANY = 1000 };
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    struct client c;
    static int fds[MANY];
    cluster_start(&cluster, 3, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    client_open(&c, &d);
    eventually(masters_up(&c, &cluster));
    int half = http_dial(port);
    http_send(half, "GET / HT", 8);
    shutdown(half, SHUT_WR);
    ck_assert_str_eq(http_rest(half), "");
    for (unsigned i = 0; i < MANY; i++)
        fds[i] = http_dial(port);
    lock(&c, "job");
    ask(&c, "+UNLOCKED *", "UNLOCK job");
    ck_assert_str_eq(http_body(http_get(port, "/livez")), "alive\n");
    for (unsigned i = 0; i < MANY; i++)
        close(fds[i]);
    int slow = http_dial(port);
    for (int64_t end_ms = now_ms() + WAIT_MS; !http_closed(slow, 200);) {
        ck_assert_msg(now_ms() < end_ms, "a slow client is still there");
        http_send(slow, "G", 1);
    }
    close(slow);
    eventually(daemon_logged(&d, "event=http_dropped address=127.0.0.1:"));
    eventually(dropped(port, "time") > 0);
    eventually(dropped(port, "time") + dropped(port, "room") >= MANY - HTTP_CONNECTIONS);
}

T(readiness)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    struct client c;
    cluster_start(&cluster, 3, UNIX);
    uint16_t port = http_daemon(&d, &cluster, "drain_timeout: 30s\n");
    client_open(&c, &d);
    eventually(masters_up(&c, &cluster));
    ask(&c, "+PONG ready=1", "PING");
    lock(&c, "held");
    server_kill(&cluster.server[0]);
    server_kill(&cluster.server[1]);
    eventually(http_status(http_get(port, "/readyz")) == 503);
    ck_assert_str_eq(http_body(http_get(port, "/readyz")), "noquorum\n");
    ck_assert_int_eq(http_status(http_get(port, "/livez")), 200);
    ask(&c, "+PONG ready=0", "PING");
    struct command ping;
    command_use(&d);
    ck_assert_int_eq(RUN(&ping, redlock_binary(), "ping"), 0);
    ck_assert_str_eq(output(&ping), "redlockd answers\n");
    ck_assert_int_eq(RUN(&ping, redlock_binary(), "ping", "--ready"), 122);
    ck_assert_ptr_nonnull(strstr(errors(&ping), "redlockd answers, but grants no locks now"));
    ck_assert_int_eq(RUN(&ping, redlock_binary(), "ping", "-q", "-a", "unix:/nowhere"), 123);
    ck_assert_str_eq(errors(&ping), "");
    ck_assert_int_eq(RUN(&ping, redlock_binary(), "ping", "job"), 125);
    setenv("REDLOCK_USER", "worker", 1); /* without a secret: no probe would mend that */
    ck_assert_int_eq(RUN(&ping, redlock_binary(), "ping"), 125);
    ck_assert_int_eq(RUN(&ping, redlock_binary(), "ping", "-q"), 125);
    ck_assert_str_eq(errors(&ping), "");
    unsetenv("REDLOCK_USER");
    START(&ping, redlock_binary(), "ping", "--ready", "-w", "1m");
    const char *page = NULL; /* at most a second old */
    eventually(strstr(page = http_get(port, "/"), "<h1>No lock is granted</h1>"));
    ck_assert_ptr_nonnull(strstr(page, "1 of 3 masters may vote, 2 are needed."));
    ck_assert_ptr_nonnull(strstr(http_get(port, "/status.json"), "\"unready\":\"noquorum\""));
    server_start(&cluster.server[0]);
    eventually(http_status(http_get(port, "/readyz")) == 200);
    ck_assert_int_eq(command_code(&ping), 0);
    ck_assert_str_eq(output(&ping), "redlockd is ready\n");
    ck_assert_int_eq(kill(d.pid, SIGTERM), 0);
    eventually(strcmp(http_body(http_get(port, "/readyz")), "draining\n") == 0);
}

/* Before the masters have answered there are no clients, but probes are answered. */
T(probes_before_the_masters)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    char text[128];
    uint16_t port = port_free();
    cluster_start(&cluster, 1, UNIX);
    server_stop(&cluster.server[0]);
    snprintf(text, sizeof text, "http: 127.0.0.1:%u\n", port);
    daemon_configure(&d, &cluster, text);
    daemon_run(&d, (const char *const[]){"-c", d.config, NULL});
    eventually(daemon_logged(&d, " for=http"));
    ck_assert_int_eq(http_status(http_get(port, "/livez")), 200);
    ck_assert_int_eq(http_status(http_get(port, "/readyz")), 503);
    server_cont(&cluster.server[0]);
    eventually(http_status(http_get(port, "/readyz")) == 200);
}

T(an_entry_serves_what_it_says)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    char text[512];
    uint16_t probes = port_free(), metrics = port_free();
    cluster_start(&cluster, 1, UNIX);
    snprintf(text, sizeof text,
             PATIENT "http:\n  - {address: 127.0.0.1:%u, serve: [probes]}\n"
                     "  - {address: 127.0.0.1:%u, serve: metrics}\n",
             probes, metrics);
    daemon_start(&d, &cluster, text);
    static const char *const paths[] = {"/livez", "/readyz", "/metrics", "/", "/status.json"};
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(http_status(http_get(probes, paths[i])) == 404, i >= 2);
        ck_assert_int_eq(http_status(http_get(metrics, paths[i])) == 404, i != 2);
    }
}

T(reloads_are_told)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    cluster_start(&cluster, 1, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    char *good = file_read(d.config);
    file_write(d.config, "max_ttl: nonsense\n");
    ck_assert_int_eq(kill(d.pid, SIGHUP), 0);
    eventually(strstr(http_get(port, "/metrics"), "\nredlockd_config_last_reload_successful 0\n"));
    ck_assert_ptr_nonnull(strstr(http_get(port, "/"), "The configuration was read again and refused"));
    file_write(d.config, good);
    ck_assert_int_eq(kill(d.pid, SIGHUP), 0);
    eventually(strstr(http_get(port, "/metrics"), "\nredlockd_config_last_reload_successful 1\n"));
    free(good);
}

/* A reader is not told from an only holder by hold=, nor a slot from a name. */
T(kinds_of_locks)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    struct client a;
    cluster_start(&cluster, 3, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    client_open(&a, &d);
    eventually(masters_up(&a, &cluster));
    lock(&a, "page mode=shared");
    lock(&a, "pool slots=2");
    lock(&a, "old hold=lease");
    const char *status = NULL, *page = NULL;
    eventually(strstr(status = http_get(port, "/status.json"), "\"name\":\"old\"") != NULL);
    ck_assert_ptr_nonnull(strstr(status, "\"hold\":\"session\",\"mode\":\"shared\",\"note\""));
    ck_assert_ptr_nonnull(strstr(status, "\"hold\":\"session\",\"mode\":\"exclusive\",\"slot\":"));
    eventually(strstr(page = http_get(port, "/"), ">old<") != NULL);
    ck_assert_ptr_nonnull(strstr(page, ">shared session<"));
    ck_assert(strstr(page, ">slot 0, session<") || strstr(page, ">slot 1, session<"));
    ck_assert_ptr_nonnull(strstr(page, ">lease<"));
}

/* What a holder tells is text of a stranger. */
T(leaders_and_kept_names)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    struct client a;
    char fence[64];
    cluster_start(&cluster, 3, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    client_open(&a, &d);
    eventually(masters_up(&a, &cluster));
    const char *page = http_get(port, "/");
    ck_assert(!strstr(page, "<h2>Leaders") && !strstr(page, "<h2>Names kept"));
    lock(&a, "silent");
    struct grant grant = lock(&a, "<b>leader data=</code><script>alert('1')</script>&");
    lock(&a, "<i>report");
    ask(&a, "+KEPT *", "UNLOCK <i>report keep=1h");
    eventually(strstr(page = http_get(port, "/"), "<h2>Names kept</h2>") != NULL);
    ck_assert_ptr_nonnull(strstr(page, "<h2>Leaders</h2>"));
    ck_assert_ptr_nonnull(
        strstr(page, "<td data-l=Data><code>&lt;/code&gt;&lt;script&gt;alert(&#39;1&#39;)"));
    snprintf(fence, sizeof fence, "<td data-l=\"Fence\" class=number>%llu</td>",
             (unsigned long long)grant.fence);
    ck_assert_ptr_nonnull(strstr(page, fence));
    ck_assert_ptr_nonnull(strstr(page, "<td data-l=\"Name\" class=name>&lt;i&gt;report</td>"));
    ck_assert_ptr_null(strstr(strstr(page, "<h2>Leaders</h2>"), ">silent<"));
    ck_assert(!strstr(page, "<script") && !strstr(page, "<i>report"));
    const char *json = http_body(http_get(port, "/status.json"));
    snprintf(fence, sizeof fence, "\"fence\":%llu,\"host\":\"", (unsigned long long)grant.fence);
    ck_assert_ptr_nonnull(strstr(json, fence));
    ck_assert_ptr_nonnull(strstr(json, "\"kept_names\":[\n {\"name\":\"\\u003ci\\u003ereport\",\"left\":3"));
    ck_assert_ptr_null(strchr(json, '<'));
}

/* The figures show what clients do, and hostile names only as text. */
T(what_clients_did)
{
    struct cluster cluster;
    struct daemon d = {.pid = 0};
    struct client a, b;
    cluster_start(&cluster, 3, UNIX);
    uint16_t port = http_daemon(&d, &cluster, PATIENT);
    client_open(&a, &d);
    client_open(&b, &d);
    eventually(masters_up(&a, &cluster));
    ask(&a, "+HELLO *", "HELLO 1 client=<img>'&");
    lock(&a, "<script>alert('1')</script> note=\x3c/td>");
    ask(&b, "-BUSY *", "LOCK <script>alert('1')</script>");
    ask(&b, "-BADVERB *", "NONSENSE");
    client_send(&b, "LOCK <script>alert('1')</script> wait=10m");
    const char *metrics = NULL;
    eventually(strstr(metrics = http_get(port, "/metrics"), "\nredlockd_waiters 1\n"));
    static const char *const lines[] = {
        "\nredlockd_locks{mode=\"exclusive\",hold=\"session\"} 1\n",
        "\nredlockd_locks{mode=\"exclusive\",hold=\"lease\"} 0\n",
        "\nredlockd_locks{mode=\"shared\",hold=\"session\"} 0\n",
        "\nredlockd_requests_total{verb=\"lock\",result=\"locked\"} 1\n",
        "\nredlockd_requests_total{verb=\"lock\",result=\"busy\"} 1\n",
        "\nredlockd_requests_total{verb=\"bad\",result=\"badverb\"} 1\n",
        "\nredlockd_requests_total{verb=\"hello\",result=\"hello\"} 1\n",
        "\nredlockd_lock_wait_seconds_count 1\n",
        "\nredlockd_lock_held_seconds_count 0\n",
        "\nredlockd_request_seconds_count{verb=\"lock\"} 2\n",
        "\nredlockd_masters_voting 3\n",
        "\nredlockd_quorum 2\n",
        "\nredlockd_clients 2\n",
        "\nredlockd_limit{limit=\"max_locks\"} 100000\n",
        "\nredlockd_locks_lost_total{reason=\"expired\"} 0\n",
    };
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
        ck_assert_msg(strstr(metrics, lines[i]) != NULL, "no%sin %s", lines[i], metrics);
    ck_assert_ptr_null(strstr(metrics, "alert"));
    const char *page = http_body(http_get(port, "/"));
    ck_assert_ptr_nonnull(strstr(page, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
    ck_assert_ptr_nonnull(strstr(page, "&lt;img&gt;&#39;&amp;"));
    ck_assert_ptr_nonnull(strstr(page, "&lt;/td&gt;"));
    ck_assert_ptr_null(strstr(page, "<script"));
    ck_assert_ptr_null(strstr(page, "<img"));
    const char *json = http_body(http_get(port, "/status.json"));
    ck_assert_ptr_nonnull(
        strstr(json, "\"\\u003cscript\\u003ealert(\\u00271\\u0027)\\u003c/script\\u003e\""));
    ck_assert_ptr_null(strchr(json, '<'));
}
