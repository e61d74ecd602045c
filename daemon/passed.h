/* Listening sockets that the service manager opened and passed to this process, as sd_listen_fds(3) describes
 * it: descriptors from 3 on, counted by LISTEN_FDS. They stay the manager's: closing ours leaves them open
 * there, and their paths must not be unlinked. */
#ifndef REDLOCKD_PASSED_H
#define REDLOCKD_PASSED_H

#include <stdbool.h>
#include <sys/socket.h>

/* Takes over what was passed, and LISTEN_* out of the environment. Call it once, before anything opens a
 * descriptor or starts a child process. False: the reason was logged. */
bool passed_take(void);
/* Adds a socket that this process opened itself, and that listens. False: there is no place, and the caller keeps it. */
bool passed_add(int fd);
/* The passed socket that listens on exactly this address, which the caller owns from now on; -1: none,
 * or none that can be used, which was logged. */
int passed_claim(const struct sockaddr *address, socklen_t len);
/* Whether every passed socket was claimed; the others are logged. */
bool passed_all_claimed(void);

#endif
