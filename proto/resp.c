/* Commands -> RESP bytes. */
#include "proto/resp_private.h"

#include <stdio.h>
#include <stdlib.h>

#include "proto/group.h"
#include "proto/slot.h"

/* The shape of each command. These words are filled in for each command:
 *     %k key   %q the queue's key   %l the lock's name   %t token   %a the other token   %c the third   %o to
 *     %i id of to   %n number   %w waited_ms   %s stays   %r shared   %b bucket   %g group   %m the mark's key   %z slots
 *     %j the key of their number %h the channel of the token's daemon %f what it is told   %y the key that is tried %x most_ms
 * and these once, when the key prefix is known:
 *     %G key of group   %F key of fences   %C how channels begin   %S the script's SHA1 */
static const char *const shape_texts[SHAPES] = {
    [COMMAND_CLIENT_ID] = "CLIENT ID",
    [COMMAND_INFO] = "INFO",
    [COMMAND_KILL] = "CLIENT KILL ID %n",
    [COMMAND_TRY] = "EVALSHA %S 1 %y",
    [COMMAND_TIME] = "TIME",
    [COMMAND_GROUP] = "GETEX %G",
    [COMMAND_PROBE] = "GETEX %G PX %n",
    [COMMAND_GROUP_SET] = "EVALSHA %S 1 %G XX %g %n %w",
    [COMMAND_GROUP_NEW] = "EVALSHA %S 1 %G NX %g %n %w",
    [COMMAND_SET] = "SET %k %t NX PX %n",
    [COMMAND_HEAL] = "SET %k %t NX PXAT %n",
    [COMMAND_GET] = "GET %k",
    [COMMAND_ZADD] = "ZADD %F GT CH %n %b",
    [COMMAND_ZSCORE] = "ZSCORE %F %b",
    [COMMAND_DEQUEUE] = "ZREM %q %i",
    [COMMAND_LETTER] = "PUBLISH %h %f",
    [COMMAND_ENQUEUE] = "EVALSHA %S 3 %k %q %m %w %i %C %l %n %r",
    [COMMAND_LOOK] = "EVALSHA %S 3 %k %j %q %z %i %C %l %n %w",
    [SHAPE_LOOK_ALONE] = "EVALSHA %S 2 %k %j %z 0 0 0 %n",
    [COMMAND_PASS] = "EVALSHA %S 3 %k %q %j 0 %i %C %l %n -",
    [COMMAND_RELEASE] = "EVALSHA %S 1 %k %t",
    [SHAPE_EITHER] = "EVALSHA %S 1 %k %t 0 0 0 0 0 %a",
    [SHAPE_WAKING] = "EVALSHA %S 2 %k %q %t %i %C %l %n %s",
    [SHAPE_WAKING_EITHER] = "EVALSHA %S 2 %k %q %t %i %C %l %n %s %a",
    [SHAPE_THREE] = "EVALSHA %S 1 %k %t 0 0 0 0 0 %a %c",
    [SHAPE_WAKING_THREE] = "EVALSHA %S 2 %k %q %t %i %C %l %n %s %a %c",
    [COMMAND_EXTEND] = "EVALSHA %S 1 %k %t %n %x",
    [COMMAND_CHECK] = "EVALSHA %S 1 %k %t",
    [COMMAND_MOVE] = "EVALSHA %S 1 %k %t %o",
    [SHAPE_MOVE_EITHER] = "EVALSHA %S 1 %k %t %o %a",
    [COMMAND_SETTLE] = "EVALSHA %S 1 %k %t %o %n",
    [COMMAND_SHARE] = "EVALSHA %S 2 %k %m %t %n %i %w",
    [COMMAND_SHARE_AT] = "EVALSHA %S 1 %k %t %n",
    [COMMAND_ALONG] = "EVALSHA %S 3 %k %q %m 0 %i %C %l %n",
    [COMMAND_DOWN] = "EVALSHA %S 1 %k %o %n %t %a",
};

/* ---- shapes, laid out once ---- */

static void key_set(struct key *key, const char *prefix, const char *own)
{
    size_t len = strlen(prefix), own_len = strlen(own);
    assert(len <= PREFIX_BYTES && own_len <= OWN_BYTES);
    memcpy(key->text, prefix, len);
    memcpy(key->text + len, own, own_len);
    key->len = len + own_len;
}

