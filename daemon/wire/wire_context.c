/* Certificates, keys and the rules of TLS: files -> what every connection of an address is made from. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/wire/wire_private.h"

static bool __attribute__((format(printf, 2, 3))) refuse(struct wire_fault *fault, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    vsnprintf(fault->what, sizeof fault->what, fmt, args);
    va_end(args);
    return false;
}

/* OpenSSL's own message for a file that is not there names no file. */
static bool file_check(const char *path, bool secret, struct wire_fault *fault)
{
    struct stat stat;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return refuse(fault, "%s: %s", path, strerror(errno));
    bool known = fstat(fd, &stat) == 0;
    close(fd);
    if (!known || !S_ISREG(stat.st_mode))
        return refuse(fault, "%s: not a file", path);
    if (secret && stat.st_mode & S_IROTH)
        return refuse(fault, "%s: everybody can read this key: chmod o-r it", path);
    return true;
}

static bool cert_load(SSL_CTX *ctx, const struct wire_settings *settings, struct wire_fault *fault)
{
    if (!settings->cert[0])
        return true;
    if (!file_check(settings->cert, false, fault) || !file_check(settings->key, true, fault))
        return false;
    if (SSL_CTX_use_certificate_chain_file(ctx, settings->cert) != 1)
        return refuse(fault, "%s: no certificate in PEM that can be used: %s", settings->cert, wire_reason());
    if (SSL_CTX_use_PrivateKey_file(ctx, settings->key, SSL_FILETYPE_PEM) == 1)
        return true;
    if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
        return refuse(fault, "%s: this key does not belong to the certificate in %s", settings->key,
                      settings->cert);
    return refuse(fault, "%s: no key in PEM, without a password, that can be used: %s", settings->key,
                  wire_reason());
}

static bool ca_load(SSL_CTX *ctx, enum wire_side side, const struct wire_settings *settings,
                    struct wire_fault *fault)
{
    if (!settings->ca[0]) {
        if (side == WIRE_CLIENT && settings->verify != WIRE_VERIFY_OFF &&
            SSL_CTX_set_default_verify_paths(ctx) != 1)
            return refuse(fault, "the system's CAs cannot be read: %s", wire_reason());
        return true;
    }
    if (!file_check(settings->ca, false, fault))
        return false;
    if (SSL_CTX_load_verify_file(ctx, settings->ca) != 1)
        return refuse(fault, "%s: no certificates in PEM that can be used: %s", settings->ca, wire_reason());
    if (side == WIRE_SERVER)
        SSL_CTX_set_client_CA_list(ctx, SSL_load_client_CA_file(settings->ca));
    return true;
}

static int verify_mode(enum wire_side side, const struct wire_settings *settings)
{
    if (side == WIRE_CLIENT)
        return settings->verify == WIRE_VERIFY_OFF ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
    if (!settings->ca[0])
        return SSL_VERIFY_NONE;
    return settings->ask == WIRE_ASK_OPTIONAL ? SSL_VERIFY_PEER
                                              : SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
}

/* OpenSSL would ask for the password of a key on the terminal. */
static int no_password(char *out, int size, int writing, void *arg) /* NOLINT(*-non-const-parameter) */
{
    (void)out, (void)size, (void)writing, (void)arg;
    return 0;
}

/* Nothing is kept of a session, so that none can be resumed: a resumed one could bring early data, and LOCK
 * could be replayed by it. */
static SSL_CTX *context_make(enum wire_side side, const struct wire_settings *settings)
{
    SSL_CTX *ctx = SSL_CTX_new(side == WIRE_CLIENT ? TLS_client_method() : TLS_server_method());

    if (!ctx)
        return NULL;
    SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_num_tickets(ctx, 0);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                              SSL_MODE_RELEASE_BUFFERS);
    /* SSL_MODE_AUTO_RETRY stays set: without it OpenSSL 3.6 returns from SSL_read() behind each KeyUpdate, and
     * SSL_has_pending() does not tell of the records that lie behind that one. */
    SSL_CTX_set_read_ahead(ctx, 1); /* one system call brings a record, and mostly all that follow it */
    SSL_CTX_set_default_passwd_cb(ctx, no_password);
    SSL_CTX_set_verify(ctx, verify_mode(side, settings), wire_fault_verify);
    return ctx;
}

static SSL_CTX *context_load(enum wire_side side, const struct wire_settings *settings,
                             struct wire_fault *fault)
{
    ERR_clear_error();
    SSL_CTX *ctx = context_make(side, settings);
    bool good = ctx || refuse(fault, "no memory");

