/* Sockets on this machine. What fails here ends the process: nothing could be measured. */
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
/* Connected; blocking. A source spreads connections over 127.0.0.<2 + source>, since closed ones keep their
 * port for a minute; SOCKET_NO_SOURCE: the kernel chooses. */
enum { SOCKET_NO_SOURCE = -1 };
int socket_dial(const struct address *address, bool use_unix, int source);
bool socket_answers(const struct address *address, bool use_unix);
int socket_listen(const struct address *address, bool use_unix); /* non-blocking */
void socket_send(int fd, const char *bytes, size_t len);         /* all of it */
/* Waits up to a second: the length of what came, 0 at the end or when nothing did. out gets a NUL too. */
size_t socket_ask(int fd, const char *request, char *out, size_t size);

#endif
