/* Replies -> votes. */
#include "proto/resp.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "proto/group.h"
#include "proto/line_piece.h"

/* ---- votes ---- */

static const char *const error_names[] = {
    [ERROR_OTHER] = "OTHER",
    [ERROR_OOM] = "OOM",
    [ERROR_READONLY] = "READONLY",
    [ERROR_MISCONF] = "MISCONF",
    [ERROR_NOREPLICAS] = "NOREPLICAS",
    [ERROR_LOADING] = "LOADING",
    [ERROR_BUSY] = "BUSY",
    [ERROR_NOPERM] = "NOPERM",
    [ERROR_NOAUTH] = "NOAUTH",
    [ERROR_WRONGTYPE] = "WRONGTYPE",
};

enum { ERRORS = sizeof error_names / sizeof error_names[0], VERSION_DIGITS = 9, SINCE_DIGITS = 15 };

const char *resp_error_name(enum vote_error error)
{
    assert((unsigned)error < ERRORS);
    return error_names[error];
}

/* The first word of an error is its class in Redis. */
static bool first_word_is(const char *text, size_t text_len, const char *word)
{
    size_t len = strlen(word);
    if (text_len < len || memcmp(text, word, len) != 0)
        return false;
    return text_len == len || text[len] == ' ';
}

/* Skips the place that Redis 6.2 puts before an error inside a script: "@user_script: 1: -OOM command not
 * ...". */
static void past_script_place(const char **text, size_t *len)
{
    const char *place = memmem(*text, *len, ": -", 3);
    if (*text[0] != '@' || place == NULL)
        return;
    *len -= (size_t)(place + 3 - *text);
    *text = place + 3;
}

enum vote_error resp_error(const struct resp_reply *reply)
{
    const char *text = reply->text;
    size_t len = reply->text_len;
    past_script_place(&text, &len);
    for (unsigned error = ERROR_OTHER + 1; error < ERRORS; error++) {
        if (first_word_is(text, len, error_names[error]))
            return (enum vote_error)error;
    }
    /* A script without the rights for a command gets a plain ERR: the first before Redis 7.2, else the second. */
    if (strstr(reply->text, "executing the script can't run") != NULL ||
        strstr(reply->text, "ACL failure in script") != NULL)
        return ERROR_NOPERM;
    return first_word_is(text, len, "WRONGPASS") ? ERROR_NOAUTH : ERROR_OTHER;
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

/* 1 or 0. */
static void vote_yes_no(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && (reply->integer == 0 || reply->integer == 1))
        vote->kind = reply->integer ? VOTE_YES : VOTE_NO;
}

static void vote_all_or_none(const struct resp_reply *reply, struct vote *vote)
{
    vote_yes_no(reply, vote);
    vote->number = LIST_NAMES;
}

static void vote_letter(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && reply->integer >= 0)
        vote->kind = reply->integer > 0 ? VOTE_YES : VOTE_NO;
}

static void vote_unheard(struct vote *vote, bool allowed)
{
    vote->kind = VOTE_UNHEARD;
    vote->error = allowed ? ERROR_OTHER : ERROR_NOPERM;
}

/* The script's numbers are told in proto/lua/release.lua. */
static void vote_release(const struct resp_reply *reply, struct vote *vote)
{
    long long said = reply->integer;
    if (reply->type == RESP_INTEGER && said >= 2) {
        vote->kind = VOTE_HEARD;
        vote->number = (uint64_t)said - 2;
    } else if (reply->type == RESP_INTEGER && (said == -1 || said == -2)) {
        vote_unheard(vote, said == -1);
    } else {
        vote_yes_no(reply, vote);
    }
}

/* The TTL is negative where there is no key (-2) or where the key has none (-1). */
static void vote_enqueue(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_ARRAY || reply->integer != 3 || !reply->integers)
        return;
    int64_t ttl_ms = reply->element[0], heard = reply->element[1];
    vote->marked = reply->element[2] == 1;
    vote->kept = reply->element[2] == 2;
    if (ttl_ms == -2) {
        vote->kind = VOTE_NO;
        return;
    }
    if (heard > 0)
        vote->kind = VOTE_HEARD;
    else
        vote_unheard(vote, heard == 0);
    vote->number = ttl_ms > 0 ? (uint64_t)ttl_ms : 0;
}

