/* Addresses of redlockd, as programs write them. Pure. */
#ifndef REDLOCK_LIB_ADDRESS_H
#define REDLOCK_LIB_ADDRESS_H

#include <stdbool.h>

enum {
    ADDRESS_PATH_BYTES = 108, /* with its NUL: unix(7) */
    ADDRESS_HOST_BYTES = 256, /* with its NUL */
    ADDRESS_BYTES = ADDRESS_HOST_BYTES + 16,
};

struct address {
    char path[ADDRESS_PATH_BYTES]; /* "": TCP */
    char host[ADDRESS_HOST_BYTES];
    char port[6];
    bool tls;
};

/* Reads "unix:/path", "/path", "host:port", "[v6]:port", or "host", "v6" or "[v6]" without a port, all but the paths
 * also behind "tls:"; false: the text is none of these. */
bool address_parse(const char *text, struct address *address);
/* Writes "unix:/path", "host:port" or "[v6]:port", the last two with "tls:" before them where it was. */
void address_text(const struct address *address, char out[ADDRESS_BYTES]);

#endif
