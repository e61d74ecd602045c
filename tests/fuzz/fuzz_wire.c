/* A hostile peer of a TLS wire, which is a client of ours or a master. The first byte configures the world. The rest is
 * what the peer and the wire do, one byte each, with the bytes that it takes: see happen(). What the peer says goes
 * through memory, so that records arrive in pieces of any size, with bytes of the input in place of theirs or between
 * them.
 *
 * Whatever happens, the wire reads what was written, in order, and nothing else. A peer that keeps to the rules is
 * never taken for one that broke them, and at the end all of its bytes were read: none is forgotten in OpenSSL while
 * the kernel has nothing to report. */
#include "tests/fuzz/fuzz.h"

#ifdef REDLOCKD_NO_TLS

int HARNESS(fuzz_wire)(const uint8_t *data, size_t size)
{
    (void)data, (void)size;
    return 0;
}

#else

#include <assert.h>
#include <errno.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/wire/wire.h"

enum {
    FLAG_MASTER = 1,   /* the peer is a master, else a client */
    FLAG_OLD = 2,      /* TLS 1.2 */
    FLAG_NAMELESS = 4, /* the client has no certificate */
    FLAG_AT_ONCE = 8,  /* the handshake goes well, before anything else */
    MESSAGES = 32,     /* that many are no flood ... */
    TICKETS = 2,       /* ... with the tickets that a master sends behind its handshake */
    MANY = 40,
    MOST_BYTES = 1 << 18,
    PIECE = 20000,
    STEPS = 50,
};

struct world {
    struct wire wire;
    int fd; /* the peer's end */
    SSL *peer;
    BIO *in, *out; /* (of peer) what it was sent, and what it says */
    bool master;
    bool forged;          /* bytes were changed or put in, so anything may be refused */
    bool ended;           /* the peer's side of the socket is closed */
    bool closed;          /* the peer said close_notify */
    bool open, peer_open; /* the handshake is over */
    bool failed;          /* the wire has ended the connection */
    bool asked;           /* the peer asked the wire to change its keys, too */
    unsigned messages;    /* new keys and the like */
    size_t sent, got;     /* data of the peer, and how much of that the wire has read */
    size_t said, heard;   /* data of the wire, and how much of that the peer has read */
    struct buffer buffer;
    size_t filled; /* bytes that were ever put into the buffer */
};

static struct wire_context *server_context, *client_context;
static SSL_CTX *peers[2]; /* by FLAG_MASTER */
static char bytes[PIECE];

/* ---- certificates ---- */

static void make_cert(const char *cert_path, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_NAME *name = X509_get_subject_name(cert);
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -3600);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600L * 24);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"x", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION *names = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "DNS:localhost");
    X509_add_ext(cert, names, -1);
    X509_set_pubkey(cert, key);
    X509_sign(cert, key, EVP_sha256());
    FILE *cert_file = fopen(cert_path, "w"), *key_file = fopen(key_path, "w");
    assert(key && names && cert_file && key_file);
    PEM_write_X509(cert_file, cert);
    PEM_write_PrivateKey(key_file, key, NULL, NULL, 0, NULL, NULL);
    fclose(cert_file);
    fclose(key_file);
    X509_EXTENSION_free(names);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static SSL_CTX *peer_context(const SSL_METHOD *method, const struct wire_settings *settings)
{
    SSL_CTX *ctx = SSL_CTX_new(method);
    SSL_CTX_use_certificate_chain_file(ctx, settings->cert);
    SSL_CTX_use_PrivateKey_file(ctx, settings->key, SSL_FILETYPE_PEM);
    SSL_CTX_set_mode(ctx, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_ENABLE_PARTIAL_WRITE);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    return ctx;
}

static void make_contexts(void)
{
    struct wire_settings settings = {.on = true, .verify = WIRE_VERIFY_FULL};
    struct wire_fault fault;
    char folder[] = "/tmp/fuzz_wire.XXXXXX";
    char *made = mkdtemp(folder);
    assert(made);
    (void)made;
    signal(SIGPIPE, SIG_IGN);
    snprintf(settings.cert, sizeof settings.cert, "%s/cert", folder);
    snprintf(settings.ca, sizeof settings.ca, "%s/cert", folder);
    snprintf(settings.key, sizeof settings.key, "%s/key", folder);
    umask(077);
    make_cert(settings.cert, settings.key);
    client_context = wire_context_new(WIRE_CLIENT, &settings, &fault);
    settings.ask = WIRE_ASK_OPTIONAL;
    server_context = wire_context_new(WIRE_SERVER, &settings, &fault);
    peers[0] = peer_context(TLS_client_method(), &settings);
    peers[1] = peer_context(TLS_server_method(), &settings);
    assert(client_context && server_context);
    unlink(settings.cert);
    unlink(settings.key);
    rmdir(folder);
}