/* Reads "<slots> <heard> <TTL> <TTL> " and returns the bytes behind it; NULL: it is something else. */
static const char *vote_look_numbers(const struct resp_reply *reply, long long number[4])
{
    const char *at = reply->text;
    for (unsigned i = 0; i < 4; i++) {
        char *end;
        if (at[0] != '-' && (at[0] < '0' || at[0] > '9'))
            return NULL;
        number[i] = strtoll(at, &end, 10);
        if (*end != ' ')
            return NULL;
        at = end + 1;
    }
    return at;
}

/* The bit map has as many bytes as the slots need that were asked for; the slots beyond them are none. */
static void vote_looked(const struct resp_reply *reply, struct vote *vote)
{
    long long number[4];
    if (reply->type != RESP_STRING || reply->whole_len != reply->text_len)
        return;
    const char *map = vote_look_numbers(reply, number);
    size_t before = map != NULL ? (size_t)(map - reply->text) : 0;
    size_t len = reply->text_len - before;
    if (map == NULL || before > reply->text_len || len == 0 || len > sizeof vote->seen.taken)
        return;
    vote->kind = VOTE_LOOKED;
    vote->seen.slots = number[0] > 0 && number[0] <= SLOTS_MAX ? (uint16_t)number[0] : 0;
    vote->seen.heard = number[1] == 1;
    vote->number = number[2] > 0 ? (uint64_t)number[2] : 0;
    vote->seen.longest_ms = number[3] > 0 ? (uint64_t)number[3] : 0;
    memset(vote->seen.taken, 0xff, sizeof vote->seen.taken);
    memcpy(vote->seen.taken, map, len);
}

static void vote_ok(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_STATUS && first_word_is(reply->text, reply->text_len, "OK"))
        vote->kind = VOTE_YES;
}

/* SET with NX or XX. */
static void vote_set(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_NIL)
        vote->kind = VOTE_NO;
    else
        vote_ok(reply, vote);
}

/* A score is a double that arrives as text, "1732200000000000" or "1.7e+15". A score that no daemon wrote
 * is rounded up and clamped to 0 and FENCE_MAX, so that a fence above the vote is above the score, too. */
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

/* 1: all keys were set; 0 or less: the key with this number, counted from 0 and negated, was there. */
static void vote_set_all(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_INTEGER || reply->integer > 1 || reply->integer <= -(long long)LIST_NAMES)
        return;
    vote->kind = reply->integer == 1 ? VOTE_YES : VOTE_NO;
    vote->number = reply->integer == 1 ? 0 : (uint64_t)-reply->integer;
}

static void vote_try(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_INTEGER || reply->integer < 0 || reply->integer >= LACKINGS)
        return;
    vote->kind = reply->integer == 0 ? VOTE_YES : VOTE_NO;
    vote->number = (uint64_t)reply->integer;
}

static void vote_ttl(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && reply->integer < 0)
        vote->kind = VOTE_NO;
    else
        vote_integer(reply, vote);
}

/* The key with this number, of an EXTEND of several keys. */
static void vote_extended(const struct resp_reply *reply, unsigned key, unsigned keys, struct vote *vote)
{
    if (reply->type != RESP_ARRAY || reply->integer != keys || !reply->integers)
        return;
    if (reply->element[key] < 0)
        vote->kind = VOTE_NO;
    else
        vote_number(vote, (uint64_t)reply->element[key]);
}

static void vote_extend(const struct resp_reply *reply, struct vote *vote)
{
    vote_extended(reply, 0, 1, vote);
}

static void vote_info(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_STRING || !reply->has_info)
        return;
    vote->kind = VOTE_INFO;
    vote->info = reply->info;
}

/* Seconds, and microseconds within them. */
static void vote_time(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_ARRAY || reply->integer != 2 || !reply->decimals)
        return;
    int64_t seconds = reply->element[0], us = reply->element[1];
    if (seconds > 0 && seconds <= CLOCK_MAX_MS / 1000 && us < 1000000)
        vote_number(vote, (uint64_t)(seconds * 1000 + us / 1000));
}

/* The number that a text begins with; 0: it begins with something else. */
static uint64_t version_of(const struct resp_reply *reply)
{
    uint64_t version = 0;
    size_t i = 0;
    for (; i < reply->text_len && i < VERSION_DIGITS && reply->text[i] >= '0' && reply->text[i] <= '9'; i++)
        version = version * 10 + (uint64_t)(reply->text[i] - '0');
    return i < reply->text_len && reply->text[i] == ' ' ? version : 0;
}

