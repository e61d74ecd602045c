/* Commands as bytes. */
#include <stdio.h>

#include "tests/unit/resp.h"
#include "tests/unit/suite.h"

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
    {COMMAND_TIME, 0, "*1\r\n$4\r\nTIME\r\n"},
    {COMMAND_TRY, 0, "*4\r\n$7\r\nEVALSHA\r\n$40\r\nTRY\r\n$1\r\n1\r\n$18\r\nlock:,try:00000000\r\n"},
    {COMMAND_GROUP, 0, "*2\r\n$5\r\nGETEX\r\n$11\r\nlock:,group\r\n"},
    {COMMAND_PROBE, 600000, "*4\r\n$5\r\nGETEX\r\n$11\r\nlock:,group\r\n$2\r\nPX\r\n$6\r\n600000\r\n"},
    {COMMAND_PROBE_LASTING, 600000, "*3\r\n$5\r\nGETEX\r\n$11\r\nlock:,group\r\n$7\r\nPERSIST\r\n"},
    {COMMAND_GROUP_SET, 600000,
     "*8\r\n$7\r\nEVALSHA\r\n$40\r\nGROUP\r\n$1\r\n1\r\n$11\r\nlock:,group\r\n$2\r\nXX\r\n$83\r\n" GROUP_TEXT
     "\r\n$6\r\n600000\r\n$1\r\n0\r\n"},
    {COMMAND_GROUP_NEW, 600000,
     "*8\r\n$7\r\nEVALSHA\r\n$40\r\nGROUP\r\n$1\r\n1\r\n$11\r\nlock:,group\r\n$2\r\nNX\r\n$83\r\n" GROUP_TEXT
     "\r\n$6\r\n600000\r\n$1\r\n0\r\n"},
    {COMMAND_HEAL, 1732200000000,
     "*6\r\n$3\r\nSET\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT
     "\r\n$2\r\nNX\r\n$4\r\nPXAT\r\n$13\r\n1732200000000\r\n"},
    {COMMAND_GET, 0, "*2\r\n$3\r\nGET\r\n$8\r\nlock:job\r\n"},
    {COMMAND_DEQUEUE, 0, "*3\r\n$4\r\nZREM\r\n$15\r\nlock:,queue:job\r\n$8\r\nf0f1f2f3\r\n"},
    {COMMAND_LETTER, 0, "*3\r\n$7\r\nPUBLISH\r\n$19\r\nlock:,wake:00010203\r\n$5\r\ng job\r\n"},
    {COMMAND_ENQUEUE, 600,
     "*12\r\n$7\r\nEVALSHA\r\n$40\r\nENQUEUE\r\n$1\r\n3\r\n$8\r\nlock:job\r\n$15\r\nlock:,queue:job\r\n$"
     "16\r\nlock:,writer:job\r\n$1\r\n0\r\n"
     "$8\r\nf0f1f2f3\r\n$11\r\nlock:,wake:\r\n$3\r\njob\r\n$3\r\n600\r\n$1\r\n0\r\n"},
    {COMMAND_ALONG, 600,
     "*11\r\n$7\r\nEVALSHA\r\n$40\r\nPASS\r\n$1\r\n3\r\n$8\r\nlock:job\r\n$15\r\nlock:,queue:job\r\n$"
     "16\r\nlock:,writer:job\r\n$1\r\n0\r\n"
     "$8\r\nf0f1f2f3\r\n$11\r\nlock:,wake:\r\n$3\r\njob\r\n$3\r\n600\r\n"},
    {COMMAND_SHARE, 600,
     "*9\r\n$7\r\nEVALSHA\r\n$40\r\nSHARE\r\n$1\r\n2\r\n$8\r\nlock:job\r\n$16\r\nlock:,writer:job\r\n$"
     "40\r\n" TOKEN_TEXT "\r\n$3\r\n600\r\n$8\r\nf0f1f2f3\r\n$1\r\n0\r\n"},
    {COMMAND_SHARE_AT, 1732200000000,
     "*6\r\n$7\r\nEVALSHA\r\n$40\r\nSHARE\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT
     "\r\n$13\r\n1732200000000\r\n"},
    {COMMAND_LOOK, 600,
     "*10\r\n$7\r\nEVALSHA\r\n$40\r\nLOOK\r\n$1\r\n2\r\n$8\r\nlock:job\r\n$15\r\nlock:,slots:job\r\n$"
     "1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n"
     "$1\r\n0\r\n$3\r\n600\r\n"},
    {COMMAND_PASS, 600,
     "*12\r\n$7\r\nEVALSHA\r\n$40\r\nPASS\r\n$1\r\n3\r\n$8\r\nlock:job\r\n$15\r\nlock:,queue:job\r\n$"
     "15\r\nlock:,slots:job\r\n$1\r\n0\r\n"
     "$8\r\nf0f1f2f3\r\n"
     "$11\r\nlock:,wake:\r\n$3\r\njob\r\n$3\r\n600\r\n$1\r\n-\r\n"},
    {COMMAND_MOVE, 0,
     "*6\r\n$7\r\nEVALSHA\r\n$40\r\nMOVE\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT
     "\r\n$40\r\n" TO_TEXT "\r\n"},
    {COMMAND_SETTLE, 600,
     "*7\r\n$7\r\nEVALSHA\r\n$40\r\nSETTLE\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT
     "\r\n$40\r\n" TO_TEXT "\r\n$3\r\n600\r\n"},
    {COMMAND_ZADD, FENCE_MAX,
     "*6\r\n$4\r\nZADD\r\n$12\r\nlock:,fences\r\n$2\r\nGT\r\n$2\r\nCH\r\n$16\r\n9007199254740991\r\n$"
     "5\r\n16383\r\n"},
    {COMMAND_ZSCORE, 0, "*3\r\n$6\r\nZSCORE\r\n$12\r\nlock:,fences\r\n$5\r\n16383\r\n"},
    {COMMAND_RELEASE, 0,
     "*5\r\n$7\r\nEVALSHA\r\n$40\r\nRELEASE\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT "\r\n"},
    {COMMAND_EXTEND, 0,
     "*7\r\n$7\r\nEVALSHA\r\n$40\r\nEXTEND\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT
     "\r\n$1\r\n0\r\n$1\r\n0\r\n"},
    {COMMAND_TRY_DELEX, 0, "*4\r\n$5\r\nDELEX\r\n$18\r\nlock:,try:00000000\r\n$4\r\nIFEQ\r\n$1\r\nx\r\n"},
    {COMMAND_TRY_DELIFEQ, 0, "*3\r\n$7\r\nDELIFEQ\r\n$18\r\nlock:,try:00000000\r\n$1\r\nx\r\n"},
    {COMMAND_TRY_IFEQ, 0,
     "*6\r\n$3\r\nSET\r\n$18\r\nlock:,try:00000000\r\n$1\r\nx\r\n$4\r\nIFEQ\r\n$1\r\ny\r\n$7\r\nKEEPTTL\r\n"},
    {COMMAND_TRY_MSETEX, 0,
     "*5\r\n$6\r\nMSETEX\r\n$1\r\n1\r\n$18\r\nlock:,try:00000000\r\n$1\r\nx\r\n$2\r\nXX\r\n"},
    {COMMAND_RELEASE_DELEX, 0,
     "*4\r\n$5\r\nDELEX\r\n$8\r\nlock:job\r\n$4\r\nIFEQ\r\n$40\r\n" TOKEN_TEXT "\r\n"},
    {COMMAND_RELEASE_DELIFEQ, 0, "*3\r\n$7\r\nDELIFEQ\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT "\r\n"},
    {COMMAND_MOVE_IFEQ, 0,
     "*6\r\n$3\r\nSET\r\n$8\r\nlock:job\r\n$40\r\n" TO_TEXT "\r\n$4\r\nIFEQ\r\n$40\r\n" TOKEN_TEXT
     "\r\n$7\r\nKEEPTTL\r\n"},
    {COMMAND_CUT, 30000,
     "*6\r\n$7\r\nEVALSHA\r\n$40\r\nCUT\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$5\r\n30000\r\n$1\r\n0\r\n"},
    {COMMAND_CHECK, 0,
     "*5\r\n$7\r\nEVALSHA\r\n$40\r\nCHECK\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TOKEN_TEXT "\r\n"},
};

static const char *const script_names[RESP_SCRIPTS] = {
#define SCRIPT(name) #name,
#include "proto/command.def"
};

/* What is expected has a script's name in the place of its SHA1. */
static void is_bytes(const char *bytes, size_t len, const char *expected)
{
    char named[16384];
    ck_assert_ptr_nonnull(bytes);
    ck_assert_uint_lt(len, sizeof named);
    snprintf(named, sizeof named, "%.*s", (int)len, bytes);
    for (unsigned i = 0; i < RESP_SCRIPTS; i++) {
        const char *sha1 = memmem(bytes, len, resp_script_sha1(i), RESP_SHA1_HEX);
        if (sha1 == NULL)
            continue;
        int before = (int)(sha1 - bytes), after = (int)len - before - RESP_SHA1_HEX;
        snprintf(named, sizeof named, "%.*s%s%.*s", before, bytes, script_names[i], after,
                 sha1 + RESP_SHA1_HEX);
    }
    ck_assert_str_eq(named, expected);
}

static void is_command(const struct resp_format *format, const struct command *command, const char *expected)
{
    char bytes[RESP_COMMAND_BYTES];
    is_bytes(bytes, resp_command(bytes, format, command), expected);
}

T_EACH(commands_as_bytes, sizeof golden / sizeof golden[0])
{
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(golden[_i].verb, "job", golden[_i].number);
    is_command(format, &command, golden[_i].bytes);
    resp_format_free(format);
}

T(a_release_of_three_tokens)
{
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(COMMAND_RELEASE, "job", 0);
    command.has_other = command.has_third = true;
    command.other = command.third = command.token;
    is_command(format, &command,
               "*12\r\n$7\r\nEVALSHA\r\n$40\r\nRELEASE\r\n$1\r\n1\r\n$8\r\nlock:job\r\n"
               "$40\r\n" TOKEN_TEXT "\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n$1\r\n0\r\n"
               "$40\r\n" TOKEN_TEXT "\r\n$40\r\n" TOKEN_TEXT "\r\n");
    command_to(&command);
    command.number = 600;
    is_command(
        format, &command,
        "*13\r\n$7\r\nEVALSHA\r\n$40\r\nRELEASE\r\n$1\r\n2\r\n$8\r\nlock:job\r\n$15\r\nlock:,queue:job\r\n"
        "$40\r\n" TOKEN_TEXT "\r\n$8\r\nf0f1f2f3\r\n$11\r\nlock:,wake:\r\n$3\r\njob\r\n"
        "$3\r\n600\r\n$1\r\n0\r\n$40\r\n" TOKEN_TEXT "\r\n$40\r\n" TOKEN_TEXT "\r\n");
    resp_format_free(format);
}

T(a_downgrade)
{
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(COMMAND_DOWN, "job", 600);
    command.has_other = true;
    command.other = command.token;
    is_command(format, &command,
               "*8\r\n$7\r\nEVALSHA\r\n$40\r\nDOWN\r\n$1\r\n1\r\n$8\r\nlock:job\r\n$40\r\n" TO_TEXT
               "\r\n$3\r\n600\r\n$40\r\n" TOKEN_TEXT "\r\n$40\r\n" TOKEN_TEXT "\r\n");
    resp_format_free(format);
}

T(what_a_holder_tells)
{
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(COMMAND_DATA, "job", 17);
    command.waited_ms = 1000;
    command.data = (struct data){.len = 3, .text = "a:1"};
    is_command(format, &command,
               "*9\r\n$7\r\nEVALSHA\r\n$40\r\nDATA\r\n$1\r\n2\r\n$8\r\nlock:job\r\n$14\r\nlock:,data:job\r\n"
               "$40\r\n" TOKEN_TEXT "\r\n$2\r\n17\r\n$4\r\n1000\r\n$3\r\na:1\r\n");
    command.verb = COMMAND_ADOPT;
    command.has_other = true;
    command.other = command.token;
    is_command(format, &command,
               "*10\r\n$7\r\nEVALSHA\r\n$40\r\nDATA\r\n$1\r\n2\r\n$8\r\nlock:job\r\n$14\r\nlock:,data:job\r\n"
               "$40\r\n" TOKEN_TEXT "\r\n$2\r\n17\r\n$1\r\n0\r\n$1\r\n-\r\n$40\r\n" TOKEN_TEXT "\r\n");
    resp_format_free(format);
}

T(a_release_that_wakes)
{
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(COMMAND_RELEASE, "job", 0);
    command_to(&command);
    command.number = 600;
    command.stays = true;
    is_command(
        format, &command,
        "*11\r\n$7\r\nEVALSHA\r\n$40\r\nRELEASE\r\n$1\r\n2\r\n$8\r\nlock:job\r\n$15\r\nlock:,queue:job\r\n"
        "$40\r\n" TOKEN_TEXT "\r\n$8\r\nf0f1f2f3\r\n$11\r\nlock:,wake:\r\n$3\r\njob\r\n"
        "$3\r\n600\r\n$1\r\n1\r\n");
    resp_format_free(format);
}

/* ---- several EXTENDs ---- */

static void extend_add(struct resp_batch *batch, const struct resp_format *format, unsigned i)
{
    char name[16];
    snprintf(name, sizeof name, "n%02u", i);
    struct command command = command_of(COMMAND_EXTEND, name, 1000 + i);
    command.token.bytes[0] = (uint8_t)i;
    command.most_ms = 30000;
    resp_batch_add(batch, format, &command);
}

static const unsigned batch_keys[] = {1, 2, 11, RESP_BATCH_KEYS};

T_EACH(several_extends, 4)
{
    static struct resp_batch batch;
    char want[16384];
    unsigned keys = batch_keys[_i];
    struct resp_format *format = resp_format_new("lock:");
    int at = snprintf(want, sizeof want, "*%u\r\n$7\r\nEVALSHA\r\n$40\r\nEXTEND\r\n$%d\r\n%u\r\n",
                      4 + 3 * keys, keys < 10 ? 1 : 2, keys);
    for (unsigned i = 0; i < keys; i++)
        at += snprintf(want + at, sizeof want - (size_t)at, "$8\r\nlock:n%02u\r\n", i);
    for (unsigned i = 0; i < keys; i++)
        at += snprintf(want + at, sizeof want - (size_t)at, "$40\r\n%02x%s\r\n$4\r\n%u\r\n", i,
                       &TOKEN_TEXT[2], 1000 + i);
    snprintf(want + at, sizeof want - (size_t)at, "$5\r\n30000\r\n");
    /* The batch is used twice, since resp_batch_end() empties it. */
    for (unsigned round = 0; round < 2; round++) {
        size_t len;
        for (unsigned i = 0; i < keys; i++)
            extend_add(&batch, format, i);
        ck_assert_uint_eq(batch.keys, keys);
        const char *bytes = resp_batch_end(&batch, &len);
        is_bytes(bytes, len, want);
        ck_assert_uint_eq(batch.keys, 0);
    }
    resp_format_free(format);
}

T(one_extend_is_a_batch_of_one)
{
    static struct resp_batch batch;
    char want[RESP_COMMAND_BYTES];
    size_t len;
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(COMMAND_EXTEND, "job", 30000);
    size_t want_len = resp_command(want, format, &command);
    resp_batch_add(&batch, format, &command);
    const char *bytes = resp_batch_end(&batch, &len);
    ck_assert_uint_eq(len, want_len);
    ck_assert_mem_eq(bytes, want, len);
    resp_format_free(format);
}

/* The largest command: an array of 196 words, each as long as it says. */
T(several_extends_of_the_longest_words)
{
    static struct resp_batch batch;
    char prefix[65] = "", name[NAME_BYTES + 1] = "";
    size_t len;
    memset(prefix, 'p', 64);
    memset(name, 'n', NAME_BYTES);
    struct resp_format *format = resp_format_new(prefix);
    struct command command = command_of(COMMAND_EXTEND, name, UINT64_MAX);
    command.most_ms = UINT64_MAX;
    for (unsigned i = 0; i < RESP_BATCH_KEYS; i++)
        resp_batch_add(&batch, format, &command);
    const char *bytes = resp_batch_end(&batch, &len);
    ck_assert(bytes >= batch.bytes && bytes + len <= batch.bytes + sizeof batch.bytes);
    struct resp_reply reply = reply_of(bytes, len);
    ck_assert_int_eq(reply.type, RESP_ARRAY);
    ck_assert_int_eq(reply.integer, 4 + 3 * RESP_BATCH_KEYS);
    resp_format_free(format);
}

static const char *take_length(const char *at, char type, size_t *length)
{
    char *end;
    ck_assert_int_eq(*at, type);
    ck_assert_msg((at[1] >= '1' && at[1] <= '9') || memcmp(at + 1, "0\r", 2) == 0,
                  "a length that is not plain: %.10s", at);
    *length = strtoul(at + 1, &end, 10);
    ck_assert_mem_eq(end, "\r\n", 2);
    return end + 2;
}

static const size_t prefix_lens[] = {1, 2, 4, 9, 63, 64};

/* Every command with a name of every length: as many words as its head says, each as long as it says. */
T_EACH(lengths_are_true, 6)
{
    char prefix[65] = "", name[NAME_BYTES + 1] = "", want[512];
    memset(prefix, 'p', prefix_lens[_i]);
    struct resp_format *format = resp_format_new(prefix);
    memset(name, 'n', NAME_BYTES);
    for (unsigned i = 0; i <= NAME_BYTES * (COMMAND_VERBS + 1u); i++) {
        unsigned verb = i % (COMMAND_VERBS + 1u);
        bool asking = verb >= COMMAND_VERBS;
        uint64_t number = UINT64_MAX >> i % 64;
        if (!asking && (verb == COMMAND_SET_MSETEX || (verb >= COMMAND_SET_ALL && !command_is_native(verb))))
            continue; /* a list is no single name: see below */
        struct command command = command_of(asking ? COMMAND_RELEASE : (enum command_verb)verb, name, number);
        command.name.len = (uint8_t)(i / (COMMAND_VERBS + 1u));
        if (asking)
            command_to(&command);
        command.has_other = i % 3 == 0;
        char bytes[RESP_COMMAND_BYTES];
        size_t words, bytes_of_word, len = resp_command(bytes, format, &command);
        ck_assert_uint_le(len, RESP_COMMAND_BYTES);
        const char *at = take_length(bytes, '*', &words);
        int key = snprintf(want, sizeof want, "%s%.*s", prefix, (int)command.name.len, name);
        bool group = command.verb == COMMAND_GROUP_SET || command.verb == COMMAND_GROUP_NEW;
        group |= command.verb == COMMAND_TRY || command_is_question(command.verb);
        bool key_seen = group || resp_script_of(command.verb) < 0;
        for (; words > 0; words--) {
            at = take_length(at, '$', &bytes_of_word);
            key_seen |= bytes_of_word == (size_t)key && memcmp(at, want, bytes_of_word) == 0;
            at += bytes_of_word + 2;
            ck_assert(at <= bytes + len);
            ck_assert_mem_eq(at - 2, "\r\n", 2);
        }
        ck_assert_ptr_eq(at, bytes + len);
        ck_assert(key_seen);
    }
    resp_format_free(format);
}

T(commands_of_the_longest_words)
{
    char prefix[65] = "", name[NAME_BYTES + 1] = "";
    memset(prefix, 'p', 64);
    memset(name, 'n', NAME_BYTES);
    struct resp_format *format = resp_format_new(prefix);
    struct command command = command_of(COMMAND_SET, name, UINT64_MAX);
    char expected[512];
    snprintf(expected, sizeof expected,
             "*6\r\n$3\r\nSET\r\n$264\r\n%s%s\r\n$40\r\n" TOKEN_TEXT
             "\r\n$2\r\nNX\r\n$2\r\nPX\r\n$20\r\n18446744073709551615\r\n",
             prefix, name);
    is_command(format, &command, expected);
    command = command_of(COMMAND_ZSCORE, name, 0);
    snprintf(expected, sizeof expected, "*3\r\n$6\r\nZSCORE\r\n$71\r\n%s,fences\r\n$5\r\n16383\r\n", prefix);
    is_command(format, &command, expected);
    resp_format_free(format);
}

T(login_as_bytes)
{
    size_t len;
    char *bytes = resp_auth("", "se cret", &len);
    is_bytes(bytes, len, "*2\r\n$4\r\nAUTH\r\n$7\r\nse cret\r\n");
    resp_bytes_free(bytes);
    bytes = resp_auth(NULL, "x", &len);
    is_bytes(bytes, len, "*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n");
    resp_bytes_free(bytes);
    bytes = resp_auth("me", "x", &len);
    is_bytes(bytes, len, "*3\r\n$4\r\nAUTH\r\n$2\r\nme\r\n$1\r\nx\r\n");
    resp_bytes_free(bytes);
    bytes = resp_select(15, &len);
    is_bytes(bytes, len, "*2\r\n$6\r\nSELECT\r\n$2\r\n15\r\n");
    resp_bytes_free(bytes);
}

/* How a script for the list "a,job" begins, in so many words; and the value of the list's keys. */
#define LIST(words, script)                                           \
    "*" words "\r\n$7\r\nEVALSHA\r\n$40\r\n" script "\r\n$1\r\n2\r\n" \
    "$6\r\nlock:a\r\n$8\r\nlock:job\r\n"
#define VALUE(token) "$49\r\n" token ",a9fca0d3\r\n"

static const struct {
    enum command_verb verb;
    bool to;
    const char *bytes;
} golden_lists[] = {
    {COMMAND_SET_ALL, false, LIST("8", "SET_ALL") VALUE(TOKEN_TEXT) "$3\r\n777\r\n$2\r\nPX\r\n"},
    {COMMAND_SET_MSETEX, false,
     "*9\r\n$6\r\nMSETEX\r\n$1\r\n2\r\n$6\r\nlock:a\r\n" VALUE(TOKEN_TEXT) "$8\r\nlock:job\r\n" VALUE(
         TOKEN_TEXT) "$2\r\nNX\r\n$2\r\nPX\r\n$3\r\n777\r\n"},
    {COMMAND_HEAL_ALL, false, LIST("8", "SET_ALL") VALUE(TOKEN_TEXT) "$3\r\n777\r\n$4\r\nPXAT\r\n"},
    {COMMAND_ZADD_ALL, false,
     "*8\r\n$4\r\nZADD\r\n$12\r\nlock:,fences\r\n$2\r\nGT\r\n$2\r\nCH\r\n$3\r\n777\r\n$1\r\n5\r\n"
     "$3\r\n777\r\n$2\r\n16\r\n"},
    {COMMAND_ZSCORE_ALL, false,
     "*6\r\n$7\r\nEVALSHA\r\n$40\r\nZSCORE_ALL\r\n$1\r\n1\r\n$12\r\nlock:,fences\r\n$1\r\n5\r\n$2\r\n16\r\n"},
    {COMMAND_RELEASE_ALL, false, LIST("6", "RELEASE_ALL") VALUE(TOKEN_TEXT)},
    {COMMAND_RELEASE_ALL, true,
     LIST("8", "RELEASE_ALL") VALUE(TOKEN_TEXT) "$8\r\nf0f1f2f3\r\n$11\r\nlock:,wake:\r\n"},
    {COMMAND_EXTEND_ALL, false, LIST("8", "EXTEND_ALL") VALUE(TOKEN_TEXT) "$3\r\n777\r\n$4\r\n9000\r\n"},
    {COMMAND_CHECK_ALL, false, LIST("7", "EXTEND_ALL") VALUE(TOKEN_TEXT) "$1\r\n0\r\n"},
    {COMMAND_MOVE_ALL, true, LIST("7", "MOVE_ALL") VALUE(TOKEN_TEXT) VALUE(TO_TEXT)},
    {COMMAND_CUT, false, LIST("7", "CUT") "$3\r\n777\r\n$1\r\n0\r\n"},
};

T_EACH(commands_for_lists, sizeof golden_lists / sizeof golden_lists[0])
{
    struct resp_format *format = resp_format_new("lock:");
    struct command command = command_of(golden_lists[_i].verb, "a,job", 777);
    command.name.more = 1;
    command.most_ms = 9000;
    command.bucket = 2;
    command.buckets[0] = 5;
    command.buckets[1] = 16;
    if (golden_lists[_i].to)
        command_to(&command);
    is_command(format, &command, golden_lists[_i].bytes);
    resp_format_free(format);
}

/* 16 names and 900 bytes behind the longest prefix. */
T(the_longest_list)
{
    char bytes[RESP_COMMAND_BYTES], longest[LIST_BYTES + 1] = "", prefix[65] = "";
    memset(prefix, 'p', sizeof prefix - 1);
    struct resp_format *format = resp_format_new(prefix);
    for (unsigned i = 0; i < LIST_NAMES; i++)
        sprintf(longest + strlen(longest), "%s%c%054d", i ? "," : "", 'a' + (int)i, 0);
    struct command command = command_of(COMMAND_MOVE_ALL, longest, UINT64_MAX);
    command.name.len = (unsigned)strlen(longest) & 0x7ff;
    command.name.more = LIST_NAMES - 1;
    ck_assert_uint_ge(command.name.len, LIST_BYTES - 10);
    ck_assert_uint_le(resp_command(bytes, format, &command), RESP_COMMAND_BYTES);
    command.verb = COMMAND_SET_MSETEX;
    ck_assert_uint_le(resp_command(bytes, format, &command), RESP_COMMAND_BYTES);
    resp_format_free(format);
}
