/* EXTEND of several locks in one call, on a real server. */
#include "tests/unit/real_server.h"
#include "tests/unit/suite.h"

enum { KEYS = 8 };

/* The script as a Redis 6.2 server runs it, which has no GT and reports no version number. */
static void load_without_gt(char sha1[RESP_SHA1_HEX])
{
    static const char version[] = "redis.REDIS_VERSION_NUM";
    char text[2048], bytes[4096];
    snprintf(text, sizeof text, "%s", resp_script_text(RESP_SCRIPT_EXTEND));
    char *at = strstr(text, version);
    ck_assert_ptr_nonnull(at);
    memmove(at + 3, at + sizeof version - 1, strlen(at + sizeof version - 1) + 1);
    memcpy(at, "nil", 3);
    int len = snprintf(bytes, sizeof bytes, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n",
                       strlen(text), text);
    struct resp_reply reply = exchange(bytes, (size_t)len);
    ck_assert_uint_eq(reply.text_len, RESP_SHA1_HEX);
    memcpy(sha1, reply.text, RESP_SHA1_HEX);
}

/* Extends all names at once, each to number ms more than the one before. */
static struct resp_reply extend_all(const char *const names[], unsigned keys, uint64_t number,
                                    uint64_t most_ms, bool without_gt)
{
    static struct resp_batch batch;
    char bytes[sizeof batch.bytes];
    size_t len;
    for (unsigned i = 0; i < keys; i++) {
        struct command command = command_of(COMMAND_EXTEND, names[i], number * (i + 1));
        command.most_ms = most_ms;
        resp_batch_add(&batch, format, &command);
    }
    const char *made = resp_batch_end(&batch, &len);
    memcpy(bytes, made, len);
    if (without_gt)
        load_without_gt((char *)memmem(bytes, len, resp_script_sha1(RESP_SCRIPT_EXTEND), RESP_SHA1_HEX));
    return exchange(bytes, len);
}

static struct vote vote_on(const struct resp_reply *reply, unsigned key, unsigned keys)
{
    struct vote vote;
    resp_vote_key(reply, key, keys, &vote);
    return vote;
}

SETUP_ONCE(server_setup, server_teardown);

T_EACH(extend_of_several, 2)
{
    static const char *const names[KEYS] = {"a", "other", "long", "missing", "list", "b", "forever", "c"};
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "a", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "b", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "c", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "long", 1000000).kind, VOTE_YES);
    server_say(&server, "SET t:forever " TOKEN_TEXT);
    server_say(&server, "SET t:other another PX 5000");
    server_say(&server, "LPUSH t:list a");
    struct resp_reply reply = extend_all(names, KEYS, 10000, 0, _i);
    static const uint64_t numbers[KEYS] = {10000, 0, 1000000, 0, 0, 60000, 70000, 80000};
    for (unsigned i = 0; i < KEYS; i++) {
        char command[32];
        struct vote vote = vote_on(&reply, i, KEYS);
        ck_assert_int_eq(vote.kind, numbers[i] ? VOTE_NUMBER : VOTE_NO);
        if (numbers[i] == 0)
            continue;
        snprintf(command, sizeof command, "PTTL t:%s", names[i]);
        uint64_t left_ms = (uint64_t)number_of(command);
        ck_assert(vote.number <= numbers[i] && vote.number + 20000 > numbers[i]);
        ck_assert(left_ms <= vote.number && left_ms + 20000 > vote.number);
    }
    ck_assert_int_le(number_of("PTTL t:other"), 5000);
    is_reply("EXISTS t:missing", ":0\r\n");
    is_reply("GET t:other", "$7\r\nanother\r\n");
    is_reply("LRANGE t:list 0 -1", "*1\r\n$1\r\na\r\n");
    /* An EXTEND never shortens what a holder may have been told ... */
    reply = extend_all(names, KEYS, 100, 0, _i);
    ck_assert_uint_gt(vote_on(&reply, 7, KEYS).number, 60000);
    ck_assert_int_gt(number_of("PTTL t:c"), 60000);
    ck_assert_int_gt(number_of("PTTL t:long"), 980000);
    reply = extend_all(names, KEYS, 100, 100000, _i); /* ... but a key that lives for longer than that. */
    ck_assert_uint_eq(vote_on(&reply, 2, KEYS).number, 100000);
    ck_assert_uint_le(vote_on(&reply, 7, KEYS).number, 80000);
    ck_assert_int_le(number_of("PTTL t:long"), 100000);
    ck_assert_int_gt(number_of("PTTL t:long"), 80000);
    ck_assert_int_le(number_of("PTTL t:other"), 5000);
}

T_EACH(extend_of_as_many_as_there_can_be, 2)
{
    static char text[RESP_BATCH_KEYS][8];
    const char *names[RESP_BATCH_KEYS];
    fresh();
    for (unsigned i = 0; i < RESP_BATCH_KEYS; i++) {
        snprintf(text[i], sizeof text[i], "n%u", i);
        names[i] = text[i];
        ck_assert_int_eq(run(COMMAND_SET, names[i], 20000).kind, VOTE_YES);
    }
    struct resp_reply reply = extend_all(names, RESP_BATCH_KEYS, 60000, 0, _i);
    for (unsigned i = 0; i < RESP_BATCH_KEYS; i++)
        ck_assert_uint_eq(vote_on(&reply, i, RESP_BATCH_KEYS).number, 60000 * (i + 1));
}

/* The result does not depend on the other keys, nor on a write that came before the refused one. */
T_EACH(extend_of_several_is_refused_for_all, 2)
{
    static const char *const names[] = {"list", "a", "missing", "b"};
    fresh();
    server_say(&server, "LPUSH t:list a");
    ck_assert_int_eq(run(COMMAND_SET, "a", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "b", 5000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET min-replicas-to-write 1");
    struct resp_reply no_replicas = extend_all(names, 4, 10000, 0, _i);
    server_say(&server, "CONFIG SET min-replicas-to-write 0");
    server_say(&server, "REPLICAOF 127.0.0.1 1");
    struct resp_reply read_only = extend_all(names, 4, 10000, 0, _i);
    server_say(&server, "REPLICAOF NO ONE");
    server_say(&server, "ACL SETUSER default resetkeys ~t:a");
    struct resp_reply no_keys = extend_all(names + 1, 3, 10000, 0, _i);
    server_say(&server, "ACL SETUSER default ~* -get");
    struct resp_reply no_get = extend_all(names, 4, 10000, 0, _i);
    server_say(&server, "ACL SETUSER default +get -pttl -pexpire");
    struct resp_reply no_pexpire = extend_all(names, 4, 10000, 0, _i);
    server_say(&server, "ACL SETUSER default +pttl +pexpire");
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(vote_on(&no_replicas, i, 4).error, ERROR_NOREPLICAS);
        ck_assert_int_eq(vote_on(&read_only, i, 4).error, ERROR_READONLY);
        ck_assert_int_eq(vote_on(&no_get, i, 4).kind, VOTE_ERROR);
        ck_assert_int_eq(vote_on(&no_pexpire, i, 4).kind, VOTE_ERROR);
    }
    ck_assert_int_eq(vote_on(&no_keys, 0, 3).kind, VOTE_ERROR);
    ck_assert_int_eq(run(COMMAND_RELEASE, "b", 0).kind, VOTE_YES);
}
