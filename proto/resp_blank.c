/* What a command fills into its form, as RESP bytes. */
#include "proto/group.h"
#include "proto/names.h"
#include "proto/resp_private.h"
#include "proto/slot.h"

/* ---- of one name ---- */

/* A slot has the queue of its name. */
static unsigned base_len(const struct command *command)
{
    unsigned len;
    (void)slot_of_name(&command->name, &len);
    return len;
}

static char *put_channel(char *out, const struct resp_format *format, const struct token *token)
{
    char hex[TOKEN_HEX];
    line_token_hex(hex, token);
    return resp_put_key(out, &format->channels, hex, RESP_ID_HEX);
}

static char *put_tried(char *out, const struct resp_format *format, const struct token *me)
{
    char hex[TOKEN_HEX];
    line_token_hex(hex, me);
    return resp_put_key(out, &format->tried, hex, RESP_ID_HEX);
}

static char *put_message(char *out, const char *what, const struct name *name)
{
    out = resp_put(resp_put_head(out, '$', 2 + (size_t)name->len), what, 2);
    return resp_put_end(resp_put(out, name->text, name->len));
}

static char *put_group_text(char *out, const struct group *group)
{
    char text[GROUP_BYTES];
    return resp_put_word(out, text, group_text(text, group));
}

/* ---- of a list of names ---- */

/* "<token>,<8 hex digits>": a key of another list, or of one name, has another value. */
static char *put_list_value(char *out, const struct token *token, const struct name *list)
{
    static const char hex[] = "0123456789abcdef";
    uint32_t hash = names_hash(list);
    out = resp_put(out, "$49\r\n", 5);
    line_token_hex(out, token);
    out += TOKEN_HEX;
    *out++ = ',';
    for (int shift = 28; shift >= 0; shift -= 4)
        *out++ = hex[hash >> shift & 15];
    return resp_put_end(out);
}

/* The comma in the name of a slot divides no names. With a token, each key has its value behind it. */
static char *put_keys(char *out, const struct resp_format *format, const struct name *name,
                      const struct token *token)
{
    const char *text;
    size_t at = 0, len;
    if (name->more == 0)
        return resp_put_key(out, &format->prefix, name->text, name->len);
    while ((len = names_next(name, &at, &text)) != 0) {
        out = resp_put_key(out, &format->prefix, text, len);
        if (token != NULL)
            out = put_list_value(out, token, name);
    }
    return out;
}

static char *put_buckets(char *out, const struct command *command, bool scores)
{
    for (unsigned i = 0; i < command->bucket; i++) {
        if (scores)
            out = resp_put_number(out, command->number);
        out = resp_put_number(out, command->buckets[i]);
    }
    return out;
}

bool resp_is_several(enum blank blank)
{
    return blank == BLANK_KEYS || blank == BLANK_PAIRS || blank == BLANK_BUCKETS || blank == BLANK_SCORES;
}

unsigned resp_count(enum blank blank, const struct command *command)
{
    switch (blank) {
    case BLANK_KEYS: return command->name.more + 1u;
    case BLANK_PAIRS: return 2 * (command->name.more + 1u);
    case BLANK_BUCKETS: return command->bucket;
    case BLANK_SCORES: return 2 * command->bucket;
    default: return 1;
    }
}

char *resp_put_blank(char *out, const struct resp_format *format, enum blank blank,
                     const struct command *command)
{
    const struct name *name = &command->name;
    switch (blank) {
    case BLANK_KEY: return resp_put_key(out, &format->prefix, name->text, name->len);
    case BLANK_KEYS: return put_keys(out, format, name, NULL);
    case BLANK_PAIRS: return put_keys(out, format, name, &command->token);
    case BLANK_KEY_COUNT: return resp_put_number(out, resp_count(BLANK_KEYS, command));
    case BLANK_QUEUE: return resp_put_key(out, &format->queue, name->text, base_len(command));
    case BLANK_MARK: return resp_put_key(out, &format->mark, name->text, name->len);
    case BLANK_SLOTS: return resp_put_key(out, &format->slots, name->text, base_len(command));
    case BLANK_SLOT_COUNT: return resp_put_number(out, command->slots);
    case BLANK_TELLS: return resp_put_key(out, &format->tells, name->text, name->len);
    case BLANK_DATA: return resp_put_word(out, command->data.text, command->data.len);
    case BLANK_NAME: return resp_put_word(out, name->text, base_len(command));
    case BLANK_TOKEN: return resp_put_token(out, &command->token);
    case BLANK_OTHER: return resp_put_token(out, &command->other);
    case BLANK_THIRD: return resp_put_token(out, &command->third);
    case BLANK_TO: return resp_put_token(out, &command->to);
    case BLANK_VALUE: return put_list_value(out, &command->token, name);
    case BLANK_TO_VALUE: return put_list_value(out, &command->to, name);
    case BLANK_ME: return resp_put_id(out, &command->to);
    case BLANK_TRIED: return put_tried(out, format, &command->to);
    case BLANK_CHANNEL: return put_channel(out, format, &command->token);
    case BLANK_ENDED: return put_message(out, "g ", name);
    case BLANK_NEWS: return put_message(out, "n ", name);
    case BLANK_NUMBER: return resp_put_number(out, command->number);
    case BLANK_WAITED_MS: return resp_put_number(out, command->waited_ms);
    case BLANK_MOST_MS: return resp_put_number(out, command->most_ms);
    case BLANK_STAYS: return resp_put_number(out, command->stays);
    case BLANK_SHARED: return resp_put_number(out, command->shared);
    case BLANK_BUCKET: return resp_put_number(out, command->bucket);
    case BLANK_BUCKETS: return put_buckets(out, command, false);
    case BLANK_SCORES: return put_buckets(out, command, true);
    case BLANK_GROUP_TEXT: return put_group_text(out, &command->group);
    case BLANK_NONE:
    case BLANK_SHA1:
    case BLANK_GROUP:
    case BLANK_FENCES:
    case BLANK_CHANNELS:
    case BLANKS: break;
    }
    return out;
}
