/* Replies as votes. */
#include <stdio.h>

#include "tests/unit/resp.h"
#include "tests/unit/suite.h"

static const struct {
    enum command_verb verb;
    const char *bytes;
    enum vote_kind kind;
    uint64_t number; /* the value of a NUMBER or HEARD; the class of an ERROR or UNHEARD */
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
    {COMMAND_HEAL, "+OK\r\n", VOTE_YES, 0},
    {COMMAND_HEAL, "$-1\r\n", VOTE_NO, 0},
    {COMMAND_GROUP_SET, ":1\r\n", VOTE_YES, 0},
    {COMMAND_GROUP_SET, ":0\r\n", VOTE_NO, 0},
    {COMMAND_GROUP_NEW, ":1\r\n", VOTE_YES, 0},
    {COMMAND_GROUP_NEW, ":0\r\n", VOTE_NO, 0},
    {COMMAND_GROUP_NEW, "-NOSCRIPT No matching script\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_GROUP_SET, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_DEQUEUE, ":1\r\n", VOTE_YES, 0},
    {COMMAND_DEQUEUE, ":0\r\n", VOTE_NO, 0},
    {COMMAND_LETTER, ":2\r\n", VOTE_YES, 0},
    {COMMAND_LETTER, ":0\r\n", VOTE_NO, 0},
    {COMMAND_LETTER, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ENQUEUE, "*3\r\n:-2\r\n:0\r\n:0\r\n", VOTE_NO, 0},
    {COMMAND_ENQUEUE, "*3\r\n:900\r\n:2\r\n:1\r\n", VOTE_HEARD, 900},
    {COMMAND_ENQUEUE, "*3\r\n:-1\r\n:1\r\n:0\r\n", VOTE_HEARD, 0},
    {COMMAND_ENQUEUE, "*3\r\n:900\r\n:0\r\n:0\r\n", VOTE_UNHEARD, ERROR_OTHER},
    {COMMAND_ENQUEUE, "*3\r\n:900\r\n:-1\r\n:0\r\n", VOTE_UNHEARD, ERROR_NOPERM},
    {COMMAND_ENQUEUE, "*2\r\n:900\r\n:1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ENQUEUE, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ENQUEUE, "-OOM command not allowed.\r\n", VOTE_ERROR, ERROR_OOM},
    {COMMAND_ENQUEUE, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_LOOK, "$15\r\n8 1 1500 2500 \x05\r\n", VOTE_LOOKED, 1500},
    {COMMAND_LOOK, "$11\r\n8 0 -1 -1 \x05\r\n", VOTE_LOOKED, 0},
    {COMMAND_LOOK, "$10\r\n8 0 -1 -1 \r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_LOOK, "$10\r\n8 0 -1 -1\x05\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_LOOK, "$8\r\n8 0 -1 \x05\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_LOOK, "$3\r\n8 x\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_LOOK, "$-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_LOOK, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_LOOK, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_LOOK, "-READONLY You can't write\r\n", VOTE_ERROR, ERROR_READONLY},
    {COMMAND_PASS, ":0\r\n", VOTE_NO, 0},
    {COMMAND_PASS, ":1\r\n", VOTE_YES, 0},
    {COMMAND_PASS, ":7\r\n", VOTE_HEARD, 5},
    {COMMAND_PASS, ":-1\r\n", VOTE_UNHEARD, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$10\r\n1732200000\r\n$6\r\n123999\r\n", VOTE_NUMBER, 1732200000123},
    {COMMAND_TIME, "*2\r\n$1\r\n1\r\n$1\r\n0\r\n", VOTE_NUMBER, 1000},
    {COMMAND_TIME, "*2\r\n$11\r\n99999999999\r\n$6\r\n999999\r\n", VOTE_NUMBER, 99999999999999},
    {COMMAND_TIME, "*2\r\n$12\r\n100000000000\r\n$6\r\n123456\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$19\r\n9223372036854775807\r\n$1\r\n0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$1\r\n0\r\n$1\r\n0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$10\r\n1732200000\r\n$7\r\n1000000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$10\r\n1732200000\r\n$2\r\n-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$10\r\n173220000x\r\n$1\r\n0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$0\r\n\r\n$1\r\n0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n$-1\r\n$1\r\n0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n:1732200000\r\n:123456\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*2\r\n+1732200000\r\n+123456\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*1\r\n$10\r\n1732200000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*3\r\n$10\r\n1732200000\r\n$1\r\n0\r\n$1\r\n0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "$10\r\n1732200000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, ":1732200000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_TIME, "*-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_GROUP, "$-1\r\n", VOTE_NO, 0},
    {COMMAND_PROBE, "$-1\r\n", VOTE_NO, 0},
    {COMMAND_GROUP, "-WRONGTYPE Operation against a key\r\n", VOTE_UNREADABLE, 0},
    {COMMAND_PROBE, "-WRONGTYPE Operation against a key\r\n", VOTE_UNREADABLE, 0},
    {COMMAND_GROUP_SET, "-WRONGTYPE Operation against a key\r\n", VOTE_ERROR, ERROR_WRONGTYPE},
    {COMMAND_PROBE, "-READONLY You can't write\r\n", VOTE_ERROR, ERROR_READONLY},
    {COMMAND_PROBE, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_PROBE, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_GET, "$-1\r\n", VOTE_NO, 0},
    {COMMAND_GET, "$0\r\n\r\n", VOTE_TOKEN, 0},
    {COMMAND_GET, "-WRONGTYPE Operation against a key\r\n", VOTE_TOKEN, 0},
    {COMMAND_GET, "-NOPERM this user has no permissions\r\n", VOTE_ERROR, ERROR_NOPERM},
    {COMMAND_GET, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_GET, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_SETTLE, ":7\r\n", VOTE_NUMBER, 7},
    {COMMAND_SETTLE, ":-2\r\n", VOTE_NO, 0},
    {COMMAND_DATA, ":1\r\n", VOTE_YES, 0},
    {COMMAND_DATA, ":0\r\n", VOTE_NO, 0},
    {COMMAND_ADOPT, "$8\r\n1000 a:1\r\n", VOTE_DATA, 1000},
    {COMMAND_ADOPT, ":0\r\n", VOTE_NO, 0},
    {COMMAND_ADOPT, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ADOPT, "$5\r\n1000 \r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ADOPT, "$6\r\n-1 a:1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ADOPT, "$8\r\n1000 a\"1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ADOPT, "$10\r\n1000 a:1 b\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_ADOPT, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_CUT, ":1\r\n", VOTE_NUMBER, 1},
    {COMMAND_CUT, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_DOWN, ":7\r\n", VOTE_NUMBER, 7},
    {COMMAND_DOWN, ":-2\r\n", VOTE_NO, 0},
    {COMMAND_SETTLE, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_MOVE, ":1\r\n", VOTE_YES, 0},
    {COMMAND_MOVE, ":0\r\n", VOTE_NO, 0},
    {COMMAND_MOVE, ":2\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_MOVE, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_MOVE, "-NOSCRIPT No matching script.\r\n", VOTE_NOT_RUN, 0},
    {COMMAND_MOVE, "-@user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.\r\n",
     VOTE_ERROR, ERROR_OOM},
    {COMMAND_RELEASE, "-@user_script: 1: -READONLY You can't write against a read only replica.\r\n",
     VOTE_ERROR, ERROR_READONLY},
    {COMMAND_RELEASE, "-@user_script: 1: nothing\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_RELEASE, ":2\r\n", VOTE_HEARD, 0},
    {COMMAND_RELEASE, ":1002\r\n", VOTE_HEARD, 1000},
    {COMMAND_RELEASE, ":-1\r\n", VOTE_UNHEARD, ERROR_OTHER},
    {COMMAND_RELEASE, ":-2\r\n", VOTE_UNHEARD, ERROR_NOPERM},
    {COMMAND_RELEASE, ":-3\r\n", VOTE_ERROR, ERROR_OTHER},
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
    {COMMAND_EXTEND, "*1\r\n:10000\r\n", VOTE_NUMBER, 10000},
    {COMMAND_EXTEND, "*1\r\n:0\r\n", VOTE_NUMBER, 0},
    {COMMAND_EXTEND, "*1\r\n:-2\r\n", VOTE_NO, 0},
    {COMMAND_EXTEND, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, ":10000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, "*0\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, "*-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, "*2\r\n:10000\r\n:10000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, "*1\r\n$5\r\n10000\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, "*1\r\n$-1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_EXTEND, "*1\r\n-READONLY no\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_CHECK, "*1\r\n:77\r\n", VOTE_ERROR, ERROR_OTHER},
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
    {COMMAND_RELEASE_DELEX, ":1\r\n", VOTE_YES, 0},
    {COMMAND_RELEASE_DELEX, ":0\r\n", VOTE_NO, 0},
    {COMMAND_RELEASE_DELEX, ":2\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_RELEASE_DELEX, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_RELEASE_DELEX, "-ERR Key should be of string type if conditions are specified\r\n", VOTE_ERROR,
     ERROR_WRONGTYPE},
    {COMMAND_RELEASE_DELEX, "-ERR unknown command 'DELEX', with args beginning with: 'k'\r\n", VOTE_ERROR,
     ERROR_OTHER},
    {COMMAND_RELEASE_DELEX, "-NOPERM User u has no permissions to run the 'delex' command\r\n", VOTE_ERROR,
     ERROR_NOPERM},
    {COMMAND_RELEASE_DELEX, "-NOSCRIPT No matching script.\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_RELEASE_DELIFEQ, "-WRONGTYPE Operation against a key\r\n", VOTE_ERROR, ERROR_WRONGTYPE},
    {COMMAND_SET_MSETEX, ":1\r\n", VOTE_YES, 0},
    {COMMAND_SET_MSETEX, ":0\r\n", VOTE_NO, 0},
    {COMMAND_SET_MSETEX, "+OK\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_MOVE_IFEQ, "+OK\r\n", VOTE_YES, 0},
    {COMMAND_MOVE_IFEQ, "$-1\r\n", VOTE_NO, 0},
    {COMMAND_MOVE_IFEQ, ":1\r\n", VOTE_ERROR, ERROR_OTHER},
    {COMMAND_MOVE_IFEQ, "-ERR syntax error\r\n", VOTE_ERROR, ERROR_OTHER},
};

T_EACH(replies_as_votes, sizeof votes / sizeof votes[0])
{
    struct vote vote = vote_of(votes[_i].verb, votes[_i].bytes);
    ck_assert_msg(vote.kind == votes[_i].kind, "%s: kind %d", votes[_i].bytes, (int)vote.kind);
    if (vote.kind == VOTE_NUMBER)
        ck_assert_uint_eq(vote.number, votes[_i].number);
    if (vote.kind == VOTE_ERROR)
        ck_assert_uint_eq((uint64_t)vote.error, votes[_i].number);
}

static const struct {
    const char *bytes;
    enum vote_kind kind[3];
    uint64_t number; /* the value of a NUMBER; the class of an ERROR */
} three_keys[] = {
    {"*3\r\n:500\r\n:-2\r\n:500\r\n", {VOTE_NUMBER, VOTE_NO, VOTE_NUMBER}, 500},
    {"*3\r\n:-2\r\n:0\r\n:-1\r\n", {VOTE_NO, VOTE_NUMBER, VOTE_NO}, 0},
    {"-NOSCRIPT No matching script.\r\n", {VOTE_NOT_RUN, VOTE_NOT_RUN, VOTE_NOT_RUN}, 0},
    {"-READONLY You can't write\r\n", {VOTE_ERROR, VOTE_ERROR, VOTE_ERROR}, ERROR_READONLY},
    {"*2\r\n:500\r\n:500\r\n", {VOTE_ERROR, VOTE_ERROR, VOTE_ERROR}, ERROR_OTHER},
    {"*4\r\n:500\r\n:500\r\n:500\r\n:500\r\n", {VOTE_ERROR, VOTE_ERROR, VOTE_ERROR}, ERROR_OTHER},
    {"*3\r\n:500\r\n:500\r\n$-1\r\n", {VOTE_ERROR, VOTE_ERROR, VOTE_ERROR}, ERROR_OTHER},
    {"*3\r\n$1\r\n5\r\n$1\r\n5\r\n$1\r\n5\r\n", {VOTE_ERROR, VOTE_ERROR, VOTE_ERROR}, ERROR_OTHER},
    {":500\r\n", {VOTE_ERROR, VOTE_ERROR, VOTE_ERROR}, ERROR_OTHER},
};

T_EACH(a_reply_to_three_keys, sizeof three_keys / sizeof three_keys[0])
{
    struct resp_reply reply = reply_of(three_keys[_i].bytes, strlen(three_keys[_i].bytes));
    for (unsigned key = 0; key < 3; key++) {
        struct vote vote;
        resp_vote_key(&reply, key, 3, &vote);
        ck_assert_int_eq(vote.kind, three_keys[_i].kind[key]);
        if (vote.kind == VOTE_NUMBER)
            ck_assert_uint_eq(vote.number, three_keys[_i].number);
        if (vote.kind == VOTE_ERROR)
            ck_assert_uint_eq((uint64_t)vote.error, three_keys[_i].number);
    }
}

T(error_names)
{
    ck_assert_str_eq(resp_error_name(ERROR_OOM), "OOM");
    ck_assert_str_eq(resp_error_name(ERROR_WRONGTYPE), "WRONGTYPE");
    ck_assert_str_eq(resp_error_name(ERROR_OTHER), "OTHER");
}

/* ---- ,group ---- */

static struct vote string_vote(enum command_verb verb, const char *text, size_t len)
{
    char bytes[4096];
    int head = snprintf(bytes, sizeof bytes, "$%zu\r\n", len);
    memcpy(bytes + head, text, len);
    memcpy(bytes + head + len, "\r\n", 2);
    return vote_of_bytes(verb, bytes, (size_t)head + len + 2);
}

static struct vote group_vote(const char *text)
{
    return string_vote(COMMAND_GROUP, text, strlen(text));
}

T(group_as_we_write_it)
{
    static const char *const more[] = {"", " later=1", " a=b c=d=e =", " x=~ y=!"};
    for (unsigned i = 0; i < 4; i++) {
        char text[256];
        snprintf(text, sizeof text, GROUP_TEXT "%s", more[i]);
        struct vote vote = group_vote(text);
        if (i == 2) { /* without a key */
            ck_assert_int_eq(vote.kind, VOTE_UNREADABLE);
            continue;
        }
        ck_assert_int_eq(vote.kind, VOTE_GROUP);
        ck_assert_uint_eq(vote.group.masters, 5);
        ck_assert_int_eq(vote.group.max_ttl_ms, 30000);
        ck_assert_int_eq(vote.group.from_ms, 1732200000000);
        ck_assert_mem_eq(vote.group.run_id, RUN_ID, RUN_ID_HEX);
    }
    struct vote vote =
        group_vote("1 N=999999999 max_ttl=999999999999999 run=" RUN_ID " from=999999999999999");
    ck_assert_int_eq(vote.kind, VOTE_GROUP);
    ck_assert_uint_eq(vote.group.masters, 999999999);
    ck_assert_int_eq(vote.group.max_ttl_ms, 999999999999999);
    ck_assert_int_eq(vote.group.from_ms, 999999999999999);
}

static const char *const not_groups[] = {
    "",
    "1",
    "rubbish",
    "2 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "10 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N=5 max_ttl=30000 run=" RUN_ID,
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=",
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=0",
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=-1",
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=+1",
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=01732200000000",
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000ms",
    "1 N=5 max_ttl=30000 run=" RUN_ID " from=1000000000000000",
    "1 N=0 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N=05 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N=1000000000 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N=18446744073709551621 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N= max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 n=5 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N=5 max_ttl=0 run=" RUN_ID " from=1732200000000",
    "1 N=5 max_ttl=30s run=" RUN_ID " from=1732200000000",
    "1 N=5 max_ttl=1000000000000000 run=" RUN_ID " from=1732200000000",
    "1 max_ttl=30000 N=5 run=" RUN_ID " from=1732200000000",
    "1  N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    " 1 N=5 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1\tN=5 max_ttl=30000 run=" RUN_ID " from=1732200000000",
    "1 N=5 max_ttl=30000 run=0123 from=1732200000000",
    "1 N=5 max_ttl=30000 run=" RUN_ID "0 from=1732200000000",
    "1 N=5 max_ttl=30000 run=g123456789abcdef0123456789abcdef01234567 from=1732200000000",
    "1 N=5 max_ttl=30000 run=" RUN_ID "\n from=1732200000000",
    GROUP_TEXT " ",
    GROUP_TEXT "  a=b",
    GROUP_TEXT " a",
    GROUP_TEXT " a=",
    GROUP_TEXT " =b",
    GROUP_TEXT " a=b ",
    GROUP_TEXT " a=b  c=d",
    GROUP_TEXT " a=\x7f",
    GROUP_TEXT " a=\xff",
    GROUP_TEXT "\n",
    GROUP_TEXT "\ta=b",
};

T_EACH(group_of_others, sizeof not_groups / sizeof not_groups[0])
{
    ck_assert_int_eq(group_vote(not_groups[_i]).kind, VOTE_UNREADABLE);
}

#define STEP_TEXT                                                                                       \
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1732200000000 since=1732200100000 set=8c2f5d11a0b37e49" \
    " before=0f31aa9c4de20b75"

static const struct {
    const char *text;
    bool settled;
    const char *by, *why;
    int64_t back_ms;
} steps[] = {
    {STEP_TEXT, false, "", "", 0},
    {"2 step=3 max_ttl=30000 run=" RUN_ID
     " from=1732200000000 since=1732200100000 settled set=8c2f5d11a0b37e49"
     " before=0f31aa9c4de20b75",
     true, "", "", 0},
    {STEP_TEXT " by=5f0c93aa why=clock back=5", false, "5f0c93aa", "clock", 5},
    {STEP_TEXT " a=b set=0000000000000001 step=9", false, "", "", 0},
};

T_EACH(group_of_a_step, sizeof steps / sizeof steps[0])
{
    struct vote vote = group_vote(steps[_i].text);
    ck_assert_int_eq(vote.kind, VOTE_GROUP);
    ck_assert_uint_eq(vote.group.step, 3);
    ck_assert_uint_eq(vote.group.masters, 0);
    ck_assert_int_eq(vote.group.max_ttl_ms, 30000);
    ck_assert_int_eq(vote.group.from_ms, 1732200000000);
    ck_assert_int_eq(vote.group.since_ms, 1732200100000);
    ck_assert(vote.group.set == UINT64_C(0x8c2f5d11a0b37e49));
    ck_assert(vote.group.before == UINT64_C(0x0f31aa9c4de20b75));
    ck_assert_int_eq(vote.group.settled, steps[_i].settled);
    ck_assert_str_eq(vote.group.by, steps[_i].by);
    ck_assert_str_eq(vote.group.why, steps[_i].why);
    ck_assert_int_eq(vote.group.back_ms, steps[_i].back_ms);
}

static const char *const not_steps[] = {
    "2 step=0 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "2 N=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "1 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "3 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=0 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "2 step=3 max_ttl=30000 run=" RUN_ID
    " from=1 since=1 settle set=8c2f5d11a0b37e49 before=0f31aa9c4de20b75",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49 before=0f31aa9c4de20b7",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e4 before=0f31aa9c4de20b75",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8C2F5D11A0B37E49 before=0f31aa9c4de20b75",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49 before=0000000000000000",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 before=0f31aa9c4de20b75 set=8c2f5d11a0b37e49",
    "2 step=3 max_ttl=30000 run=" RUN_ID " from=1 since=1 set=8c2f5d11a0b37e49",
    STEP_TEXT "0",
    STEP_TEXT " settled",
};

T_EACH(group_of_no_step, sizeof not_steps / sizeof not_steps[0])
{
    ck_assert_int_eq(group_vote(not_steps[_i]).kind, VOTE_UNREADABLE);
}

/* Every byte of the text counts, and so does every end. */
T(group_with_a_byte_wrong)
{
    char text[] = GROUP_TEXT;
    for (size_t i = 0; i + 1 < sizeof text; i++) {
        ck_assert_int_eq(string_vote(COMMAND_PROBE, text, i).kind,
                         i >= sizeof GROUP_TEXT - sizeof "732200000000" ? VOTE_GROUP : VOTE_UNREADABLE);
        char right = text[i];
        for (unsigned wrong = 0; wrong < 256; wrong++) {
            bool digit = right >= '0' && right <= '9' && i > 1 && strchr("123456789", (int)wrong) != NULL;
            bool zero = wrong == '0' && i > 0 && text[i - 1] != '=' && right >= '0' && right <= '9';
            bool hex = i >= 24 && i < 64 && wrong && strchr("0123456789abcdefABCDEF", (int)wrong) != NULL;
            if (wrong == (unsigned char)right || (wrong && digit) || zero || hex)
                continue;
            text[i] = (char)wrong;
            ck_assert_msg(string_vote(COMMAND_PROBE, text, sizeof text - 1).kind == VOTE_UNREADABLE, "%s",
                          text);
        }
        text[i] = right;
    }
}

/* The rest of the text may be long, but not longer than is kept: then its end is unknown. */
T(group_that_is_cut)
{
    char text[RESP_TEXT_BYTES + 2] = GROUP_TEXT " a=";
    memset(text + strlen(text), 'x', sizeof text - strlen(text) - 1);
    ck_assert_int_eq(string_vote(COMMAND_GROUP, text, RESP_TEXT_BYTES).kind, VOTE_GROUP);
    ck_assert_int_eq(string_vote(COMMAND_GROUP, text, RESP_TEXT_BYTES + 1).kind, VOTE_UNREADABLE);
}

/* ---- whose a key is ---- */

static struct token token_of(const char *text, size_t len)
{
    struct vote vote = string_vote(COMMAND_GET, text, len);
    ck_assert_int_eq(vote.kind, VOTE_TOKEN);
    return vote.token;
}

T(a_token_is_read)
{
    struct command command = command_of(COMMAND_MOVE, "job", 0);
    struct token token = token_of(TOKEN_TEXT, TOKEN_HEX);
    ck_assert_mem_eq(&token, &command.token, sizeof token);
    token = token_of(TO_TEXT, TOKEN_HEX);
    ck_assert_mem_eq(&token, &command.to, sizeof token);
}

/* Equal values give equal tokens, others do not, and none is the zero that means nobody. */
T(any_other_value_is_somebodys)
{
    static char large[3000];
    memset(large, 'x', sizeof large);
    static const char *const texts[] = {
        "",
        "a",
        "b",
        "ab",
        "another",
        "000102030405060708090A0B0C0D0E0F10111213",
        "00010203040506070809ga0b0c0d0e0f10111213",
        "0000000000000000000000000000000000000000",
        (TOKEN_TEXT "0"),
        (TOKEN_TEXT "\n"),
        "00010203040506070809",
    };
    enum { TEXTS = sizeof texts / sizeof texts[0], ALL = TEXTS + 5 };
    struct token token[ALL] = {0};
    for (unsigned i = 0; i < TEXTS; i++)
        token[i] = token_of(texts[i], strlen(texts[i]));
    token[TEXTS] = token_of(large, 256);
    token[TEXTS + 1] = token_of(large, 257);
    token[TEXTS + 2] = token_of(large, sizeof large);
    token[TEXTS + 3] = token_of("a\0", 2);
    token[TEXTS + 4] = vote_of(COMMAND_GET, "-WRONGTYPE Operation against a key\r\n").token;
    struct token again = token_of(large, sizeof large), ours = token_of(TOKEN_TEXT, TOKEN_HEX), zero = {0};
    ck_assert_mem_eq(&again, &token[TEXTS + 2], sizeof again);
    again = token_of("another", 7);
    ck_assert_mem_eq(&again, &token[4], sizeof again);
    for (unsigned i = 0; i < ALL; i++) {
        ck_assert_mem_ne(&token[i], &zero, sizeof zero);
        ck_assert_mem_ne(&token[i], &ours, sizeof ours);
        for (unsigned j = 0; j < i; j++)
            ck_assert_mem_ne(&token[i], &token[j], sizeof zero);
    }
}

/* ---- INFO ---- */

#define INFO_HEAD    "# Server\r\nredis_version:7.0.15\r\nredis_mode:standalone\r\nrun_id:" RUN_ID "\r\n"
#define INFO_UP      "uptime_in_seconds:12345\r\nuptime_in_days:0\r\n"
#define INFO_MEM     "# Memory\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
#define INFO_LOAD    "# Persistence\r\nloading:0\r\nasync_loading:0\r\n"
#define INFO_ROLE    "# Replication\r\nrole:master\r\nconnected_slaves:0\r\n"
#define INFO_CLUSTER "# Cluster\r\ncluster_enabled:0\r\n"

static struct vote info_vote(const char *text)
{
    char bytes[4096];
    int len = snprintf(bytes, sizeof bytes, "$%zu\r\n%s\r\n", strlen(text), text);
    return vote_of_bytes(COMMAND_INFO, bytes, (size_t)len);
}

T(info_of_a_good_master)
{
    struct vote vote = info_vote(INFO_HEAD INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_mem_eq(vote.info.run_id, RUN_ID, RUN_ID_HEX);
    ck_assert_uint_eq(vote.info.version, 0x07000f);
    ck_assert_int_eq(vote.info.uptime_s, 12345);
    ck_assert(!vote.info.replica && !vote.info.cluster && !vote.info.evicts && !vote.info.loading);
}

T(info_counts_connections)
{
    static const struct {
        const char *text;
        uint64_t count;
    } rows[] = {{"42", 42},
                {"999999999999999999", 999999999999999999},
                {"1000000000000000000", 0},
                {"-1", 0},
                {"4 2", 0},
                {"", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        snprintf(text, sizeof text, "%stotal_connections_received:%s\r\n",
                 INFO_HEAD INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER, rows[i].text);
        struct vote vote = info_vote(text);
        ck_assert_int_eq(vote.kind, VOTE_INFO);
        ck_assert_uint_eq(vote.info.connections, rows[i].count);
    }
}

T(info_of_others)
{
    struct vote vote = info_vote("redis_version:6.0.16\nrun_id:" RUN_ID "\nuptime_in_seconds:-3\n" INFO_MEM
                                 "loading:1\nrole:slave\ncluster_enabled:1");
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_uint_eq(vote.info.version, 0x060010);
    ck_assert_int_eq(vote.info.uptime_s, 0);
    ck_assert(vote.info.replica && vote.info.cluster && !vote.info.evicts && vote.info.loading);

    vote = info_vote(
        "# Server\r\nredis_version:7.2.4\r\nserver_name:valkey\r\nvalkey_version:8.1.1\r\nrun_id:" RUN_ID
        "\r\n" INFO_UP "maxmemory_policy:allkeys-lru\r\n" INFO_LOAD INFO_ROLE INFO_CLUSTER);
    ck_assert_int_eq(vote.kind, VOTE_INFO);
    ck_assert_uint_eq(vote.info.version, 0x070204);
    ck_assert(vote.info.evicts && !vote.info.replica);
    ck_assert_uint_eq(vote.info.connections, 0);

    vote = info_vote("redis_version:255.255.999\r\nrun_id:" RUN_ID
                     "\r\n" INFO_UP INFO_MEM INFO_LOAD INFO_ROLE INFO_CLUSTER);
    ck_assert_uint_eq(vote.info.version, 0xffffff);
}

T_EACH(info_with_a_field_missing, 10)
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
