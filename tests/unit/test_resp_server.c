/* Each command and each script on a real server. */
#include "tests/unit/resp.h"
#include "tests/unit/server.h"

static struct server server;
static struct resp_format *format;

static void server_setup(void)
{
    server_folder(&server);
    server_run(&server, 0, NULL, NULL);
    format = resp_format_new("t:");
}

static void server_teardown(void)
{
    server_remove(&server);
    resp_format_free(format);
}

static struct resp_reply exchange(const char *bytes, size_t len)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp_reply *reply = NULL;
    const char *why = "";
    int got, fd = server_connect(&server);
    ck_assert_int_ge(fd, 0);
    server_write(fd, bytes, len);
    while ((got = resp_reader_next(reader, &reply, &why)) == 0) {
        char in[4096];
        ssize_t n = recv(fd, in, sizeof in, 0);
        ck_assert_int_gt(n, 0);
        ck_assert_int_eq(resp_reader_feed(reader, in, (size_t)n), 0);
    }
    ck_assert_msg(got == 1, "%s", why);
    struct resp_reply copy = *reply;
    resp_reader_free(reader);
    close(fd);
    return copy;
}

static struct vote run_command(const struct command *command)
{
    char bytes[RESP_COMMAND_BYTES];
    struct resp_reply reply = exchange(bytes, resp_command(bytes, format, command));
    struct vote vote;
    resp_vote(command->verb, &reply, &vote);
    return vote;
}

static struct vote run(enum command_verb verb, const char *name, uint64_t number)
{
    struct command command = command_of(verb, name, number);
    return run_command(&command);
}

/* A RELEASE by the daemon TO_TEXT. */
static struct vote release_asking(const char *name)
{
    struct command command = command_of(COMMAND_RELEASE, name, 0);
    command_to(&command);
    return run_command(&command);
}

static void is_reply(const char *command, const char *expected)
{
    char reply[512];
    server_ask(&server, command, reply, sizeof reply);
    ck_assert_str_eq(reply, expected);
}

static long long number_of(const char *command)
{
    char reply[512];
    server_ask(&server, command, reply, sizeof reply);
    ck_assert_int_eq(reply[0], ':');
    return atoll(reply + 1);
}

static void load_scripts(void)
{
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        size_t len;
        char *bytes = resp_script_load(i, &len);
        struct resp_reply reply = exchange(bytes, len);
        resp_bytes_free(bytes);
        ck_assert_int_eq(reply.type, RESP_STRING);
        ck_assert_str_eq(reply.text, resp_script_sha1(i));
    }
}

static void fresh(void)
{
    server_say(&server, "FLUSHALL");
    load_scripts();
}

START_TEST(script_sha1s)
{
    load_scripts();
    ck_assert_str_eq(resp_script_sha1((unsigned)resp_script_of(COMMAND_RELEASE)), SHA_RELEASE);
    ck_assert_str_eq(resp_script_sha1((unsigned)resp_script_of(COMMAND_EXTEND)), SHA_EXTEND);
    ck_assert_str_eq(resp_script_sha1((unsigned)resp_script_of(COMMAND_CHECK)), SHA_CHECK);
    ck_assert_str_eq(resp_script_sha1((unsigned)resp_script_of(COMMAND_MOVE)), SHA_MOVE);
    ck_assert_int_eq(resp_script_of(COMMAND_SET), -1);
    server_say(&server, "SCRIPT FLUSH");
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_NOT_RUN);
}
END_TEST

START_TEST(a_lock_taken_and_given_back)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "job", 5000).kind, VOTE_NO);
    struct vote vote = run(COMMAND_CHECK, "job", 0);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_le(vote.number, 5000);
    ck_assert_uint_gt(vote.number, 1000);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_CHECK, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_EXTEND, "job", 5000).kind, VOTE_NO);
}
END_TEST

START_TEST(extend_lengthens_only)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    struct vote vote = run(COMMAND_EXTEND, "job", 60000);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(vote.number, 60000);
    vote = run(COMMAND_EXTEND, "job", 20000);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_gt(vote.number, 30000);
    ck_assert_uint_gt(run(COMMAND_CHECK, "job", 0).number, 30000);
}
END_TEST

/* ---- an EXTEND of several keys ---- */

enum { KEYS = 8 };

