/* Commands -> RESP bytes, by hiredis' formatter, and replies -> votes. */
#include "proto/resp.h"

#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line.h"

enum {
    PREFIX_BYTES = 64,
    ARGUMENTS = 8,      /* most words of a command */
    DECIMAL_BYTES = 20, /* of 2^64 - 1 */
};

#define FENCES ",fences"

struct resp_format {
    size_t prefix_len;
    size_t fences_len;
    char prefix[PREFIX_BYTES];
    char fences[PREFIX_BYTES + sizeof FENCES]; /* the key of the sorted set of fences */
};

/* The words of a command under construction; they point at static text or at memory of the caller. */
struct words {
    int count;
    const char *text[ARGUMENTS];
    size_t len[ARGUMENTS];
};

/* ---- commands ---- */

struct resp_format *resp_format_new(const char *key_prefix)
{
    size_t len = strlen(key_prefix);
    assert(len <= PREFIX_BYTES);
    struct resp_format *format = calloc(1, sizeof *format);
    if (!format)
        return NULL;
    memcpy(format->prefix, key_prefix, len);
    format->prefix_len = len;
    memcpy(format->fences, key_prefix, len);
    memcpy(format->fences + len, FENCES, sizeof FENCES - 1);
    format->fences_len = len + sizeof FENCES - 1;
    return format;
}

void resp_format_free(struct resp_format *format)
{
    free(format);
}

static void words_add(struct words *words, const char *text, size_t len)
{
    assert(words->count < ARGUMENTS);
    words->text[words->count] = text;
    words->len[words->count] = len;
    words->count++;
}

static void words_string(struct words *words, const char *text)
{
    words_add(words, text, strlen(text));
}

/* scratch must live until the words are formatted. */
static void words_number(struct words *words, char scratch[DECIMAL_BYTES], uint64_t number)
{
    size_t at = DECIMAL_BYTES;
    do {
        scratch[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    words_add(words, scratch + at, DECIMAL_BYTES - at);
}

static char *words_format(struct words *words, size_t *len)
{
    char *bytes = NULL;
    long long n = redisFormatCommandArgv(&bytes, words->count, words->text, words->len);
    if (n < 0)
        return NULL;
    *len = (size_t)n;
    return bytes;
}

char *resp_command(const struct resp_format *format, const struct command *command, size_t *len)
{
    struct words words = {0};
    char key[PREFIX_BYTES + NAME_BYTES], token[TOKEN_HEX];
    char number[DECIMAL_BYTES], bucket[DECIMAL_BYTES];
    assert(command->name.len <= NAME_BYTES);
    size_t key_len = format->prefix_len + command->name.len;
    memcpy(key, format->prefix, format->prefix_len);
    memcpy(key + format->prefix_len, command->name.text, command->name.len);
    line_token_hex(token, &command->token);

    switch (command->verb) {
    case COMMAND_CLIENT_ID:
        words_string(&words, "CLIENT");
        words_string(&words, "ID");
        break;
    case COMMAND_INFO:
        words_string(&words, "INFO");
        break;
    case COMMAND_KILL:
        words_string(&words, "CLIENT");
        words_string(&words, "KILL");
        words_string(&words, "ID");
        words_number(&words, number, command->number);
        break;
    case COMMAND_SET:
        words_string(&words, "SET");
        words_add(&words, key, key_len);
        words_add(&words, token, TOKEN_HEX);
        words_string(&words, "NX");
        words_string(&words, "PX");
        words_number(&words, number, command->number);
        break;
    case COMMAND_ZADD:
        words_string(&words, "ZADD");
        words_add(&words, format->fences, format->fences_len);
        words_string(&words, "GT");
        words_string(&words, "CH");
        words_number(&words, number, command->number);
        words_number(&words, bucket, command->bucket);
        break;
    case COMMAND_ZSCORE:
        words_string(&words, "ZSCORE");
        words_add(&words, format->fences, format->fences_len);
        words_number(&words, bucket, command->bucket);
        break;
    case COMMAND_RELEASE:
    case COMMAND_EXTEND:
    case COMMAND_CHECK:
        words_string(&words, "EVALSHA");
        words_add(&words, resp_script_sha1((unsigned)resp_script_of(command->verb)), RESP_SHA1_HEX);
        words_string(&words, "1");
        words_add(&words, key, key_len);
        words_add(&words, token, TOKEN_HEX);
        if (command->verb == COMMAND_EXTEND)
            words_number(&words, number, command->number);
        break;
    case COMMAND_TIME:
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW:
    case COMMAND_HEAL:
    case COMMAND_GET:
    case COMMAND_WANT:
    case COMMAND_MOVE:
        break; /* not sent yet */
    }
    assert(words.count);
    return words_format(&words, len);
}

char *resp_auth(const char *user, const char *password, size_t *len)
{
    struct words words = {0};
    words_string(&words, "AUTH");
    if (user && *user)
        words_string(&words, user);
    words_string(&words, password);
    return words_format(&words, len);
}

char *resp_select(int db, size_t *len)
{
    assert(db >= 0);
    struct words words = {0};
    char number[DECIMAL_BYTES];
    words_string(&words, "SELECT");
    words_number(&words, number, (uint64_t)db);
    return words_format(&words, len);
}

char *resp_script_load(unsigned script, size_t *len)
{
    struct words words = {0};
    words_string(&words, "SCRIPT");
    words_string(&words, "LOAD");
    words_string(&words, resp_script_text(script));
    return words_format(&words, len);
}

void resp_bytes_free(char *bytes)
{
    if (bytes)
        redisFreeCommand(bytes);
}

/* ---- votes ---- */

static const char *const error_names[] = {
    [ERROR_OTHER] = "OTHER",           [ERROR_OOM] = "OOM",
    [ERROR_READONLY] = "READONLY",     [ERROR_MISCONF] = "MISCONF",
    [ERROR_NOREPLICAS] = "NOREPLICAS", [ERROR_LOADING] = "LOADING",
    [ERROR_BUSY] = "BUSY",             [ERROR_NOPERM] = "NOPERM",
    [ERROR_NOAUTH] = "NOAUTH",         [ERROR_WRONGTYPE] = "WRONGTYPE",
};

enum { ERRORS = sizeof error_names / sizeof error_names[0] };

const char *resp_error_name(enum vote_error error)
{
    assert((unsigned)error < ERRORS);
    return error_names[error];
}

/* Redis classes its errors by their first word. */
static bool first_word_is(const struct resp_reply *reply, const char *word)
{
    size_t len = strlen(word);
    if (reply->text_len < len || memcmp(reply->text, word, len) != 0)
        return false;
    return reply->text_len == len || reply->text[len] == ' ';
}

enum vote_error resp_error(const struct resp_reply *reply)
{
    for (unsigned error = ERROR_OTHER + 1; error < ERRORS; error++) {
        if (first_word_is(reply, error_names[error]))
            return (enum vote_error)error;
    }
    /* What a script was not allowed to do comes as a plain ERR. */
    if (strstr(reply->text, "executing the script can't run") != NULL)
        return ERROR_NOPERM;
    return first_word_is(reply, "WRONGPASS") ? ERROR_NOAUTH : ERROR_OTHER;
}

static void vote_number(struct vote *vote, uint64_t number)
{
    vote->kind = VOTE_NUMBER;
    vote->number = number;
}

static void vote_integer(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && reply->integer >= 0)
        vote_number(vote, (uint64_t)reply->integer);
}

/* ZADD and RELEASE: 1 or 0. */
static void vote_yes_no(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && (reply->integer == 0 || reply->integer == 1))
        vote->kind = reply->integer ? VOTE_YES : VOTE_NO;
}

