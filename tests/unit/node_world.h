/* A node in a loop of its own, the calls of its handler, and its log. */
#ifndef REDLOCKD_TESTS_NODE_WORLD_H
#define REDLOCKD_TESTS_NODE_WORLD_H

#include <check.h>

#include "daemon/node/node.h"
#include "proto/resp.h"
#include "tests/unit/server.h"

enum { VOTES = 4096 };

/* ---- what a node tells ---- */

extern struct event_base *base;
extern struct evdns_base *dns;
extern struct conf node_conf;
extern struct node *node;
extern struct resp_format *node_format;

struct told {
    unsigned connected, lost, backlog, failed, votes;
    uint32_t connection; /* the connection of the last connected() */
    struct {
        enum command_verb verb;
        uint64_t ref;
        struct vote vote;
    } vote[VOTES];
};
extern struct told told;
extern unsigned close_at_vote; /* the voted() with this number calls node_close() */
extern bool close_at_backlog;
extern bool send_when_connected;

void send_command(enum command_verb verb, uint64_t number, uint64_t ref);
extern const struct node_handler handler;

/* ---- the loop, and the log ---- */

void turn(void);
unsigned log_count(const char *word);
const char *row_why(void);
/* The log goes to a temporary file, which is gone when the test ends, also after a failure. */
void bench_setup(void);
void bench_teardown(void);
void dial_unix(const char *path);
void dial_tcp(const char *host, int port);
void set_login(const char *user, const char *password);
unsigned dials(void);

#endif
