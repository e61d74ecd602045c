/* From a configured address to a socket under connect. */
#ifndef REDLOCKD_DIAL_H
#define REDLOCKD_DIAL_H

#include <event2/dns.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"

enum { DIAL_TARGETS = 8 }; /* most addresses of a name that are tried */

struct dial_target {
    socklen_t len;
    struct sockaddr_storage address;
};

struct dial_targets {
    unsigned count;
    struct dial_target list[DIAL_TARGETS];
};

/* targets is borrowed for the call; count 0: error (static text) says why. */
typedef void dial_answer(void *arg, const struct dial_targets *targets, const char *error);

struct dial_lookup;

/* Numeric addresses and Unix paths are answered at once, names by evdns. Returns what
 * dial_cancel() takes; NULL: answer was called already. dns may be NULL. */
struct dial_lookup *dial_lookup(struct evdns_base *dns, const struct conf_address *address,
                                dial_answer *answer, void *arg);
/* answer will not be called. */
void dial_cancel(struct dial_lookup *lookup);

/* A non-blocking socket under connect: it is writable when dial_connected() can tell. -1: errno. */
int dial_open(const struct dial_target *target);
/* 0, or why the connect failed, as an errno. */
int dial_connected(int fd);
/* Closes it; what was not sent yet never is. */
void dial_hangup(int fd);

#endif
