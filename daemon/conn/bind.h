/* Addresses of the configuration -> bound sockets. A socket that the service manager passed for an address is
 * used instead of a new one (passed.h). */
#ifndef REDLOCKD_BIND_H
#define REDLOCKD_BIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/conf/conf.h"

enum { BIND_ADDRESSES = 4 /* a name may have so many, at most */ };

struct bound {
    int fd;        /* -1: closed */
    uint16_t port; /* 0 for a Unix socket */
    bool passed;   /* the service manager opened it */
    bool has_path; /* dev and ino identify our socket in the file system */
    dev_t dev;
    ino_t ino;
};

/* Binds the address, without listening yet, and returns how many sockets that took: a name may have several
 * addresses, and with port 0 all of them get the port of the first one. 0: the reason was logged. */
unsigned bind_address(const struct conf_address *address, mode_t unix_mode,
                      struct bound bound[BIND_ADDRESSES]);
/* Writes the address to which clients can really connect: of a name its address, and for port 0 the port that
 * was chosen. */
void bound_text(const struct bound *bound, const struct conf_address *address, char *out, size_t size);
/* Whether no other process has put its socket in place of ours. */
bool bound_keeps_path(const struct bound *bound, const struct conf_address *address);
/* The path is unlinked first, and from then on a successor may bind it. */
void bound_close(struct bound *bound, const struct conf_address *address);

#endif
