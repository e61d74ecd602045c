#include "client/lib/answer.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The parts that a line may have to have, as bits. */
enum part {
    PART_TOKEN = 1,
    PART_FENCE = 2,
    PART_UNTIL = 4,
    PART_NOW = 8,
    PART_PROTO = 16,
    PART_NAME = 32,
    PART_BEHIND = 64,
    PART_STATE = 128,
};

static const struct code_rule {
    const char *word;
    enum answer_code code;
    unsigned needs;
} codes[] = {
    {"+LOCKED", ANSWER_LOCKED, PART_NAME | PART_TOKEN | PART_FENCE | PART_UNTIL},
    {"+UNLOCKED", ANSWER_UNLOCKED, PART_NAME},
    {"+KEPT", ANSWER_UNLOCKED, PART_NAME | PART_UNTIL},
    {"+EXTENDED", ANSWER_EXTENDED, PART_NAME | PART_UNTIL},
    {"+HELD", ANSWER_HELD, PART_NAME | PART_UNTIL},
    {"+OK", ANSWER_OK, 0},
    {"+HELLO", ANSWER_HELLO, PART_PROTO | PART_NOW},
    {"+PONG", ANSWER_PONG, 0},
    {"+BROKEN", ANSWER_BROKEN, PART_NAME},
    {"+DATA", ANSWER_DATA, PART_NAME},
    {"+WATCHING", ANSWER_WATCHING, PART_NAME | PART_STATE},
    {"+BYE", ANSWER_BYE, 0},
    {"+END", ANSWER_END, 0},
    {"*", ANSWER_ROW, 0},
    {"!EXPIRING", ANSWER_EXPIRING, PART_NAME | PART_TOKEN},
    {"!LOST", ANSWER_LOST, PART_NAME | PART_TOKEN},
    {"!RENEWED", ANSWER_RENEWED, PART_NAME | PART_TOKEN | PART_UNTIL},
    {"!DRAIN", ANSWER_DRAIN, 0},
    {"!CLOCK", ANSWER_CLOCK, 0},
    {"!NOW", ANSWER_NOW, PART_NAME | PART_STATE},
};

static const struct refusal_rule {
    const char *word;
    enum reply_code code;
} refusals[] = {
    {"-BUSY", REPLY_BUSY},           {"-TIMEOUT", REPLY_TIMEOUT},
    {"-NOQUORUM", REPLY_NOQUORUM},   {"-NOTHELD", REPLY_NOTHELD},
    {"-CANCELLED", REPLY_CANCELLED}, {"-MODE", REPLY_MODE},
    {"-LIMIT", REPLY_LIMIT},         {"-DRAINING", REPLY_DRAINING},
    {"-DENIED", REPLY_DENIED},       {"-AUTH", REPLY_AUTH},
    {"-BADVERB", REPLY_BADVERB},     {"-BADARG", REPLY_BADARG},
    {"-BADLINE", REPLY_BADLINE},     {"-BADTAG", REPLY_BADTAG},
    {"-TOOLONG", REPLY_TOOLONG},     {"-UNSUPPORTED", REPLY_UNSUPPORTED},
};

/* Reads a number of at most 18 digits, which cannot overflow; false: the value is none. */
static bool read_number(struct piece value, int64_t *number)
{
    int64_t read = 0;

    if (value.len > 18 || !piece_is_digits(value))
        return false;
    for (size_t i = 0; i < value.len; i++)
        read = read * 10 + (value.text[i] - '0');
    *number = read;
    return true;
}

/* Whether the word is in a list with commas. */
static bool has_feature(struct piece list, const char *word)
{
    const char *end = list.text + list.len;

    for (const char *at = list.text; at < end;) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        if (piece_is((struct piece){at, (size_t)((comma ? comma : end) - at)}, word))
            return true;
        at = comma ? comma + 1 : end;
    }
    return false;
}

/* Notes the value of a known pair. Returns the PART_ bit of a pair that counts as a part; 0 for the other
 * known pairs, for a wrong value, and for keys that later versions add. */
