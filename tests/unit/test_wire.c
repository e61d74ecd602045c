/* A wire with TLS against OpenSSL itself, and against another wire. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/wire/wire.h"
#include "tests/unit/suite.h"

static char folder[] = "/tmp/redlockd-wire-XXXXXX";
static struct wire_settings server_settings, client_settings;
static struct wire_context *server_context, *client_context;
static struct wire server, client; /* the two ends of a pair of sockets */
static struct wire_fault fault;

static bool shell(const char *command)
{
    return system(command) == 0; /* NOLINT(cert-env33-c): the commands are this file's */
}

static void settings_make(void)
{
    char command[512];
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(
        command, sizeof command,
        "cd %s && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out "
        "cert.pem -days 3 -subj /CN=x -addext "
        "subjectAltName=DNS:Localhost,DNS:*.example,URI:spiffe://x/y 2>log && chmod 600 key.pem",
        folder);
    server_settings = (struct wire_settings){.on = true, .verify = WIRE_VERIFY_UNSET};
    snprintf(server_settings.cert, sizeof server_settings.cert, "%s/cert.pem", folder);
    snprintf(server_settings.key, sizeof server_settings.key, "%s/key.pem", folder);
    client_settings = server_settings;
    memcpy(client_settings.ca, server_settings.cert, sizeof client_settings.ca);
    memcpy(server_settings.ca, server_settings.cert, sizeof server_settings.ca);
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
    int pair[2];
    signal(SIGPIPE, SIG_IGN);
    server_context = wire_context_new(WIRE_SERVER, &server_settings, &fault);
    client_context = wire_context_new(WIRE_CLIENT, &client_settings, &fault);
    ck_assert_msg(server_context && client_context, "%s", fault.what);
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
    server = (struct wire){.fd = pair[0]};
    client = (struct wire){.fd = pair[1]};
}

static void teardown(void)
{
    wire_close(&server);
    wire_close(&client);
    wire_context_free(server_context);
    wire_context_free(client_context);
}

static void open_both(void)
{
    enum wire_step a = WIRE_WANTS_READ, b = WIRE_WANTS_READ;
    ck_assert_int_eq(wire_begin(&server, server_context, NULL), 0);
    ck_assert_int_eq(wire_begin(&client, client_context, "localhost"), 0);
    for (int i = 0; i < 20 && (a != WIRE_OPEN || b != WIRE_OPEN); i++) {
        b = wire_handshake(&client);
        a = wire_handshake(&server);
        ck_assert_msg(a != WIRE_FAILED && b != WIRE_FAILED, "%s", wire_fault()->what);
    }
    ck_assert(a == WIRE_OPEN && b == WIRE_OPEN);
}

