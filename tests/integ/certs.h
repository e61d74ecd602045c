/* Certificates for tests, made by the openssl command in a folder of the test:
 *
 *     ca.pem       signs all that is not said otherwise            other-ca.pem  a CA that nobody trusts
 *     server.pem   DNS:localhost, IP:127.0.0.1                     rogue.pem     the same, by other-ca
 *     wrong.pem    DNS:wrong.example, IP:192.0.2.1                 expired.pem   as server.pem, in 2020
 *     client.pem   DNS:client.example, clientAuth
 *
 * and the key of each, as server.key. */
#ifndef REDLOCKD_TESTS_CERTS_H
#define REDLOCKD_TESTS_CERTS_H

#include "tests/integ/harness.h"

/* Makes all of them in a fresh folder, whose path it returns. */
const char *certs_make(void);
/* Makes one more, which ca.pem signs for so many days: certs_sign(folder, "soon", "DNS:localhost", 3). */
void certs_sign(const char *folder, const char *name, const char *names, int days);
/* Makes the server, whose port is 0, speak TLS on a port of its own with that certificate. auth: "yes" where
 * clients need a certificate. */
void certs_secure(struct server *server, const char *folder, const char *name, const char *auth);

#endif
