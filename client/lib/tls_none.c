/* In place of tls.c in a library without OpenSSL (make TLS=no): link_init() refuses "tls:" addresses, so that
 * nothing here but the first is called. */
#include "client/lib/tls.h"

bool tls_here(void)
{
    return false;
}

struct tls *tls_new(int fd, const char *host, const struct tls_files *files, char why[TLS_WHY_BYTES])
{
    (void)fd, (void)host, (void)files;
    why[0] = '\0';
    return NULL;
}

enum tls_step tls_handshake(struct tls *tls, char why[TLS_WHY_BYTES])
{
    (void)tls;
    why[0] = '\0';
    return TLS_FAILED;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): with TLS it writes there */
ssize_t tls_read(struct tls *tls, char *out, size_t room, char why[TLS_WHY_BYTES])
{
    (void)tls, (void)out, (void)room;
    why[0] = '\0';
    return -1;
}

ssize_t tls_write(struct tls *tls, const char *bytes, size_t len, char why[TLS_WHY_BYTES])
{
    (void)tls, (void)bytes, (void)len;
    why[0] = '\0';
    return -1;
}

bool tls_pending(const struct tls *tls)
{
    (void)tls;
    return false;
}

void tls_notify(struct tls *tls)
{
    (void)tls;
}

void tls_free(struct tls *tls)
{
    (void)tls;
}
