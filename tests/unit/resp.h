/* Shared by the tests of proto/resp: commands to send, and the votes that replies become. */
#ifndef REDLOCKD_TESTS_RESP_H
#define REDLOCKD_TESTS_RESP_H

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"

#define TOKEN_TEXT "000102030405060708090a0b0c0d0e0f10111213"
#define TO_TEXT    "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff00010203"
#define RUN_ID     "0123456789abcdef0123456789abcdef01234567"
#define GROUP_TEXT "1 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000"

void command_to(struct command *command);
struct command command_of(enum command_verb verb, const char *name, uint64_t number);
/* The first reply in these bytes; fails if there is none. */
struct resp_reply reply_of(const char *bytes, size_t len);
struct vote vote_of_bytes(enum command_verb verb, const char *bytes, size_t len);
struct vote vote_of(enum command_verb verb, const char *bytes);

#endif
