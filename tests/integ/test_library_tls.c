/* libredlock and the redlock command over TLS. */
#include "client/redlock.h"
#include "tests/integ/certs.h"
#include "tests/integ/command.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cluster masters;
static struct daemon redlockd;
static struct client plain;                  /* on the Unix socket */
static const char *certs, *shown = "server"; /* the certificate that redlockd shows */
static uint16_t port_without_tls;
static char address[64], ca[2 * PATH], cert[2 * PATH], key[2 * PATH];

static void begin(bool asks)
{
    static char text[4096], more[PATH + 64];
    cluster_start(&masters, 3, UNIX);
    certs = certs_make();
    redlockd = (struct daemon){0};
    daemon_configure(&redlockd, &masters, "");
    uint16_t port = port_free();
    port_without_tls = port_free();
    if (asks)
        snprintf(more, sizeof more, ", client_ca: %s/ca.pem", certs);
    snprintf(
        text, sizeof text,
        "listen:\n  - unix:%s\n  - 127.0.0.1:%u\n  - {address: \"127.0.0.1:%u\", tls: {cert: %s/%s.pem, key: "
        "%s/%s.key%s}}\n" PATIENT,
        redlockd.path, port_without_tls, port, certs, shown, certs, shown, more);
    daemon_configure(&redlockd, &masters, text);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    eventually(daemon_logged(&redlockd, "event=ready"));
    client_open(&plain, &redlockd);
    eventually(masters_up(&plain, &masters));
    snprintf(address, sizeof address, "tls://localhost:%u", port);
    snprintf(ca, sizeof ca, "%s/ca.pem", certs);
    snprintf(cert, sizeof cert, "%s/client.pem", certs);
    snprintf(key, sizeof key, "%s/client.key", certs);
}

static struct redlock *open_tls(const char *to, const char *trusted)
{
    struct redlock_options options = {.tls_ca = trusted};
    struct redlock *redlock = redlock_open(to, &options);
    ck_assert_ptr_nonnull(redlock);
    return redlock;
}

static void count_row(const char *row, void *user)
{
    (void)row;
    (*(unsigned *)user)++;
}

T(a_program)
{
    unsigned rows = 0;
    begin(false);
    struct redlock *redlock = open_tls(address, ca);
    struct redlock_lock *lock = redlock_lock(redlock, "job", NULL);
    ck_assert_msg(lock != NULL, "%s", redlock_error_text(redlock));
    ck_assert_str_eq(redlock_address(redlock), address);
    ck_assert_int_gt(redlock_safe_ms(lock), 0);
    ask(&plain, "-BUSY job*", "LOCK job");
    ck_assert_int_eq(redlock_check(lock), REDLOCK_OK);
    for (int i = 0; i < 300; i++) { /* many rows: several records at once */
        char name[16];
        snprintf(name, sizeof name, "many%d", i);
        ck_assert_ptr_nonnull(redlock_lock(redlock, name, NULL));
    }
    ck_assert_int_eq(redlock_show(redlock, "locks", count_row, &rows), REDLOCK_OK);
    ck_assert_uint_eq(rows, 301);
    ck_assert_int_eq(redlock_unlock(lock), REDLOCK_OK);
    redlock_close(redlock); /* QUIT gives the others back at once */
    eventually(cluster_gave_back(&masters, "many299"));
    ck_assert(!daemon_logged(&redlockd, "client_dropped"));
}

/* A program in an event loop: the descriptor and the time-out suffice, also while TLS shakes hands. */
static unsigned ups, locks;
static void on_event(struct redlock *redlock, const struct redlock_event *event, void *user)
{
    (void)redlock, (void)user;
    ups += event->kind == REDLOCK_ON_UP;
    locks += event->kind == REDLOCK_ON_LOCK && event->error == REDLOCK_OK;
}

T(an_event_loop)
{
    unsigned turns = 0;
    begin(false);
    struct redlock *redlock = open_tls(address, ca);
    redlock_set_callback(redlock, on_event, NULL);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "many%d", i);
        ck_assert_ptr_nonnull(redlock_lock_begin(redlock, name, NULL));
    }
    for (int64_t end_ms = now_ms() + WAIT_MS; locks < 100 && now_ms() < end_ms; turns++) {
        struct pollfd p = {.fd = redlock_fd(redlock), .events = redlock_events(redlock)};
        poll(&p, 1, redlock_timeout_ms(redlock));
        ck_assert_int_eq(redlock_process(redlock), REDLOCK_OK);
    }
    ck_assert_uint_eq(locks, 100);
    ck_assert_uint_eq(ups, 1);
    ck_assert_uint_lt(turns, 2000); /* the loop waits, and does not spin */
    redlock_close(redlock);
}

