#include "proto/daemons.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "proto/line_piece.h"

enum { AGE_DIGITS = 6, NUMBER_DIGITS = 9 };

void daemons_word(char out[WORD_BYTES + 1], const char *text, size_t len)
{
    memset(out, 0, WORD_BYTES + 1);
    if (piece_is_word((struct piece){text, len}, WORD_BYTES))
        memcpy(out, text, len);
    else
        out[0] = '?';
}

void daemons_words(char out[DAEMONS_WORDS_BYTES], const struct daemon_row *row)
{
    int len = snprintf(out, DAEMONS_WORDS_BYTES, "host=%s version=%s since=%s listen=%s", row->host,
                       row->version, row->since, row->listen);
    if (row->at.marker != 0)
        snprintf(out + len, DAEMONS_WORDS_BYTES - (size_t)len,
                 " step=%" PRIu32 " generation=%" PRIu32 " marker=%" PRIu32 " node_timeout=%" PRIu32,
                 row->at.step, row->at.generation, row->at.marker, row->at.node_timeout_ms);
}

static struct piece page_line(struct daemons_page *page)
{
    const char *line = page->at, *lf = memchr(line, '\n', (size_t)(page->end - line));
    page->at = lf ? lf + 1 : page->end;
    return (struct piece){line, (size_t)((lf ? lf : page->end) - line)};
}

bool daemons_page_begin(struct daemons_page *page, const char *text, size_t len)
{
    *page = (struct daemons_page){.at = text, .end = text + len};
    struct piece line = page_line(page);
    const char *at = line.text, *end = line.text + line.len;
    struct piece said = piece_next(&at, end), next = piece_next(&at, end);
    page->taken = piece_is(said, "taken");
    page->full = piece_is(said, "full");
    if (page->taken)
        return true;
    if ((!page->full && !piece_is(said, "ok")) || !piece_is_digits(next) || next.len >= sizeof page->next)
        return false;
    memcpy(page->next, next.text, next.len);
    return true;
}

static bool is_id(struct piece piece)
{
    if (piece.len != DAEMONS_ID_HEX)
        return false;
    for (size_t i = 0; i < piece.len; i++)
        if (!memchr("0123456789abcdef", piece.text[i], 16))
            return false;
    return true;
}

static int64_t age_of(struct piece piece)
{
    int64_t age_ms = piece_number(piece, AGE_DIGITS);
    return age_ms < DAEMONS_KEEP_MS ? age_ms : -1;
}

static void number_take(struct daemon_row *row, struct piece word)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {
        {"step=", offsetof(struct daemon_row, at.step)},
        {"generation=", offsetof(struct daemon_row, at.generation)},
        {"marker=", offsetof(struct daemon_row, at.marker)},
        {"node_timeout=", offsetof(struct daemon_row, at.node_timeout_ms)},
    };
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t len = strlen(keys[i].key);
        if (word.len < len || memcmp(word.text, keys[i].key, len) != 0)
            continue;
        int64_t number = piece_number((struct piece){word.text + len, word.len - len}, NUMBER_DIGITS);
        *(uint32_t *)(void *)((char *)row + keys[i].offset) = number < 0 ? 0 : (uint32_t)number;
    }
}

static void word_take(struct daemon_row *row, struct piece word)
{
    static const struct {
        const char *key;
        size_t offset;
    } keys[] = {
        {"host=", offsetof(struct daemon_row, host)},
        {"version=", offsetof(struct daemon_row, version)},
        {"since=", offsetof(struct daemon_row, since)},
        {"listen=", offsetof(struct daemon_row, listen)},
    };
    for (unsigned i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        size_t len = strlen(keys[i].key);
        if (word.len >= len && memcmp(word.text, keys[i].key, len) == 0)
            daemons_word((char *)row + keys[i].offset, word.text + len, word.len - len);
    }
}

/* Words of later versions are skipped. */
static bool entry_read(struct piece line, struct daemon_row *row, int64_t *age_ms)
{
    const char *at = line.text, *end = line.text + line.len;
    struct piece id = piece_next(&at, end);
    *age_ms = age_of(piece_next(&at, end));
    if (!is_id(id) || *age_ms < 0)
        return false;
    *row = (struct daemon_row){.host = "?", .version = "?", .since = "?", .listen = "?"};
    memcpy(row->id, id.text, id.len);
    for (struct piece word; (word = piece_next(&at, end)).len > 0;) {
        word_take(row, word);
        number_take(row, word);
    }
    return true;
}

bool daemons_page_next(struct daemons_page *page, struct daemon_row *row, int64_t *age_ms)
{
    while (page->at < page->end && page->entries < DAEMONS_ENTRIES) {
        page->entries++;
        if (entry_read(page_line(page), row, age_ms))
            return true;
    }
    return false;
}
