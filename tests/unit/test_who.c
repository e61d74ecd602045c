/* Who has a name, as a master may say it, in good faith or not; and the questions to it. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "proto/resp.h"
#include "proto/who.h"
#include "tests/unit/suite.h"

#define TOKEN "a1b2c3d400000001020304050607080912d1d9b2"

static struct who_answer answer;
static struct who_entry entry;

static bool begin(const char *text)
{
    return who_answer_begin(&answer, text, strlen(text));
}

static void is_next(enum who_kind kind, int slot, const char *value, int64_t ms)
{
    ck_assert(who_answer_next(&answer, &entry));
    ck_assert_int_eq(entry.kind, kind);
    ck_assert_int_eq(entry.slot, slot);
    ck_assert_str_eq(entry.value, value);
    ck_assert_int_eq(entry.ms, ms);
}

T(an_answer)
{
    ck_assert(
        begin("ok 5 1\nx " TOKEN " 9120\ns ABC,def 8000\n0 ?00ff 7\n1023 " TOKEN " -1\nq a1b2c3d4 4711"));
    ck_assert_uint_eq(answer.slots, 5);
    ck_assert(answer.cut);
    is_next(WHO_EXCLUSIVE, WHO_NO_SLOT, TOKEN, 9120);
    is_next(WHO_SHARED, WHO_NO_SLOT, "ABC,def", 8000);
    is_next(WHO_EXCLUSIVE, 0, "?00ff", 7);
    is_next(WHO_EXCLUSIVE, 1023, TOKEN, -1);
    is_next(WHO_WAITS, WHO_NO_SLOT, "a1b2c3d4", 4711);
    ck_assert(!who_answer_next(&answer, &entry));
    ck_assert(begin("ok 0 0"));
    ck_assert(!answer.cut && answer.slots == 0);
    ck_assert(!who_answer_next(&answer, &entry));
}

T(what_is_no_answer)
{
    static const char *const bad[] = {
        "", "ok", "ok 5", "ok x 0", "ok 1025 0", "ok -1 0", "no 0 0", "OK 0 0", "ok 99999999999999999999 0"};
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!begin(bad[i]), "%s", bad[i]);
}

/* A line that no script of ours has written is skipped, and the ones behind it are read. */
T(what_is_no_entry)
{
    static const char *const bad[] = {
        "",
        "x",
        "x abc",
        "x abc -2",
        "x abc 1x",
        "x abc 9999999999999999",
        "y abc 1",
        "1024 abc 1",
        "-1 abc 1",
        "x a\"b 1",
        "x xyz 1",
        "x <b> 1",
        "q a1b2c3 1",
        "q A1B2C3D4 1",
        "q ?1b2c3d4 1",
        "s  1",
        "x 00000000000000000000000000000000000000000000000000000000000000000 1",
    };
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[256];
        snprintf(text, sizeof text, "ok 0 0\n%s\nx abc 5", bad[i]);
        ck_assert(begin(text));
        is_next(WHO_EXCLUSIVE, WHO_NO_SLOT, "abc", 5);
    }
}

T(a_nul_is_no_digit)
{
    static const char text[] = "ok 0 0\nx \0bc 1\nq 1234567\0 1\nx abc 5";
    ck_assert(who_answer_begin(&answer, text, sizeof text - 1));
    is_next(WHO_EXCLUSIVE, WHO_NO_SLOT, "abc", 5);
}

T(an_endless_answer)
{
    static char text[RESP_REPLY_BYTES] = "ok 0 0\n";
    unsigned entries = 0;
    while (strlen(text) < sizeof text - 8)
        strcat(text + strlen(text), "x a 1\n");
    ck_assert(begin(text));
    while (who_answer_next(&answer, &entry))
        entries++;
    ck_assert_uint_eq(entries, WHO_LINES);
}

T(how_many_were_deleted)
{
    ck_assert_int_eq(who_deleted("ok 3", 4), 3);
    ck_assert_int_eq(who_deleted("ok 0", 4), 0);
    ck_assert_int_eq(who_deleted("ok", 2), -1);
    ck_assert_int_eq(who_deleted("no 3", 4), -1);
    ck_assert_int_eq(who_deleted("", 0), -1);
}

/* The longest prefix and name fit. */
T(the_longest_questions)
{
    char prefix[65], lock[512];
    struct name name = {.len = NAME_BYTES};
    size_t len = 0;
    memset(prefix, 'p', 64);
    prefix[64] = '\0';
    memset(name.text, 'n', NAME_BYTES);
    snprintf(lock, sizeof lock, "$264\r\n%s%.*s\r\n", prefix, NAME_BYTES, name.text);
    char *bytes = who_question(prefix, &name, &len);
    ck_assert_ptr_nonnull(memmem(bytes, len, lock, strlen(lock)));
    ck_assert_ptr_nonnull(memmem(bytes, len, ",queue:nnn", 10));
    ck_assert_ptr_nonnull(memmem(bytes, len, ",slots:nnn", 10));
    resp_bytes_free(bytes);

    const char *values[] = {TOKEN, "b"};
    const struct who_break what = {
        .kind = WHO_EXCLUSIVE, .slot = 1023, .queue_ttl_ms = 120000, .values = values, .count = 2};
    snprintf(lock, sizeof lock, "$269\r\n%s%.*s,1023\r\n", prefix, NAME_BYTES, name.text);
    bytes = who_break(prefix, &name, &what, &len);
    ck_assert_ptr_nonnull(memmem(bytes, len, lock, strlen(lock)));
    ck_assert_int_eq(strncmp(bytes, "*12\r\n", 5), 0);
    ck_assert_ptr_nonnull(memmem(bytes, len, "\r\n$40\r\n" TOKEN "\r\n$1\r\nb\r\n", 56));
    resp_bytes_free(bytes);
}