static unsigned words_of(const char *text)
{
    unsigned words = 1;
    for (; *text; text++)
        words += *text == ' ';
    return words;
}

/* Writes a word that is the same in each command of the shape; NULL: the word differs. */
static char *lay_word(const struct resp_format *format, unsigned verb, char *out, const char *word,
                      size_t len)
{
    if (word[0] != '%')
        return resp_put_word(out, word, len);
    switch (word[1]) {
    case 'G': return resp_put_word(out, format->group.text, format->group.len);
    case 'F': return resp_put_word(out, format->fences.text, format->fences.len);
    case 'C': return resp_put_word(out, format->channels.text, format->channels.len);
    case 'S': return resp_put_word(out, resp_script_sha1((unsigned)resp_script_of(verb)), RESP_SHA1_HEX);
    }
    return NULL;
}

static void shape_add(struct shape *shape, const char *from, const char *to, char what)
{
    assert(shape->pieces < PIECES && to <= shape->fixed + FIXED_BYTES);
    shape->piece[shape->pieces++] =
        (struct shape_piece){(uint16_t)(from - shape->fixed), (uint16_t)(to - from), what};
}

static void shape_lay(const struct resp_format *format, struct shape *shape, unsigned verb, const char *text)
{
    char *from = shape->fixed, *out = resp_put_head(from, '*', words_of(text));
    for (const char *word = text; *word;) {
        size_t len = strcspn(word, " ");
        char *end = lay_word(format, verb, out, word, len);
        if (end) {
            out = end;
        } else {
            shape_add(shape, from, out, word[1]);
            from = out;
        }
        word += len;
        word += *word == ' ';
    }
    shape_add(shape, from, out, 0);
}

/* The verb of a shape. */
static unsigned shape_verb(unsigned shape)
{
    if (shape < COMMAND_VERBS)
        return shape;
    if (shape == SHAPE_LOOK_ALONE)
        return COMMAND_LOOK;
    return shape == SHAPE_MOVE_EITHER ? COMMAND_MOVE : COMMAND_RELEASE;
}

struct resp_format *resp_format_new(const char *key_prefix)
{
    struct resp_format *format = calloc(1, sizeof *format);
    if (!format)
        return NULL;
    key_set(&format->prefix, key_prefix, "");
    key_set(&format->queue, key_prefix, ",queue:");
    key_set(&format->mark, key_prefix, ",writer:");
    key_set(&format->slots, key_prefix, ",slots:");
    key_set(&format->channels, key_prefix, ",wake:");
    key_set(&format->tried, key_prefix, ",try:");
    key_set(&format->fences, key_prefix, ",fences");
    key_set(&format->group, key_prefix, ",group");
    key_set(&format->daemons, key_prefix, ",daemons");
    for (unsigned i = 0; i < SHAPES; i++)
        if (shape_texts[i])
            shape_lay(format, &format->shape[i], shape_verb(i), shape_texts[i]);
    return format;
}

void resp_format_free(struct resp_format *format)
{
    free(format);
}

/* ---- commands ---- */

/* A slot has the queue of its name. */
static unsigned resp_base_len(const struct command *command)
{
    unsigned len;
    (void)slot_of_name(&command->name, &len);
    return len;
}

static char *resp_put_channel(char *out, const struct resp_format *format, const struct token *token)
{
    char hex[TOKEN_HEX];
    line_token_hex(hex, token);
    out = resp_put_head(out, '$', format->channels.len + RESP_ID_HEX);
    out = resp_put(out, format->channels.text, format->channels.len);
    return resp_put_end(resp_put(out, hex, RESP_ID_HEX));
}

static char *resp_put_letter(char *out, const struct name *name)
{
    out = resp_put(resp_put_head(out, '$', 2 + (size_t)name->len), "g ", 2);
    return resp_put_end(resp_put(out, name->text, name->len));
}

