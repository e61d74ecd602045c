/* From a configured address to a socket under connect. */
#ifndef REDLOCKD_DIAL_H
#define REDLOCKD_DIAL_H

#include <event2/dns.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "daemon/conf/conf.h"

enum { DIAL_TARGETS = 8 }; /* addresses of one name that are tried, at most */

struct dial_target {
    socklen_t len;
    struct sockaddr_storage address;
};

struct dial_targets {
    unsigned count;
    struct dial_target list[DIAL_TARGETS];
};

/* targets is borrowed for the call. If its count is 0, error (static text) says why. */
typedef void dial_answer(void *arg, const struct dial_targets *targets, const char *error);

struct dial_lookup;

/* Calls answer with the addresses: at once for numeric addresses and Unix paths, else when evdns has
 * resolved the name. Returns a handle for dial_cancel(); NULL: answer has already been called. dns may be
 * NULL where there is no name. */
struct dial_lookup *dial_lookup(struct evdns_base *dns, const struct conf_address *address,
                                dial_answer *answer, void *arg);
/* answer will not be called any more. */
void dial_cancel(struct dial_lookup *lookup);

/* Returns a non-blocking socket whose connect is under way; once it is writable, dial_connected() knows
 * the outcome. -1: errno says why. */
int dial_open(const struct dial_target *target);
/* 0, or why the connect failed, as an errno. */
int dial_connected(int fd);
/* Closes the socket; bytes that were not sent yet never will be. */
void dial_hangup(int fd);

#endif
