/* A master that answers whatever the test says, on a Unix socket; the node of node_world.h connects to it. */
#ifndef REDLOCKD_TESTS_FAKE_MASTER_H
#define REDLOCKD_TESTS_FAKE_MASTER_H

#include "tests/unit/node_world.h"

extern struct server fake; /* only its folder and path */
extern int fake_fd;        /* the connection; -1: none */
extern char fake_got[65536];
extern size_t fake_got_len; /* how many bytes came since the last fake_accept() or fake_connected() */

void fake_listen(void);
void fake_close(void);
void fake_remove(void);
void fake_accept(void);
bool fake_has(const char *text);
void fake_say(const char *text);
void fake_login(void);
void fake_say_scripts(void); /* to a login that asks for them */
void fake_connected(void);
/* The connection is gone, and the next one is good. */
void is_lost_and_redialled(const char *why);
unsigned fake_count(const char *text);

#endif
