/* The list of daemons as a master may write it, in good faith or not. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "proto/daemons.h"
#include "proto/resp.h"
#include "tests/unit/suite.h"

static struct daemons_page page;
static struct daemon_row row;
static int64_t age_ms;

static bool begin(const char *text)
{
    return daemons_page_begin(&page, text, strlen(text));
}

T(a_page)
{
    ck_assert(begin(
        "ok 17\naaaaaaaa 0 host=web1 version=0.1.0 since=2026-11-22T14:03:05Z listen=[::1]:7335 more=1\n"
        "bbbbbbbb 59999 listen=x"));
    ck_assert(!page.taken && !page.full);
    ck_assert_str_eq(page.next, "17");
    ck_assert(daemons_page_next(&page, &row, &age_ms));
    ck_assert_str_eq(row.id, "aaaaaaaa");
    ck_assert_str_eq(row.host, "web1");
    ck_assert_str_eq(row.version, "0.1.0");
    ck_assert_str_eq(row.since, "2026-11-22T14:03:05Z");
    ck_assert_str_eq(row.listen, "[::1]:7335");
    char words[DAEMONS_WORDS_BYTES];
    daemons_words(words, &row);
    ck_assert_str_eq(words, "host=web1 version=0.1.0 since=2026-11-22T14:03:05Z listen=[::1]:7335");
    ck_assert(daemons_page_next(&page, &row, &age_ms));
    ck_assert_int_eq(age_ms, 59999);
    ck_assert_str_eq(row.host, "?");
    ck_assert_str_eq(row.listen, "x");
    ck_assert(!daemons_page_next(&page, &row, &age_ms));
    ck_assert(begin("taken") && page.taken);
    ck_assert(begin("full 0") && page.full);
}

/* What it says of its step changes while it runs. The longest entry is one for the script, too. */
T(steps)
{
    char text[600], words[DAEMONS_WORDS_BYTES], longest[WORD_BYTES + 1];
    ck_assert(begin("ok 0\naaaaaaaa 0 host=a version=b since=c listen=d step=4 generation=2 marker=2 "
                    "node_timeout=50 more=1\nbbbbbbbb 0 step=x marker=-1 generation=1234567890"));
    ck_assert(daemons_page_next(&page, &row, &age_ms));
    ck_assert_uint_eq(row.at.step, 4);
    ck_assert_uint_eq(row.at.generation, 2);
    ck_assert_uint_eq(row.at.marker, DAEMONS_MARKER);
    ck_assert_uint_eq(row.at.node_timeout_ms, 50);
    daemons_words(words, &row);
    ck_assert_str_eq(words, "host=a version=b since=c listen=d step=4 generation=2 marker=2 node_timeout=50");
    ck_assert(daemons_page_next(&page, &row, &age_ms));
    ck_assert_uint_eq(row.at.step + row.at.marker + row.at.generation, 0);

    memset(longest, 'a', WORD_BYTES);
    longest[WORD_BYTES] = '\0';
    snprintf(
        text, sizeof text,
        "ok 0\naaaaaaaa 0 host=%s version=%s since=%s listen=%s step=800000001 generation=400000000 marker=2 "
        "node_timeout=10000",
        longest, longest, longest, longest);
    ck_assert(begin(text) && daemons_page_next(&page, &row, &age_ms));
    daemons_words(words, &row);
    ck_assert_str_eq(words, strstr(text, "host="));
    ck_assert_uint_le(strlen("at=1732200000000 ") + strlen(words), 400);
}

static const char *const no_pages[] = {
    "", "ok", "ok ", "ok x", "ok -1", "OK 0", "no 0", "\nok 0", "ok 1234567890123456789012345"};

T_EACH(no_page, sizeof no_pages / sizeof no_pages[0])
{
    ck_assert(!begin(no_pages[_i]));
}

/* Each line is no entry, and the entry behind it is read. */
static const char *const no_entries[] = {
    "",          "aaaaaaaa",          "aaaaaaaa x host=a", "aaaaaaaa -1 host=a",      "aaaaaaaa 60000 host=a",
    "aaaaaaa 0", "AAAAAAAA 0 host=a", "aaaaaaaaa 0",       "aaaaaaaa 00000000000000", "<script> 0 host=a",
};

T_EACH(no_entry, sizeof no_entries / sizeof no_entries[0])
{
    char text[256];
    snprintf(text, sizeof text, "ok 0\n%s\nbbbbbbbb 1 host=b", no_entries[_i]);
    ck_assert(begin(text));
    ck_assert(daemons_page_next(&page, &row, &age_ms));
    ck_assert_str_eq(row.id, "bbbbbbbb");
    ck_assert(!daemons_page_next(&page, &row, &age_ms));
}

/* A text that is no word, or too long a word, becomes a question mark. */
T(hostile_words)
{
    char text[256], longest[WORD_BYTES + 2];
    memset(longest, 'a', sizeof longest);
    snprintf(text, sizeof text, "ok 0\naaaaaaaa 0 host=%.65s version=\001 since= listen=\xc3\xa9", longest);
    ck_assert(begin(text) && daemons_page_next(&page, &row, &age_ms));
    ck_assert_str_eq(row.host, "?");
    ck_assert_str_eq(row.version, "?");
    ck_assert_str_eq(row.since, "?");
    ck_assert_str_eq(row.listen, "?");
    snprintf(text, sizeof text, "ok 0\naaaaaaaa 0 host=%.64s", longest);
    ck_assert(begin(text) && daemons_page_next(&page, &row, &age_ms));
    ck_assert_uint_eq(strlen(row.host), WORD_BYTES);
}

/* However much a master says, a page ends. */
T(endless)
{
    static char text[RESP_REPLY_BYTES];
    unsigned entries = 0;
    size_t len = (size_t)sprintf(text, "ok 0\n");
    while (len + 16 < sizeof text)
        len += (size_t)sprintf(text + len, "aaaaaaaa 0\n");
    ck_assert(daemons_page_begin(&page, text, len));
    while (daemons_page_next(&page, &row, &age_ms))
        entries++;
    ck_assert_uint_eq(entries, DAEMONS_ENTRIES);
}