static bool readable(const struct wire *w)
{
    struct pollfd p = {.fd = w->fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void send_text(struct wire *w, const char *text)
{
    struct buffer b = {0};
    buffer_append(&b, text, strlen(text));
    ck_assert_int_eq(wire_write(w, &b), (long)strlen(text));
    ck_assert_uint_eq(buffer_len(&b), 0);
    buffer_free(&b);
}

SETUP_ONCE(settings_make, folder_remove);
SETUP(setup, teardown);

T(nothing_goes_in_plain)
{
    struct buffer b = {0};
    char bytes[16];
    buffer_append(&b, "secret", 6);
    ck_assert_int_eq(wire_begin(&client, client_context, "localhost"), 0);
    ck_assert_int_eq(wire_write(&client, &b), 0);
    ck_assert(!readable(&server));
    ck_assert_int_eq(wire_read(&client, bytes, sizeof bytes), -1);
    ck_assert_int_eq(errno, EAGAIN);
    buffer_free(&b);
}

/* Whether TLS has bytes that the kernel knows nothing of is said, until none are left. */
T(pending)
{
    char bytes[64];
    size_t got = 0;
    open_both();
    for (int i = 0; i < 10; i++)
        send_text(&client, "0123456789012345678901234567890123456789");
    for (int reads = 0; got < 400; reads++) {
        ck_assert_int_lt(reads, 20);
        ck_assert(readable(&server) || wire_pending(&server));
        ssize_t n = wire_read(&server, bytes, sizeof bytes);
        ck_assert_int_gt(n, 0);
        got += (size_t)n;
    }
    wire_read(&server, bytes, sizeof bytes);
    ck_assert(!wire_pending(&server) && !readable(&server));
    send_text(&client, "more");
    ck_assert(readable(&server));
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 4);
}

/* The bytes that wire_write() counts are those that the peer can read: no record that was sent in
 * part. Meanwhile the buffer moves and grows. */
T(whole_records)
{
    static char bytes[1 << 16];
    struct buffer b = {0};
    size_t written = 0, got = 0, total = 0;
    open_both();
    for (; total < 3000000; total += sizeof bytes) {
        memset(bytes, 'a' + (int)(total / sizeof bytes % 26), sizeof bytes);
        buffer_append(&b, bytes, sizeof bytes);
        long n = wire_write(&server, &b);
        ck_assert_int_ge(n, 0);
        written += (size_t)n;
    }
    ck_assert_uint_lt(written, total);
    while (got < total) {
        ssize_t n = wire_read(&client, bytes, sizeof bytes);
        if (n < 0) { /* the peer has all that was told, and no more */
            ck_assert_int_eq(errno, EAGAIN);
            ck_assert_uint_eq(got, written);
            long more = wire_write(&server, &b);
            ck_assert_int_ge(more, 0);
            written += (size_t)more;
            continue;
        }
        for (ssize_t i = 0; i < n; i++, got++)
            if (bytes[i] != 'a' + (int)(got / sizeof bytes % 26))
                ck_abort_msg("byte %zu is another", got);
    }
    buffer_free(&b);
}

T(close_notify)
{
    char bytes[16];
    open_both();
    send_text(&client, "last");
    wire_close(&client);
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 4);
    ck_assert(readable(&server) || wire_pending(&server));
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 0);
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 0);
}

T(an_end_without_close_notify)
{
    char bytes[16];
    open_both();
    send_text(&client, "last");
    wire_end(&client);
    wire_close(&client);
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 4);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), -1);
        ck_assert_int_eq(errno, ECONNRESET);
    }
    ck_assert_str_eq(wire_fault()->what, "the connection ended without close_notify");
}

/* A write fails because the peer is gone: what it said before is still read. */
T(a_write_that_fails)
{
    struct buffer b = {0};
    char bytes[16];
    open_both();
    send_text(&client, "QUIT");
    wire_close(&client);
    buffer_append(&b, "event", 5);
    ck_assert_int_eq(wire_write(&server, &b), -1);
    ck_assert_int_eq(errno, EPIPE);
    ck_assert_int_eq(wire_write(&server, &b), -1);
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 4);
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 0);
    buffer_free(&b);
}

/* ---- against OpenSSL ---- */

/* A client of OpenSSL's own on the other end; NULL: the handshake failed. */
static SSL *raw_client(SSL_CTX *ctx, int max)
{
    enum wire_step step = WIRE_WANTS_READ;
    int done = 0;
    SSL_CTX_set_max_proto_version(ctx, max);
    SSL_CTX_set_options(ctx, SSL_OP_LEGACY_SERVER_CONNECT);
    SSL_CTX_set_security_level(ctx, 0);
    SSL_CTX_use_certificate_chain_file(ctx, client_settings.cert);
    SSL_CTX_use_PrivateKey_file(ctx, client_settings.key, SSL_FILETYPE_PEM);
    SSL *ssl = SSL_new(ctx);
    SSL_set_fd(ssl, client.fd);
    ck_assert_int_eq(wire_begin(&server, server_context, NULL), 0);
    for (int i = 0; i < 20 && (done != 1 || step != WIRE_OPEN) && step != WIRE_FAILED; i++) {
        done = SSL_connect(ssl);
        step = wire_handshake(&server);
    }
    if (done == 1 && step == WIRE_OPEN)
        return ssl;
    SSL_free(ssl);
    return NULL;
}

T(old_versions)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    ck_assert_ptr_null(raw_client(ctx, TLS1_1_VERSION));
    ck_assert_str_eq(wire_fault()->what, "unsupported protocol");
    ck_assert_str_eq(wire_fault()->hint, "the client needs TLS 1.2 or newer");
    SSL_CTX_free(ctx);
}