/* ---- the peer ---- */

static void deliver(struct world *w, size_t most)
{
    char *from = NULL;
    size_t len = (size_t)BIO_get_mem_data(w->out, &from);
    ssize_t n = w->ended ? 0 : send(w->fd, from, len < most ? len : most, MSG_NOSIGNAL | MSG_DONTWAIT);
    for (size_t left = n > 0 ? (size_t)n : 0; left > 0;) {
        int dropped = BIO_read(w->out, bytes, left < sizeof bytes ? (int)left : (int)sizeof bytes);
        assert(dropped > 0);
        left -= (size_t)dropped;
    }
}

static void peer_hears(struct world *w)
{
    ssize_t n;
    while ((n = recv(w->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        BIO_write(w->in, bytes, (int)n);
    if (!w->peer_open) {
        w->peer_open = SSL_do_handshake(w->peer) == 1;
        return;
    }
    int got;
    while ((got = SSL_read(w->peer, bytes, sizeof bytes)) > 0)
        for (int i = 0; i < got; i++, w->heard++)
            assert((uint8_t)bytes[i] == (uint8_t)(w->heard * 7));
    assert(w->heard <= w->said);
}

static void peer_says(struct world *w, size_t len)
{
    if (!w->peer_open || w->closed || w->sent + len > MOST_BYTES)
        return;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)(w->sent + i);
    for (size_t done = 0; done < len;) {
        int n = SSL_write(w->peer, bytes + done, (int)(len - done));
        if (n <= 0)
            return;
        done += (size_t)n;
        w->sent += (size_t)n;
    }
}

static void peer_changes_keys(struct world *w, int type, unsigned times)
{
    for (unsigned i = 0; w->peer_open && !w->closed && i < times; i++)
        if (SSL_version(w->peer) == TLS1_3_VERSION && SSL_key_update(w->peer, type) == 1 &&
            SSL_do_handshake(w->peer) == 1)
            w->messages++;
    w->asked |= type == SSL_KEY_UPDATE_REQUESTED && w->messages > 0;
}

/* A peer that has asked for it waits for an answer, and says nothing more. */
static void peer_renegotiates(struct world *w)
{
    if (!w->peer_open || SSL_version(w->peer) != TLS1_2_VERSION || SSL_renegotiate(w->peer) != 1)
        return;
    SSL_do_handshake(w->peer);
    w->messages++;
    w->forged = true;
}

static void peer_forges(struct world *w, struct bytes *in)
{
    size_t len = bytes_next(in) % 16;
    w->forged = true;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)bytes_next(in);
    if (!w->ended)
        (void)!send(w->fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void peer_flips(struct world *w, struct bytes *in)
{
    char *from = NULL;
    size_t at = (size_t)bytes_number(in, 2), len = (size_t)BIO_get_mem_data(w->out, &from);
    if (at >= len)
        return;
    w->forged = true;
    from[at] ^= (char)(bytes_next(in) | 1);
}

/* ---- the wire ---- */

/* OpenSSL changes its own keys within SSL_read(), and fails ("bad length") if the socket has taken only a part of a
 * record meanwhile. No wire can tell before the call. */
static bool half_written(const struct world *w)
{
    return w->asked && buffer_len(&w->buffer) > 0;
}

static void check_failure(const struct world *w)
{
    assert(wire_fault()->what[0]);
    unsigned messages = w->messages + (w->master ? TICKETS : 0);
    assert(w->forged || w->ended || messages > MESSAGES || half_written(w));
}

static void wire_step(struct world *w)
{
    enum wire_step step = w->failed ? WIRE_FAILED : wire_handshake(&w->wire);
    if (step == WIRE_FAILED && !w->failed) {
        w->failed = true;
        check_failure(w);
    }
    if (step != WIRE_OPEN || w->open)
        return;
    w->open = true;
    free(wire_peer_names(&w->wire));
}

static void wire_reads(struct world *w, size_t size)
{
    ssize_t n = wire_read(&w->wire, bytes, size);
    assert(n <= (ssize_t)size);
    for (ssize_t i = 0; i < n; i++)
        assert((uint8_t)bytes[i] == (uint8_t)(w->got + (size_t)i));
    if (n == 0 && size > 0) {
        assert(w->closed && w->got == w->sent);
        w->failed = true;
    } else if (n > 0) {
        w->got += (size_t)n;
        assert(w->got <= w->sent);
    } else if (errno != EAGAIN && !w->failed) {
        w->failed = true;
        check_failure(w);
    }
}

static void wire_says(struct world *w, size_t len)
{
    if (w->filled + len > MOST_BYTES || w->failed)
        return;
    for (size_t i = 0; i < len; i++)
        bytes[i] = (char)((w->filled + i) * 7);
    int failed = len ? buffer_append(&w->buffer, bytes, len) : 0;
    assert(!failed);
    (void)failed;
    w->filled += len;
    long n = wire_write(&w->wire, &w->buffer);
    w->said += n > 0 ? (size_t)n : 0;
}

static bool has_input(const struct world *w)
{
    struct pollfd p = {.fd = w->wire.fd, .events = POLLIN};
    return wire_pending(&w->wire) || poll(&p, 1, 0) == 1;
}

/* ---- a run ---- */

static void shake(struct world *w)
{
    for (unsigned i = 0; i < STEPS && !w->failed && !(w->open && w->peer_open); i++) {
        peer_hears(w);
        deliver(w, SIZE_MAX);
        wire_step(w);
    }
}

static void happen(struct world *w, uint8_t what, struct bytes *in)
{
    switch (what % 16) {
    case 0: peer_says(w, bytes_next(in)); break;
    case 1: peer_changes_keys(w, SSL_KEY_UPDATE_NOT_REQUESTED, 1); break;
    case 2: peer_changes_keys(w, SSL_KEY_UPDATE_REQUESTED, 1); break;
    case 3: deliver(w, bytes_next(in)); break;
    case 4: deliver(w, SIZE_MAX); break;
    case 5: peer_forges(w, in); break;
    case 6: peer_flips(w, in); break;
    case 7: wire_reads(w, 1 + (size_t)bytes_next(in) * 64); break;
    case 8: wire_says(w, (size_t)bytes_next(in) * 64); break;
    case 9: peer_hears(w); break;
    case 10: w->closed |= w->peer_open && SSL_shutdown(w->peer) >= 0; break;
    case 11:
        w->ended = true;
        shutdown(w->fd, SHUT_WR);
        break;
    case 12: wire_step(w); break;
    case 13: peer_renegotiates(w); break;
    case 14: peer_changes_keys(w, SSL_KEY_UPDATE_NOT_REQUESTED, MANY); break;
    default: peer_says(w, (size_t)bytes_next(in) * 64); break;
    }
}

/* What is under way arrives, within a bounded number of reads. A peer that wants an answer hears, or the wire, which must
 * write it first, could not go on. */
static void wind_up(struct world *w)
{
    for (unsigned i = 0; i < 2 * MOST_BYTES && !w->failed; i++) {
        deliver(w, SIZE_MAX);
        if (!w->open)
            shake(w);
        if (!w->open || (!has_input(w) && !wire_read_wants_write(&w->wire)))
            break;
        wire_reads(w, sizeof bytes);
        if (wire_read_wants_write(&w->wire))
            peer_hears(w);
    }
    if (!w->failed && w->open && !w->forged)
        assert(w->got == w->sent && (!w->closed || w->failed));
}

static void world_begin(struct world *w, unsigned flags)
{
    int pair[2];
    int failed = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair);
    assert(!failed);
    (void)failed;
    *w = (struct world){.wire = {.fd = pair[0]}, .fd = pair[1], .master = flags & FLAG_MASTER};
    w->peer = SSL_new(peers[w->master]);
    w->in = BIO_new(BIO_s_mem());
    w->out = BIO_new(BIO_s_mem());
    assert(w->peer && w->in && w->out);
    SSL_set_bio(w->peer, w->in, w->out);
    if (flags & FLAG_OLD)
        SSL_set_max_proto_version(w->peer, TLS1_2_VERSION);
    if (flags & FLAG_NAMELESS && !w->master)
        SSL_certs_clear(w->peer);
    if (w->master)
        SSL_set_accept_state(w->peer);
    else
        SSL_set_connect_state(w->peer);
    failed =
        wire_begin(&w->wire, w->master ? client_context : server_context, w->master ? "localhost" : NULL);
    assert(!failed);
}

int HARNESS(fuzz_wire)(const uint8_t *data, size_t size)
{
    static struct world world;
    struct world *w = &world;
    struct bytes in = {data, data + size};
    if (!server_context)
        make_contexts();
    unsigned flags = bytes_next(&in);
    world_begin(w, flags);
    if (flags & FLAG_AT_ONCE)
        shake(w);
    while (in.at < in.end)
        happen(w, bytes_next(&in), &in);
    wind_up(w);
    wire_close(&w->wire);
    close(w->fd);
    SSL_free(w->peer);
    buffer_free(&w->buffer);
    return 0;
}

#endif
