/* A descriptor whose bytes go plain or by TLS. Nodes and connections read and write through it, and only
 * this folder knows OpenSSL; a build without OpenSSL (make TLS=no) has wire_none.c in place of the rest.
 *
 *     plain   wire_read() and wire_write() are recv() and send()
 *     TLS     wire_begin() ---> wire_handshake(), until WIRE_OPEN ---> wire_read(), wire_write()
 *
 * Readiness: before a TLS wire is waited for, see wire_pending() (bytes that only OpenSSL has, for which
 * the kernel reports nothing) and wire_read_wants_write(). A write never waits for the peer, since nobody may
 * renegotiate.
 *
 * The end: wire_read() returns 0 where the peer said so, which over TLS is close_notify alone. Anybody on
 * the way can forge the end of a TCP connection, so without close_notify it is an error (ECONNRESET). */
#ifndef REDLOCKD_WIRE_H
#define REDLOCKD_WIRE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "daemon/buffer.h"
#include "daemon/wire/settings.h"

struct wire_context;
struct wire_tls;

struct wire {
    int fd;               /* -1: none */
    struct wire_tls *tls; /* NULL: plain */
};

/* The last failure of TLS, for the log. */
struct wire_fault {
    char what[WIRE_WHAT_BYTES];
    const char *hint; /* the advice; "": there is none that we know of (static text) */
    bool http;        /* the peer speaks plain HTTP: it has been told nothing, and waits for an answer */
};

/* Whether this program was built with TLS. */
bool wire_has_tls(void);
/* The version of the TLS library; "": none. */
const char *wire_library(void);

/* ---- certificates ---- */

/* Reads all files of the settings. NULL: fault says which file is wrong and why. What it has read never
 * changes: for new files there is a new context, and open connections go on with what they began with. */
struct wire_context *wire_context_new(enum wire_side side, const struct wire_settings *settings,
                                      struct wire_fault *fault);
/* The caller becomes an owner, too, and calls wire_context_free(). */
struct wire_context *wire_context_share(struct wire_context *context);
void wire_context_free(struct wire_context *context);

/* Whether a context was made from these settings and from the files as they are now. For files that could not
 * be used it answers true when asked again, until they change. */
bool wire_context_fits(struct wire_context *context, const struct wire_settings *settings);
/* From now on the fresh one is used where the old one was, and wire_is_welcome() judges by it. */
void wire_context_replace(struct wire_context *old, struct wire_context *fresh);
/* When our own certificate ends, in s since 1970; INT64_MAX: there is none. */
int64_t wire_context_end_s(const struct wire_context *context);
const char *wire_context_cert(const struct wire_context *context); /* its file */

/* ---- one connection ---- */

/* Speaks TLS from now on. host is borrowed: the name or number that a master is dialled by, and NULL for a
 * client. Returns 0, or -1: no memory. */
int wire_begin(struct wire *w, struct wire_context *context, const char *host);

enum wire_step { WIRE_OPEN, WIRE_WANTS_READ, WIRE_WANTS_WRITE, WIRE_FAILED };
/* Goes on with the handshake. WIRE_FAILED: wire_fault() tells. */
enum wire_step wire_handshake(struct wire *w);
/* About the last call of a function here that failed on a TLS wire. */
const struct wire_fault *wire_fault(void);

/* Whether these bytes look like the first or last ones of a peer that speaks TLS. */
static inline bool wire_looks_like_tls(const char *bytes, size_t len)
{
    enum { ALERT = 0x15, HANDSHAKE = 0x16 }; /* content types of a record: RFC 8446, 5.1 */

    return len >= 2 && (bytes[0] == ALERT || bytes[0] == HANDSHAKE) && bytes[1] == 3;
}

/* The half of the next four that costs something. */
ssize_t wire_tls_read(struct wire *w, char *bytes, size_t size);
long wire_tls_write(struct wire *w, struct buffer *b);
bool wire_tls_pending(const struct wire *w);
bool wire_tls_read_wants_write(const struct wire *w);

/* As read(2) on a non-blocking socket. Less than size: nothing more is there now, and the kernel reports
 * what comes later, except where wire_pending(). */
static inline ssize_t wire_read(struct wire *w, char *bytes, size_t size)
{
    return w->tls ? wire_tls_read(w, bytes, size) : recv(w->fd, bytes, size, 0);
}

/* Writes as much as the socket takes, as buffer_write() does. Only whole TLS records count: what the peer
 * has got in part it cannot read. */
static inline long wire_write(struct wire *w, struct buffer *b)
{
    return w->tls ? wire_tls_write(w, b) : buffer_write(b, w->fd);
}

/* Whether wire_read() may have something to return though the kernel reports nothing. */
static inline bool wire_pending(const struct wire *w)
{
    return w->tls && wire_tls_pending(w);
}

/* Whether the last wire_read() stopped because the socket took no more bytes. */
static inline bool wire_read_wants_write(const struct wire *w)
{
    return w->tls && wire_tls_read_wants_write(w);
}

/* Forgets TLS without a word to the peer; the descriptor stays open. */
void wire_end(struct wire *w);
/* Says close_notify if that is possible at once, and forgets TLS; the descriptor stays open. */
void wire_finish(struct wire *w);
/* The same, and closes the descriptor. */
void wire_close(struct wire *w);

/* ---- the peer's certificate ---- */

/* Whether the peer would be let in by the context that has replaced its own meanwhile: judged anew where that
 * one has other CAs. false: wire_fault() says why not. */
bool wire_is_welcome(struct wire *w);
/* Whether the peer's certificate, which was good at the handshake, has ended since. */
bool wire_peer_has_ended(const struct wire *w, int64_t now_s);
/* The names of the peer's certificate, if it has one that was verified, each with a LF behind it: its
 * dNSNames and URIs, or its common name if it has no list of names. Names with a wildcard are left out. To be
 * freed; NULL: there is no such certificate, or no memory. */
char *wire_peer_names(const struct wire *w);

#endif