    fault->hint = "";
    if (good && cert_load(ctx, settings, fault) && ca_load(ctx, side, settings, fault))
        return ctx;
    SSL_CTX_free(ctx);
    return NULL;
}

/* ---- files that change ---- */

/* A file that cannot be looked at has an empty stamp, which differs from that of every file. */
static void stamps_take(const struct wire_settings *settings, struct wire_stamp stamps[WIRE_FILES])
{
    const char *const paths[WIRE_FILES] = {settings->ca, settings->cert, settings->key};

    memset(stamps, 0, WIRE_FILES * sizeof *stamps);
    for (unsigned i = 0; i < WIRE_FILES; i++) {
        struct stat st;
        if (!paths[i][0] || stat(paths[i], &st) < 0)
            continue;
        stamps[i].dev = st.st_dev;
        stamps[i].ino = st.st_ino;
        stamps[i].size = st.st_size;
        stamps[i].modified = st.st_mtim;
        stamps[i].changed = st.st_ctim;
    }
}

bool wire_context_fits(struct wire_context *context, const struct wire_settings *settings)
{
    struct wire_stamp now[WIRE_FILES];

    stamps_take(settings, now);
    if (wire_settings_equal(&context->settings, settings) && memcmp(now, context->seen, sizeof now) == 0)
        return true;
    memcpy(context->seen, now, sizeof now);
    return false;
}

void wire_context_replace(struct wire_context *old, struct wire_context *fresh)
{
    if (!old->successor)
        old->successor = wire_context_share(fresh);
}

int64_t wire_cert_end_s(const X509 *cert)
{
    struct tm tm = {0};

    if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) != 1)
        return INT64_MAX;
    return (int64_t)timegm(&tm);
}

int64_t wire_context_end_s(const struct wire_context *context)
{
    const X509 *cert = SSL_CTX_get0_certificate(context->ctx);

    return cert ? wire_cert_end_s(cert) : INT64_MAX;
}

const char *wire_context_cert(const struct wire_context *context)
{
    return context->settings.cert;
}

/* ---- contexts ---- */

struct wire_context *wire_context_new(enum wire_side side, const struct wire_settings *settings,
                                      struct wire_fault *fault)
{
    struct wire_context *context = calloc(1, sizeof *context);

    if (!context) {
        refuse(fault, "no memory");
        return NULL;
    }
    context->side = side;
    context->settings = *settings;
    context->users = 1;
    stamps_take(settings, context->loaded); /* first, so that a change meanwhile is noticed */
    memcpy(context->seen, context->loaded, sizeof context->seen);
    context->ctx = context_load(side, settings, fault);
    if (context->ctx)
        return context;
    free(context);
    return NULL;
}

struct wire_context *wire_context_share(struct wire_context *context)
{
    if (context)
        context->users++;
    return context;
}

void wire_context_free(struct wire_context *context)
{
    if (!context || --context->users)
        return;
    SSL_CTX_free(context->ctx);
    wire_context_free(context->successor);
    free(context);
}

const char *wire_context_name(const struct wire_context *context, const char *host)
{
    return context->settings.server_name[0] ? context->settings.server_name : host;
}

/* A numeric address has no SNI, but its certificate must name it: with the system's CAs the certificate of
 * any public server would do otherwise. */
static bool expect_name(const struct wire_context *context, SSL *ssl, const char *host)
{
    const char *name = wire_context_name(context, host);
    unsigned char bytes[16];
    bool numeric = inet_pton(AF_INET, name, bytes) == 1 || inet_pton(AF_INET6, name, bytes) == 1;

    if (!numeric && SSL_set_tlsext_host_name(ssl, name) != 1)
        return false;
    if (context->settings.verify == WIRE_VERIFY_CA || context->settings.verify == WIRE_VERIFY_OFF)
        return true;
    if (numeric)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name) == 1;
    SSL_set_hostflags(ssl, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    return SSL_set1_host(ssl, name) == 1;
}

SSL *wire_context_connect(const struct wire_context *context, int fd, const char *host)
{
    SSL *ssl = SSL_new(context->ctx);
    bool good = ssl && SSL_set_fd(ssl, fd) == 1;

    if (good && context->side == WIRE_SERVER)
        SSL_set_accept_state(ssl);
    if (good && context->side == WIRE_CLIENT) {
        SSL_set_connect_state(ssl);
        good = expect_name(context, ssl, host);
    }
    if (good)
        return ssl;
    SSL_free(ssl);
    return NULL;
}