static void vote_set(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_NIL)
        vote->kind = VOTE_NO;
    else if (reply->type == RESP_STATUS && first_word_is(reply, "OK"))
        vote->kind = VOTE_YES;
}

/* A score is a double that arrives as text, "1732200000000000" or "1.7e+15". What was not written by us is
 * rounded up and clamped, so that a fence above it is above it. */
static void vote_score(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_NIL) {
        vote_number(vote, 0);
        return;
    }
    if (reply->type != RESP_STRING || !reply->text_len || strchr(" \t\r\n\v\f", reply->text[0]))
        return;
    char *end;
    double score = strtod(reply->text, &end);
    if (end != reply->text + reply->text_len || score != score)
        return;
    if (score <= 0) {
        vote_number(vote, 0);
    } else if (score >= (double)FENCE_MAX) {
        vote_number(vote, FENCE_MAX);
    } else {
        uint64_t whole = (uint64_t)score;
        vote_number(vote, (double)whole < score ? whole + 1 : whole);
    }
}

static void vote_ttl(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && reply->integer < 0)
        vote->kind = VOTE_NO;
    else
        vote_integer(reply, vote);
}

static void vote_info(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_STRING || !reply->has_info)
        return;
    vote->kind = VOTE_INFO;
    vote->info = reply->info;
}

void resp_vote(enum command_verb verb, const struct resp_reply *reply, struct vote *vote)
{
    *vote = (struct vote){.kind = VOTE_ERROR, .error = ERROR_OTHER};
    if (reply->type == RESP_ERROR) {
        if (resp_script_of(verb) >= 0 && first_word_is(reply, "NOSCRIPT"))
            vote->kind = VOTE_NOT_RUN;
        else
            vote->error = resp_error(reply);
        return;
    }
    switch (verb) {
    case COMMAND_CLIENT_ID:
    case COMMAND_KILL:
        vote_integer(reply, vote);
        break;
    case COMMAND_INFO:
        vote_info(reply, vote);
        break;
    case COMMAND_SET:
        vote_set(reply, vote);
        break;
    case COMMAND_ZADD:
    case COMMAND_RELEASE:
        vote_yes_no(reply, vote);
        break;
    case COMMAND_ZSCORE:
        vote_score(reply, vote);
        break;
    case COMMAND_EXTEND:
    case COMMAND_CHECK:
        vote_ttl(reply, vote);
        break;
    case COMMAND_TIME:
    case COMMAND_GROUP:
    case COMMAND_PROBE:
    case COMMAND_GROUP_SET:
    case COMMAND_GROUP_NEW:
    case COMMAND_HEAL:
    case COMMAND_GET:
    case COMMAND_WANT:
    case COMMAND_MOVE:
        break;
    }
}
