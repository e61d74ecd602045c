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
