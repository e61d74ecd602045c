/* Shared by the tests of proto/resp: commands to send, and the votes that replies become. */
#ifndef REDLOCKD_TESTS_RESP_H
#define REDLOCKD_TESTS_RESP_H

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"

#define SHA_TRY     "0e5b87363f70a79e234619cca47b9822f0a716ff"
#define SHA_RELEASE "e0cebc3c394f98de8441dc7cf5a005ab8aa73f66"
#define SHA_EXTEND  "226e3a76c91ef44879e98291e6deebad3dc0f614"
#define SHA_CHECK   "1e77b07ec5c65144f19c20ccc7dc718edc528af4"
#define SHA_MOVE    "beb967e13729be36171b4d661d05ad66b54bd091"
#define SHA_ENQUEUE "a99771d19bbd805594d2158caf7dd784de82a670"
#define SHA_DOWN    "94b5815f09807679353d68c3e1dcf6f6d23eba9b"
#define SHA_SETTLE  "473fad3ee605472df791400611375262f34f84cd"
#define SHA_SHARE   "77ac8f4651b433a108efd0bfe1f90c7a08fb52eb"
#define SHA_PASS    "b3c82807b601db08245d5a5ed2cf440960b2c1a8"
#define SHA_LOOK    "dc517b572bd79dde5e4d8ed6299ed4f96d946c32"
#define SHA_GROUP   "ce1042172b221f88ed167d8bf06b107cff380347"
#define SHA_CUT     "7158f90cb52fd26bf5eb7afc2b6f041cb65cc57c"
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