static void vote_group(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_NIL) {
        vote->kind = VOTE_NO;
    } else if (reply->type == RESP_STRING) {
        bool whole = reply->whole_len == reply->text_len;
        bool good = whole && group_parse(reply->text, reply->text_len, &vote->group);
        vote->kind = good ? VOTE_GROUP : VOTE_UNREADABLE;
        vote->number = good ? 0 : version_of(reply);
    }
}

/* Reads a token as we write it, in lower case. The scripts compare bytes, so upper-case digits are another
 * value. */
static bool token_parse(const struct resp_reply *reply, struct token *token)
{
    static const char hex[] = "0123456789abcdef";
    unsigned some = 0;
    if (reply->whole_len != TOKEN_HEX)
        return false;
    for (unsigned i = 0; i < TOKEN_HEX; i++) {
        const char *digit = memchr(hex, reply->text[i], 16);
        if (digit == NULL)
            return false;
        unsigned value = (unsigned)(digit - hex);
        some |= value;
        unsigned high = i % 2 ? token->bytes[i / 2] : 0u;
        token->bytes[i / 2] = (uint8_t)(high << 4 | value);
    }
    return some != 0; /* all zero is no token */
}

/* FNV-1a, with another start for each word of the token. A long value is hashed by its beginning and its
 * length. */
static void token_of_text(const char *text, size_t len, size_t whole_len, struct token *token)
{
    for (unsigned word = 0; word < TOKEN_BYTES / 4; word++) {
        uint64_t hash = UINT64_C(14695981039346656037) + word;
        for (size_t i = 0; i < len; i++)
            hash = (hash ^ (uint8_t)text[i]) * UINT64_C(1099511628211);
        hash = (hash ^ whole_len) * UINT64_C(1099511628211);
        uint32_t high = (uint32_t)(hash >> 32);
        memcpy(token->bytes + word * 4, &high, 4);
    }
}

static void token_hash(const struct resp_reply *reply, struct token *token)
{
    token_of_text(reply->text, reply->text_len, reply->whole_len, token);
}

/* The token at a key. Any other value becomes a token, too, because it also means that the key is taken. */
static void vote_token(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_NIL) {
        vote->kind = VOTE_NO;
    } else if (reply->type == RESP_STRING) {
        vote->kind = VOTE_TOKEN;
        if (!token_parse(reply, &vote->token))
            token_hash(reply, &vote->token);
    }
}

/* "<since> <text>", as the script of DATA answers ADOPT. */
static void vote_data(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type == RESP_INTEGER && reply->integer == 0) {
        vote->kind = VOTE_NO;
        return;
    }
    if (reply->type != RESP_STRING || reply->whole == NULL)
        return;
    const char *at = reply->whole, *end = at + reply->whole_len;
    int64_t since_ms = piece_number(piece_next(&at, end), SINCE_DIGITS);
    struct piece text = piece_next(&at, end);
    if (since_ms < 0 || !piece_is_data(text) || at != end)
        return;
    vote->kind = VOTE_DATA;
    vote->number = (uint64_t)since_ms;
    vote->data.len = (uint16_t)text.len;
    memcpy(vote->data.text, text.text, text.len);
}

/* "x <value> <ttl> [<fence> <since> <text>]", and the other answers of the script of SEE. */
static bool seen_token(const char *at, const char *end, struct seen *who)
{
    struct piece value = piece_next(&at, end), ttl = piece_next(&at, end), fence = piece_next(&at, end);
    struct piece since = piece_next(&at, end), text = piece_next(&at, end);
    int64_t ttl_ms = piece_number(ttl, SINCE_DIGITS);
    if (value.len == 0 || ttl.len == 0 || at != end)
        return false;
    who->kind = SEEN_TOKEN;
    who->ttl_ms = ttl_ms > 0 ? (uint64_t)ttl_ms : 0;
    if (!piece_token((struct piece){value.text, value.len < TOKEN_HEX ? value.len : TOKEN_HEX}, &who->token))
        token_of_text(value.text, value.len, value.len, &who->token);
    if (fence.len == 0)
        return true;
    int64_t number = piece_number(fence, SINCE_DIGITS + 1);
    if (number < 0 || !piece_is_digits(since) || !piece_is_data(text))
        return false;
    who->fence = (uint64_t)number;
    who->data.len = (uint16_t)text.len;
    memcpy(who->data.text, text.text, text.len);
    return true;
}

