/* Who has a place for its TLS handshake, and for how long. */
#include <event2/event.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/clock.h"
#include "daemon/wire/handshakes.h"
#include "tests/unit/suite.h"

enum { PATIENCE_MS = 60000 };

struct client {
    struct wire wire;
    int fd; /* the client's end */
    struct handshake *handshake;
    char why[WIRE_WHAT_BYTES]; /* "open" */
    unsigned done;             /* it was the done-th one to end; 0: it goes on */
};

static char folder[] = "/tmp/redlockd-handshakes-XXXXXX";
static struct event_base *base;
static struct handshakes *all;
static struct wire_context *context;
static unsigned ends;

static bool shell(const char *command)
{
    return system(command) == 0; /* NOLINT(cert-env33-c): the commands are this file's */
}

static void folder_make(void)
{
    char command[512];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(
        command, sizeof command,
        "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out "
        "cert.pem -days 3 -subj /CN=x 2>log && chmod 600 key.pem",
        folder);
    ck_assert_msg(shell(command), "no certificate in %s: see the log there", folder);
}

static void folder_remove(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    ck_assert(shell(command));
}

static void setup(void)
{
    struct wire_settings settings = {.on = true, .verify = WIRE_VERIFY_UNSET};
    struct wire_fault fault;
    base = event_base_new();
    all = handshakes_new(base);
    snprintf(settings.cert, sizeof settings.cert, "%s/cert.pem", folder);
    snprintf(settings.key, sizeof settings.key, "%s/key.pem", folder);
    context = wire_context_new(WIRE_SERVER, &settings, &fault);
    ck_assert_msg(context != NULL, "%s", fault.what);
}

static void teardown(void)
{
    handshakes_free(all);
    wire_context_free(context);
    event_base_free(base);
}

static void on_done(void *arg, const char *why, const char *hint)
{
    struct client *c = arg;
    (void)hint;
    snprintf(c->why, sizeof c->why, "%s", why ? why : "open");
    c->handshake = NULL;
    c->done = ++ends;
}

static void begin(struct client *c, uint16_t peer)
{
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    *c = (struct client){.wire = {.fd = pair[0]}, .fd = pair[1]};
    ck_assert_int_eq(wire_begin(&c->wire, context, NULL), 0);
    c->handshake = handshake_new(all, &c->wire, peer, on_done, c);
    ck_assert_ptr_nonnull(c->handshake);
}

static void end(struct client *c)
{
    if (c->handshake)
        handshake_cancel(c->handshake);
    wire_close(&c->wire);
    close(c->fd);
}

static void turn(void)
{
    event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    handshakes_run(all);
    usleep(1000);
}

SETUP_ONCE(folder_make, folder_remove);
SETUP(setup, teardown);
TIME_LIMIT_S(120);

/* Peers that begin and go no further have all places, and many more such handshakes wait. Another peer has the first
 * place that is free. */
T(peers_take_turns)
{
    enum { PEERS = 8, EACH = 40 };
    static struct client crowd[PEERS * EACH];
    struct client one;
    for (unsigned i = 0; i < PEERS * EACH; i++) {
        begin(&crowd[i], (uint16_t)(i % PEERS));
        ck_assert_int_eq(write(crowd[i].fd, "\x16", 1), 1);
    }
    turn();
    begin(&one, PEERS);
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = SSL_new(ctx);
    SSL_set_fd(ssl, one.fd);
    for (int64_t end_ms = clock_boot_ms() + PATIENCE_MS; !one.done && clock_boot_ms() < end_ms; turn())
        SSL_connect(ssl);
    ck_assert_str_eq(one.why, "open");
    ck_assert_uint_le(one.done, 64 + 1); /* nobody had a second place before it */
    SSL_free(ssl);
    SSL_CTX_free(ctx);
    for (unsigned i = 0; i < PEERS * EACH; i++)
        end(&crowd[i]);
    end(&one);
}

/* Nobody stays without a word, nor waits for a place for ever. */
T(ten_seconds_in_all)
{
    enum { QUEUED = 60 };
    static struct client crowd[QUEUED];
    struct client silent;
    int64_t began_ms = clock_boot_ms();
    begin(&silent, 1);
    for (unsigned i = 0; i < QUEUED; i++) {
        begin(&crowd[i], 2);
        ck_assert_int_eq(write(crowd[i].fd, "\x16", 1), 1);
    }
    while (ends < QUEUED + 1 && clock_boot_ms() < began_ms + PATIENCE_MS)
        turn();
    ck_assert_uint_eq(ends, QUEUED + 1);
    ck_assert_int_ge(clock_boot_ms() - began_ms, 10000);
    ck_assert_str_eq(crowd[0].why, "no TLS handshake within 2 s");
    ck_assert_str_eq(silent.why, "no TLS handshake within 10 s after it connected");
    ck_assert_str_eq(crowd[QUEUED - 1].why, silent.why);
    end(&silent);
    for (unsigned i = 0; i < QUEUED; i++)
        end(&crowd[i]);
}

/* Handshakes that are cancelled leave no turn and no place behind. */
T(cancelled)
{
    enum { CROWD = 30 };
    static struct client crowd[CROWD];
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < CROWD; i++) {
            begin(&crowd[i], 1);
            ck_assert_int_eq(write(crowd[i].fd, "\x16", 1), 1);
        }
        turn();
        for (unsigned i = 0; i < CROWD; i++)
            end(&crowd[(i * 7 + round) % CROWD]);
        turn();
    }
    ck_assert_uint_eq(ends, 0);
}
