/* Clients that leave, stay silent, send too much or speak another protocol: the others must not
 * notice. */
#include "tests/integ/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client a, b, c;

static void begin(const char *settings)
{
    cluster_start(&masters, 3, UNIX);
    daemon_serves(&redlockd, &masters, settings, &a);
}

static unsigned rows_of(const char *what)
{
    return rows_with(show(&a, what), "");
}

/* ---- clients that leave ---- */

T(gone_while_queued)
{
    begin(PATIENT);
    lock(&a, "queue");
    client_open(&b, &redlockd);
    client_open_tcp(&c, &redlockd);
    static struct client last;
    client_open(&last, &redlockd);
    client_send(&b, "LOCK queue wait=30s");
    eventually(rows_of("WAITERS") == 1);
    client_send(&c, "LOCK queue wait=30s");
    eventually(rows_of("WAITERS") == 2);
    client_send(&last, "LOCK queue wait=30s");
    eventually(rows_of("WAITERS") == 3);
    client_close(&b);
    client_reset(&c);
    eventually(rows_of("WAITERS") == 1);
    ask(&a, "+UNLOCKED queue *", "UNLOCK queue");
    expect(&last, "+LOCKED queue *");
}

T(gone_while_its_round_is_under_way)
{
    begin(PATIENT);
    server_stop(&masters.server[0]);
    server_stop(&masters.server[1]);
    client_open(&b, &redlockd);
    client_send(&b, "LOCK round ttl=60s wait=30s");
    eventually(strcmp(redis(&masters.server[2], "EXISTS redlock:round"), "1") == 0);
    client_close(&b);
    server_cont(&masters.server[0]);
    server_cont(&masters.server[1]);
    eventually(rows_of("WAITERS") == 0 && rows_of("LOCKS") == 0);
    eventually(cluster_is_free(&masters, "round"));
    lock(&a, "round wait=10s");
}

T(gone_at_the_grant)
{
    begin("");
    for (int i = 0; i < 60; i++) {
        /* Leaving an answer unread resets a TCP connection, so that its lock may have to run out. */
        (i % 2 ? client_open : client_open_tcp)(&b, &redlockd);
        client_send(&b, "LOCK grant%d ttl=%s", i, i % 2 ? "60s" : "500ms");
        if (i % 3) /* ends before, while, or after the reply is written */
            usleep((useconds_t)(i * 10));
        client_close(&b);
    }
    eventually(rows_of("CLIENTS") == 1 && rows_of("LOCKS") == 0);
    eventually(cluster_answers(&masters, "", "KEYS redlock:[^,]*") == 3);
}

T(end_of_a_client_gives_back_at_once)
{
    begin(PATIENT);
    for (int i = 0; i < 3; i++) {
        (i ? client_open_tcp : client_open)(&b, &redlockd);
        struct grant grant = lock(&b, "end ttl=60s");
        lock(&b, "lease%d hold=lease ttl=60s", i);
        eventually(cluster_holds(&masters, "end", grant.token) == 3);
        if (i == 2)
            client_half_close(&b), expect(&b, "!LOST end token=* reason=closed");
        client_close(&b);
        eventually(cluster_is_free(&masters, "end"));
        lock(&a, "end");
        ask(&a, "+UNLOCKED end *", "UNLOCK end");
        ck_assert_uint_eq(cluster_answers(&masters, "1", "EXISTS redlock:lease%d", i), 3);
    }
}

static int64_t renewals(void)
{
    int64_t begun = number(row_with(show(&a, "STATS"), "renewals="), "renewals");
    ck_assert_int_ge(begun, 0);
    return begun;
}

/* A dead connection does not prove that the holder is dead: only its renewal stops. */
T(reset_lets_the_lock_run_out)
{
    begin("");
    client_open_tcp(&b, &redlockd);
    struct grant kept = lock(&b, "kept ttl=60s wait=10s");
    eventually(cluster_holds(&masters, "kept", kept.token) >= 2);
    struct grant grant = lock(&b, "reset ttl=1500ms wait=10s");
    client_reset(&b);
    eventually(rows_of("CLIENTS") == 1);
    int64_t renewed = renewals();
    ck_assert_uint_ge(cluster_holds(&masters, "kept", kept.token), 2);
    lock(&a, "reset hold=lease wait=10s");
    ck_assert_int_eq(renewals(), renewed);
    ck_assert_int_ge(now_ms(), grant.until_ms);
    ck_assert_uint_ge(cluster_holds(&masters, "kept", kept.token), 2);
}

/* ---- clients that talk badly ---- */

/* The line is answered, if its second half comes in time. */
static void in_two_pieces(struct client *client)
{
    int64_t start_ms = now_ms();
    client_write(client, "PIN", 3);
    send(client->fd, "G\n", 2, MSG_NOSIGNAL); /* the connection may be closed */
    const char *line = next_line(client);
    ck_assert(line ? strcmp(line, "+PONG ready=1") == 0 : now_ms() - start_ms >= 290);
}

