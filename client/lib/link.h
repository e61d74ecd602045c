/* The socket to redlockd: one after the other of the places where it may be, without blocking (but
 * for getaddrinfo() where a host is a name). */
#ifndef REDLOCK_LIB_LINK_H
#define REDLOCK_LIB_LINK_H

#include <netdb.h>
#include <stddef.h>
#include <sys/types.h>

#include "client/lib/address.h"

enum { LINK_PLACES = 2, LINK_WHY_BYTES = 1024 };

enum link_state { LINK_CLOSED, LINK_CONNECTING, LINK_OPEN };

/* A connection that cannot go on, whose end would release locks. */
struct parked {
    struct parked *next;
    int fd;
    unsigned long long connection;
};

struct link {
    enum link_state state;
    int fd;                 /* -1: none */
    int epoll;              /* what the program waits for */
    bool local;             /* a Unix socket */
    bool blocked;           /* the kernel takes no more: waits for POLLOUT */
    bool waits_for_output;  /* as the epoll has it */
    unsigned places, place; /* how many there are, and which is next */
    struct address where[LINK_PLACES];
    struct addrinfo *found, *next; /* of the place before .place; NULL: a Unix socket, or none left */
    char address[ADDRESS_BYTES];   /* of the last attempt */
    char why[LINK_WHY_BYTES];      /* what became of all attempts */
    struct parked *parked;         /* any number */
    struct parked *spare;          /* for this connection: parking it must not fail for want of memory */
};

/* Where to connect: address, else the environment, else the usual places. 0, or an errno. */
int link_init(struct link *link, const char *address);
/* shut: the other side is to know at once, also where a fork has the socket too. In that fork: false. */
void link_close(struct link *link, bool shut);
void link_end(struct link *link, bool shut); /* for good */

/* Begins anew, at the first place. */
void link_connect(struct link *link);
/* Looks how it goes while LINK_CONNECTING; LINK_CLOSED then: nobody is there, .why tells. */
void link_progress(struct link *link);
/* Bytes; 0: none now; -1: its end, .why tells. */
ssize_t link_read(struct link *link, char *out, size_t room);
ssize_t link_write(struct link *link, const char *bytes, size_t len);
/* The epoll waits for what the link waits for. */
void link_watch(struct link *link);
/* Keeps the socket open without reading it, until link_unpark() takes it out of its list and closes it. */
void link_park(struct link *link, unsigned long long connection);
void link_unpark(struct parked **at);

#endif
