/* Commands for lists of names -> RESP bytes. They have as many keys as the list has names. CUT is for one or several. */
#include "proto/names.h"
#include "proto/resp_private.h"

/* "<token>,<8 hex digits>": a key of another list, or of one name, has another value. */
static char *all_put_value(char *out, const struct token *token, const struct name *list)
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

static char *all_put_keys(char *out, const struct resp_format *format, const struct name *list)
{
    const char *text;
    size_t at = 0, len;
    while ((len = names_next(list, &at, &text)) != 0)
        out = resp_put_key(out, &format->prefix, text, len);
    return out;
}

static char *all_put_script(char *out, enum command_verb verb, unsigned keys, unsigned arguments)
{
    out = resp_put_word(resp_put_head(out, '*', 3 + (size_t)keys + arguments), "EVALSHA", 7);
    out = resp_put_word(out, resp_script_sha1((unsigned)resp_script_of(verb)), RESP_SHA1_HEX);
    return resp_put_number(out, keys);
}

/* The number that stands behind the value, or the word and the number; none. */
static char *all_put_rest(char *out, const struct command *command)
{
    switch (command->verb) {
    case COMMAND_SET_ALL: return resp_put_word(resp_put_number(out, command->number), "PX", 2);
    case COMMAND_HEAL_ALL: return resp_put_word(resp_put_number(out, command->number), "PXAT", 4);
    case COMMAND_EXTEND_ALL: return resp_put_number(resp_put_number(out, command->number), command->most_ms);
    case COMMAND_CHECK_ALL: return resp_put_number(out, 0);
    case COMMAND_MOVE_ALL: return all_put_value(out, &command->to, &command->name);
    default: return out;
    }
}

static char *all_put_locks(char *out, const struct resp_format *format, const struct command *command)
{
    static const uint8_t arguments[COMMAND_VERBS] = {
        [COMMAND_SET_ALL] = 3,    [COMMAND_HEAL_ALL] = 3,  [COMMAND_RELEASE_ALL] = 1,
        [COMMAND_EXTEND_ALL] = 3, [COMMAND_CHECK_ALL] = 2, [COMMAND_MOVE_ALL] = 2,
    };
    static const struct token nobody;
    bool writes = command->verb == COMMAND_RELEASE_ALL && memcmp(&command->to, &nobody, sizeof nobody) != 0;
    unsigned count = arguments[command->verb] + (writes ? 2u : 0u);
    assert(count != 0);
    out = all_put_script(out, command->verb, command->name.more + 1u, count);
    out = all_put_keys(out, format, &command->name);
    out = all_put_rest(all_put_value(out, &command->token, &command->name), command);
    if (!writes)
        return out;
    return resp_put_word(resp_put_id(out, &command->to), format->channels.text, format->channels.len);
}

static char *all_put_fences(char *out, const struct resp_format *format, const struct command *command)
{
    bool adds = command->verb == COMMAND_ZADD_ALL;
    if (adds)
        out = resp_put_word(resp_put_head(out, '*', 4 + 2 * (size_t)command->bucket), "ZADD", 4);
    else
        out = all_put_script(out, command->verb, 1, command->bucket);
    out = resp_put_word(out, format->fences.text, format->fences.len);
    if (adds)
        out = resp_put_word(resp_put_word(out, "GT", 2), "CH", 2);
    for (unsigned i = 0; i < command->bucket; i++) {
        if (adds)
            out = resp_put_number(out, command->number);
        out = resp_put_number(out, command->buckets[i]);
    }
    return out;
}

static char *all_put_cut(char *out, const struct resp_format *format, const struct command *command)
{
    out = all_put_script(out, command->verb, command->name.more + 1u, 2);
    if (command->name.more == 0)
        out = resp_put_key(out, &format->prefix, command->name.text, command->name.len);
    else
        out = all_put_keys(out, format, &command->name);
    return resp_put_number(resp_put_number(out, command->number), command->slots);
}

size_t resp_command_all(char *out, const struct resp_format *format, const struct command *command)
{
    bool fences = command->verb == COMMAND_ZADD_ALL || command->verb == COMMAND_ZSCORE_ALL;
    char *end;
    if (command->verb == COMMAND_CUT)
        end = all_put_cut(out, format, command);
    else
        end = fences ? all_put_fences(out, format, command) : all_put_locks(out, format, command);
    assert(end <= out + RESP_COMMAND_BYTES);
    return (size_t)(end - out);
}
