/* RESP bytes -> replies. hiredis' reader runs with reply functions of our own, which fill the one struct
 * of the reader, so that a reply costs no allocation, and which refuse replies that no master of ours
 * would send. With its own functions hiredis believes a peer's "*2147483647" (0.14) and nests without end
 * (1.x). */
#include "proto/resp.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "proto/info.h"

enum {
    DECIMAL_DIGITS = 18, /* always fit into 64 bits */
    PLAIN_BYTES = 64 * 1024,
};

/*     feed --> plain[] --+OK, $-1, a number, an array of numbers--> reply
 *                 |
 *                 `--anything else, and all bytes behind it--> hiredis --> reply
 *
 * Nearly all replies are such short lines, and hiredis would spend several times as long on them. plain[] is
 * filled only while hiredis has no unfinished reply. */
struct resp_reader {
    redisReader *hiredis;
    size_t unfinished_bytes; /* fed to hiredis behind its last whole reply */
    const char *why;         /* the peer's fault, or no memory; the reader is then of no more use */
    struct resp_reply reply;
    size_t at, end;              /* of plain */
    char plain[PLAIN_BYTES + 1]; /* a NUL behind the end */
};

/* hiredis expects an object from each function, and stops if it gets NULL, with the error "Out of memory". */
static void *reader_refuse(const redisReadTask *task, const char *why)
{
    struct resp_reader *reader = task->privdata;
    reader->why = why;
    return NULL;
}

static void reply_begin(struct resp_reply *reply, enum resp_type type)
{
    reply->type = type;
    reply->integer = 0;
    reply->whole_len = reply->text_len = 0;
    reply->text[0] = reply->first[0] = '\0';
    reply->whole = NULL;
    reply->has_info = false;
}

/* Begins a reply; NULL: the task is an element of an array, which is no reply of its own. */
static struct resp_reply *fill(const redisReadTask *task, enum resp_type type)
{
    struct resp_reader *reader = task->privdata;
    if (task->parent)
        return NULL;
    reply_begin(&reader->reply, type);
    return &reader->reply;
}

static void *filled(const redisReadTask *task)
{
    struct resp_reader *reader = task->privdata;
    return &reader->reply;
}

static const char not_resp2[] = "a reply of a type that RESP2 does not have";