/* As a server of Redis 6.2 runs it, which has no GT and tells no number of its version. */
static void load_without_gt(char sha1[RESP_SHA1_HEX])
{
    static const char version[] = "redis.REDIS_VERSION_NUM";
    char text[2048], bytes[4096];
    unsigned script = (unsigned)resp_script_of(COMMAND_EXTEND);
    snprintf(text, sizeof text, "%s", resp_script_text(script));
    char *at = strstr(text, version);
    ck_assert_ptr_nonnull(at);
    memmove(at + 3, at + sizeof version - 1, strlen(at + sizeof version - 1) + 1);
    memcpy(at, "nil", 3);
    int len = snprintf(bytes, sizeof bytes, "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$%zu\r\n%s\r\n", strlen(text), text);
    struct resp_reply reply = exchange(bytes, (size_t)len);
    ck_assert_uint_eq(reply.text_len, RESP_SHA1_HEX);
    memcpy(sha1, reply.text, RESP_SHA1_HEX);
}

/* Of all names at once, each to number ms more than the one before. */
static struct resp_reply extend_all(const char *const names[], unsigned keys, uint64_t number, bool without_gt)
{
    static struct resp_batch batch;
    char bytes[sizeof batch.bytes];
    size_t len;
    for (unsigned i = 0; i < keys; i++) {
        struct command command = command_of(COMMAND_EXTEND, names[i], number * (i + 1));
        resp_batch_add(&batch, format, &command);
    }
    const char *made = resp_batch_end(&batch, &len);
    memcpy(bytes, made, len);
    if (without_gt)
        load_without_gt((char *)memmem(bytes, len, SHA_EXTEND, RESP_SHA1_HEX));
    return exchange(bytes, len);
}

static struct vote vote_on(const struct resp_reply *reply, unsigned key, unsigned keys)
{
    struct vote vote;
    resp_vote_key(reply, key, keys, &vote);
    return vote;
}

START_TEST(extend_of_several)
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
    struct resp_reply reply = extend_all(names, KEYS, 10000, _i);
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
    /* And not back to less. */
    reply = extend_all(names, KEYS, 100, _i);
    ck_assert_uint_gt(vote_on(&reply, 7, KEYS).number, 60000);
    ck_assert_int_gt(number_of("PTTL t:c"), 60000);
    ck_assert_int_gt(number_of("PTTL t:long"), 980000);
}
END_TEST

START_TEST(extend_of_as_many_as_there_can_be)
{
    static char text[RESP_BATCH_KEYS][8];
    const char *names[RESP_BATCH_KEYS];
    fresh();
    for (unsigned i = 0; i < RESP_BATCH_KEYS; i++) {
        snprintf(text[i], sizeof text[i], "n%u", i);
        names[i] = text[i];
        ck_assert_int_eq(run(COMMAND_SET, names[i], 20000).kind, VOTE_YES);
    }
    struct resp_reply reply = extend_all(names, RESP_BATCH_KEYS, 60000, _i);
    for (unsigned i = 0; i < RESP_BATCH_KEYS; i++)
        ck_assert_uint_eq(vote_on(&reply, i, RESP_BATCH_KEYS).number, 60000 * (i + 1));
}
END_TEST

