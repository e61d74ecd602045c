/* A throw-away redis-server for a test: in a folder of its own, on a Unix socket and, if asked, a loopback port.
 * It dies with the process that started it; start it in an unchecked fixture, whose teardown runs after a
 * failure too. */
#ifndef REDLOCKD_TESTS_SERVER_H
#define REDLOCKD_TESTS_SERVER_H

#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SERVER_WAIT_MS = 10000 };

struct server {
    pid_t pid; /* 0: not running */
    int port;  /* 0: the Unix socket only */
    char folder[64];
    char path[96];
};

long long test_now_ms(void);
/* turn(), which every test has in its own way, until it is so. */
#define UNTIL(condition)                                                             \
    do {                                                                             \
        long long until_ms = test_now_ms() + SERVER_WAIT_MS;                         \
        while (!(condition)) {                                                       \
            ck_assert_msg(test_now_ms() < until_ms, "not within 10 s: " #condition); \
            turn();                                                                  \
            poll(NULL, 0, 1);                                                        \
        }                                                                            \
    } while (0)

int server_free_port(void);
/* A blocking connection; -1: nobody answers. */
int server_connect(const struct server *s);
void server_folder(struct server *s);
void server_kill(struct server *s);
/* In the folder that server_folder() made, with two options and their values; NULL: none. */
void server_run_with(struct server *s, int port, const char *const more[4]);
/* option may be "--requirepass" or the like, with its value. */
void server_run(struct server *s, int port, const char *option, const char *value);
void server_remove(struct server *s);
void server_write(int fd, const char *bytes, size_t len);
/* An inline command (its words may hold no spaces); the reply's first bytes go to reply. */
void server_ask(struct server *s, const char *command, char *reply, size_t size);
void server_say(struct server *s, const char *command);

#endif
