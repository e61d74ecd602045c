/* A throw-away redis-server for a test, in a folder of its own, on a Unix socket and, if asked, a loopback
 * port. The server dies with the process that started it. A test starts it in an unchecked fixture, whose
 * teardown also runs after a failure. */
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
/* Turns the test's loop, by the test's own turn(), until the condition holds. */
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
/* A blocking connection; -1: the server does not answer. */
int server_connect(const struct server *s);
void server_folder(struct server *s);
void server_kill(struct server *s);
/* Starts the server in the folder of server_folder(), with up to two options and their values; NULL:
 * none. */
void server_run_with(struct server *s, int port, const char *const more[4]);
/* option may be "--requirepass" or the like, with its value. */
void server_run(struct server *s, int port, const char *option, const char *value);
void server_remove(struct server *s);
void server_write(int fd, const char *bytes, size_t len);
/* Sends an inline command, whose words may hold no spaces; the first bytes of the reply go to reply. */
void server_ask(struct server *s, const char *command, char *reply, size_t size);
void server_say(struct server *s, const char *command);

#endif
