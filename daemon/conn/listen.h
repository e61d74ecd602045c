/* Listening sockets: TCP and Unix.
 *
 * A stale Unix socket (nobody answers a connect) is unlinked and bound anew; one that
 * answers is an error that says who. At the end only an inode of our own is unlinked.
 * When descriptors run out, accepting pauses and resumes without spinning. */
#ifndef REDLOCKD_LISTEN_H
#define REDLOCKD_LISTEN_H

#include <event2/event.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"

struct listeners;

/* listener is that of conf->listen by which the client came. */
typedef void listen_accepted(void *arg, int fd, const struct conf_listener *listener,
                             const struct sockaddr *peer, socklen_t peer_len);

/* Binds all addresses of conf->listen, without accepting yet. NULL: the reason was
 * logged. A port of 0 takes a free one; listeners_port() tells it. */
struct listeners *listeners_new(struct event_base *base, const struct conf *conf, listen_accepted *accepted,
                                void *arg);
/* listen(2) and accept. -1: another program was faster, which was logged. */
int listeners_start(struct listeners *listeners);
void listeners_stop(struct listeners *listeners); /* for good: closes them and unlinks our Unix sockets */
void listeners_free(struct listeners *listeners); /* also stops them */
uint16_t listeners_port(const struct listeners *listeners, unsigned i); /* 0 for a Unix socket */

#endif
