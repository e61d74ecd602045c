/* Sockets on this machine. A failure here ends the process, since nothing could be measured. */
#ifndef REDLOCKD_BENCH_SOCKET_H
#define REDLOCKD_BENCH_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SOCKET_PATH = 100 };

struct address {
    uint16_t port;          /* on 127.0.0.1 */
    char path[SOCKET_PATH]; /* the same server's Unix socket; "": it has none */
};

uint16_t socket_port_free(void);
/* A connected, blocking socket. A source spreads connections over 127.0.0.<2 + source>, since closed
 * connections keep their port for a minute; SOCKET_NO_SOURCE: the kernel chooses. */
enum { SOCKET_NO_SOURCE = -1 };
int socket_dial(const struct address *address, bool use_unix, int source);
bool socket_answers(const struct address *address, bool use_unix);
int socket_listen(const struct address *address, bool use_unix); /* non-blocking */
void socket_send(int fd, const char *bytes, size_t len);         /* sends all bytes */
/* Sends the request and waits for up to a second. Returns the number of bytes that came, 0 at the end or if
 * none came. Adds a NUL to out. */
size_t socket_ask(int fd, const char *request, char *out, size_t size);

#endif
