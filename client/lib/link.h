/* The socket to redlockd, with or without TLS. Connecting tries one place after the other and does not block, except in
 * getaddrinfo() if a host is given by name. */
#ifndef REDLOCK_LIB_LINK_H
#define REDLOCK_LIB_LINK_H

#include <netdb.h>
#include <stddef.h>
#include <sys/types.h>

#include "client/lib/address.h"
#include "client/lib/tls.h"
#include "client/redlock.h"

enum { LINK_PLACES = 2, LINK_WHY_BYTES = 1024 };

enum link_state { LINK_CLOSED, LINK_CONNECTING, LINK_OPEN };

/* A connection that is no longer used, but kept open because its end would release locks. */
struct parked {
    struct parked *next;
    int fd;
    struct tls *tls; /* NULL: plain */
    unsigned long long connection;
};

struct link {
    enum link_state state;
    int fd;          /* -1: none */
    struct tls *tls; /* from the beginning of the handshake on; NULL: plain */
    struct tls_files files;
    bool shake_waits_for_output; /* the handshake goes on when the kernel takes more bytes */
    int epoll;                   /* the descriptor that the program waits for */
    bool local;                  /* a Unix socket */
    bool heard;                  /* something was read since it is open */
    bool blocked;                /* the kernel takes no more bytes now */
    bool waits_for_output;       /* whether the epoll waits for EPOLLOUT */
    bool secret;                 /* a secret is to be sent: over plain TCP only to loopback addresses */
    bool refused;                /* no address was tried for that reason */
    bool tried;                  /* an address was */
    unsigned places, place;      /* how many places there are, and which is next */
    struct address where[LINK_PLACES];
    struct addrinfo *found,
        *next;                   /* addresses of the place before .place; NULL: a Unix socket, or none left */
    char address[ADDRESS_BYTES]; /* the address of the last attempt */
    char why[LINK_WHY_BYTES];    /* why all attempts failed, or why the connection ended */
    struct parked *parked;       /* a list */
    struct parked *spare;        /* for this connection: parking it must not fail for want of memory */
};

/* Sets where to connect: the address, else $REDLOCK_ADDRESS, else the usual places, of which only the Unix socket
 * takes secrets; and the files for TLS from the options, or else from their variables. Returns 0 or an errno. */
int link_init(struct link *link, const char *address, bool secret, const struct redlock_options *options);
/* Copies the text that was given, or else the variable's value; *out stays NULL if there is neither. Returns 0
 * or an errno. */
int link_take_text(char **out, const char *given, const char *variable);
/* shut: the other side sees the end at once, even if a forked child has the socket too. The child itself
 * passes false. */
void link_close(struct link *link, bool shut);
void link_end(struct link *link, bool shut); /* closes and frees everything */

/* Says QUIT and reads to +BYE, for a second at most: then redlockd has given back what this program held. Over TLS, and
 * through a proxy, the end of TCP alone gives nothing back. */
void link_quit(struct link *link);

/* A second link to the same places, for the move to another redlockd. Both wait on the same epoll, which belongs to the
 * first one, as the names of the files for TLS do. */
void link_beside(struct link *beside, const struct link *link);
/* The open connection of the second link becomes the link's own, whose former one is parked. */
void link_take_over(struct link *link, struct link *beside, unsigned long long connection);

/* Connects, beginning with the first place. */
void link_connect(struct link *link);
/* Goes on while LINK_CONNECTING. If the state is LINK_CLOSED afterwards, nobody is there; .why tells. */
void link_progress(struct link *link);
/* The number of bytes; 0: none now; -1: the connection has ended, .why tells. */
ssize_t link_read(struct link *link, char *out, size_t room);
ssize_t link_write(struct link *link, const char *bytes, size_t len);
/* Whether link_read() may have bytes for which the epoll reports nothing. */
bool link_pending(const struct link *link);
/* Makes the epoll wait for what the link waits for. */
void link_watch(struct link *link);
/* Keeps the socket open without reading it, until link_unpark() takes it out of its list and closes it. */
void link_park(struct link *link, unsigned long long connection);
void link_unpark(struct parked **at);

#endif