static void vote_seen(const struct resp_reply *reply, struct vote *vote)
{
    if (reply->type != RESP_STRING || reply->whole == NULL)
        return;
    const char *at = reply->whole, *end = at + reply->whole_len;
    struct piece kind = piece_next(&at, end);
    vote->who.kind = piece_is(kind, "s") ? SEEN_READERS : piece_is(kind, "l") ? SEEN_SLOTS : SEEN_NOBODY;
    vote->who.fence = vote->who.ttl_ms = vote->who.data.len = 0;
    bool good = piece_is(kind, "x") ? seen_token(at, end, &vote->who)
                                    : (piece_is(kind, "-") || vote->who.kind != SEEN_NOBODY) && at == end;
    if (good)
        vote->kind = VOTE_SEEN;
}

bool resp_is_not_run(const struct resp_reply *reply)
{
    return reply->type == RESP_ERROR && first_word_is(reply->text, reply->text_len, "NOSCRIPT");
}

/* Redis has other words for WRONGTYPE where DELEX compares. */
static bool is_of_another_type(const struct resp_reply *reply)
{
    static const char words[] = "ERR Key should be of string type";
    return strncmp(reply->text, words, sizeof words - 1) == 0;
}

static void vote_error(enum command_verb verb, const struct resp_reply *reply, struct vote *vote)
{
    vote->error = resp_error(reply);
    if (resp_script_of(verb) >= 0 && resp_is_not_run(reply)) {
        vote->kind = VOTE_NOT_RUN;
    } else if (vote->error == ERROR_WRONGTYPE && (verb == COMMAND_GROUP || command_is_probe(verb))) {
        vote->kind = VOTE_UNREADABLE;
    } else if (vote->error == ERROR_WRONGTYPE && verb == COMMAND_GET) {
        vote->kind = VOTE_TOKEN;
        token_hash(reply, &vote->token);
    } else if (verb == COMMAND_RELEASE_DELEX && is_of_another_type(reply)) {
        vote->error = ERROR_WRONGTYPE;
    }
}

static void vote_begin(struct vote *vote)
{
    vote->kind = VOTE_ERROR;
    vote->error = ERROR_OTHER;
    vote->number = 0;
    vote->marked = vote->kept = false;
}

void resp_vote_key(const struct resp_reply *reply, unsigned key, unsigned keys, struct vote *vote)
{
    assert(key < keys && keys <= RESP_BATCH_KEYS);
    vote_begin(vote);
    if (reply->type == RESP_ERROR)
        vote_error(COMMAND_EXTEND, reply, vote);
    else
        vote_extended(reply, key, keys, vote);
}

static void (*const votes[COMMAND_VERBS])(const struct resp_reply *reply, struct vote *vote) = {
#define COMMAND(name, script, vote, words)  [COMMAND_##name] = vote_##vote,
#define FOR_LIST(name, script, vote, words) [COMMAND_##name##_ALL] = vote_##vote,
#define NATIVE(name, form, vote, words)     [COMMAND_##name##_##form] = vote_##vote,
#include "proto/command.def"
};

void resp_vote(enum command_verb verb, const struct resp_reply *reply, struct vote *vote)
{
    assert((unsigned)verb < COMMAND_VERBS);
    vote_begin(vote);
    if (reply->type == RESP_ERROR)
        vote_error(verb, reply, vote);
    else
        votes[verb](reply, vote);
}

/* The line of this name, out of as many as were asked for. */
void resp_vote_seen(const struct resp_reply *reply, unsigned key, unsigned keys, struct vote *vote)
{
    vote_begin(vote);
    if (reply->type == RESP_ERROR)
        vote_error(COMMAND_SEE, reply, vote);
    if (reply->type != RESP_STRING || reply->whole == NULL)
        return;
    struct resp_reply one = *reply;
    const char *at = reply->whole, *end = at + reply->whole_len;
    unsigned lines = 1;
    for (const char *lf = at; (lf = memchr(lf, '\n', (size_t)(end - lf))) != NULL; lf++)
        lines++;
    if (lines != keys)
        return;
    for (unsigned i = 0; i < key; i++)
        at = (const char *)memchr(at, '\n', (size_t)(end - at)) + 1;
    const char *lf = memchr(at, '\n', (size_t)(end - at));
    one.whole = at;
    one.whole_len = (size_t)((lf != NULL ? lf : end) - at);
    vote_seen(&one, vote);
}
