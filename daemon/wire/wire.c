/* One TLS connection on a non-blocking socket. */
#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/wire/wire_private.h"

enum {
    UNREAD_BYTES = 1 << 20,
    READS = 256,   /* at most, in one call: a record may hold one byte */
    MESSAGES = 32, /* of the handshake protocol, beyond one for each piece of data */
};

bool wire_has_tls(void)
{
    return true;
}

const char *wire_library(void)
{
    return OpenSSL_version(OPENSSL_VERSION_STRING);
}

int wire_begin(struct wire *w, struct wire_context *context, const char *host)
{
    assert(!w->tls);
    w->tls = calloc(1, sizeof *w->tls);
    if (!w->tls)
        return -1;
    w->tls->context = wire_context_share(context);
    w->tls->host = host;
    return 0;
}

/* The meaning of a call that returned n, as SSL_ERROR_... A failure ends the connection: OpenSSL
 * allows no further call on it, so tls->error answers the calls to come. */
static int wire_outcome(struct wire_tls *tls, int n)
{
    int error = errno;
    int kind = SSL_get_error(tls->ssl, n);

    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE || kind == SSL_ERROR_ZERO_RETURN)
        return kind;
    if (kind == SSL_ERROR_SYSCALL && error != 0 && error != EAGAIN)
        tls->error = error;
    else if (ERR_GET_REASON(wire_cause()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
        tls->error = ECONNRESET;
    else
        tls->error = kind == SSL_ERROR_SYSCALL ? ECONNRESET : EPROTO;
    wire_fault_note(tls, kind);
    return kind;
}

/* OpenSSL tells of every message. */
static void on_message(int written, int version, int type, const void *bytes, size_t len, SSL *ssl, void *arg)
{
    struct wire_tls *tls = arg;
    (void)version, (void)bytes, (void)len, (void)ssl;

    if (!written && type == SSL3_RT_HANDSHAKE)
        tls->messages++;
}

/* A new key costs us as much as several requests, and the peer 27 bytes. */
static bool is_flood(const struct wire_tls *tls)
{
    return tls->messages > MESSAGES;
}

static int wire_flood(struct wire_tls *tls)
{
    tls->error = EPROTO;
    wire_fault_flood();
    return SSL_ERROR_SSL;
}

/* SSL_read() goes from message to message for as long as the socket has some, but this keeps the socket from it. */
static long on_socket(BIO *bio, int what, const char *bytes, size_t len, int argi, long argl, int result,
                      size_t *done) /* NOLINT(readability-non-const-parameter): OpenSSL's type */
{
    const struct wire_tls *tls = (const void *)BIO_get_callback_arg(bio);
    (void)bytes, (void)len, (void)argi, (void)argl, (void)done;

    return what == BIO_CB_READ && is_flood(tls) ? -1 : result;
}

static void watch_messages(struct wire_tls *tls)
{
    BIO *bio = SSL_get_rbio(tls->ssl);

    tls->messages = 0;
    SSL_set_msg_callback(tls->ssl, on_message);
    SSL_set_msg_callback_arg(tls->ssl, tls);
    BIO_set_callback_arg(bio, (char *)tls);
    BIO_set_callback_ex(bio, on_socket);
}

enum wire_step wire_handshake(struct wire *w)
{
    struct wire_tls *tls = w->tls;

    if (tls->open)
        return WIRE_OPEN;
    ERR_clear_error();
    if (!tls->ssl && !(tls->ssl = wire_context_connect(tls->context, w->fd, tls->host))) {
        tls->error = ENOMEM;
        wire_fault_note(tls, SSL_ERROR_SSL);
        return WIRE_FAILED;
    }
    errno = 0;
    int n = SSL_do_handshake(tls->ssl);
    if (n == 1) {
        tls->open = true;
        watch_messages(tls);
        X509 *cert = SSL_get1_peer_certificate(tls->ssl);
        tls->peer_end_s = cert ? wire_cert_end_s(cert) : INT64_MAX;
        X509_free(cert);
        tls->pending = SSL_has_pending(tls->ssl);
        return WIRE_OPEN;
    }
    switch (wire_outcome(tls, n)) {
    case SSL_ERROR_WANT_READ: return WIRE_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return WIRE_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        tls->error = ECONNRESET;
        wire_fault_note(tls, SSL_ERROR_ZERO_RETURN);
        return WIRE_FAILED;
    default: return WIRE_FAILED;
    }
}

/* Fails as recv() and send() do. A wire that is not open yet is never used in plain by mistake. */
static ssize_t wire_unusable(const struct wire_tls *tls)
{
    errno = tls->error ? tls->error : EAGAIN;
    return -1;
}

/* Reads record after record until nothing more is there, because what OpenSSL has taken from the kernel is
 * reported by nobody. The end and a failure behind some bytes are kept for the next call. */
ssize_t wire_tls_read(struct wire *w, char *bytes, size_t size)
{
    struct wire_tls *tls = w->tls;
    size_t len = 0;
    unsigned reads = 0;

    tls->pending = tls->read_wants_write = false;
    if (tls->error || !tls->open)
        return wire_unusable(tls);
    if (tls->ended)
        return 0;
    while (len < size) {
        size_t room = size - len;
        ERR_clear_error();
        errno = 0;
        int n = SSL_read(tls->ssl, bytes + len, room < INT_MAX ? (int)room : INT_MAX);
        if (n > 0) {
            len += (size_t)n;
            tls->messages -= tls->messages > 0;
            tls->pending = SSL_has_pending(tls->ssl);
            if (tls->pending && ++reads < READS)
                continue;
            return (ssize_t)len;
        }
        int kind = is_flood(tls) ? wire_flood(tls) : wire_outcome(tls, n);
        tls->read_wants_write = kind == SSL_ERROR_WANT_WRITE;
        tls->ended = kind == SSL_ERROR_ZERO_RETURN;
        tls->pending = len && (tls->ended || tls->error);
        if (len)
            return (ssize_t)len;
        return tls->ended ? 0 : wire_unusable(tls);
    }
    tls->pending = true;
    return (ssize_t)len;
}

/* A master refuses us and hangs up, so that our write fails. Its last word, an alert that says why, often lies
 * unread before that. */
static void last_word(struct wire_tls *tls)
{
    char byte;

    ERR_clear_error();
    int n = SSL_peek(tls->ssl, &byte, 1);
    if (n <= 0 && SSL_get_error(tls->ssl, n) == SSL_ERROR_SSL)
        wire_fault_note(tls, SSL_ERROR_SSL);
}

static void write_failed(struct wire_tls *tls, int kind)
{
    if (kind == SSL_ERROR_ZERO_RETURN)
        tls->write_error = EPIPE;
    if (kind != SSL_ERROR_SYSCALL)
        return;
    tls->write_error = tls->error;
    tls->error = 0;
    if (tls->context->side == WIRE_CLIENT)
        last_word(tls);
}

/* A record of which the socket took only a part is offered again with the same bytes, and more behind them:
 * the buffer may have moved and grown meanwhile, but its front is the same. */
long wire_tls_write(struct wire *w, struct buffer *b)
{
    struct wire_tls *tls = w->tls;
    size_t written = 0;

    if (!tls->open && !tls->error)
        return 0;
    while (buffer_len(b) && !tls->error && !tls->write_error) {
        size_t len = buffer_len(b);
        ERR_clear_error();
        errno = 0;
        int n = SSL_write(tls->ssl, b->bytes + b->start, len < INT_MAX ? (int)len : INT_MAX);
        if (n <= 0) {
            write_failed(tls, wire_outcome(tls, n));
            break;
        }
        b->start += (size_t)n;
        written += (size_t)n;
    }
    if (!buffer_len(b))
        b->start = b->end = 0;
    if (written || (!tls->error && !tls->write_error))
        return (long)written;
    errno = tls->error ? tls->error : tls->write_error;
    return -1;
}

bool wire_tls_pending(const struct wire *w)
{
    return w->tls->pending;
}

bool wire_tls_read_wants_write(const struct wire *w)
{
    return w->tls->read_wants_write;
}

void wire_end(struct wire *w)
{
    if (!w->tls)
        return;
    SSL_free(w->tls->ssl);
    wire_context_free(w->tls->context);
    free(w->tls);
    w->tls = NULL;
}

void wire_finish(struct wire *w)
{
    if (w->tls && w->tls->open && !w->tls->error && !w->tls->write_error) {
        ERR_clear_error();
        SSL_shutdown(w->tls->ssl);
    }
    wire_end(w);
}

/* To close with unread bytes would be a reset, which may discard an alert on its way: a client without a
 * certificate has mostly sent its first request already. MSG_TRUNC throws bytes away (tcp(7)). */
void wire_close(struct wire *w)
{
    bool tls = w->tls != NULL;
    wire_finish(w);
    if (w->fd >= 0 && tls)
        (void)recv(w->fd, NULL, UNREAD_BYTES, MSG_TRUNC | MSG_DONTWAIT);
    if (w->fd >= 0)
        close(w->fd);
    w->fd = -1;
}