T(no_renegotiation)
{
    char bytes[16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, TLS1_2_VERSION);
    ck_assert_ptr_nonnull(ssl);
    SSL_renegotiate(ssl);
    SSL_do_handshake(ssl);
    ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), -1);
    int told = SSL_read(ssl, bytes, sizeof bytes);
    ck_assert_int_le(told, 0);
    ck_assert_int_eq(SSL_get_error(ssl, told), SSL_ERROR_SSL); /* no_renegotiation */
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* No ticket: no session can be resumed, and so no early data be sent. */
T_EACH(no_tickets, 2)
{
    char bytes[16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, _i ? TLS1_2_VERSION : TLS1_3_VERSION);
    ck_assert_ptr_nonnull(ssl);
    SSL_read(ssl, bytes, sizeof bytes); /* tickets would come now */
    SSL_SESSION *session = SSL_get1_session(ssl);
    ck_assert(!SSL_SESSION_has_ticket(session));
    ck_assert_uint_eq(SSL_SESSION_get_max_early_data(session), 0);
    SSL_SESSION_free(session);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* The client asks for new keys: nothing of the stream is lost. */
T(new_keys)
{
    char bytes[16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, TLS1_3_VERSION);
    ck_assert_ptr_nonnull(ssl);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(SSL_key_update(ssl, SSL_KEY_UPDATE_REQUESTED), 1);
        ck_assert_int_eq(SSL_write(ssl, "PING\n", 5), 5);
        ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), 5);
        send_text(&server, "+PONG\n");
        ck_assert_int_eq(SSL_read(ssl, bytes, sizeof bytes), 6);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* Many new keys, each with data behind it: the peer is served, though both lie in one piece before the wire. */
