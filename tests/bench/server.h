/* The measured servers: the daemon, and the servers that it is compared with. */
#ifndef REDLOCKD_BENCH_SERVER_H
#define REDLOCKD_BENCH_SERVER_H

#include "tests/bench/masters.h"

struct server {
    pid_t pid;
    struct address address;
};

/* Where the programs and the files of a run lie. */
struct places {
    const char *daemon;   /* the binary */
    const char *before;   /* the binary of another build; NULL: none */
    const char *counting; /* counting.so; NULL: not there */
    const char *peers;    /* a folder with node_modules; NULL: none */
    const char *folder;   /* of this run */
};

/* Waits until the server listens; what names it in the error message. */
void server_wait(const struct server *server, const char *what);
void server_stop(struct server *server);

/* The daemon over these masters; counts: the file that counting.so writes to, or NULL. settings: more lines
 * of its configuration, or "". Returns when all of the masters vote. */
void daemon_start(struct server *server, const struct places *places, const struct masters *masters,
                  const char *counts, const char *settings);
/* Gives a server of this run an address that no other server has. */
void server_address(struct address *address, const struct places *places, const char *name);

/* The number of masters that vote, by SHOW NODES. */
unsigned daemon_voting(const struct server *server);
/* Waits until exactly so many masters vote; false: not within ten seconds. */
bool daemon_wait_voting(const struct server *server, unsigned masters);

/* The same work without locks: a line in, the same commands to all masters, a majority of replies, a line
 * out. */
void relay_start(struct server *server, const struct places *places, const struct masters *masters);
/* A line in, a line out. */
void echo_start(struct server *server, const struct places *places);

#endif