T(half_a_line)
{
    begin(PATIENT "idle_line_timeout: 300ms\n");
    client_open_tcp(&b, &redlockd);
    client_open(&c, &redlockd);
    struct grant grant = lock(&b, "half ttl=60s");
    eventually(cluster_holds(&masters, "half", grant.token) == 3);
    int64_t start_ms = now_ms();
    client_write(&b, "PIN", 3);
    expect_closed(&b);
    ck_assert_int_ge(now_ms() - start_ms, 290);
    ask(&c, "+PONG ready=1", "PING"); /* as long a silence, but between lines */
    in_two_pieces(&c);
    ck_assert_uint_eq(cluster_holds(&masters, "half", grant.token),
                      3); /* the daemon closed the connection: the lock runs out */
}

T(endless_line)
{
    begin(PATIENT);
    client_open(&b, &redlockd);
    static char endless[1 << 16];
    memset(endless, 'x', sizeof endless);
    ask(&b, "+PONG ready=1", "PING");
    client_write(&b, "#t LOCK ", 8);
    for (int i = 0; i < 32; i++) /* 2 MiB */
        client_write(&b, endless, sizeof endless);
    ask(&a, "+PONG ready=1", "PING");
    client_write(&b, "\nPING\n", 6);
    expect(&b, "-TOOLONG*");
    expect(&b, "+PONG ready=1");
    ck_assert(client_silent(&b));
    if (!under_sanitizer())
        ck_assert_int_lt(daemon_status_kb(&redlockd, "VmRSS:"), 64 * 1024);
}

T(flood_is_answered_in_order)
{
    enum { REQUESTS = 20000 };
    static char flood[REQUESTS * 64];
    for (int i = 0, len = 0; i < REQUESTS; i++)
        len += sprintf(flood + len, i % 2 ? "PING\n" : "CHECK n%d token=%040d\n", i, i);
    begin(PATIENT);
    client_open(&b, &redlockd);
    pid_t writer = fork(); /* a client that reads in time is never too slow */
    if (writer == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        client_write(&b, flood, strlen(flood));
        _exit(0);
    }
    for (int i = 0; i < REQUESTS; i += 2) {
        char pattern[32];
        snprintf(pattern, sizeof pattern, "-NOTHELD n%d*", i);
        expect(&b, pattern);
        expect(&b, "+PONG ready=1");
        if (i % 5000 == 0)
            ask(&a, "+PONG ready=1", "PING");
    }
    if (!under_sanitizer())
        ck_assert_int_lt(daemon_status_kb(&redlockd, "VmRSS:"), 64 * 1024);
}

/* Sends requests without ever reading. */
static void never_read(struct client *client, const char *line)
{
    fcntl(client->fd, F_SETFL, O_NONBLOCK);
    for (;;) {
        ssize_t sent = send(client->fd, line, strlen(line), MSG_NOSIGNAL);
        if (sent < 0 && errno != EAGAIN)
            return; /* the daemon closed the connection */
        if (sent < (ssize_t)strlen(line) && rows_of("CLIENTS") < 2)
            return;
    }
}

T(slow_reader_is_closed)
{
    begin(PATIENT "max_output: 4k\n");
    client_open(&b, &redlockd);
    struct grant grant = lock(&b, "slow ttl=60s");
    ck_assert_uint_eq(rows_of("CLIENTS"), 2);
    never_read(&b, "CHECK another token=0123456789012345678901234567890123456789\n");
    eventually(rows_of("CLIENTS") == 1);
    lock(&a, "others");
    ck_assert_uint_ge(cluster_holds(&masters, "slow", grant.token),
                      2); /* the daemon closed the connection: the lock runs out */
}

T(foreign_languages)
{
    static const struct {
        const char *bytes;
        size_t len;
    } foreign[] = {
        {"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27},
        {"POST /LOCK HTTP/1.0\r\n\r\nLOCK a\n", 30},
        {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11},
    };
    begin(PATIENT);
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        client_open_tcp(&b, &redlockd);
        client_write(&b, foreign[i].bytes, foreign[i].len);
        expect_closed(&b);
    }
    ck_assert_uint_eq(rows_of("LOCKS"), 0);
}

/* A page in a browser can make it post such requests: any method, a path of any length, a body of its
 * choice. The daemon closes in the middle of the request, so some of it may stay unsent. */
static void post(struct client *client, const char *method, size_t path_len)
{
    static char text[128 * 1024];
    int len = sprintf(text, "%s /", method);
    memset(text + len, 'p', path_len);
    sprintf(text + len + path_len,
            " HTTP/1.1\r\nHost: 127.0.0.1:7335\r\nContent-Type: text/plain\r\n\r\nLOCK x\n"
            "LOCK x wait=1s\nLOCK lease hold=lease\n");
    size_t left = strlen(text);
    for (const char *at = text; left > 0;) {
        ssize_t n = send(client->fd, at, left < 4000 ? left : 4000, MSG_NOSIGNAL);
        if (n < 0)
            break;
        at += n;
        left -= (size_t)n;
    }
}