/* Whatever the other keys are, and also where a write came before the one that was refused. */
START_TEST(extend_of_several_is_refused_for_all)
{
    static const char *const names[] = {"list", "a", "missing", "b"};
    fresh();
    server_say(&server, "LPUSH t:list a");
    ck_assert_int_eq(run(COMMAND_SET, "a", 5000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_SET, "b", 5000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET min-replicas-to-write 1");
    struct resp_reply no_replicas = extend_all(names, 4, 10000, _i);
    server_say(&server, "CONFIG SET min-replicas-to-write 0");
    server_say(&server, "REPLICAOF 127.0.0.1 1");
    struct resp_reply read_only = extend_all(names, 4, 10000, _i);
    server_say(&server, "REPLICAOF NO ONE");
    server_say(&server, "ACL SETUSER default resetkeys ~t:a");
    struct resp_reply no_keys = extend_all(names + 1, 3, 10000, _i);
    server_say(&server, "ACL SETUSER default ~* -get");
    struct resp_reply no_get = extend_all(names, 4, 10000, _i);
    server_say(&server, "ACL SETUSER default +get -pttl -pexpire");
    struct resp_reply no_pexpire = extend_all(names, 4, 10000, _i);
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
END_TEST

START_TEST(keys_of_others_are_left_alone)
{
    char reply[64];
    fresh();
    server_say(&server, "SET t:job another");
    server_say(&server, "LPUSH t:list a");
    static const char *const names[] = {"job", "list", "missing"};
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(run(COMMAND_RELEASE, names[i], 0).kind, VOTE_NO);
        ck_assert_int_eq(run(COMMAND_EXTEND, names[i], 5000).kind, VOTE_NO);
        ck_assert_int_eq(run(COMMAND_CHECK, names[i], 0).kind, VOTE_NO);
        ck_assert_int_eq(run(COMMAND_MOVE, names[i], 0).kind, VOTE_NO);
        ck_assert_int_eq(release_asking(names[i]).kind, VOTE_NO);
    }
    ck_assert_int_eq(run(COMMAND_SET, "list", 5000).kind, VOTE_NO);
    server_ask(&server, "EXISTS t:job t:list t:missing", reply, sizeof reply);
    ck_assert_str_eq(reply, ":2\r\n");
    server_ask(&server, "PTTL t:job", reply, sizeof reply);
    ck_assert_str_eq(reply, ":-1\r\n");
}
END_TEST

START_TEST(our_key_without_a_ttl)
{
    fresh();
    server_say(&server, "SET t:job " TOKEN_TEXT);
    struct vote vote = run(COMMAND_CHECK, "job", 0);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(vote.number, 0);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_YES);
    is_reply("PTTL t:job", ":-1\r\n");
    server_say(&server, "SET t:job " TOKEN_TEXT);
    ck_assert_uint_eq(run(COMMAND_EXTEND, "job", 5000).number, 5000);
}
END_TEST

START_TEST(move_keeps_the_ttl)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    long long before = number_of("PEXPIRETIME t:job");
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_YES);
    ck_assert_int_eq(number_of("PEXPIRETIME t:job"), before);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).kind, VOTE_NO); /* the old token is gone */
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_NO);
    is_reply("GET t:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_int_eq(number_of("PEXPIRETIME t:job"), before);
}
END_TEST

START_TEST(whose_a_key_is)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_GET, "job", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    struct command command = command_of(COMMAND_GET, "job", 0);
    struct vote vote = run_command(&command);
    ck_assert_int_eq(vote.kind, VOTE_TOKEN);
    ck_assert_mem_eq(&vote.token, &command.token, sizeof vote.token);
    server_say(&server, "LPUSH t:list a");
    ck_assert_int_eq(run(COMMAND_GET, "list", 0).kind, VOTE_TOKEN);
    server_say(&server, "SET t:other x");
    ck_assert_int_eq(run(COMMAND_GET, "other", 0).kind, VOTE_TOKEN);
}
END_TEST

START_TEST(heal_sets_what_ends_then)
{
    fresh();
    struct vote now = run(COMMAND_TIME, "", 0);
    ck_assert_int_eq(now.kind, VOTE_NUMBER);
    ck_assert_int_eq(run(COMMAND_HEAL, "job", now.number + 60000).kind, VOTE_YES);
    ck_assert_uint_eq((uint64_t)number_of("PEXPIRETIME t:job"), now.number + 60000);
    ck_assert_int_eq(run(COMMAND_HEAL, "job", now.number + 90000).kind, VOTE_NO);
    ck_assert_uint_eq((uint64_t)number_of("PEXPIRETIME t:job"), now.number + 60000);
    /* One that comes too late sets nothing, whatever it answers. */
    ck_assert_int_eq(run(COMMAND_HEAL, "late", now.number - 1).kind, VOTE_YES);
    is_reply("EXISTS t:late", ":0\r\n");
}
END_TEST

START_TEST(time_is_the_servers)
{
    struct timespec before, after;
    clock_gettime(CLOCK_REALTIME, &before);
    struct vote vote = run(COMMAND_TIME, "", 0);
    clock_gettime(CLOCK_REALTIME, &after);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_ge(vote.number, (uint64_t)before.tv_sec * 1000 + (uint64_t)before.tv_nsec / 1000000);
    ck_assert_uint_le(vote.number, (uint64_t)after.tv_sec * 1000 + (uint64_t)after.tv_nsec / 1000000);
}
END_TEST