static int64_t decimal_of(const char *text, size_t len)
{
    int64_t number = 0;
    if (len == 0 || len > DECIMAL_DIGITS)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return -1;
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

/* Keeps an element of an array; on_elements() has checked that there is room. number is -1 for an element
 * that is neither an integer nor 1 to 18 decimal digits. */
static void note_element(const redisReadTask *task, bool integer, int64_t number)
{
    struct resp_reply *reply = &((struct resp_reader *)task->privdata)->reply;
    reply->integers &= integer;
    reply->decimals &= !integer && number >= 0;
    reply->element[task->idx] = number;
}

static void keep_text(struct resp_reply *reply, const char *text, size_t len)
{
    reply->whole_len = len;
    reply->text_len = len < RESP_TEXT_BYTES ? len : RESP_TEXT_BYTES;
    memcpy(reply->text, text, reply->text_len);
    reply->text[reply->text_len] = '\0';
}

/* hiredis moves its buffer, so a long text must be copied, or parsed, at once. There is one copy for all readers,
 * since each reply is read before the next one. */
static void keep_whole(struct resp_reply *reply, const char *text, size_t len)
{
    static char whole[RESP_REPLY_BYTES];
    if (len > sizeof whole)
        return;
    memcpy(whole, text, len);
    reply->whole = whole;
}

static void keep_element(const redisReadTask *task, const char *text, size_t len)
{
    struct resp_reply *reply = &((struct resp_reader *)task->privdata)->reply;
    size_t first_len = len < RESP_FIRST_BYTES - 1 ? len : RESP_FIRST_BYTES - 1;
    keep_text(reply, text, len);
    reply->whole = NULL;
    if (len > RESP_TEXT_BYTES)
        keep_whole(reply, text, len);
    if (task->idx != 0)
        return;
    memcpy(reply->first, text, first_len);
    reply->first[first_len] = '\0';
}

static void *on_string(const redisReadTask *task, char *text, size_t len)
{
    enum resp_type type = RESP_STRING;
    if (task->type == REDIS_REPLY_STATUS)
        type = RESP_STATUS;
    else if (task->type == REDIS_REPLY_ERROR)
        type = RESP_ERROR;
    else if (task->type != REDIS_REPLY_STRING)
        return reader_refuse(task, not_resp2);
    struct resp_reply *reply = fill(task, type);
    if (reply) {
        keep_text(reply, text, len);
        if (type == RESP_STRING)
            keep_whole(reply, text, len);
        /* A reply to INFO is longer than a run_id. */
        if (type == RESP_STRING && len > RUN_ID_HEX)
            reply->has_info = info_parse(text, len, &reply->info);
    } else {
        keep_element(task, text, len);
        note_element(task, false, type == RESP_STRING ? decimal_of(text, len) : -1);
    }
    return filled(task);
}

static void *on_integer(const redisReadTask *task, long long integer)
{
    struct resp_reply *reply = fill(task, RESP_INTEGER);
    if (reply)
        reply->integer = integer;
    else
        note_element(task, true, integer);
    return filled(task);
}

static void *on_nil(const redisReadTask *task)
{
    if (task->type != REDIS_REPLY_STRING && task->type != REDIS_REPLY_ARRAY)
        return reader_refuse(task, not_resp2);
    if (!fill(task, RESP_NIL))
        note_element(task, false, -1);
    return filled(task);
}

static void *on_elements(const redisReadTask *task, size_t elements)
{
    if (task->type != REDIS_REPLY_ARRAY)
        return reader_refuse(task, not_resp2);
    if (task->parent)
        return reader_refuse(task, "an array within an array");
    if (elements > RESP_ARRAY_ELEMENTS)
        return reader_refuse(task, "an array of more than 256 elements");
    struct resp_reply *reply = fill(task, RESP_ARRAY);
    reply->integer = (long long)elements;
    reply->integers = reply->decimals = true;
    return filled(task);
}

/* The reply is part of the reader. */
static void on_free(void *reply)
{
    (void)reply;
}

/* The differences between hiredis 0.14 and 1.x; 1.x would make bogus objects if the RESP3 functions were
 * NULL. */
#if HIREDIS_MAJOR >= 1
typedef size_t elements_type;

static void *on_double(const redisReadTask *task, double number, char *text, size_t len)
{
    (void)number, (void)text, (void)len;
    return reader_refuse(task, not_resp2);
}

static void *on_bool(const redisReadTask *task, int value)
{
    (void)value;
    return reader_refuse(task, not_resp2);
}

#define RESP3_FUNCTIONS .createDouble = on_double, .createBool = on_bool,
#else
typedef int elements_type;
#define RESP3_FUNCTIONS
#endif

static void *on_array(const redisReadTask *task, elements_type elements)
{
    return on_elements(task, (size_t)elements);
}

static redisReplyObjectFunctions functions = {
    .createString = on_string,
    .createArray = on_array,
    .createInteger = on_integer,
    .createNil = on_nil,
    RESP3_FUNCTIONS.freeObject = on_free,
};

struct resp_reader *resp_reader_new(void)
{
    struct resp_reader *reader = malloc(sizeof *reader);
    if (!reader)
        return NULL;
    memset(reader, 0, offsetof(struct resp_reader, plain));
    reader->hiredis = redisReaderCreateWithFunctions(&functions);
    if (!reader->hiredis) {
        free(reader);
        return NULL;
    }
    reader->hiredis->privdata = reader;
    /* hiredis keeps its emptied buffer: otherwise each busy read would allocate it again. Our limits bound
     * its size. */
    reader->hiredis->maxbuf = 0;
    return reader;
}

void resp_reader_free(struct resp_reader *reader)
{
    if (!reader)
        return;
    redisReaderFree(reader->hiredis);
    free(reader);
}

/* ---- short lines ---- */

/* Reads ":123\r\n" and returns the place behind it; NULL: the line is not complete, has more than
 * 18 digits, or is not written as Redis writes it. The NUL behind the buffer stops the loop. */
static const char *plain_number(const char *line, int64_t *number)
{
    bool negative = line[1] == '-';
    const char *first = line + 1 + negative, *at = first;
    uint64_t n = 0;
    for (unsigned digit; (digit = (unsigned)*at - '0') < 10; at++)
        n = n * 10 + digit;
    if (at == first || at - first > DECIMAL_DIGITS || at[0] != '\r' || at[1] != '\n')
        return NULL;
    if (*first == '0' && (negative || at - first > 1))
        return NULL;
    *number = negative ? -(int64_t)n : (int64_t)n;
    return at + 2;
}

/* The same for "*2\r\n:123\r\n:-2\r\n". */
static const char *plain_numbers(const char *line, struct resp_reply *reply)
{
    int64_t count;
    const char *at = plain_number(line, &count);
    if (!at || count < 0 || count > RESP_ARRAY_ELEMENTS)
        return NULL;
    for (int64_t i = 0; i < count; i++)
        if (*at != ':' || !(at = plain_number(at, &reply->element[i])))
            return NULL;
    reply_begin(reply, RESP_ARRAY);
    reply->integer = count;
    reply->integers = true;
    reply->decimals = count == 0;
    return at;
}

static bool is_line(const char *line, size_t len, const char whole[5])
{
    return len >= 5 && memcmp(line, whole, 5) == 0;
}

/* ":1\r\n", the most frequent reply. */
static bool is_digit_line(const char *line, size_t len)
{
    return len >= 4 && line[0] == ':' && (unsigned)line[1] - '0' < 10 && line[2] == '\r' && line[3] == '\n';
}

static bool plain_next(struct resp_reader *reader)
{
    struct resp_reply *reply = &reader->reply;
    const char *line = reader->plain + reader->at, *behind = line + 5;
    size_t len = reader->end - reader->at;
    int64_t number;
    if (is_digit_line(line, len)) {
        behind = line + 4;
        reply_begin(reply, RESP_INTEGER);
        reply->integer = line[1] - '0';
    } else if (is_line(line, len, "+OK\r\n")) {
        reply_begin(reply, RESP_STATUS);
        reply->whole_len = reply->text_len = 2;
        memcpy(reply->text, "OK", 3);
    } else if (is_line(line, len, "$-1\r\n")) {
        reply_begin(reply, RESP_NIL);
    } else if (len > 0 && line[0] == ':' && (behind = plain_number(line, &number)) != NULL) {
        reply_begin(reply, RESP_INTEGER);
        reply->integer = number;
    } else if (len == 0 || line[0] != '*' || (behind = plain_numbers(line, reply)) == NULL) {
        return false;
    }
    reader->at = (size_t)(behind - reader->plain);
    return true;
}

/* ---- bytes in, replies out ---- */

static int feed_hiredis(struct resp_reader *reader, const char *bytes, size_t len)
{
    reader->unfinished_bytes += len;
    return redisReaderFeed(reader->hiredis, bytes, len) == REDIS_OK ? 0 : -1;
}

/* Hands the rest of plain[] to hiredis, because it does not begin with a complete short line. */
static int plain_give_up(struct resp_reader *reader)
{
    size_t at = reader->at, len = reader->end - at;
    reader->at = reader->end = 0;
    return len ? feed_hiredis(reader, reader->plain + at, len) : 0;
}

int resp_reader_feed(struct resp_reader *reader, const char *bytes, size_t len)
{
    if (reader->why)
        return 0; /* resp_reader_next() tells */
    if (reader->at == reader->end)
        reader->at = reader->end = 0;
    if (reader->unfinished_bytes == 0 && len <= PLAIN_BYTES - reader->end) {
        memcpy(reader->plain + reader->end, bytes, len);
        reader->end += len;
        reader->plain[reader->end] = '\0';
        return 0;
    }
    if (plain_give_up(reader) < 0)
        return -1;
    return feed_hiredis(reader, bytes, len);
}

static void *hiredis_next(struct resp_reader *reader)
{
    redisReader *hiredis = reader->hiredis;
    void *whole = NULL;
    if (redisReaderGetReply(hiredis, &whole) != REDIS_OK) {
        if (!reader->why)
            reader->why = hiredis->errstr[0] ? hiredis->errstr : "out of memory";
        return NULL;
    }
    size_t rest_bytes = whole ? hiredis->len - hiredis->pos : 0;
    if (reader->unfinished_bytes - rest_bytes > RESP_REPLY_BYTES)
        reader->why = "a reply of more than 64 KiB";
    if (whole)
        reader->unfinished_bytes = rest_bytes;
    return whole;
}

int resp_reader_next(struct resp_reader *reader, const struct resp_reply **reply, const char **why)
{
    void *whole = NULL;
    if (!reader->why && plain_next(reader)) {
        *reply = &reader->reply;
        return 1;
    }
    if (!reader->why && plain_give_up(reader) < 0)
        reader->why = "out of memory";
    if (!reader->why && reader->unfinished_bytes > 0)
        whole = hiredis_next(reader);
    if (reader->why) {
        *why = reader->why;
        return -1;
    }
    if (!whole)
        return 0;
    *reply = &reader->reply;
    return 1;
}
