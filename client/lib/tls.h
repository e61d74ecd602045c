/* TLS over the socket of a link. Only tls.c knows OpenSSL; a library built without it (make TLS=no) has
 * tls_none.c in its place, and refuses addresses with "tls:". */
#ifndef REDLOCK_LIB_TLS_H
#define REDLOCK_LIB_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { TLS_WHY_BYTES = 256 };

/* Files in PEM; NULL: the system's CAs, and no certificate of our own. */
struct tls_files {
    char *ca, *cert, *key;
};

struct tls;

enum tls_step { TLS_OPEN, TLS_WANTS_READ, TLS_WANTS_WRITE, TLS_FAILED };

bool tls_here(void);
/* On a connected, non-blocking socket. host is the name or number that redlockd's certificate has to have.
 * NULL: why tells. */
struct tls *tls_new(int fd, const char *host, const struct tls_files *files, char why[TLS_WHY_BYTES]);
/* Goes on with the handshake. TLS_FAILED: why tells. */
enum tls_step tls_handshake(struct tls *tls, char why[TLS_WHY_BYTES]);
/* The number of bytes; 0: none now; -1: the connection has ended, why tells. */
ssize_t tls_read(struct tls *tls, char *out, size_t room, char why[TLS_WHY_BYTES]);
ssize_t tls_write(struct tls *tls, const char *bytes, size_t len, char why[TLS_WHY_BYTES]);
/* Whether tls_read() may have bytes of which the socket knows nothing. */
bool tls_pending(const struct tls *tls);
/* Says close_notify, if that is possible at once. */
void tls_notify(struct tls *tls);
void tls_free(struct tls *tls); /* says nothing, and leaves the socket open */

#endif
