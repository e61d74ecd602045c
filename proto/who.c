#include "proto/who.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line_piece.h"
#include "proto/resp.h"

enum {
    KEY_BYTES =
        64 + NAME_BYTES + 16, /* the prefix, the name, and ",queue:", ",slots:", ",wake:" or ",1023" */
    MS_DIGITS = 15,
    BREAK_WORDS = 10, /* before the values */
};

/* ---- answers ---- */

static struct piece who_line(struct who_answer *answer)
{
    const char *line = answer->at, *lf = memchr(line, '\n', (size_t)(answer->end - line));
    answer->at = lf ? lf + 1 : answer->end;
    return (struct piece){line, (size_t)((lf ? lf : answer->end) - line)};
}

bool who_answer_begin(struct who_answer *answer, const char *text, size_t len)
{
    *answer = (struct who_answer){.at = text, .end = text + len};
    struct piece line = who_line(answer);
    const char *at = line.text, *end = line.text + line.len;
    bool ok = piece_is(piece_next(&at, end), "ok");
    int64_t slots = piece_number(piece_next(&at, end), MS_DIGITS),
            cut = piece_number(piece_next(&at, end), MS_DIGITS);
    if (!ok || slots < 0 || slots > SLOTS_MAX || cut < 0)
        return false;
    answer->slots = (uint32_t)slots;
    answer->cut = cut > 0;
    return true;
}

static bool all_of(struct piece piece, const char *allowed)
{
    for (size_t i = 0; i < piece.len; i++)
        if (!memchr(allowed, piece.text[i], strlen(allowed)))
            return false;
    return piece.len > 0;
}

static bool kind_read(struct piece kind, struct who_entry *entry)
{
    int64_t slot = piece_number(kind, MS_DIGITS);
    entry->slot = WHO_NO_SLOT;
    if (piece_is(kind, "x")) {
        entry->kind = WHO_EXCLUSIVE;
    } else if (piece_is(kind, "s")) {
        entry->kind = WHO_SHARED;
    } else if (piece_is(kind, "q")) {
        entry->kind = WHO_WAITS;
    } else if (slot >= 0 && slot < SLOTS_MAX) {
        entry->kind = WHO_EXCLUSIVE;
        entry->slot = (int16_t)slot;
    } else {
        return false;
    }
    return true;
}

static bool entry_read(struct piece line, struct who_entry *entry)
{
    const char *at = line.text, *end = line.text + line.len;
    struct piece kind = piece_next(&at, end), value = piece_next(&at, end), ms = piece_next(&at, end);
    memset(entry, 0, sizeof *entry);
    entry->ms = piece_number(ms, MS_DIGITS);
    if (!kind_read(kind, entry) || value.len > WHO_VALUE_BYTES || (entry->ms < 0 && !piece_is(ms, "-1")))
        return false;
    const char *allowed = entry->kind == WHO_WAITS ? "0123456789abcdef" : "0123456789abcdefABCDEF,?";
    if (!all_of(value, allowed) || (entry->kind == WHO_WAITS && value.len != 2 * TOKEN_ID_BYTES))
        return false;
    memcpy(entry->value, value.text, value.len);
    return true;
}

static void told_read(struct who_answer *answer, struct piece line)
{
    const char *at = line.text, *end = line.text + line.len;
    struct who_told *told = &answer->told;
    bool is_told = piece_is(piece_next(&at, end), "d");
    int64_t fence = piece_number(piece_next(&at, end), MS_DIGITS + 1),
            since_ms = piece_number(piece_next(&at, end), MS_DIGITS);
    struct piece text = piece_next(&at, end);
    if (!is_told || fence < 0 || since_ms < 0 || !piece_is_data(text) || at != end)
        return;
    memcpy(told->value, answer->value, sizeof told->value);
    told->fence = (uint64_t)fence;
    told->since_ms = since_ms;
    told->data.len = (uint16_t)text.len;
    memcpy(told->data.text, text.text, text.len);
}

bool who_answer_next(struct who_answer *answer, struct who_entry *entry)
{
    while (answer->at < answer->end && answer->lines < WHO_LINES) {
        struct piece line = who_line(answer);
        answer->lines++;
        if (entry_read(line, entry)) {
            if (entry->kind == WHO_EXCLUSIVE && entry->slot == WHO_NO_SLOT)
                memcpy(answer->value, entry->value, sizeof answer->value);
            return true;
        }
        told_read(answer, line);
    }
    return false;
}

int64_t who_deleted(const char *text, size_t len)
{
    const char *at = text, *end = text + len;
    bool ok = piece_is(piece_next(&at, end), "ok");
    return ok ? piece_number(piece_next(&at, end), MS_DIGITS) : -1;
}

/* ---- questions ---- */

static const char *key_of(char out[KEY_BYTES], const char *prefix, const char *own, const struct name *name)
{
    snprintf(out, KEY_BYTES, "%s%s%.*s", prefix, own, name->len, name->text);
    return out;
}

char *who_question(const char *key_prefix, const struct name *name, size_t *len)
{
    char sha1[RESP_SHA1_HEX + 1], lock[KEY_BYTES], queue[KEY_BYTES], slots[KEY_BYTES], tells[KEY_BYTES];
    snprintf(sha1, sizeof sha1, "%s", resp_script_sha1(RESP_SCRIPT_WHO));
    const char *words[] = {"EVALSHA",
                           sha1,
                           "4",
                           key_of(lock, key_prefix, "", name),
                           key_of(queue, key_prefix, ",queue:", name),
                           key_of(slots, key_prefix, ",slots:", name),
                           key_of(tells, key_prefix, ",data:", name)};
    return resp_words(words, sizeof words / sizeof words[0], len);
}

/* The daemon that asks gives no id of its own, so that it may be woken like any other. */
char *who_break(const char *key_prefix, const struct name *name, const struct who_break *what, size_t *len)
{
    char sha1[RESP_SHA1_HEX + 1], lock[KEY_BYTES], queue[KEY_BYTES], channels[KEY_BYTES], ttl[24];
    char plain[NAME_BYTES + 1];
    const char **words = calloc(BREAK_WORDS + what->count, sizeof *words);
    if (!words)
        return NULL;
    snprintf(sha1, sizeof sha1, "%s", resp_script_sha1(RESP_SCRIPT_BREAK));
    snprintf(plain, sizeof plain, "%.*s", name->len, name->text);
    key_of(lock, key_prefix, "", name);
    if (what->slot != WHO_NO_SLOT)
        snprintf(lock, sizeof lock, "%s%s,%d", key_prefix, plain, what->slot);
    snprintf(channels, sizeof channels, "%s,wake:", key_prefix);
    snprintf(ttl, sizeof ttl, "%llu", (unsigned long long)what->queue_ttl_ms);
    const char *const before[BREAK_WORDS] = {"EVALSHA",
                                             sha1,
                                             "2",
                                             lock,
                                             key_of(queue, key_prefix, ",queue:", name),
                                             what->kind == WHO_SHARED ? "s" : "x",
                                             "",
                                             channels,
                                             plain,
                                             ttl};
    memcpy(words, before, sizeof before);
    memcpy(words + BREAK_WORDS, what->values, what->count * sizeof *words);
    char *bytes = resp_words(words, BREAK_WORDS + what->count, len);
    free(words);
    return bytes;
}