static char *resp_put_value(char *out, const struct resp_format *format, char what,
                            const struct command *command)
{
    char group[GROUP_BYTES], id[TOKEN_HEX];
    switch (what) {
    case 'k': return resp_put_key(out, &format->prefix, command->name.text, command->name.len);
    case 'm': return resp_put_key(out, &format->mark, command->name.text, command->name.len);
    case 'q': return resp_put_key(out, &format->queue, command->name.text, resp_base_len(command));
    case 'j': return resp_put_key(out, &format->slots, command->name.text, resp_base_len(command));
    case 'y': line_token_hex(id, &command->to); return resp_put_key(out, &format->tried, id, RESP_ID_HEX);
    case 'l': return resp_put_word(out, command->name.text, resp_base_len(command));
    case 't': return resp_put_token(out, &command->token);
    case 'a': return resp_put_token(out, &command->other);
    case 'c': return resp_put_token(out, &command->third);
    case 'o': return resp_put_token(out, &command->to);
    case 'i': return resp_put_id(out, &command->to);
    case 'n': return resp_put_number(out, command->number);
    case 'w': return resp_put_number(out, command->waited_ms);
    case 'x': return resp_put_number(out, command->most_ms);
    case 's': return resp_put_number(out, command->stays);
    case 'r': return resp_put_number(out, command->shared);
    case 'z': return resp_put_number(out, command->slots);
    case 'b': return resp_put_number(out, command->bucket);
    case 'h': return resp_put_channel(out, format, &command->token);
    case 'f': return resp_put_letter(out, &command->name);
    case 'g': return resp_put_word(out, group, group_text(group, &command->group));
    }
    assert(what == 0);
    return out;
}

static bool is_zero(const struct token *token)
{
    static const struct token zero;
    return memcmp(token, &zero, sizeof zero) == 0;
}

/* RELEASE looks at the queue only if `to` is set, since the queue costs the master more commands. */
static unsigned shape_of(const struct command *command)
{
    assert((unsigned)command->verb < SHAPE_WAKING);
    if (command->verb == COMMAND_MOVE && command->has_other)
        return SHAPE_MOVE_EITHER;
    if (command->verb == COMMAND_LOOK && is_zero(&command->to))
        return SHAPE_LOOK_ALONE;
    if (command->verb != COMMAND_RELEASE)
        return command->verb;
    if (command->has_third)
        return is_zero(&command->to) ? SHAPE_THREE : SHAPE_WAKING_THREE;
    if (is_zero(&command->to))
        return command->has_other ? SHAPE_EITHER : COMMAND_RELEASE;
    return command->has_other ? SHAPE_WAKING_EITHER : SHAPE_WAKING;
}

size_t resp_command(char out[RESP_COMMAND_BYTES], const struct resp_format *format,
                    const struct command *command)
{
    const struct shape *shape = &format->shape[shape_of(command)];
    char *at = out;
    if (shape->pieces == 0)
        return resp_command_all(out, format, command);
    for (unsigned i = 0; i < shape->pieces; i++) {
        const struct shape_piece *piece = &shape->piece[i];
        at = resp_put(at, shape->fixed + piece->at, piece->len);
        at = resp_put_value(at, format, piece->what, command);
    }
    assert(at <= out + RESP_COMMAND_BYTES);
    return (size_t)(at - out);
}

/* ---- several EXTENDs ---- */

/*     bytes: [    head | keys ...        | pairs (copied at the end) | most_ms ]
 *                      ^ RESP_BATCH_HEAD_BYTES */
_Static_assert((int)RESP_KEY_BYTES >= (int)PREFIX_BYTES + (int)NAME_BYTES + (int)SLOT_BYTES + 8,
               "the longest key fits");
_Static_assert((int)RESP_PAIR_BYTES >= (int)TOKEN_HEX + 7 + (int)DECIMAL_BYTES + 7, "token and number fit");
_Static_assert((int)RESP_MOST_BYTES >= (int)DECIMAL_BYTES + 7, "a number fits");

void resp_batch_add(struct resp_batch *batch, const struct resp_format *format, const struct command *command)
{
    assert(command->verb == COMMAND_EXTEND && batch->keys < RESP_BATCH_KEYS);
    assert(batch->keys == 0 || batch->most_ms == command->most_ms);
    batch->most_ms = command->most_ms;
    char *key = batch->bytes + RESP_BATCH_HEAD_BYTES + batch->keys_bytes;
    char *pair = batch->pairs + batch->pairs_bytes;
    batch->keys_bytes +=
        (size_t)(resp_put_key(key, &format->prefix, command->name.text, command->name.len) - key);
    batch->pairs_bytes +=
        (size_t)(resp_put_number(resp_put_token(pair, &command->token), command->number) - pair);
    batch->keys++;
}

