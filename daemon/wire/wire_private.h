/* Shared by the files that know OpenSSL only.
 *
 *     wire_fault.c    OpenSSL's errors -> what is wrong and what to do
 *     wire_context.c  files -> certificates, keys and rules
 *     wire_peer.c     names in a peer's certificate
 *     wire.c          one connection */
#ifndef REDLOCKD_WIRE_PRIVATE_H
#define REDLOCKD_WIRE_PRIVATE_H

#include <openssl/ssl.h>
#include <sys/stat.h>

#include "daemon/wire/wire.h"

/* The file behind a path, as stat(2) describes it. */
struct wire_stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified, changed;
};

enum { WIRE_FILES = 3 };

struct wire_context {
    enum wire_side side;
    struct wire_settings settings;
    SSL_CTX *ctx;
    unsigned users;                       /* its owners and connections */
    struct wire_stamp loaded[WIRE_FILES]; /* the files that the context was made from: ca, cert, key */
    struct wire_stamp seen[WIRE_FILES];   /* as they were looked at last */
    struct wire_context *successor;       /* counted among its users; NULL: this is the present one */
};

struct wire_tls {
    SSL *ssl;                     /* NULL until the first step of the handshake */
    struct wire_context *context; /* counted among its users */
    const char *host;             /* (ref); NULL: a client */
    bool open, pending, ended, read_wants_write;
    int error;          /* errno of the failure that ended it; 0: none */
    int64_t peer_end_s; /* the end of the peer's certificate; INT64_MAX: the peer has shown none */
    int write_error;    /* the socket takes nothing more, but what the peer sent before may still be read */
    unsigned messages;  /* of the handshake protocol, such as KeyUpdate, less the pieces of data since */
};

/* ---- wire_fault.c ---- */

extern struct wire_fault wire_last_fault;
/* For SSL_CTX_set_verify(): remembers whom a certificate names that is not the expected one. */
int wire_fault_verify(int good, X509_STORE_CTX *chain);
/* The error in OpenSSL's queue that says why a call failed; 0: there is none. That is the newest one, but OpenSSL 3.5
 * puts behind it that the alert about it could not be sent. */
unsigned long wire_cause(void);
/* The same as text; "": there is none. */
const char *wire_reason(void);
/* Fills wire_last_fault after a call on this wire has failed with this result of SSL_get_error(). */
void wire_fault_note(const struct wire_tls *tls, int kind);
/* The same for a peer that sends messages of the handshake protocol without end. */
void wire_fault_flood(void);
/* The same for a peer whose certificate is not trusted any more, with an X509_V_ERR_... UNSPECIFIED: it has
 * shown none. */
void wire_fault_judged(const struct wire_tls *tls, long result);

/* ---- wire_context.c ---- */

/* A new connection with the rules of its context; NULL: no memory. */
SSL *wire_context_connect(const struct wire_context *context, int fd, const char *host);
/* When a certificate ends, in s since 1970. */
int64_t wire_cert_end_s(const X509 *cert);
/* The name that a master's certificate must have. */
const char *wire_context_name(const struct wire_context *context, const char *host);

#endif
