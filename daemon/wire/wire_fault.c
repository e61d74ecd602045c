/* OpenSSL's errors in words: what is wrong, and what to do. */
#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>

#include "daemon/wire/wire_private.h"

struct wire_fault wire_last_fault = {.hint = ""};

const struct wire_fault *wire_fault(void)
{
    return &wire_last_fault;
}

unsigned long wire_cause(void)
{
    unsigned long newest = ERR_peek_last_error();
    return ERR_SYSTEM_ERROR(newest) ? ERR_peek_error() : newest;
}

const char *wire_reason(void)
{
    unsigned long error = wire_cause();
    const char *text = error ? ERR_reason_error_string(error) : NULL;

    if (!text && error && ERR_SYSTEM_ERROR(error))
        text = strerror(ERR_GET_REASON(error));
    return text ? text : "";
}

/* ---- certificates that are not trusted ---- */

static const char *verify_hint(const struct wire_tls *tls, long result)
{
    bool master = tls->context->side == WIRE_CLIENT;

    switch (result) {
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
        return master ? "name the file of the CA that signed this certificate as ca in node_tls"
                      : "client_ca has to hold the CA that signed this client's certificate";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
        return "write a name of the certificate into nodes, name it as server_name in node_tls, or issue a "
               "certificate with this name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
        return master ? "renew the master's certificate, and compare the clocks of both hosts"
                      : "renew the client's certificate, and compare the clocks of both hosts";
    case X509_V_ERR_CERT_NOT_YET_VALID: return "compare the clocks of both hosts";
    case X509_V_ERR_INVALID_PURPOSE:
        return master ? "issue the master a certificate for serverAuth"
                      : "issue the client a certificate for clientAuth";
    default: return "";
    }
}

static void name_append(char *out, size_t size, const char *kind, const char *text, int len)
{
    size_t used = strlen(out);
    snprintf(out + used, size - used, "%s%s:%.*s", used ? ", " : "", kind, len, text);
}

/* The names of the certificate that was refused last. */
static char refused_names[256];

static void names_note(X509 *cert, char *out, size_t size)
{
    GENERAL_NAMES *names = cert ? X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL) : NULL;

    out[0] = '\0';
    for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_DNS) {
            name_append(out, size, "DNS", (const char *)ASN1_STRING_get0_data(name->d.dNSName),
                        ASN1_STRING_length(name->d.dNSName));
        } else if (name->type == GEN_IPADD) {
            int len = ASN1_STRING_length(name->d.iPAddress);
            char text[INET6_ADDRSTRLEN] = "?";
            if (len == 4 || len == 16)
                inet_ntop(len == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(name->d.iPAddress), text,
                          sizeof text);
            name_append(out, size, "IP", text, (int)strlen(text));
        }
    }
    GENERAL_NAMES_free(names);
}

int wire_fault_verify(int good, X509_STORE_CTX *chain)
{
    if (!good)
        names_note(X509_STORE_CTX_get_current_cert(chain), refused_names, sizeof refused_names);
    return good;
}

static void fault_verify(const struct wire_tls *tls, long result)
{
    struct wire_fault *fault = &wire_last_fault;
    const char *text = X509_verify_cert_error_string(result);

    fault->hint = verify_hint(tls, result);
    if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
        snprintf(fault->what, sizeof fault->what, "the certificate does not name %s, only %s",
                 wire_context_name(tls->context, tls->host), refused_names[0] ? refused_names : "nothing");
    } else {
        snprintf(fault->what, sizeof fault->what, "its certificate was refused: %s", text);
    }
}

void wire_fault_flood(void)
{
    wire_last_fault.hint = "";
    snprintf(wire_last_fault.what, sizeof wire_last_fault.what,
             "it sends TLS messages, such as new keys, and no data between them");
}

void wire_fault_judged(const struct wire_tls *tls, long result)
{
    if (result != X509_V_ERR_UNSPECIFIED) {
        fault_verify(tls, result);
        return;
    }
    wire_last_fault.hint = "";
    snprintf(wire_last_fault.what, sizeof wire_last_fault.what,
             "it has shown no certificate that the new client_ca has signed");
}

/* ---- all else ---- */

static const struct {
    int reason;
    const char *master, *client; /* the advice where a master's connection failed, and where a client's did */
} reasons[] = {
    {SSL_R_WRONG_VERSION_NUMBER,
     "what listens there does not speak TLS: write redis:// in nodes, or the tls-port",
     "the client does not speak TLS: give it a tls: address, or connect it to a plain one"},
    {SSL_R_HTTP_REQUEST, "", "the client speaks plain HTTP: this address takes https:// alone"},
    {SSL_R_UNSUPPORTED_PROTOCOL, "the master needs TLS 1.2 or newer (tls-protocols)",
     "the client needs TLS 1.2 or newer"},
    {SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, "the master needs TLS 1.2 or newer (tls-protocols)",
     "the client wants a version of TLS that redlockd does not speak"},
    {SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED,
     "the master wants a certificate from its clients: name cert and key in node_tls", ""},
    {SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
     "the master refused: does it want a certificate (cert and key in node_tls)?", ""},
    {SSL_R_TLSV1_ALERT_UNKNOWN_CA, "the master does not trust the CA of our certificate (cert in node_tls)",
     "the client does not trust the CA of our certificate (cert of this address)"},
    {SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, "the master refused our certificate (cert in node_tls)",
     "the client refused our certificate (cert of this address)"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED, "renew our certificate (cert in node_tls)",
     "renew our certificate (cert of this address)"},
    {SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, "the master refused our certificate (cert in node_tls)",
     "the client refused our certificate (cert of this address)"},
    {SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, "",
     "the client needs a certificate of client_ca; client_cert: optional would let it in without"},
    {SSL_R_NO_SHARED_CIPHER, "", "the client offers no cipher that our key can serve"},
};

static const char *reason_hint(const struct wire_tls *tls, int reason)
{
    for (unsigned i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].reason == reason)
            return tls->context->side == WIRE_CLIENT ? reasons[i].master : reasons[i].client;
    return "";
}

void wire_fault_note(const struct wire_tls *tls, int kind)
{
    struct wire_fault *fault = &wire_last_fault;
    int reason = ERR_GET_REASON(wire_cause());
    long verified = tls->ssl ? SSL_get_verify_result(tls->ssl) : X509_V_OK;

    fault->hint = "";
    fault->http = kind == SSL_ERROR_SSL && reason == SSL_R_HTTP_REQUEST;
    if (kind == SSL_ERROR_SSL && reason == SSL_R_CERTIFICATE_VERIFY_FAILED && verified != X509_V_OK) {
        fault_verify(tls, verified);
    } else if (kind == SSL_ERROR_ZERO_RETURN ||
               (kind == SSL_ERROR_SSL && reason == SSL_R_UNEXPECTED_EOF_WHILE_READING)) {
        snprintf(fault->what, sizeof fault->what,
                 tls->open ? "the connection ended without close_notify"
                           : "the connection ended within the handshake");
    } else if (kind == SSL_ERROR_SSL) {
        fault->hint = reason_hint(tls, reason);
        snprintf(fault->what, sizeof fault->what, "%s", *wire_reason() ? wire_reason() : "no memory");
    } else {
        snprintf(fault->what, sizeof fault->what, "%s", strerror(tls->error));
    }
}