const char *resp_batch_end(struct resp_batch *batch, size_t *len)
{
    char head[RESP_BATCH_HEAD_BYTES];
    char *keys = batch->bytes + RESP_BATCH_HEAD_BYTES;
    assert(batch->keys > 0);
    char *out = resp_put_word(resp_put_head(head, '*', 4 + 3 * (size_t)batch->keys), "EVALSHA", 7);
    out = resp_put_word(out, resp_script_sha1((unsigned)resp_script_of(COMMAND_EXTEND)), RESP_SHA1_HEX);
    out = resp_put_number(out, batch->keys);
    size_t head_len = (size_t)(out - head);
    assert(head_len <= sizeof head);
    memcpy(keys - head_len, head, head_len);
    out = resp_put(keys + batch->keys_bytes, batch->pairs, batch->pairs_bytes);
    *len = head_len + (size_t)(resp_put_number(out, batch->most_ms) - keys);
    batch->keys = 0;
    batch->keys_bytes = batch->pairs_bytes = 0;
    return keys - head_len;
}

/* ---- commands with which a connection begins, of any length ---- */

char *resp_words(const char *const words[], unsigned count, size_t *len)
{
    size_t most = HEAD_BYTES;
    for (unsigned i = 0; i < count; i++)
        most += HEAD_BYTES + strlen(words[i]) + 2;
    char *bytes = malloc(most);
    if (!bytes)
        return NULL;
    char *out = resp_put_head(bytes, '*', count);
    for (unsigned i = 0; i < count; i++)
        out = resp_put_word(out, words[i], strlen(words[i]));
    *len = (size_t)(out - bytes);
    return bytes;
}

char *resp_auth(const char *user, const char *password, size_t *len)
{
    const char *words[] = {"AUTH", user, password};
    if (user && *user)
        return resp_words(words, 3, len);
    words[1] = password;
    return resp_words(words, 2, len);
}

char *resp_select(int db, size_t *len)
{
    assert(db >= 0);
    char number[DECIMAL_BYTES + 1] = "";
    const char *words[] = {"SELECT", decimal_digits((uint64_t)db, number)};
    return resp_words(words, 2, len);
}

char *resp_client_id(size_t *len)
{
    return resp_words((const char *[]){"CLIENT", "ID"}, 2, len);
}

char *resp_client_kill(uint64_t id, size_t *len)
{
    char number[DECIMAL_BYTES + 1] = "";
    return resp_words((const char *[]){"CLIENT", "KILL", "ID", decimal_digits(id, number)}, 4, len);
}

char *resp_info(size_t *len)
{
    return resp_words((const char *[]){"INFO"}, 1, len);
}

char *resp_subscribe(const char *channel, size_t *len)
{
    return resp_words((const char *[]){"SUBSCRIBE", channel}, 2, len);
}

char *resp_ping(const char *text, size_t *len)
{
    return resp_words((const char *[]){"PING", text}, text ? 2 : 1, len);
}

char *resp_daemons(const struct resp_format *format, const char *id, const char *words, const char *cursor,
                   size_t *len)
{
    char sha1[RESP_SHA1_HEX + 1], key[sizeof format->daemons.text + 1];
    snprintf(sha1, sizeof sha1, "%s", resp_script_sha1(RESP_SCRIPT_DAEMONS));
    snprintf(key, sizeof key, "%.*s", (int)format->daemons.len, format->daemons.text);
    return resp_words((const char *[]){"EVALSHA", sha1, "1", key, id, words, cursor}, 7, len);
}

char *resp_script_trial(const char *key_prefix, size_t *len)
{
    char sha1[RESP_SHA1_HEX + 1], key[PREFIX_BYTES + OWN_BYTES + 1];
    snprintf(sha1, sizeof sha1, "%s", resp_script_sha1((unsigned)resp_script_of(COMMAND_CHECK)));
    snprintf(key, sizeof key, "%s,group", key_prefix);
    return resp_words((const char *[]){"EVALSHA", sha1, "1", key, "none"}, 5, len);
}

char *resp_script_load(unsigned script, size_t *len)
{
    const char *words[] = {"SCRIPT", "LOAD", resp_script_text(script)};
    return resp_words(words, 3, len);
}

void resp_bytes_free(char *bytes)
{
    free(bytes);
}
