/* What the tests of proto/resp share: commands to send, and what replies to them become. */
#ifndef REDLOCKD_TESTS_RESP_H
#define REDLOCKD_TESTS_RESP_H

#include <check.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "proto/resp.h"

#define SHA_RELEASE "8b3dbed48cc72340f86949176fb18bcf9cda7d75"
#define SHA_EXTEND "03cbc62660bf9ad424fe215f2d348d508f66c863"
#define SHA_CHECK "1bfe6359abdbd1ab95fdfc2615a42c8c9852138c"
#define SHA_MOVE "2da0b019ea56da9797c26b749601bbd42649bd99"
#define TOKEN_TEXT "000102030405060708090a0b0c0d0e0f10111213"
#define TO_TEXT "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff00010203"
#define RUN_ID "0123456789abcdef0123456789abcdef01234567"
#define GROUP_TEXT "1 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000"

static inline void command_to(struct command *command)
{
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        command->to.bytes[i] = (uint8_t)(0xf0 + i);
}

static inline struct command command_of(enum command_verb verb, const char *name, uint64_t number)
{
    struct command command = {.verb = verb, .number = number, .bucket = 16383, .ref = 7};
    command.name.len = (uint8_t)strlen(name);
    memcpy(command.name.text, name, strlen(name));
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        command.token.bytes[i] = (uint8_t)i;
    if (verb == COMMAND_WANT || verb == COMMAND_MOVE)
        command_to(&command);
    command.group = (struct group){.masters = 5, .max_ttl_ms = 30000, .from_ms = 1732200000000};
    memcpy(command.group.run_id, RUN_ID, RUN_ID_HEX);
    return command;
}

/* The first reply of these bytes; fails if there is none. reply must outlive nothing. */
static inline struct resp_reply reply_of(const char *bytes, size_t len)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp_reply *reply = NULL;
    const char *why = "needs more";
    ck_assert_int_eq(resp_reader_feed(reader, bytes, len), 0);
    ck_assert_msg(resp_reader_next(reader, &reply, &why) == 1, "%.60s: %s", bytes, why);
    struct resp_reply copy = *reply;
    resp_reader_free(reader);
    return copy;
}

static inline struct vote vote_of_bytes(enum command_verb verb, const char *bytes, size_t len)
{
    struct resp_reply reply = reply_of(bytes, len);
    struct vote vote;
    resp_vote(verb, &reply, &vote);
    return vote;
}

static inline struct vote vote_of(enum command_verb verb, const char *bytes)
{
    return vote_of_bytes(verb, bytes, strlen(bytes));
}

static inline int resp_main(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}

#endif