static void refused(const char *to, const char *trusted, const char *why)
{
    struct redlock *redlock = open_tls(to, trusted);
    ck_assert_ptr_null(redlock_lock(redlock, "job", NULL));
    ck_assert_int_eq(redlock_error(redlock), REDLOCK_CONNECT);
    ck_assert_msg(strstr(redlock_error_text(redlock), why) != NULL, "%s", redlock_error_text(redlock));
    redlock_close(redlock);
}

T(others_are_refused)
{
    char other[2 * PATH], path[PATH + 16];
    begin(false);
    snprintf(other, sizeof other, "%s/other-ca.pem", certs);
    refused(address, other, "its certificate was refused: ");
    refused(address, NULL, "REDLOCK_CA or tls_ca names the CA that signed it"); /* by the system's CAs */
    refused(address, "/none.pem", "/none.pem: No such file or directory");
    snprintf(path, sizeof path, "tls:%s", redlockd.path);
    ck_assert_ptr_null(redlock_open(path, NULL));
    ck_assert_int_eq(errno, EINVAL);
    refused(address + strlen("tls://"), NULL, ""); /* plain bytes to the TLS port */
    snprintf(path, sizeof path, "tls://127.0.0.1:%u", port_without_tls);
    refused(path, ca, "an address without TLS is written host:port");
    struct redlock *redlock = open_tls(address, ca);
    ck_assert_int_eq(redlock_connect(redlock), REDLOCK_OK);
    redlock_close(redlock);
}

/* The CA is the right one, but the certificate is that of another host. */
T(another_host)
{
    char number[64];
    shown = "wrong";
    begin(false);
    refused(address, ca, "its certificate was refused: hostname mismatch");
    snprintf(number, sizeof number, "tls://127.0.0.1%s", strrchr(address, ':'));
    refused(number, ca, "its certificate was refused: IP address mismatch");
}

T(a_client_certificate)
{
    begin(true);
    refused(address, ca, "");
    struct redlock_options options = {.tls_ca = ca, .tls_cert = cert, .tls_key = key};
    struct redlock *redlock = redlock_open(address, &options);
    ck_assert_msg(redlock_lock(redlock, "job", NULL) != NULL, "%s", redlock_error_text(redlock));
    redlock_close(redlock);
    eventually(cluster_gave_back(&masters, "job"));
}

/* redlockd restarts: the library connects again, and resumes its lock. */
T(a_restart)
{
    begin(false);
    struct redlock *redlock = open_tls(address, ca);
    struct redlock_lock *lock = redlock_lock(redlock, "job", NULL);
    ck_assert_ptr_nonnull(lock);
    daemon_signal(&redlockd, SIGKILL);
    daemon_exit(&redlockd);
    daemon_run(&redlockd, (const char *const[]){"-c", redlockd.config, NULL});
    uint64_t fence = redlock_fence(lock);
    eventually(redlock_safe_ms(lock) > 0 && redlock_fence(lock) > fence);
    redlock_close(redlock);
    eventually(cluster_gave_back(&masters, "job"));
}

/* ---- the command, by its variables ---- */

T(the_command)
{
    begin(true);
    setenv("REDLOCK_ADDRESS", address, 1);
    setenv("REDLOCK_CA", ca, 1);
    setenv("REDLOCK_CERT", cert, 1);
    setenv("REDLOCK_KEY", key, 1);
    static struct command command;
    ck_assert_msg(RUN(&command, redlock_binary(), "run", "job", "--", "true") == 0, "%s", errors(&command));
    eventually(cluster_gave_back(&masters, "job"));
    unsetenv("REDLOCK_CERT");
    unsetenv("REDLOCK_KEY");
    ck_assert_int_ne(RUN(&command, redlock_binary(), "run", "-n", "job", "--", "true"), 0);
    ck_assert_msg(strstr(errors(&command), address) != NULL, "%s", errors(&command));
    ck_assert_msg(strstr(errors(&command), "REDLOCK_CERT") != NULL, "%s", errors(&command));
    ck_assert_int_eq(RUN(&command, redlock_binary(), "ping", "-a", address + strlen("tls://")), 123);
    ck_assert_msg(strstr(errors(&command), "tls://host:port") != NULL, "%s", errors(&command));
}
