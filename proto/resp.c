/* Commands -> RESP bytes. */
#include "proto/resp_private.h"

#include <stdio.h>
#include <stdlib.h>

static const struct {
    enum command_verb verb;
    const char *words;
} forms[FORMS] = {
#define COMMAND(name, script, vote, words)  [FORM_##name] = {COMMAND_##name, words},
#define FOR_LIST(name, script, vote, words) [FORM_##name##_ALL] = {COMMAND_##name##_ALL, words},
#define NATIVE(name, form, vote, words)     [FORM_##name##_##form] = {COMMAND_##name##_##form, words},
#define FORM(verb, form, words)             [FORM_##verb##_##form] = {COMMAND_##verb, words},
#include "proto/command.def"
};

static const char *const blank_texts[BLANKS] = {
#define BLANK(name, text) [BLANK_##name] = "<" text ">",
#include "proto/command.def"
};

/* ---- forms, laid out once ---- */

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

static enum blank blank_of(const char *word, size_t len)
{
    for (unsigned i = BLANK_NONE + 1; i < BLANKS; i++)
        if (strlen(blank_texts[i]) == len && memcmp(blank_texts[i], word, len) == 0)
            return (enum blank)i;
    assert(word[0] != '<');
    return BLANK_NONE;
}

/* Writes a word that is the same in each command of the form; NULL: the word differs. */
static char *lay_word(const struct resp_format *format, enum command_verb verb, char *out, enum blank blank,
                      const char *word, size_t len)
{
    switch (blank) {
    case BLANK_NONE: return resp_put_word(out, word, len);
    case BLANK_GROUP: return resp_put_word(out, format->group.text, format->group.len);
    case BLANK_FENCES: return resp_put_word(out, format->fences.text, format->fences.len);
    case BLANK_CHANNELS: return resp_put_word(out, format->channels.text, format->channels.len);
    case BLANK_SHA1:
        return resp_put_word(out, resp_script_sha1((unsigned)resp_script_of(verb)), RESP_SHA1_HEX);
    default: return NULL;
    }
}

static void form_add(struct form *form, const char *from, const char *to, enum blank blank)
{
    assert(form->pieces < PIECES && to <= form->fixed + FIXED_BYTES);
    form->piece[form->pieces++] =
        (struct form_piece){(uint16_t)(from - form->fixed), (uint16_t)(to - from), blank};
}

static enum blank several_of(const char *words)
{
    for (unsigned i = BLANK_NONE + 1; i < BLANKS; i++)
        if (resp_is_several((enum blank)i) && strstr(words, blank_texts[i]) != NULL)
            return (enum blank)i;
    return BLANK_NONE;
}

static void form_lay(const struct resp_format *format, struct form *form, enum command_verb verb,
                     const char *words)
{
    char *from = form->fixed, *out = from;
    form->words = words_of(words);
    form->several = several_of(words);
    if (form->several == BLANK_NONE)
        out = resp_put_head(out, '*', form->words);
    for (const char *word = words; *word;) {
        size_t len = strcspn(word, " ");
        enum blank blank = blank_of(word, len);
        char *end = lay_word(format, verb, out, blank, word, len);
        if (end) {
            out = end;
        } else {
            form_add(form, from, out, blank);
            from = out;
        }
        word += len;
        word += *word == ' ';
    }
    form_add(form, from, out, BLANK_NONE);
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
    key_set(&format->tells, key_prefix, ",data:");
    key_set(&format->channels, key_prefix, ",wake:");
    key_set(&format->tried, key_prefix, ",try:");
    key_set(&format->fences, key_prefix, ",fences");
    key_set(&format->group, key_prefix, ",group");
    key_set(&format->daemons, key_prefix, ",daemons");
    for (unsigned i = 0; i < FORMS; i++)
        form_lay(format, &format->form[i], forms[i].verb, forms[i].words);
    return format;
}

void resp_format_free(struct resp_format *format)
{
    free(format);
}

/* ---- commands ---- */

static bool is_zero(const struct token *token)
{
    static const struct token zero;
    return memcmp(token, &zero, sizeof zero) == 0;
}

/* RELEASE looks at the queue only if `to` is set, since the queue costs the master more commands. */
static unsigned form_of_release(const struct command *command)
{
    bool wakes = !is_zero(&command->to);
    if (command->has_third)
        return wakes ? FORM_RELEASE_WAKING_OF_THREE : FORM_RELEASE_OF_THREE;
    if (command->has_other)
        return wakes ? FORM_RELEASE_WAKING_OF_TWO : FORM_RELEASE_OF_TWO;
    return wakes ? FORM_RELEASE_WAKING : FORM_RELEASE;
}

static unsigned form_of(const struct command *command)
{
    assert((unsigned)command->verb < COMMAND_VERBS);
    switch (command->verb) {
    case COMMAND_RELEASE: return form_of_release(command);
    case COMMAND_MOVE: return command->has_other ? FORM_MOVE_OF_TWO : FORM_MOVE;
    case COMMAND_LOOK: return is_zero(&command->to) ? FORM_LOOK_ALONE : FORM_LOOK;
    case COMMAND_RELEASE_ALL: return is_zero(&command->to) ? FORM_RELEASE_ALL : FORM_RELEASE_ALL_WRITING;
    default: return command->verb;
    }
}

size_t resp_command(char out[RESP_COMMAND_BYTES], const struct resp_format *format,
                    const struct command *command)
{
    const struct form *form = &format->form[form_of(command)];
    char *at = out;
    if (form->several != BLANK_NONE)
        at = resp_put_head(at, '*', form->words - 1 + resp_count(form->several, command));
    for (unsigned i = 0; i < form->pieces; i++) {
        const struct form_piece *piece = &form->piece[i];
        at = resp_put(at, form->fixed + piece->at, piece->len);
        at = resp_put_blank(at, format, piece->blank, command);
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