T(new_keys_with_data)
{
    char bytes[16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, TLS1_3_VERSION);
    ck_assert_ptr_nonnull(ssl);
    for (int i = 0; i < 100; i++) {
        ck_assert_int_eq(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        ck_assert_int_eq(SSL_write(ssl, "PING\n", 5), 5);
        if (i % 10 == 9)
            for (int got = 0; got < 50;) {
                ck_assert(readable(&server) || wire_pending(&server));
                ssize_t n = wire_read(&server, bytes, sizeof bytes);
                ck_assert_int_gt(n, 0);
                got += (int)n;
            }
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* Sends as many new keys as the socket takes, in pieces as large as it takes. */
static void flood(SSL *ssl, int fd)
{
    char *bytes = NULL;
    BIO *memory = BIO_new(BIO_s_mem());
    SSL_set0_wbio(ssl, memory);
    for (int i = 0; i < 4000; i++) {
        ck_assert_int_eq(SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED), 1);
        ck_assert_int_eq(SSL_do_handshake(ssl), 1);
    }
    long len = BIO_get_mem_data(memory, &bytes);
    ck_assert_int_gt(write(fd, bytes, (size_t)len), 40000);
}

/* New keys and nothing else: the first read ends the connection, after a bounded part of them. */
T(new_keys_without_end)
{
    char bytes[16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, TLS1_3_VERSION);
    ck_assert_ptr_nonnull(ssl);
    flood(ssl, client.fd);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(wire_read(&server, bytes, sizeof bytes), -1);
        ck_assert_int_eq(errno, EPROTO);
    }
    ck_assert_str_eq(wire_fault()->what, "it sends TLS messages, such as new keys, and no data between them");
    ck_assert_msg(readable(&server), "more was read than one buffer of them");
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* The same from a master. */
T(new_keys_of_a_server)
{
    char bytes[16];
    int done = 0;
    enum wire_step step = WIRE_WANTS_READ;
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    SSL_CTX_use_certificate_chain_file(ctx, server_settings.cert);
    SSL_CTX_use_PrivateKey_file(ctx, server_settings.key, SSL_FILETYPE_PEM);
    SSL *ssl = SSL_new(ctx);
    SSL_set_fd(ssl, server.fd);
    ck_assert_int_eq(wire_begin(&client, client_context, "localhost"), 0);
    for (int i = 0; i < 20 && (done != 1 || step != WIRE_OPEN); i++) {
        step = wire_handshake(&client);
        done = SSL_accept(ssl);
    }
    ck_assert_int_eq(done, 1);
    flood(ssl, server.fd);
    ck_assert_int_eq(wire_read(&client, bytes, sizeof bytes), -1);
    ck_assert_int_eq(errno, EPROTO);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* Three bytes of a record's header, and then silence: there is nothing to do until the kernel reports more. */
T_EACH(a_part_of_a_header, 2)
{
    char bytes[16];
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, TLS1_3_VERSION);
    ck_assert_ptr_nonnull(ssl);
    if (_i) /* data before it */
        ck_assert_int_eq(SSL_write(ssl, "PING\n", 5), 5);
    ck_assert_int_eq(write(client.fd, "\x17\x03\x03", 3), 3);
    int reads = 0;
    while (readable(&server) || wire_pending(&server)) {
        ssize_t n = wire_read(&server, bytes, sizeof bytes);
        ck_assert_msg(n == 5 || (n < 0 && errno == EAGAIN), "%zd", n);
        ck_assert_int_lt(++reads, 4);
    }
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* One byte a record: one call does not go on and on. */
T(small_records)
{
    static char bytes[16 * 1024];
    enum { RECORDS = 1000 };
    ssize_t got = 0;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
    SSL *ssl = raw_client(ctx, TLS1_3_VERSION);
    ck_assert_ptr_nonnull(ssl);
    SSL_set_mode(ssl, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    int sent = 0;
    while (sent < RECORDS && SSL_write(ssl, "x", 1) == 1)
        sent++;
    while (got < sent) {
        ck_assert(readable(&server) || wire_pending(&server));
        ssize_t n = wire_read(&server, bytes, sizeof bytes);
        ck_assert(n > 0 && n <= 256);
        got += n;
    }
    ck_assert_int_ge(sent, 257);
    SSL_free(ssl);
    SSL_CTX_free(ctx);
}

/* ---- certificates ---- */

T(names_of_the_peer)
{
    ck_assert_ptr_null(wire_peer_names(&server));
    open_both();
    char *names = wire_peer_names(&server); /* no wildcard, and no common name beside others */
    ck_assert_str_eq(names, "Localhost\nspiffe://x/y\n");
    free(names);
}

static void copy(const char *from, char *to)
{
    char command[1200];
    snprintf(to, WIRE_PATH_BYTES, "%s/copy.pem", folder);
    snprintf(command, sizeof command, "cp %s %s", from, to);
    ck_assert(shell(command));
}

T(files)
{
    struct wire_settings settings = server_settings;
    copy(server_settings.key, settings.key);
    chmod(settings.key, 0644);
    ck_assert_ptr_null(wire_context_new(WIRE_SERVER, &settings, &fault));
    ck_assert_ptr_nonnull(strstr(fault.what, "everybody can read this key: chmod o-r it"));
    chmod(settings.key, 0600);
    struct wire_context *context = wire_context_new(WIRE_SERVER, &settings, &fault);
    ck_assert_msg(context != NULL, "%s", fault.what);
    wire_context_free(context);
    settings = server_settings;
    memcpy(settings.cert, settings.key, sizeof settings.cert);
    ck_assert_ptr_null(wire_context_new(WIRE_SERVER, &settings, &fault));
    ck_assert_ptr_nonnull(strstr(fault.what, "key.pem: no certificate in PEM that can be used"));
}

T(another_key)
{
    char command[1200];
    struct wire_settings settings = server_settings;
    snprintf(settings.key, sizeof settings.key, "%s/other.pem", folder);
    snprintf(command, sizeof command,
             "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out %s && chmod 600 %s",
             settings.key, settings.key);
    ck_assert(shell(command));
    ck_assert_ptr_null(wire_context_new(WIRE_SERVER, &settings, &fault));
    ck_assert_ptr_nonnull(strstr(fault.what, "other.pem: this key does not belong to the certificate in"));
    snprintf(command, sizeof command,
             "openssl pkey -in %s/key.pem -aes128 -passout pass:x -out %s && chmod 600 %s", folder,
             settings.key, settings.key);
    ck_assert(shell(command));
    ck_assert_ptr_null(wire_context_new(WIRE_SERVER, &settings, &fault));
    ck_assert_ptr_nonnull(
        strstr(fault.what, "other.pem: no key in PEM, without a password, that can be used"));
}
