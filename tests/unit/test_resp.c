/* Commands to bytes, bytes to replies, replies to votes; the scripts on a real server. */
#include <check.h>
#include <inttypes.h>

#include "proto/resp.h"
#include "tests/unit/server.h"

#define SHA_RELEASE "8b3dbed48cc72340f86949176fb18bcf9cda7d75"
#define SHA_EXTEND "597b350106054f61854faf4326629759dd6753d6"
#define SHA_CHECK "1bfe6359abdbd1ab95fdfc2615a42c8c9852138c"
#define SHA_MOVE "2da0b019ea56da9797c26b749601bbd42649bd99"
#define TOKEN_TEXT "000102030405060708090a0b0c0d0e0f10111213"

static struct command command_of(enum command_verb verb, const char *name, uint64_t number)
{
    struct command command = {.verb = verb, .number = number, .bucket = 16383, .ref = 7};
    command.name.len = (uint8_t)strlen(name);
    memcpy(command.name.text, name, strlen(name));
    for (unsigned i = 0; i < TOKEN_BYTES; i++)
        command.token.bytes[i] = (uint8_t)i;
    return command;
}

/* ---- commands ---- */

static const struct {
    enum command_verb verb;
    uint64_t number;
    const char *bytes;
} golden[] = {
    {COMMAND_CLIENT_ID, 0, "*2\r\n$6\r\nCLIENT\r\n$2\r\nID\r\n"},
    {COMMAND_INFO, 0, "*1\r\n$4\r\nINFO\r\n"},
    {COMMAND_KILL, 1234567, "*4\r\n$6\r\nCLIENT\r\n$4\r\nKILL\r\n$2\r\nID\r\n$7\r\n1234567\r\n"},
    {COMMAND_SET, 10000,
     "*6\r\n$3\r\nSET\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n"},
    {COMMAND_ZADD, FENCE_MAX,
     "*6\r\n$4\r\nZADD\r\n$12\r\nlock:,fences\r\n$2\r\nGT\r\n$2\r\nCH\r\n$16\r\n9007199254740991\r\n$5\r\n16383\r\n"},
    {COMMAND_ZSCORE, 0, "*3\r\n$6\r\nZSCORE\r\n$12\r\nlock:,fences\r\n$5\r\n16383\r\n"},
    {COMMAND_RELEASE, 0,
     "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" SHA_RELEASE "\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT "\r\n"},
    {COMMAND_EXTEND, 0,
     "*6\r\n$7\r\nEVALSHA\r\n$40\r\n" SHA_EXTEND "\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT
     "\r\n$1\r\n0\r\n"},
    {COMMAND_CHECK, 0,
     "*5\r\n$7\r\nEVALSHA\r\n$40\r\n" SHA_CHECK "\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT "\r\n"},
};

static void is_bytes(char *bytes, size_t len, const char *expected)
{
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_eq(len, strlen(expected));
    ck_assert_mem_eq(bytes, expected, len);
    resp_bytes_free(bytes);
}

START_TEST(commands_as_bytes)
{
    struct resp_format *format = resp_format_new("lock:");
    size_t len;
    struct command command = command_of(golden[_i].verb, "job", golden[_i].number);
    char *bytes = resp_command(format, &command, &len);
    is_bytes(bytes, len, golden[_i].bytes);
    resp_format_free(format);
}
END_TEST

START_TEST(commands_of_the_longest_words)
{
    char prefix[65] = "", name[NAME_BYTES + 1] = "";
    memset(prefix, 'p', 64);
    memset(name, 'n', NAME_BYTES);
    struct resp_format *format = resp_format_new(prefix);
    struct command command = command_of(COMMAND_SET, name, UINT64_MAX);
    size_t len;
    char *bytes = resp_command(format, &command, &len);
    char expected[512];
    snprintf(expected, sizeof expected,
             "*6\r\n$3\r\nSET\r\n$264\r\n%s%s\r\n$40\r\n" TOKEN_TEXT
             "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$20\r\n18446744073709551615\r\n",
             prefix, name);
    is_bytes(bytes, len, expected);
    command = command_of(COMMAND_ZSCORE, name, 0);
    bytes = resp_command(format, &command, &len);
    snprintf(expected, sizeof expected, "*3\r\n$6\r\nZSCORE\r\n$71\r\n%s,fences\r\n$5\r\n16383\r\n", prefix);
    is_bytes(bytes, len, expected);
    resp_format_free(format);
}
END_TEST

START_TEST(login_as_bytes)
{
    size_t len;
    char *bytes = resp_auth("", "se cret", &len);
    is_bytes(bytes, len, "*2\r\n$4\r\nAUTH\r\n$7\r\nse cret\r\n");
    bytes = resp_auth(NULL, "x", &len);
    is_bytes(bytes, len, "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n");
    bytes = resp_auth("me", "x", &len);
    is_bytes(bytes, len, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$1\r\nx\r\n");
    bytes = resp_select(15, &len);
    is_bytes(bytes, len, "*2\r\n$6\r\nSELECT\r\n$2\r\n15\r\n");
}
END_TEST

/* ---- replies ---- */

/* The first reply of these bytes; fails if there is none. reply must outlive nothing. */
static struct resp_reply reply_of(const char *bytes, size_t len)
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

static struct vote vote_of_bytes(enum command_verb verb, const char *bytes, size_t len)
{
    struct resp_reply reply = reply_of(bytes, len);
    struct vote vote;
    resp_vote(verb, &reply, &vote);
    return vote;
}

static struct vote vote_of(enum command_verb verb, const char *bytes)
{
    return vote_of_bytes(verb, bytes, strlen(bytes));
}

static const struct {
    enum command_verb verb;
    const char *bytes;
    enum vote_kind kind;
    uint64_t number; /* of a NUMBER; the class of an ERROR */
} votes[] = {
    {COMMAND_CLIENT_ID, ":42\r\n", VOTE_NUMBER, 42},
    {COMMAND_CLIENT_ID, ":-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_CLIENT_ID, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_KILL, ":1\r\n", VOTE_NUMBER, 1},
    {COMMAND_KILL, ":0\r\n", VOTE_NUMBER, 0},
    {COMMAND_INFO, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_INFO, "$5\r\nhello\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, "+OK\r\n", VOTE_YES, 0},
    {COMMAND_SET, "$-1\r\n", VOTE_NO, 0},
    {COMMAND_SET, "*-1\r\n", VOTE_NO, 0},
    {COMMAND_SET, "+QUEUED\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, "+OKAY\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, "$2\r\nOK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, "*0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, "*2\r\n+OK\r\n:1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZADD, ":1\r\n", VOTE_YES, 0},
    {COMMAND_ZADD, ":0\r\n", VOTE_NO, 0},
    {COMMAND_ZADD, ":2\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZADD, "$-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZSCORE, "$-1\r\n", VOTE_NUMBER, 0},
    {COMMAND_ZSCORE, "$16\r\n1732200000000001\r\n", VOTE_NUMBER, 1732200000000001},
    {COMMAND_ZSCORE, "$7\r\n1.7e+15\r\n", VOTE_NUMBER, 1700000000000000},
    {COMMAND_ZSCORE, "$22\r\n1.7322000000000010e+15\r\n", VOTE_NUMBER, 1732200000000001},
    {COMMAND_ZSCORE, "$16\r\n9007199254740991\r\n", VOTE_NUMBER, FENCE_MAX},
    {COMMAND_ZSCORE, "$16\r\n9007199254740992\r\n", VOTE_NUMBER, FENCE_MAX},
    {COMMAND_ZSCORE, "$6\r\n1e+300\r\n", VOTE_NUMBER, FENCE_MAX},
    {COMMAND_ZSCORE, "$3\r\ninf\r\n", VOTE_NUMBER, FENCE_MAX},
    {COMMAND_ZSCORE, "$4\r\n-inf\r\n", VOTE_NUMBER, 0},
    {COMMAND_ZSCORE, "$2\r\n-5\r\n", VOTE_NUMBER, 0},
    {COMMAND_ZSCORE, "$3\r\n1.5\r\n", VOTE_NUMBER, 2},
    {COMMAND_ZSCORE, "$3\r\nnan\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZSCORE, "$0\r\n\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZSCORE, "$2\r\n 5\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZSCORE, "$2\r\n5x\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ZSCORE, ":5\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_RELEASE, ":1\r\n", VOTE_YES, 0},
    {COMMAND_RELEASE, ":0\r\n", VOTE_NO, 0},
    {COMMAND_RELEASE, "$-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, ":10000\r\n", VOTE_NUMBER, 10000},
    {COMMAND_EXTEND, ":0\r\n", VOTE_NUMBER, 0},
    {COMMAND_EXTEND, ":-2\r\n", VOTE_NO, 0},
    {COMMAND_EXTEND, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_CHECK, ":77\r\n", VOTE_NUMBER, 77},
    {COMMAND_CHECK, ":-2\r\n", VOTE_NO, 0},
    {COMMAND_SET, "-OOM command not allowed when used memory > 'maxmemory'.\r\n", VOTE_ERROR, ERROR_OOM},
    {COMMAND_SET, "-READONLY You can't write against a read only replica.\r\n", VOTE_ERROR, ERROR_READONLY},
    {COMMAND_SET, "-MISCONF Redis is configured to save RDB snapshots\r\n", VOTE_ERROR, ERROR_MISCONF},
    {COMMAND_ZADD, "-NOREPLICAS Not enough good replicas to write.\r\n", VOTE_ERROR, ERROR_NOREPLICAS},
    {COMMAND_INFO, "-LOADING Redis is loading the dataset in memory\r\n", VOTE_ERROR, ERROR_LOADING},
    {COMMAND_RELEASE, "-BUSY Redis is busy running a script.\r\n", VOTE_ERROR, ERROR_BUSY},
    {COMMAND_RELEASE, "-BUSYKEY Target key name already exists.\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_CHECK, "-NOPERM this user has no permissions\r\n", VOTE_ERROR, ERROR_NOPERM},
    {COMMAND_SET, "-NOAUTH Authentication required.\r\n", VOTE_ERROR, ERROR_NOAUTH},
    {COMMAND_SET, "-WRONGPASS invalid username-password pair\r\n", VOTE_ERROR, ERROR_NOAUTH},
    {COMMAND_ZADD, "-WRONGTYPE Operation against a key\r\n", VOTE_ERROR, ERROR_WRONGTYPE},
    {COMMAND_SET, "-OOM\r\n", VOTE_ERROR, ERROR_OOM},
    {COMMAND_SET, "-OTHER\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SET, "-\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_RELEASE, "-NOSCRIPT No matching script. Please use EVAL.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_EXTEND, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_CHECK, "-NOSCRIPT\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_SET, "-NOSCRIPT No matching script.\r\n", VOTE_ERROR, ERROR_OTHER},
};

START_TEST(replies_as_votes)
{
    struct vote vote = vote_of(votes[_i].verb, votes[_i].bytes);
    ck_assert_msg(vote.kind == votes[_i].kind, "%s: kind %d", votes[_i].bytes, (int)vote.kind);
    if (vote.kind == VOTE_NUMBER)
        ck_assert_uint_eq(vote.number, votes[_i].number);
    if (vote.kind == VOTE_ERROR)
        ck_assert_uint_eq((uint64_t)vote.error, votes[_i].number);
}
END_TEST

START_TEST(error_names)
{
    ck_assert_str_eq(resp_error_name(ERROR_OOM), "OOM");
    ck_assert_str_eq(resp_error_name(ERROR_WRONGTYPE), "WRONGTYPE");
    ck_assert_str_eq(resp_error_name(ERROR_OTHER), "OTHER");
}
END_TEST

START_TEST(long_strings_are_cut)
{
    char bytes[1024];
    int head = snprintf(bytes, sizeof bytes, "-OOM ");
    memset(bytes + head, 'x', 600);
    memcpy(bytes + head + 600, "\r\n", 2);
    struct resp_reply reply = reply_of(bytes, (size_t)head + 602);
    ck_assert_int_eq(reply.type, RESP_ERROR);
    ck_assert_uint_eq(reply.text_len, RESP_TEXT_BYTES);
    ck_assert_uint_eq(strlen(reply.text), RESP_TEXT_BYTES);
    reply = reply_of("$3\r\na\0b\r\n", 9);
    ck_assert_uint_eq(reply.text_len, 3);
    ck_assert_mem_eq(reply.text, "a\0b", 4);
}
END_TEST

START_TEST(replies_byte_by_byte)
{
    static const char bytes[] = "+OK\r\n$-1\r\n:17\r\n-OOM no\r\n*3\r\n:1\r\n$2\r\nab\r\n$-1\r\n$4\r\n\r\n\r\n\r\n*-1\r\n";
    static const enum resp_type types[] = {RESP_STATUS, RESP_NIL,   RESP_INTEGER, RESP_ERROR,
                                           RESP_ARRAY,  RESP_STRING, RESP_NIL};
    static const size_t ends[] = {5, 10, 15, 24, 45, 55, 60};
    struct resp_reader *reader = resp_reader_new();
    unsigned seen = 0;
    for (size_t i = 0; i + 1 < sizeof bytes; i++) {
        const struct resp_reply *reply;
        const char *why = NULL;
        ck_assert_int_eq(resp_reader_feed(reader, bytes + i, 1), 0);
        int got = resp_reader_next(reader, &reply, &why);
        ck_assert_int_eq(got, i + 1 == ends[seen]);
        if (got) {
            ck_assert_int_eq(reply->type, types[seen]);
            if (reply->type == RESP_ARRAY)
                ck_assert_int_eq(reply->integer, 3);
            seen++;
        }
    }
    ck_assert_uint_eq(seen, 7);
    resp_reader_free(reader);
}
END_TEST

/* Many replies in one read, and the next ones in the same memory. */
START_TEST(replies_pipelined)
{
    struct resp_reader *reader = resp_reader_new();
    char block[60000];
    for (size_t i = 0; i < sizeof block; i += 5)
        memcpy(block + i, "+OK\r\n", 5);
    for (unsigned round = 0; round < 5; round++) {
        const struct resp_reply *reply;
        const char *why = "";
        unsigned count = 0;
        int got;
        ck_assert_int_eq(resp_reader_feed(reader, block, sizeof block), 0);
        while ((got = resp_reader_next(reader, &reply, &why)) == 1) {
            ck_assert_str_eq(reply->text, "OK");
            count++;
        }
        ck_assert_msg(got == 0, "%s", why);
        ck_assert_uint_eq(count, sizeof block / 5);
    }
    resp_reader_free(reader);
}
END_TEST

/* ---- what no master of ours sends ---- */

static const char *const hostile[] = {
    "*2147483647\r\n",
    "*257\r\n",
    "*4294967297\r\n",
    "*9223372036854775807\r\n",
    "*-2\r\n",
    "*1\r\n*1\r\n:1\r\n",
    "*1\r\n*0\r\n",
    "*2\r\n:1\r\n*1\r\n:1\r\n",
    "*x\r\n",
    "$-2\r\n",
    "$-9223372036854775808\r\n",
    "$99999999999999999999\r\n",
    "$abc\r\n",
    ":12x\r\n",
    ":\r\n",
    ":99999999999999999999\r\n",
    "HTTP/1.1 400 Bad Request\r\n\r\n",
    "\r\n",
    "\x16\x03\x01\x02",
    /* RESP3 */
    "%1\r\n+a\r\n+b\r\n",
    "%0\r\n",
    "~1\r\n:1\r\n",
    "~0\r\n",
    ">2\r\n+a\r\n+b\r\n",
    "_\r\n",
    "#t\r\n",
    ",1.5\r\n",
    "(12345678901234567890\r\n",
    "=7\r\ntxt:abc\r\n",
    "!5\r\nERR a\r\n",
    "|1\r\n+a\r\n+b\r\n+OK\r\n",
    "*1\r\n#t\r\n",
    "*1\r\n_\r\n",
};

START_TEST(hostile_is_refused)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp_reply *reply;
    const char *why = NULL;
    const char *bytes = hostile[_i];
    ck_assert_int_eq(resp_reader_feed(reader, bytes, strlen(bytes)), 0);
    ck_assert_msg(resp_reader_next(reader, &reply, &why) == -1, "taken: %s", bytes);
    ck_assert_ptr_nonnull(why);
    ck_assert_uint_gt(strlen(why), 5);
    ck_assert_ptr_null(strstr(why, "emory"));
    /* It stays refused, whatever comes. */
    resp_reader_feed(reader, "+OK\r\n", 5);
    ck_assert_int_eq(resp_reader_next(reader, &reply, &why), -1);
    resp_reader_free(reader);
}
END_TEST

START_TEST(the_largest_array_is_taken)
{
    char bytes[8 + 256 * 4] = "*256\r\n";
    for (unsigned i = 0; i < 256; i++)
        memcpy(bytes + 6 + i * 4, ":1\r\n", 4);
    struct resp_reply reply = reply_of(bytes, 6 + 256 * 4);
    ck_assert_int_eq(reply.type, RESP_ARRAY);
    ck_assert_int_eq(reply.integer, 256);
}
END_TEST

/* Feeds head, then blocks of tail; how many bytes went in before the reader gave up. */
static size_t endless(const char *head, const char *tail, size_t block)
{
    struct resp_reader *reader = resp_reader_new();
    char bytes[4096];
    size_t tail_len = strlen(tail), fed = strlen(head);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = tail[i % tail_len];
    ck_assert_int_eq(resp_reader_feed(reader, head, fed), 0);
    const struct resp_reply *reply;
    const char *why = NULL;
    int got;
    while ((got = resp_reader_next(reader, &reply, &why)) == 0 && fed < 1000000) {
        ck_assert_int_eq(resp_reader_feed(reader, bytes, block), 0);
        fed += block;
    }
    ck_assert_int_eq(got, -1);
    ck_assert_str_eq(why, "a reply of more than 64 KiB");
    resp_reader_free(reader);
    return fed;
}

START_TEST(endless_is_refused)
{
    static const char *const heads[] = {"+", "-ERR ", ":", "$60000000000\r\n", "$9223372036854775807\r\n", "$", "*"};
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t fed = endless(heads[i], "1", 1000);
        ck_assert_uint_gt(fed, RESP_REPLY_BYTES);
        ck_assert_uint_le(fed, RESP_REPLY_BYTES + 1000);
    }
    /* Elements that each end, in an array that does not. */
    endless("*256\r\n$70000\r\n", "x", 1000);
}
END_TEST

/* The limit does not depend on how the bytes were cut. */
START_TEST(too_long_at_once_is_refused)
{
    for (size_t over = 0; over < 2; over++) {
        size_t len = RESP_REPLY_BYTES + over;
        char *bytes = malloc(len + 5);
        memset(bytes, 'x', len);
        bytes[0] = '+';
        memcpy(bytes + len - 2, "\r\n+OK\r\n", 7);
        struct resp_reader *reader = resp_reader_new();
        const struct resp_reply *reply;
        const char *why;
        ck_assert_int_eq(resp_reader_feed(reader, bytes, len + 5), 0);
        ck_assert_int_eq(resp_reader_next(reader, &reply, &why), over ? -1 : 1);
        if (!over)
            ck_assert_int_eq(resp_reader_next(reader, &reply, &why), 1);
        resp_reader_free(reader);
        free(bytes);
    }
}
END_TEST

/* ---- INFO ---- */

#define RUN_ID "0123456789abcdef0123456789abcdef01234567"
#define INFO_HEAD "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" RUN_ID "\r\n"
#define INFO_UP "uptime_in_seconds:12345\r\nuptime_in_days:0\r\n"
#define INFO_MEM "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
#define INFO_LOAD "# Persistence\r\nloading:0\r\nasync_loading:0\r\n"
#define INFO_ROLE "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
#define INFO_CLUSTER "# Cluster\r\ncluster_enabled:0\r\n"

static struct vote info_vote(const char *text)
{
    char bytes[4096];
    int len = snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    return vote_of_bytes(COMMAND_INFO, bytes, (size_t)len);
}

START_TEST(info_of_a_good_master)
{
    struct vote vote = info_vote(INFO_HEAD INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_mem_eq(vote.info.run_id, RUN_ID, RUN_ID_HEX);
    ck_assert_uint_eq(vote.info.version, 0x07000f);
    ck_assert_int_eq(vote.info.uptime_s, 12345);
    ck_assert(!vote.info.replica && !vote.info.cluster && !vote.info.evicts && !vote.info.loading);
}
END_TEST

START_TEST(info_of_others)
{
    struct vote vote = info_vote("redis_version:6.0.16\nrun_id:" RUN_ID "\nuptime_in_seconds:-3\n" INFO_MEM
                                 "loading:1\nrole:slave\ncluster_enabled:1");
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_uint_eq(vote.info.version, 0x060010);
    ck_assert_int_eq(vote.info.uptime_s, 0);
    ck_assert(vote.info.replica && vote.info.cluster && !vote.info.evicts && vote.info.loading);

    vote = info_vote("# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nrun_id:" RUN_ID
                     "\r\n" INFO_UP "maxmemory_policy:allkeys-lru\r\n" INFO_LOAD INFO_ROLE INFO_CLUSTER);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_uint_eq(vote.info.version, 0x070204);
    ck_assert(vote.info.evicts && !vote.info.replica);

    vote = info_vote("redis_version:255.255.999\r\nrun_id:" RUN_ID "\r\n" INFO_UP INFO_MEM INFO_LOAD INFO_ROLE
                     INFO_CLUSTER);
    ck_assert_uint_eq(vote.info.version, 0xffffff);
}
END_TEST

START_TEST(info_with_a_field_missing)
{
    static const char *const texts[] = {
        INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER,
        INFO_HEAD INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER,
        INFO_HEAD INFO_UP INFO_LOAD INFO_ROLE INFO_CLUSTER,
        INFO_HEAD INFO_UP INFO_MEM INFO_ROLE INFO_CLUSTER,
        INFO_HEAD INFO_UP INFO_MEM INFO_LOAD INFO_CLUSTER,
        INFO_HEAD INFO_UP INFO_MEM INFO_LOAD INFO_ROLE,
        "run_id:short\r\nredis_version:7.0.15\r\n" INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER,
        "run_id:" RUN_ID "\r\nredis_version:x\r\n" INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER,
        INFO_HEAD "uptime_in_seconds:\r\n" INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER,
        INFO_HEAD "uptime_in_seconds:99999999999999999999\r\n" INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER,
    };
    struct vote vote = info_vote(texts[_i]);
    ck_assert_int_eq(vote.kind, VOTE_ERROR);
    ck_assert_int_eq(vote.error, ERROR_OTHER);
}
END_TEST

/* ---- a real server ---- */

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

static struct resp_reply exchange(char *bytes, size_t len)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp_reply *reply = NULL;
    const char *why = "";
    int got, fd = server_connect(&server);
    ck_assert_int_ge(fd, 0);
    server_write(fd, bytes, len);
    resp_bytes_free(bytes);
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

static struct vote run(enum command_verb verb, const char *name, uint64_t number)
{
    struct command command = command_of(verb, name, number);
    size_t len;
    char *bytes = resp_command(format, &command, &len);
    struct resp_reply reply = exchange(bytes, len);
    struct vote vote;
    resp_vote(verb, &reply, &vote);
    return vote;
}

static void load_scripts(void)
{
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        size_t len;
        char *bytes = resp_script_load(i, &len);
        struct resp_reply reply = exchange(bytes, len);
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
    ck_assert_uint_eq(run(COMMAND_EXTEND, "job", 5000).number, 5000);
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
    server_say(&server, "CONFIG SET min-replicas-to-write 0");
    server_say(&server, "REPLICAOF 127.0.0.1 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_READONLY);
    ck_assert_int_eq(run(COMMAND_RELEASE, "job", 0).error, ERROR_READONLY);
    struct vote vote = run(COMMAND_INFO, "", 0);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert(vote.info.replica);
    server_say(&server, "REPLICAOF NO ONE");
    /* Out of memory: no new lock, but giving back and extending go on. */
    server_say(&server, "CONFIG SET maxmemory 1");
    ck_assert_int_eq(run(COMMAND_SET, "other", 10000).error, ERROR_OOM);
    ck_assert_int_eq(run(COMMAND_ZADD, "job", 10000).error, ERROR_OOM);
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
                check = run(COMMAND_CHECK, "job", 0);
    server_say(&server, "ACL SETUSER default +get");
    ck_assert_int_eq(release.kind, VOTE_ERROR);
    ck_assert_int_eq(extend.kind, VOTE_ERROR);
    ck_assert_int_eq(check.kind, VOTE_ERROR);
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

static Suite *resp_suite(void)
{
    Suite *suite = suite_create("resp");
    TCase *plain = tcase_create("bytes");
    tcase_add_loop_test(plain, commands_as_bytes, 0, sizeof golden / sizeof golden[0]);
    tcase_add_test(plain, commands_of_the_longest_words);
    tcase_add_test(plain, login_as_bytes);
    tcase_add_loop_test(plain, replies_as_votes, 0, sizeof votes / sizeof votes[0]);
    tcase_add_test(plain, error_names);
    tcase_add_test(plain, long_strings_are_cut);
    tcase_add_test(plain, replies_byte_by_byte);
    tcase_add_test(plain, replies_pipelined);
    tcase_add_loop_test(plain, hostile_is_refused, 0, sizeof hostile / sizeof hostile[0]);
    tcase_add_test(plain, the_largest_array_is_taken);
    tcase_add_test(plain, endless_is_refused);
    tcase_add_test(plain, too_long_at_once_is_refused);
    tcase_add_test(plain, info_of_a_good_master);
    tcase_add_test(plain, info_of_others);
    tcase_add_loop_test(plain, info_with_a_field_missing, 0, 10);
    suite_add_tcase(suite, plain);

    TCase *real = tcase_create("real server");
    tcase_add_unchecked_fixture(real, server_setup, server_teardown);
    tcase_set_timeout(real, 30);
    tcase_add_test(real, script_sha1s);
    tcase_add_test(real, a_lock_taken_and_given_back);
    tcase_add_test(real, extend_lengthens_only);
    tcase_add_test(real, keys_of_others_are_left_alone);
    tcase_add_test(real, our_key_without_a_ttl);
    tcase_add_test(real, fences_only_grow);
    tcase_add_test(real, a_server_that_refuses_writes);
    tcase_add_test(real, a_user_without_get);
    tcase_add_test(real, handshake_of_a_real_server);
    suite_add_tcase(suite, real);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(resp_suite());
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