START_TEST(group_and_probe)
{
    fresh();
    struct command command = command_of(COMMAND_GROUP_NEW, "", 600000);
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_NO);
    command.verb = COMMAND_GROUP_LATER;
    ck_assert_int_eq(run_command(&command).kind, VOTE_NO);
    command.verb = COMMAND_GROUP_NEW;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_eq(run_command(&command).kind, VOTE_NO);
    ck_assert_int_le(number_of("PTTL t:,group"), 600000);
    struct vote vote = run(COMMAND_GROUP, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_GROUP);
    ck_assert_uint_eq(vote.group.masters, 5);
    ck_assert_int_eq(vote.group.max_ttl_ms, 30000);
    ck_assert_int_eq(vote.group.from_ms, 1732200000000);
    ck_assert_mem_eq(vote.group.run_id, RUN_ID, RUN_ID_HEX);

    ck_assert_int_eq(run(COMMAND_PROBE, "", 900000).kind, VOTE_GROUP); /* and keeps it alive */
    ck_assert_int_gt(number_of("PTTL t:,group"), 600000);

    command.verb = COMMAND_GROUP_SET;
    command.group.from_ms++;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_le(number_of("PTTL t:,group"), 600000);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).group.from_ms, command.group.from_ms);
    command.verb = COMMAND_GROUP_LATER;
    command.group.from_ms++;
    ck_assert_int_eq(run_command(&command).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).group.from_ms, command.group.from_ms);
}
END_TEST

START_TEST(group_by_hand)
{
    fresh();
    server_say(&server, "SET t:,group rubbish");
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_UNREADABLE);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_UNREADABLE);
    server_say(&server, "DEL t:,group");
    server_say(&server, "HSET t:,group N 5");
    ck_assert_int_eq(run(COMMAND_GROUP, "", 0).kind, VOTE_UNREADABLE);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_UNREADABLE);
    ck_assert_int_eq(run(COMMAND_GROUP_NEW, "", 600000).kind, VOTE_NO);
    is_reply("TYPE t:,group", "+hash\r\n");
}
END_TEST

START_TEST(a_release_that_asks)
{
    fresh();
    ck_assert_int_eq(release_asking("job").kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_asking("job").kind, VOTE_YES); /* nobody waits */
    ck_assert_int_eq(run(COMMAND_WANT, "job", 600).kind, VOTE_YES);
    long long left_ms = number_of("PTTL t:,want:job");
    ck_assert(left_ms > 0 && left_ms <= 600);
    ck_assert_int_eq(run(COMMAND_WANT, "job", 600000).kind, VOTE_YES);
    ck_assert_int_gt(number_of("PTTL t:,want:job"), 600);
    is_reply("GET t:,want:job", "$40\r\n" TO_TEXT "\r\n");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_asking("job").kind, VOTE_YES); /* the mark is our own */
    server_say(&server, "SET t:,want:job " TOKEN_TEXT);
    ck_assert_int_eq(release_asking("job").kind, VOTE_NO); /* not ours: nobody is asked */
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_asking("job").kind, VOTE_WANTED);
    is_reply("EXISTS t:job t:,want:job", ":1\r\n"); /* the mark stays */
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES); /* does not ask */
    server_say(&server, "DEL t:,want:job");
    server_say(&server, "LPUSH t:,want:job a");
    ck_assert_int_eq(run(COMMAND_SET, "job", 60000).kind, VOTE_YES);
    ck_assert_int_eq(release_asking("job").kind, VOTE_YES); /* no mark of a daemon */
}
END_TEST

START_TEST(fences_only_grow)
{
    fresh();
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, 0);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 1732200000000001).kind, VOTE_YES);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 1732200000000001).kind, VOTE_NO);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 1700000000000000).kind, VOTE_NO);
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, 1732200000000001);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", FENCE_MAX - 1).kind, VOTE_YES);
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, FENCE_MAX - 1);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", FENCE_MAX).kind, VOTE_YES);
    ck_assert_uint_eq(run(COMMAND_ZSCORE, "job", 0).number, FENCE_MAX);
    server_say(&server, "DEL t:,fences");
    server_say(&server, "SET t:,fences x");
    struct vote vote = run(COMMAND_ZADD, "job", 5);
    ck_assert_int_eq(vote.kind, VOTE_ERROR);
    ck_assert_int_eq(vote.error, ERROR_WRONGTYPE);
}
END_TEST

