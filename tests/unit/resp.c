#include "tests/unit/resp.h"

void command_to(struct command *command)
{
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        command->to.bytes[i] = (uint8_t)(0xf0 + i);
}

struct command command_of(enum command_verb verb, const char *name, uint64_t number)
{
    bool list = verb >= COMMAND_SET_ALL;
    struct command command = {.verb = verb, .number = number, .bucket = list ? 1 : 16383, .ref = 7};
    command.name.len = (unsigned)strlen(name) & 0x7ff;
    memcpy(command.name.text, name, strlen(name));
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        command.token.bytes[i] = (uint8_t)i;
    if (verb == COMMAND_DEQUEUE || verb == COMMAND_ENQUEUE || verb == COMMAND_PASS || verb == COMMAND_MOVE ||
        verb == COMMAND_MOVE_IFEQ || verb == COMMAND_SHARE || verb == COMMAND_ALONG ||
        verb == COMMAND_SETTLE || verb == COMMAND_DOWN)
        command_to(&command);
    command.group = (struct group){.masters = 5, .max_ttl_ms = 30000, .from_ms = 1732200000000};
    memcpy(command.group.run_id, RUN_ID, RUN_ID_HEX);
    return command;
}

struct resp_reply reply_of(const char *bytes, size_t len)
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

struct vote vote_of_bytes(enum command_verb verb, const char *bytes, size_t len)
{
    struct resp_reply reply = reply_of(bytes, len);
    struct vote vote;
    resp_vote(verb, &reply, &vote);
    return vote;
}

struct vote vote_of(enum command_verb verb, const char *bytes)
{
    return vote_of_bytes(verb, bytes, strlen(bytes));
}
