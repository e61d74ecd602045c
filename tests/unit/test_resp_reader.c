/* Bytes as replies, cut anywhere, and replies that no Redis master sends. */
#include <stdio.h>

#include "tests/unit/resp.h"
#include "tests/unit/suite.h"

T(long_strings_are_cut)
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

T(replies_byte_by_byte)
{
    static const char bytes[] =
        "+OK\r\n$-1\r\n:17\r\n-OOM no\r\n*3\r\n:1\r\n$2\r\nab\r\n$-1\r\n$4\r\n\r\n\r\n\r\n*-1\r\n";
    static const enum resp_type types[] = {RESP_STATUS, RESP_NIL,    RESP_INTEGER, RESP_ERROR,
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

/* Many replies in one read, and the next ones in the same memory. */
T(replies_pipelined)
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
    "*2\r\n:1\r\n*0\r\n",
    "*3\r\n:1\r\n:2\r\n:3x\r\n",
    "*2\r\n:1\r\n:-\r\n",
    "*257\r\n:1\r\n",
};

T_EACH(hostile_is_refused, sizeof hostile / sizeof hostile[0])
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
    /* The reader stays broken, whatever comes. */
    resp_reader_feed(reader, "+OK\r\n", 5);
    ck_assert_int_eq(resp_reader_next(reader, &reply, &why), -1);
    resp_reader_free(reader);
}

/* A larger one is refused, however much of it is there. */
T(the_largest_array_is_taken)
{
    char bytes[6 + 257 * 4 + 1] = "*256\r\n";
    for (unsigned i = 0; i < 257; i++)
        memcpy(bytes + 6 + i * 4, ":1\r\n", 4);
    struct resp_reply reply = reply_of(bytes, 6 + 256 * 4);
    ck_assert_int_eq(reply.type, RESP_ARRAY);
    ck_assert_int_eq(reply.integer, 256);
    ck_assert_int_eq(reply.element[255], 1);
    bytes[3] = '7';
    struct resp_reader *reader = resp_reader_new();
    const struct resp_reply *next;
    const char *why;
    ck_assert_int_eq(resp_reader_feed(reader, bytes, 6 + 257 * 4), 0);
    ck_assert_int_eq(resp_reader_next(reader, &next, &why), -1);
    resp_reader_free(reader);
}

/* An array's elements are kept where all are integers, or all strings that are plain numbers. */
static const struct {
    const char *bytes;
    bool integers, decimals;
    int64_t count, element[3];
} arrays[] = {
    {"*3\r\n$18\r\n999999999999999999\r\n$2\r\n07\r\n$1\r\n5\r\n",
     false,
     true,
     3,
     {999999999999999999, 7, 5}},
    {"*2\r\n$19\r\n1000000000000000000\r\n$1\r\n1\r\n", false, false, 2, {0}},
    {"*2\r\n$1\r\n5\r\n$1\r\nx\r\n", false, false, 2, {0}},
    {"*2\r\n$1\r\nx\r\n$1\r\n5\r\n", false, false, 2, {0}},
    {"*1\r\n$0\r\n\r\n", false, false, 1, {0}},
    {"*1\r\n$1\r\n5\r\n", false, true, 1, {5}},
    {"*1\r\n+5\r\n", false, false, 1, {0}},
    {"*1\r\n-5\r\n", false, false, 1, {0}},
    {"*1\r\n$-1\r\n", false, false, 1, {0}},
    {"*3\r\n:10000\r\n:-2\r\n:0\r\n", true, false, 3, {10000, -2, 0}},
    {"*2\r\n:999999999999999999\r\n:-999999999999999999\r\n",
     true,
     false,
     2,
     {999999999999999999, -999999999999999999}},
    {"*2\r\n:9223372036854775807\r\n:-1\r\n", true, false, 2, {INT64_MAX, -1}},
    {"*3\r\n:1\r\n$1\r\n2\r\n:3\r\n", false, false, 3, {0}},
    {"*3\r\n:1\r\n:2\r\n$-1\r\n", false, false, 3, {0}},
    {"*2\r\n-OOM no\r\n:1\r\n", false, false, 2, {0}},
    {"*0\r\n", true, true, 0, {0}},
};

static void is_array(const struct resp_reply *reply, int row)
{
    ck_assert_int_eq(reply->type, RESP_ARRAY);
    ck_assert_int_eq(reply->integer, arrays[row].count);
    ck_assert_int_eq(reply->integers, arrays[row].integers);
    ck_assert_int_eq(reply->decimals, arrays[row].decimals);
    for (int64_t i = 0; i < arrays[row].count && (reply->integers || reply->decimals); i++)
        ck_assert_int_eq(reply->element[i], arrays[row].element[i]);
}

/* Cut anywhere, so that it is read by the reader itself or by hiredis, with other replies before and
 * behind it. */
T_EACH(arrays_of_numbers, sizeof arrays / sizeof arrays[0])
{
    const char *bytes = arrays[_i].bytes;
    size_t len = strlen(bytes);
    for (size_t cut = 0; cut <= len; cut++) {
        struct resp_reader *reader = resp_reader_new();
        const struct resp_reply *reply;
        const char *why;
        resp_reader_feed(reader, "*2\r\n:7\r\n:8\r\n:9\r\n", 16);
        resp_reader_feed(reader, bytes, cut);
        ck_assert_int_eq(resp_reader_next(reader, &reply, &why), 1);
        ck_assert(reply->integers && reply->integer == 2 && reply->element[0] == 7 && reply->element[1] == 8);
        ck_assert_int_eq(resp_reader_next(reader, &reply, &why), 1);
        ck_assert_int_eq(reply->integer, 9);
        int got = resp_reader_next(reader, &reply, &why);
        ck_assert_int_eq(got, cut == len);
        if (got == 0) {
            resp_reader_feed(reader, bytes + cut, len - cut);
            ck_assert_int_eq(resp_reader_next(reader, &reply, &why), 1);
        }
        is_array(reply, _i);
        resp_reader_feed(reader, ":-2\r\n", 5);
        ck_assert_int_eq(resp_reader_next(reader, &reply, &why), 1);
        ck_assert_int_eq(reply->type, RESP_INTEGER);
        ck_assert_int_eq(reply->integer, -2);
        resp_reader_free(reader);
    }
}

/* Feeds head, then blocks of tail; returns the number of bytes before the reader gave up. */
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

T(endless_is_refused)
{
    static const char *const heads[] = {"+", "-ERR ", ":", "$60000000000\r\n", "$9223372036854775807\r\n",
                                        "$", "*"};
    for (unsigned i = 0; i < sizeof heads / sizeof heads[0]; i++) {
        size_t fed = endless(heads[i], "1", 1000);
        ck_assert_uint_gt(fed, RESP_REPLY_BYTES);
        ck_assert_uint_le(fed, RESP_REPLY_BYTES + 1000);
    }
    /* Elements that each end, in an array that does not. */
    endless("*256\r\n$70000\r\n", "x", 1000);
}

/* The limit does not depend on how the bytes were cut. */
T(too_long_at_once_is_refused)
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