static unsigned take_pair(struct answer *answer, struct piece key, struct piece value)
{
    int64_t number = 0;

    if (piece_is(key, "state")) {
        answer->state = value;
        return PART_STATE;
    }
    if (piece_is(key, "host"))
        answer->host = value;
    if (piece_is(key, "data"))
        answer->data = value;
    if (piece_is(key, "token")) {
        answer->has_token = piece_token(value, &answer->token);
        return answer->has_token ? PART_TOKEN : 0;
    }
    if (piece_is(key, "server"))
        answer->server = value;
    if (piece_is(key, "reason"))
        answer->reason = value;
    if (piece_is(key, "limit"))
        answer->limit = value;
    if (piece_is(key, "mode"))
        answer->shared = piece_is(value, "shared");
    if (piece_is(key, "features")) {
        answer->takes_losses = has_feature(value, "lost");
        answer->takes_keeps = has_feature(value, "keep");
        answer->repeats = has_feature(value, "resume-wait");
    }
    if (!read_number(value, &number))
        return 0;
    if (piece_is(key, "fence")) {
        answer->fence = (uint64_t)number;
        return number > 0 ? PART_FENCE : 0;
    }
    if (piece_is(key, "until")) {
        answer->until_ms = number;
        return PART_UNTIL;
    }
    if (piece_is(key, "now")) {
        answer->now_ms = number;
        return PART_NOW;
    }
    if (piece_is(key, "behind")) {
        answer->behind_ms = number;
        return PART_BEHIND;
    }
    if (piece_is(key, "proto")) {
        answer->proto = number;
        return PART_PROTO;
    }
    if (piece_is(key, "retry"))
        answer->retry_ms = number;
    if (piece_is(key, "slot"))
        answer->slot = number;
    if (piece_is(key, "ready"))
        answer->ready = number;
    return 0;
}

/* Reads the name and the key=value words up to the text for people. A line with the same part twice cannot be
 * trusted. */
static bool read_words(struct answer *answer, const char *at, const char *end, unsigned *has)
{
    bool first = true;

    for (struct piece word = piece_next(&at, end); word.len && !piece_is(word, ":"); first = false) {
        const char *equals = memchr(word.text, '=', word.len);
        unsigned part = 0;
        if (equals) {
            struct piece key = {word.text, (size_t)(equals - word.text)};
            struct piece value = {equals + 1, word.len - key.len - 1};
            part = take_pair(answer, key, value);
        } else if (first && (piece_is_word(word, NAME_BYTES) || piece_is_names(word))) {
            answer->name = word;
            part = PART_NAME;
        }
        if (*has & part)
            return false;
        *has |= part;
        word = piece_next(&at, end);
    }
    return true;
}

static bool read_code(struct answer *answer, struct piece word, unsigned *needs)
{
    for (size_t i = 0; i < COUNT(codes); i++)
        if (piece_is(word, codes[i].word)) {
            answer->code = codes[i].code;
            *needs = codes[i].needs;
            return true;
        }
    *needs = 0;
    if (word.text[0] == '!') {
        answer->code = ANSWER_OTHER;
        return true;
    }
    if (word.text[0] != '-' || word.len < 2)
        return false;
    answer->code = ANSWER_REFUSED;
    answer->refusal = REPLY_BADARG;
    for (size_t i = 0; i < COUNT(refusals); i++)
        if (piece_is(word, refusals[i].word))
            answer->refusal = refusals[i].code;
    return true;
}

static bool is_printable(const char *line, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (line[i] < 0x20 || line[i] > 0x7e)
            return false;
    return true;
}

bool answer_parse(const char *line, size_t len, struct answer *answer)
{
    const char *at = line;
    const char *end = line + len;
    unsigned needs = 0;
    unsigned has = 0;

    *answer = (struct answer){
        .until_ms = -1, .now_ms = -1, .behind_ms = -1, .retry_ms = -1, .slot = -1, .ready = -1};
    if (!is_printable(line, len))
        return false;
    struct piece word = piece_next(&at, end);
    if (word.len && word.text[0] == '#') {
        if (!piece_tag((struct piece){word.text + 1, word.len - 1}, &answer->tag))
            return false;
        word = piece_next(&at, end);
    }
    if (!word.len || !read_code(answer, word, &needs))
        return false;
    if (answer->code == ANSWER_ROW) {
        at += at < end;
        answer->rest = (struct piece){at, (size_t)(end - at)};
        return true;
    }
    answer->rest = (struct piece){word.text, (size_t)(end - word.text)};
    return read_words(answer, at, end, &has) && (has & needs) == needs;
}