T(web_page_takes_no_lock)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PROPFIND", "LOCK", "UNLOCK", "ANY-other_1"};
    static const size_t lengths[] = {0, 900, 1000, 1024, 2000, 16 * 1024, 17 * 1024, 100000};
    begin(PATIENT);
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++) {
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            client_open_tcp(&b, &redlockd);
            post(&b, methods[i], lengths[k]);
            expect_closed(&b);
            ck_assert_uint_eq(rows_of("LOCKS"), 0);
        }
    }
    ck_assert_ptr_nonnull(strstr(show(&a, "STATS"), "* grants=0\n"));
}

/* ---- many clients ---- */

T(thousand_idle_clients)
{
    enum { CLIENTS = 1000, SLACK_KB = 512 };
    struct rlimit files;
    static int fds[CLIENTS];
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    begin(PATIENT);
    for (int i = 0; i < 20; i++) { /* memory that is allocated once */
        client_open(&b, &redlockd);
        ask(&b, "+PONG ready=1", "PING");
        client_close(&b);
    }
    eventually(rows_of("CLIENTS") == 1);
    long before_kb = daemon_status_kb(&redlockd, "VmRSS:");
    for (int i = 0; i < CLIENTS; i++) {
        client_open(&b, &redlockd);
        ask(&b, "+PONG ready=1", "PING");
        fds[i] = b.fd;
    }
    long grown_kb = daemon_status_kb(&redlockd, "VmRSS:") - before_kb;
    if (!under_sanitizer())
        ck_assert_msg(grown_kb <= 2 * CLIENTS + SLACK_KB, "%ld kB for %d idle clients", grown_kb, CLIENTS);
    ck_assert_uint_eq(rows_of("CLIENTS"), CLIENTS + 1);
    lock(&a, "amidst");
    for (int i = 0; i < CLIENTS; i++)
        close(fds[i]);
    eventually(rows_of("CLIENTS") == 1);
}

T(max_clients)
{
    begin(PATIENT "max_clients: 2\nmax_clients_per_peer: 2\n");
    eventually(rows_of("CLIENTS") == 1); /* the harness's check whether the daemon listens has closed */
    client_open(&b, &redlockd);
    ask(&b, "+PONG ready=1", "PING");
    client_open_tcp(&c, &redlockd);
    expect(&c, "-LIMIT limit=max_clients*");
    expect_closed(&c);
    ask(&b, "+PONG ready=1", "PING");
    client_close(&b);
    eventually(rows_of("CLIENTS") == 1);
    client_open(&b, &redlockd);
    ask(&b, "+PONG ready=1", "PING");
}

T(no_descriptors_left)
{
    static struct client more[8];
    struct rlimit before, few = {.rlim_cur = 3};
    begin(PATIENT);
    ask(&a, "+PONG ready=1", "PING");
    ck_assert_int_eq(prlimit(redlockd.pid, RLIMIT_NOFILE, NULL, &before), 0);
    few.rlim_max = before.rlim_max;
    ck_assert_int_eq(prlimit(redlockd.pid, RLIMIT_NOFILE, &few, NULL), 0);
    for (unsigned i = 0; i < 8; i++) {
        client_open(&more[i], &redlockd);
        client_send(&more[i], "PING");
    }
    for (int i = 0; i < 50; i++)
        lock(&a, "served%d", i);
    long cpu_ms = daemon_cpu_ms(&redlockd);
    int64_t start_ms = now_ms();
    eventually(now_ms() - start_ms >
               700); /* long enough to tell a spin from a pause, on a crowded machine too */
    cpu_ms = daemon_cpu_ms(&redlockd) - cpu_ms;
    long took_ms = (long)(now_ms() - start_ms);
    ck_assert_msg(cpu_ms < took_ms / 10, "%ld ms of processor time in %ld ms without descriptors", cpu_ms,
                  took_ms);
    for (unsigned i = 0; i < 8; i++)
        ck_assert(client_silent(&more[i]));
    ck_assert_int_eq(prlimit(redlockd.pid, RLIMIT_NOFILE, &before, NULL), 0);
    for (unsigned i = 0; i < 8; i++)
        expect(&more[i], "+PONG ready=1");
}

T(limits_by_name)
{
    begin(PATIENT "max_locks_per_client: 2\nmax_waits_per_client: 1\nmax_locks: 4\nmax_waiters: 2\n"
                  "max_locks_per_peer: 4\nmax_waits_per_peer: 2\n");
    client_open(&b, &redlockd);
    client_open(&c, &redlockd);
    lock(&a, "one");
    lock(&a, "two");
    ask(&a, "-LIMIT three limit=max_locks_per_client*", "LOCK three");
    lock(&b, "three");
    client_send(&b, "#1 LOCK one wait=30s");
    eventually(rows_of("WAITERS") == 1);
    ask(&b, "#2 -LIMIT two limit=max_waits_per_client*", "#2 LOCK two wait=30s");
    ask(&a, "+UNLOCKED two *", "UNLOCK two");
    lock(&c, "two");
    lock(&c, "four");
    static struct client d;
    client_open(&d, &redlockd);
    ask(&d, "-LIMIT five limit=max_locks*", "LOCK five");
    client_close(&b);
    eventually(rows_of("WAITERS") == 0 && rows_of("LOCKS") == 3);
    lock(&d, "three wait=10s");
}
