/* Listening sockets: TCP and Unix.
 *
 * A stale Unix socket, on which nobody answers a connect, is unlinked and bound again. If a process
 * answers, that is an error which names the process. At the end only a socket file that we created is
 * unlinked. A socket that the service manager passed for an address is used instead of a new one (passed.h).
 * When descriptors run out, accepting pauses, and resumes without spinning. */
#ifndef REDLOCKD_LISTEN_H
#define REDLOCKD_LISTEN_H

#include <event2/event.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"

struct listeners;

/* listener is the entry of conf->listen or conf->http through which the client came. */
typedef void listen_accepted(void *arg, int fd, const struct conf_listener *listener,
                             const struct sockaddr *peer, socklen_t peer_len);

/* Binds all addresses of conf->listen without accepting yet. NULL: the reason was logged. For port 0 the
 * kernel chooses a free port, which listeners_port() returns. */
struct listeners *listeners_new(struct event_base *base, const struct conf *conf, listen_accepted *accepted,
                                void *arg);
/* The same for the addresses of conf->http. */
struct listeners *listeners_new_http(struct event_base *base, const struct conf *conf,
                                     listen_accepted *accepted, void *arg);
/* Begins to listen and accept. -1: the reason was logged, such as another program that took the address
 * first. */
int listeners_start(struct listeners *listeners);
/* Makes the Unix sockets again whose paths are gone, and says so. */
void listeners_repair(struct listeners *all, mode_t unix_mode);
void listeners_stop(struct listeners *listeners); /* for good: closes all and unlinks our Unix sockets */
void listeners_free(struct listeners *listeners); /* also stops them */
uint16_t listeners_port(const struct listeners *listeners, unsigned i); /* 0 for a Unix socket */

#endif
