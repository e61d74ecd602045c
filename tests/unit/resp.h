/* Shared by the tests of proto/resp: commands to send, and the votes that replies become. */
#ifndef REDLOCKD_TESTS_RESP_H
#define REDLOCKD_TESTS_RESP_H

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"

#define SHA_RELEASE "f91d25414210e9858fae4780a45b476c9ebbb2b8"
#define SHA_EXTEND  "03cbc62660bf9ad424fe215f2d348d508f66c863"
#define SHA_CHECK   "1bfe6359abdbd1ab95fdfc2615a42c8c9852138c"
#define SHA_MOVE    "6facb7562f08254b6c06d5e87b99ddbdba4c9416"
#define SHA_ENQUEUE "d0291aabae64d5bcb53a1572f5bc59bb9d17c288"
#define SHA_SETTLE  "473fad3ee605472df791400611375262f34f84cd"
#define SHA_PASS    "031816f14792d4f7eeeca1a757068185c6e1e41e"
#define TOKEN_TEXT  "000102030405060708090a0b0c0d0e0f10111213"
#define TO_TEXT     "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff00010203"
#define RUN_ID      "0123456789abcdef0123456789abcdef01234567"
#define GROUP_TEXT  "1 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000"

void command_to(struct command *command);
struct command command_of(enum command_verb verb, const char *name, uint64_t number);
/* The first reply in these bytes; fails if there is none. */
struct resp_reply reply_of(const char *bytes, size_t len);
struct vote vote_of_bytes(enum command_verb verb, const char *bytes, size_t len);
struct vote vote_of(enum command_verb verb, const char *bytes);

#endif
