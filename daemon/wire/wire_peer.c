/* The names in a certificate that the peer has shown and that was verified. */
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "daemon/wire/wire_private.h"

/* Appends a name that can be one: without a wildcard, NUL or line end. */
static void name_append(FILE *out, const ASN1_STRING *string)
{
    const char *text = (const char *)ASN1_STRING_get0_data(string);
    size_t len = (size_t)ASN1_STRING_length(string);

    if (len && !memchr(text, '*', len) && !memchr(text, '\0', len) && !memchr(text, '\n', len))
        fprintf(out, "%.*s\n", (int)len, text);
}

static void names_append(FILE *out, X509 *cert)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    const X509_NAME *subject = X509_get_subject_name(cert);

    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS)
            name_append(out, name->d.dNSName);
        if (name->type == GEN_URI)
            name_append(out, name->d.uniformResourceIdentifier);
    }
    int at = names ? -1 : X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0 && X509_NAME_get_index_by_NID(subject, NID_commonName, at) < 0)
        name_append(out, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    GENERAL_NAMES_free(names);
}

static X509 *peer_cert(const struct wire *w)
{
    if (!w->tls || !w->tls->open || SSL_get_verify_result(w->tls->ssl) != X509_V_OK ||
        SSL_get_verify_mode(w->tls->ssl) == SSL_VERIFY_NONE)
        return NULL;
    return SSL_get1_peer_certificate(w->tls->ssl);
}

/* ---- judging again ---- */

/* As OpenSSL did at the handshake, with the CAs of another context. */
static bool is_trusted(SSL *ssl, X509 *cert, const struct wire_context *context, long *result)
{
    X509_STORE_CTX *chain = X509_STORE_CTX_new();
    bool good = chain && X509_STORE_CTX_init(chain, SSL_CTX_get_cert_store(context->ctx), cert,
                                             SSL_get_peer_cert_chain(ssl)) == 1;

    *result = X509_V_ERR_OUT_OF_MEM;
    if (good) {
        X509_STORE_CTX_set_default(chain, "ssl_client");
        good = X509_verify_cert(chain) == 1;
        *result = X509_STORE_CTX_get_error(chain);
    }
    X509_STORE_CTX_free(chain);
    return good;
}

static bool judge(struct wire_tls *tls)
{
    const struct wire_context *fresh = tls->context;
    X509 *cert = SSL_get1_peer_certificate(tls->ssl);
    long result = X509_V_OK;
    bool good = cert ? is_trusted(tls->ssl, cert, fresh, &result) : fresh->settings.ask == WIRE_ASK_OPTIONAL;

    if (!good)
        wire_fault_judged(tls, cert ? result : X509_V_ERR_UNSPECIFIED);
    X509_free(cert);
    return good;
}

bool wire_is_welcome(struct wire *w)
{
    struct wire_tls *tls = w->tls;
    bool same = true;

    while (tls && tls->open && tls->context->successor) {
        struct wire_context *old = tls->context, *fresh = old->successor;
        same &= memcmp(&old->loaded[0], &fresh->loaded[0], sizeof old->loaded[0]) == 0;
        tls->context = wire_context_share(fresh);
        wire_context_free(old);
    }
    return same || !tls->context->settings.ca[0] || judge(tls);
}

bool wire_peer_has_ended(const struct wire *w, int64_t now_s)
{
    return w->tls && w->tls->open && w->tls->peer_end_s < now_s;
}

char *wire_peer_names(const struct wire *w)
{
    X509 *cert = peer_cert(w);
    char *text = NULL;
    size_t len = 0;
    FILE *out = cert ? open_memstream(&text, &len) : NULL;

    if (out) {
        names_append(out, cert);
        fclose(out);
    }
    X509_free(cert);
    return text;
}
