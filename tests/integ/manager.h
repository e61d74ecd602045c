/* A service manager for tests: it opens listening sockets and passes them to a real redlockd, and hears what
 * the daemon says of itself. */
#ifndef REDLOCKD_TESTS_MANAGER_H
#define REDLOCKD_TESTS_MANAGER_H

#include "tests/integ/harness.h"

enum { MANAGER_SOCKETS = 4, MANAGER_TEXT = 1024 };

struct manager {
    int heard;         /* the socket that NOTIFY_SOCKET names; the environment gets it by setenv() */
    char notify[PATH]; /* its path */
    int sockets[MANAGER_SOCKETS];
    unsigned count; /* 0: the daemon opens its own */
    char text[MANAGER_TEXT];
    unsigned messages; /* read so far */
};

void manager_hears(struct manager *manager);
/* A message that holds this text; the ones before it are skipped. Good until the next call. */
const char *manager_await_at(struct manager *manager, const char *text, const char *file, int line);
#define manager_await(manager, text) manager_await_at(manager, text, __FILE__, __LINE__)

/* Sockets as a socket unit opens them. */
int listen_tcp(uint16_t port);
int listen_tcp6(const char *address, uint16_t port, bool v6only);
int listen_unix(const char *path);
void manager_pass(struct manager *manager, int fd);
/* Starts the daemon with its file and the sockets, or waits for nothing. */
void manager_run(const struct manager *manager, struct daemon *daemon);

#endif
