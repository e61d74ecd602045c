/* Commands of proto/resp to a real server. */
#ifndef REDLOCKD_TESTS_REAL_SERVER_H
#define REDLOCKD_TESTS_REAL_SERVER_H

#include "tests/unit/resp.h"
#include "tests/unit/server.h"

extern struct server server;
extern struct resp_format *format;

void server_setup(void); /* an unchecked fixture */
void server_teardown(void);
void fresh(void); /* the server has the scripts, and no keys */
struct resp_reply exchange(const char *bytes, size_t len);
struct vote run(enum command_verb verb, const char *name, uint64_t number);
struct vote run_command(const struct command *command);
struct vote release_waking(const char *name);             /* a RELEASE by the daemon TO_TEXT */
void is_reply(const char *command, const char *expected); /* the command is sent inline */
long long number_of(const char *command);
void load_scripts(void);
/* A connection that listens as the daemon with this id. */
int listen_as(const char *id);
/* The message that came, or none. */
void hears(int fd, const char *message);

#endif
