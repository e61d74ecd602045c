/* HTTP as a stranger speaks it: bytes to a port of 127.0.0.1, and all that comes back. */
#ifndef REDLOCKD_TESTS_HTTP_H
#define REDLOCKD_TESTS_HTTP_H

#include "tests/integ/harness.h"

int http_dial(uint16_t port);
void http_send(int fd, const char *bytes, size_t len);
/* Returns what comes until the daemon closes, and closes fd too; kept. A reset counts as the end. */
const char *http_rest(int fd);
/* Sends this text and returns the whole answer. */
const char *http_ask(uint16_t port, const char *text);
/* GET of a path, with Host: localhost. */
const char *http_get(uint16_t port, const char *path);
int http_status(const char *answer); /* 0: there is none */
const char *http_body(const char *answer);
/* Whether the daemon has closed the connection, or does within ms. */
bool http_closed(int fd, int ms);
/* A daemon with http: on a free port, which is returned, and more settings. */
uint16_t http_daemon(struct daemon *daemon, const struct cluster *cluster, const char *settings);

#endif
