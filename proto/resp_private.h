/* The parts that resp.c and resp_blank.c share: the layout of commands, and words as bytes. */
#ifndef REDLOCKD_PROTO_RESP_PRIVATE_H
#define REDLOCKD_PROTO_RESP_PRIVATE_H

#include <assert.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/line.h"
#include "proto/resp.h"

enum {
    PREFIX_BYTES = 64,
    HEAD_BYTES = 1 + DECIMAL_BYTES + 2, /* "$" or "*", a number, the line's end */
    OWN_BYTES = 16, /* ",daemons", ",fences", ",group", ",queue:", ",slots:", ",wake:", ",writer:" */
    PIECES = 10,
    FIXED_BYTES = 256, /* bytes that are the same in each command of a form, at most */
};

/* The words of a form that differ from command to command, or from key prefix to key prefix. */
enum blank {
    BLANK_NONE,
#define BLANK(name, text) BLANK_##name,
#include "proto/command.def"
    BLANKS,
};

/* The words in which a command is sent. Each verb has a form with its own number; the others stand behind these. */
enum {
#define COMMAND(name, script, vote, words)  FORM_##name,
#define FOR_LIST(name, script, vote, words) FORM_##name##_ALL,
#define NATIVE(name, form, vote, words)     FORM_##name##_##form,
#include "proto/command.def"
#define FORM(verb, form, words) FORM_##verb##_##form,
#include "proto/command.def"
    FORMS
};

/* Bytes that are the same each time, and what is filled in behind them. */
struct form_piece {
    uint16_t at, len;
    enum blank blank;
};

struct form {
    unsigned words;     /* how many stand in the table */
    enum blank several; /* the one that becomes several words; BLANK_NONE: none does */
    unsigned pieces;
    struct form_piece piece[PIECES];
    char fixed[FIXED_BYTES]; /* with the head, unless a blank becomes several words */
};

struct key {
    size_t len;
    char text[PREFIX_BYTES + OWN_BYTES];
};

struct resp_format {
    struct key prefix, queue, mark, slots, tells, channels, fences, group, daemons, tried;
    struct form form[FORMS];
};

/* ---- words as bytes: each function returns where the next word goes ---- */

static inline char *resp_put(char *out, const char *bytes, size_t len)
{
    memcpy(out, bytes, len);
    return out + len;
}

static inline char *resp_put_end(char *out)
{
    return resp_put(out, "\r\n", 2);
}

/* "$7\r\n", or "*7\r\n". */
static inline char *resp_put_head(char *out, char type, size_t count)
{
    char digits[DECIMAL_BYTES];
    const char *first = decimal_digits(count, digits);
    *out++ = type;
    return resp_put_end(resp_put(out, first, (size_t)(digits + DECIMAL_BYTES - first)));
}

static inline char *resp_put_word(char *out, const char *text, size_t len)
{
    return resp_put_end(resp_put(resp_put_head(out, '$', len), text, len));
}

static inline char *resp_put_number(char *out, uint64_t number)
{
    char digits[DECIMAL_BYTES];
    const char *first = decimal_digits(number, digits);
    return resp_put_word(out, first, (size_t)(digits + DECIMAL_BYTES - first));
}

static inline char *resp_put_token(char *out, const struct token *token)
{
    out = resp_put(out, "$40\r\n", 5);
    line_token_hex(out, token);
    return resp_put_end(out + TOKEN_HEX);
}

static inline char *resp_put_id(char *out, const struct token *token)
{
    char hex[TOKEN_HEX];
    line_token_hex(hex, token);
    return resp_put_word(out, hex, RESP_ID_HEX);
}

static inline char *resp_put_key(char *out, const struct key *before, const char *name, size_t len)
{
    assert(len <= NAME_BYTES + SLOT_BYTES);
    out = resp_put_head(out, '$', before->len + len);
    return resp_put_end(resp_put(resp_put(out, before->text, before->len), name, len));
}

/* ---- resp_blank.c ---- */

/* Whether it may become several words. */
bool resp_is_several(enum blank blank);
/* How many words it becomes. */
unsigned resp_count(enum blank blank, const struct command *command);
/* Fills it in; nothing for BLANK_NONE. */
char *resp_put_blank(char *out, const struct resp_format *format, enum blank blank,
                     const struct command *command);

#endif
