/* Clients that speak TLS. A child of the test does it, so that struct client is used as without:
 *
 *     client.fd ---- a pair of sockets ---- child ---- TLS ---- redlockd
 *
 * When the test closes its end, the child says close_notify and closes; when the child is killed, the kernel
 * ends the TCP connection without close_notify. */
#ifndef REDLOCKD_TESTS_SECURE_H
#define REDLOCKD_TESTS_SECURE_H

#include "tests/integ/harness.h"

struct secure {
    struct client client;
    pid_t pid;
};

/* Connects to that port of 127.0.0.1. The daemon's certificate is verified for localhost by certs/ca.pem, and
 * name is the client's own certificate there; NULL: none. A failed handshake shows as the end of the client's
 * connection. */
void secure_open(struct secure *secure, uint16_t port, const char *certs, const char *name);
/* Sends nothing but new keys (KeyUpdate). The daemon has to end this connection, which shows as the end of the client's,
 * else the child says a line at last. */
void secure_flood(struct secure *secure, uint16_t port, const char *certs);
/* Sends three bytes of a record's header and then nothing. The child says "sent" when it has. */
void secure_half(struct secure *secure, uint16_t port, const char *certs);
/* As a process that is killed: TCP ends, TLS does not. */
void secure_kill(struct secure *secure);
/* Whether the daemon, which has ended the connection, said close_notify. */
bool secure_was_told(struct secure *secure);
/* Waits until the child has taken all that the test has sent: what is sent next has a TLS record of its own. */
void secure_has_sent(const struct secure *secure);

#endif