START_TEST(a_server_that_refuses_writes)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    server_say(&server, "CONFIG SET min-replicas-to-write 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_EXTEND, "job", 20000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_GROUP_NEW, "", 600000).error, ERROR_NOREPLICAS);
    ck_assert_int_eq(run(COMMAND_WANT, "job", 600).error, ERROR_NOREPLICAS);
    server_say(&server, "CONFIG SET min-replicas-to-write 0");
    server_say(&server, "REPLICAOF 127.0.0.1 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).error, ERROR_READONLY);
    struct vote vote = run(COMMAND_INFO, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert(vote.info.replica);
    server_say(&server, "REPLICAOF NO ONE");
    /* Out of memory: no new lock, but giving back and extending go on. */
    server_say(&server, "CONFIG SET maxmemory 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_OOM);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 10000).error, ERROR_OOM);
    ck_assert_int_eq(run(COMMAND_MOVE, "job", 0).error, ERROR_OOM);
    is_reply("GET t:job", "$40\r\n" TOKEN_TEXT "\r\n");
    ck_assert_int_eq(run(COMMAND_PROBE, "", 600000).kind, VOTE_NO);
    ck_assert_uint_eq(run(COMMAND_EXTEND, "job", 20000).number, 20000);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
    server_say(&server, "CONFIG SET maxmemory 0");
}
END_TEST

/* An error of the GET itself is no "not ours". */
START_TEST(a_user_without_get)
{
    fresh();
    ck_assert_int_eq(run(COMMAND_SET, "job", 10000).kind, VOTE_YES);
    server_say(&server, "ACL SETUSER default -get");
    struct vote release = run(COMMAND_RELEASE, "job", 0), extend = run(COMMAND_EXTEND, "job", 20000),
                check = run(COMMAND_CHECK, "job", 0), move = run(COMMAND_MOVE, "job", 0);
    server_say(&server, "ACL SETUSER default +get");
    ck_assert_int_eq(release.kind, VOTE_ERROR);
    ck_assert_int_eq(extend.kind, VOTE_ERROR);
    ck_assert_int_eq(check.kind, VOTE_ERROR);
    ck_assert_int_eq(move.kind, VOTE_ERROR);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).kind, VOTE_YES);
}
END_TEST

START_TEST(handshake_of_a_real_server)
{
    char reply[8192];
    struct vote vote = run(COMMAND_INFO, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_uint_ge(vote.info.version, 0x060200);
    ck_assert_int_lt(vote.info.uptime_s, 3600);
    ck_assert(!vote.info.replica && !vote.info.cluster && !vote.info.evicts && !vote.info.loading);
    server_ask(&server, "INFO server", reply, sizeof reply);
    ck_assert_ptr_nonnull(strstr(reply, "run_id:"));
    ck_assert_mem_eq(vote.info.run_id, strstr(reply, "run_id:") + 7, RUN_ID_HEX);
    server_say(&server, "CONFIG SET maxmemory-policy allkeys-lru");
    ck_assert(run(COMMAND_INFO, "", 0).info.evicts);
    server_say(&server, "CONFIG SET maxmemory-policy noeviction");
    vote = run(COMMAND_CLIENT_ID, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_gt(vote.number, 0);
    vote = run(COMMAND_KILL, "", vote.number);
    ck_assert_int_eq(vote.kind, VOTE_NUMBER);
    ck_assert_uint_eq(vote.number, 0); /* that connection was closed already */
}
END_TEST

static Suite *resp_server_suite(void)
{
    Suite *suite = suite_create("resp_server");
    TCase *tcase = tcase_create("resp_server");
    tcase_add_unchecked_fixture(tcase, server_setup, server_teardown);
    tcase_set_timeout(tcase, 30);
    tcase_add_test(tcase, script_sha1s);
    tcase_add_test(tcase, a_lock_taken_and_given_back);
    tcase_add_test(tcase, extend_lengthens_only);
    tcase_add_loop_test(tcase, extend_of_several, 0, 2);
    tcase_add_loop_test(tcase, extend_of_as_many_as_there_can_be, 0, 2);
    tcase_add_loop_test(tcase, extend_of_several_is_refused_for_all, 0, 2);
    tcase_add_test(tcase, keys_of_others_are_left_alone);
    tcase_add_test(tcase, our_key_without_a_ttl);
    tcase_add_test(tcase, move_keeps_the_ttl);
    tcase_add_test(tcase, whose_a_key_is);
    tcase_add_test(tcase, heal_sets_what_ends_then);
    tcase_add_test(tcase, time_is_the_servers);
    tcase_add_test(tcase, group_and_probe);
    tcase_add_test(tcase, group_by_hand);
    tcase_add_test(tcase, a_release_that_asks);
    tcase_add_test(tcase, fences_only_grow);
    tcase_add_test(tcase, a_server_that_refuses_writes);
    tcase_add_test(tcase, a_user_without_get);
    tcase_add_test(tcase, handshake_of_a_real_server);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return resp_main(resp_server_suite());
}
