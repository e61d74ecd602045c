#include "client/lib/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct tls {
    SSL *ssl;
    BIO_METHOD *method;
    bool pending, failed;
};

bool tls_here(void)
{
    return true;
}

/* ---- the socket ---- */

/* OpenSSL's own would raise SIGPIPE in the program. */
static int socket_write(BIO *bio, const char *bytes, int len)
{
    ssize_t sent;

    do
        sent = send((int)(intptr_t)BIO_get_data(bio), bytes, (size_t)len, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    BIO_clear_retry_flags(bio);
    if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_write(bio);
    return (int)sent;
}

static int socket_read(BIO *bio, char *out, int room)
{
    ssize_t len;

    do
        len = recv((int)(intptr_t)BIO_get_data(bio), out, (size_t)room, MSG_DONTWAIT);
    while (len < 0 && errno == EINTR);
    BIO_clear_retry_flags(bio);
    if (len < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
        BIO_set_retry_read(bio);
    if (len == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return (int)len;
}

static long socket_control(BIO *bio, int what, long number, void *arg)
{
    (void)number, (void)arg;
    if (what == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return what == BIO_CTRL_FLUSH;
}

static BIO *socket_bio(struct tls *tls, int fd)
{
    tls->method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "redlock");
    if (!tls->method)
        return NULL;
    BIO_meth_set_write(tls->method, socket_write);
    BIO_meth_set_read(tls->method, socket_read);
    BIO_meth_set_ctrl(tls->method, socket_control);
    BIO *bio = BIO_new(tls->method);
    if (!bio)
        return NULL;
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    return bio;
}

/* ---- its beginning ---- */

/* The newest error tells the most. But where a file cannot be opened, the first one says why; and OpenSSL 3.5 puts
 * behind the cause that the alert about it could not be sent. */
static unsigned long cause(void)
{
    unsigned long first = ERR_peek_error(), newest = ERR_peek_last_error();
    return ERR_SYSTEM_ERROR(first) || ERR_SYSTEM_ERROR(newest) ? first : newest;
}

static const char *reason(void)
{
    unsigned long error = cause();
    const char *text = ERR_reason_error_string(error);

    if (!text && ERR_SYSTEM_ERROR(error))
        text = strerror(ERR_GET_REASON(error));
    return text ? text : "no memory";
}

static bool refuse(char why[TLS_WHY_BYTES], const char *what)
{
    (void)snprintf(why, TLS_WHY_BYTES, "%s: %s", what, reason());
    return false;
}

/* OpenSSL would ask for the password of a key on the terminal. */
static int no_password(char *out, int size, int writing, void *arg) /* NOLINT(*-non-const-parameter) */
{
    (void)out, (void)size, (void)writing, (void)arg;
    return 0;
}

static bool load(SSL_CTX *ctx, const struct tls_files *files, char why[TLS_WHY_BYTES])
{
    const char *key = files->key ? files->key : files->cert;

    SSL_CTX_set_default_passwd_cb(ctx, no_password);
    if (files->ca ? SSL_CTX_load_verify_file(ctx, files->ca) != 1
                  : SSL_CTX_set_default_verify_paths(ctx) != 1)
        return refuse(why, files->ca ? files->ca : "the system's CAs");
    if (files->cert && SSL_CTX_use_certificate_chain_file(ctx, files->cert) != 1)
        return refuse(why, files->cert);
    if (key && SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1)
        return refuse(why, key);
    return true;
}

static SSL_CTX *context_new(const struct tls_files *files, char why[TLS_WHY_BYTES])
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    if (!ctx) {
        (void)refuse(why, "TLS");
        return NULL;
    }
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_read_ahead(ctx, 1);
    SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
    if (load(ctx, files, why))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

static bool expect_name(SSL *ssl, const char *host)
{
    unsigned char bytes[16];

    if (inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set_tlsext_host_name(ssl, host) == 1 && SSL_set1_host(ssl, host) == 1;
}

struct tls *tls_new(int fd, const char *host, const struct tls_files *files, char why[TLS_WHY_BYTES])
{
    ERR_clear_error();
    SSL_CTX *ctx = context_new(files, why);
    if (!ctx)
        return NULL;
    struct tls *tls = calloc(1, sizeof *tls);
    BIO *bio = tls ? socket_bio(tls, fd) : NULL;
    if (bio)
        tls->ssl = SSL_new(ctx);
    SSL_CTX_free(ctx);
    if (tls && tls->ssl && expect_name(tls->ssl, host)) {
        SSL_set_bio(tls->ssl, bio, bio);
        SSL_set_connect_state(tls->ssl);
        return tls;
    }
    (void)refuse(why, host);
    BIO_free(bio);
    tls_free(tls);
    return NULL;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    SSL_free(tls->ssl);
    BIO_meth_free(tls->method);
    free(tls);
}

/* ---- at work ---- */

static bool is_stranger(long verified)
{
    return verified == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN ||
           verified == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT ||
           verified == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY ||
           verified == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE;
}

static void why_failed(struct tls *tls, int kind, int error, char why[TLS_WHY_BYTES])
{
    long verified = SSL_get_verify_result(tls->ssl);

    tls->failed = true;
    bool ended = ERR_GET_REASON(cause()) == SSL_R_UNEXPECTED_EOF_WHILE_READING;
    if ((ended || kind == SSL_ERROR_SYSCALL) && !SSL_is_init_finished(tls->ssl))
        (void)snprintf(why, TLS_WHY_BYTES,
                       "%s in the TLS handshake (an address without TLS is written host:port)",
                       error ? strerror(error) : "the connection ended");
    else if (kind == SSL_ERROR_SYSCALL)
        (void)snprintf(why, TLS_WHY_BYTES, "%s", error ? strerror(error) : "the connection ended");
    else if (ended)
        (void)snprintf(why, TLS_WHY_BYTES, "the connection ended without the end of TLS");
    else if (verified != X509_V_OK)
        (void)snprintf(why, TLS_WHY_BYTES, "its certificate was refused: %s%s",
                       X509_verify_cert_error_string(verified),
                       is_stranger(verified) ? " (REDLOCK_CA or tls_ca names the CA that signed it)" : "");
    else if (ERR_GET_REASON(cause()) == SSL_R_WRONG_VERSION_NUMBER)
        (void)snprintf(why, TLS_WHY_BYTES, "no TLS is spoken there");
    else if (ERR_GET_REASON(cause()) == SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED)
        (void)snprintf(
            why, TLS_WHY_BYTES,
            "it asks for a certificate (REDLOCK_CERT and REDLOCK_KEY, or tls_cert and tls_key, name one)");
    else
        (void)snprintf(why, TLS_WHY_BYTES, "TLS: %s", reason());
}

enum tls_step tls_handshake(struct tls *tls, char why[TLS_WHY_BYTES])
{
    ERR_clear_error();
    errno = 0;
    int n = SSL_do_handshake(tls->ssl);
    int error = errno;
    if (n == 1) {
        tls->pending = SSL_has_pending(tls->ssl);
        return TLS_OPEN;
    }
    int kind = SSL_get_error(tls->ssl, n);
    if (kind == SSL_ERROR_WANT_READ)
        return TLS_WANTS_READ;
    if (kind == SSL_ERROR_WANT_WRITE)
        return TLS_WANTS_WRITE;
    why_failed(tls, kind, error, why);
    return TLS_FAILED;
}

ssize_t tls_read(struct tls *tls, char *out, size_t room, char why[TLS_WHY_BYTES])
{
    ERR_clear_error();
    errno = 0;
    int n = SSL_read(tls->ssl, out, room < INT_MAX ? (int)room : INT_MAX);
    int error = errno;
    tls->pending = n > 0 && SSL_has_pending(tls->ssl);
    if (n > 0)
        return n;
    int kind = SSL_get_error(tls->ssl, n);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
        return 0;
    if (kind == SSL_ERROR_ZERO_RETURN)
        (void)snprintf(why, TLS_WHY_BYTES, "redlockd closed it");
    else
        why_failed(tls, kind, error, why);
    return -1;
}

ssize_t tls_write(struct tls *tls, const char *bytes, size_t len, char why[TLS_WHY_BYTES])
{
    ERR_clear_error();
    errno = 0;
    int n = SSL_write(tls->ssl, bytes, len < INT_MAX ? (int)len : INT_MAX);
    int error = errno;
    if (n > 0)
        return n;
    int kind = SSL_get_error(tls->ssl, n);
    if (kind == SSL_ERROR_WANT_READ || kind == SSL_ERROR_WANT_WRITE)
        return 0;
    why_failed(tls, kind, error, why);
    tls->failed = kind != SSL_ERROR_SYSCALL; /* lines that redlockd said before may still be read */
    return -1;
}

bool tls_pending(const struct tls *tls)
{
    return tls->pending;
}

void tls_notify(struct tls *tls)
{
    if (tls->failed || !SSL_is_init_finished(tls->ssl))
        return;
    ERR_clear_error();
    (void)SSL_shutdown(tls->ssl);
}
