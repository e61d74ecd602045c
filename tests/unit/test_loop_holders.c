/* Who holds a name by what the masters say, and what BREAK may delete. */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "daemon/coordinator/base/token.h"
#include "daemon/loop/loop_holders.h"
#include "proto/line.h"
#include "tests/unit/suite.h"

enum { ENTRIES = 64, QUORUM = 3 };

static struct who_entry entries[ENTRIES];
static struct holder holders[ENTRIES];
static unsigned count, found;

/* A token of the daemon whose id is four times that byte, made for the given kind. */
static const char *token_of(uint8_t daemon, uint8_t kind, uint8_t random)
{
    static char texts[8][WHO_VALUE_BYTES + 1];
    static unsigned used;
    char *text = texts[used++ % 8];
    struct token self, token;
    uint8_t bytes[TOKEN_RANDOM_BYTES];
    memset(&self, daemon, sizeof self);
    memset(bytes, random, sizeof bytes);
    token_make(&token, &self, TOKEN_EXCLUSIVE, 0, bytes);
    if (kind != TOKEN_EXCLUSIVE) { /* the sum is not right any more, as that of a token of another version */
        token.bytes[TOKEN_ID_BYTES] = kind;
    }
    line_token_hex(text, &token);
    text[TOKEN_HEX] = '\0';
    return text;
}

static void has(unsigned master, enum who_kind kind, int slot, const char *value, int64_t ms)
{
    struct who_entry *entry = &entries[count++];
    *entry = (struct who_entry){.kind = kind, .slot = (int16_t)slot, .master = (uint8_t)master, .ms = ms};
    snprintf(entry->value, sizeof entry->value, "%s", value);
}

static void begin(void)
{
    count = 0;
}

static void list(void)
{
    holders_identify(entries, count);
    found = holders_list(holders, entries, count, QUORUM);
}

static void is_holder(unsigned i, const char *daemon, int slot, unsigned masters, int64_t ms)
{
    ck_assert_uint_lt(i, found);
    ck_assert_str_eq(holders[i].daemon, daemon);
    ck_assert_int_eq(holders[i].slot, slot);
    ck_assert_uint_eq(holders[i].masters, masters);
    ck_assert_int_eq(holders[i].ms, ms);
}

T(one_holder)
{
    const char *token = token_of(0xaa, 0, 1);
    begin();
    for (unsigned i = 0; i < 5; i++)
        has(i, WHO_EXCLUSIVE, WHO_NO_SLOT, token, 1000 + i);
    list();
    ck_assert_uint_eq(found, 1);
    is_holder(0, "aaaaaaaa", WHO_NO_SLOT, 5, 1002); /* for so long a quorum has it */
    ck_assert_str_eq(holders[0].list, "");
}

/* A lease that is being settled has its secret token on some masters and the told one on the others. */
T(two_tokens_of_a_lease)
{
    const char *secret = token_of(0xaa, 0, 1), *told = token_of(0xaa, 0, 2);
    begin();
    has(0, WHO_EXCLUSIVE, WHO_NO_SLOT, secret, 10);
    has(1, WHO_EXCLUSIVE, WHO_NO_SLOT, told, 30);
    has(2, WHO_EXCLUSIVE, WHO_NO_SLOT, secret, 20);
    list();
    ck_assert_uint_eq(found, 1);
    is_holder(0, "aaaaaaaa", WHO_NO_SLOT, 3, 10);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING);
    ck_assert(entries[0].doomed && entries[1].doomed && entries[2].doomed);
}

/* What an attempt that lost has left, and values of others: each value that is no token of ours is its own owner. */
T(a_holder_and_rests)
{
    const char *ours = token_of(0xaa, 0, 1);
    begin();
    has(0, WHO_EXCLUSIVE, WHO_NO_SLOT, "?00ff", 50);
    has(1, WHO_EXCLUSIVE, WHO_NO_SLOT, ours, 40);
    has(2, WHO_EXCLUSIVE, WHO_NO_SLOT, ours, -1);
    has(3, WHO_EXCLUSIVE, WHO_NO_SLOT, ours, 60);
    has(4, WHO_EXCLUSIVE, WHO_NO_SLOT, token_of(0xbb, 0, 1), 70);
    list();
    ck_assert_uint_eq(found, 3);
    is_holder(0, "aaaaaaaa", WHO_NO_SLOT, 3, 40);
    is_holder(1, "?", WHO_NO_SLOT, 1, 50);
    is_holder(2, "bbbbbbbb", WHO_NO_SLOT, 1, 70);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(entries[i].doomed, strcmp(entries[i].value, ours) == 0);
}

T(without_an_end)
{
    begin();
    for (unsigned i = 0; i < 3; i++)
        has(i, WHO_EXCLUSIVE, WHO_NO_SLOT, "abc", -1);
    list();
    is_holder(0, "?", WHO_NO_SLOT, 3, -1);
}

/* Tokens of another version have other last bytes, or letters that no daemon of ours writes. */
T(foreign_values)
{
    char upper[WHO_VALUE_BYTES + 1];
    snprintf(upper, sizeof upper, "%s", token_of(0xaa, 0, 1));
    upper[0] = 'A';
    const char *const values[] = {token_of(0xaa, 7, 1), upper, "aaaaaaaa", "?aaaaaaa",
                                  "0123456789abcdef0123456789abcdef01234567"};
    for (unsigned i = 0; i < 5; i++) {
        begin();
        for (unsigned m = 0; m < 3; m++)
            has(m, WHO_EXCLUSIVE, WHO_NO_SLOT, values[i], 5);
        list();
        ck_assert_uint_eq(found, 1);
        is_holder(0, "?", WHO_NO_SLOT, 3, 5);
        ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING);
    }
    begin();
    has(0, WHO_EXCLUSIVE, WHO_NO_SLOT, values[0], 5);
    has(1, WHO_EXCLUSIVE, WHO_NO_SLOT, token_of(0xaa, 7, 2), 5);
    has(2, WHO_EXCLUSIVE, WHO_NO_SLOT, values[0], 5);
    list();
    ck_assert_uint_eq(found, 2); /* its id is not believed */
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING_SPLIT);
}

T(names_that_are_locked_together)
{
    char one[WHO_VALUE_BYTES + 1], other[WHO_VALUE_BYTES + 1];
    snprintf(one, sizeof one, "%s,89abcdef", token_of(0xaa, 0, 1));
    snprintf(other, sizeof other, "%s,00000001", token_of(0xaa, 0, 2));
    begin();
    has(0, WHO_EXCLUSIVE, WHO_NO_SLOT, one, 5);
    has(1, WHO_EXCLUSIVE, WHO_NO_SLOT, one, 6);
    has(2, WHO_EXCLUSIVE, WHO_NO_SLOT, one, 7);
    has(3, WHO_EXCLUSIVE, WHO_NO_SLOT, other, 8);
    list();
    ck_assert_uint_eq(found, 2);
    is_holder(0, "aaaaaaaa", WHO_NO_SLOT, 3, 5);
    ck_assert_str_eq(holders[0].list, "89abcdef");
    ck_assert_str_eq(holders[1].list, "00000001");
}

/* All readers of a daemon are one row; each of them is deleted by itself, where a quorum has it. */
T(readers)
{
    const char *first = token_of(0xaa, 0, 1), *second = token_of(0xaa, 0, 2), *third = token_of(0xbb, 0, 1);
    begin();
    for (unsigned i = 0; i < 3; i++) {
        has(i, WHO_SHARED, WHO_NO_SLOT, first, 5);
        has(i, WHO_SHARED, WHO_NO_SLOT, third, 9);
    }
    has(1, WHO_SHARED, WHO_NO_SLOT, second, 100);
    has(3, WHO_SHARED, WHO_NO_SLOT, second, 100);
    list();
    ck_assert_uint_eq(found, 2);
    is_holder(0, "aaaaaaaa", WHO_NO_SLOT, 4, 5);
    is_holder(1, "bbbbbbbb", WHO_NO_SLOT, 3, 9);
    ck_assert_int_eq(holders[0].kind, WHO_SHARED);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(entries[i].doomed, strcmp(entries[i].value, second) != 0);
}

T(slots)
{
    const char *one = token_of(0xaa, 0, 1), *other = token_of(0xbb, 0, 1);
    begin();
    for (unsigned i = 0; i < 3; i++) {
        has(i, WHO_EXCLUSIVE, 7, one, 5);
        has(i, WHO_EXCLUSIVE, 0, other, 6);
    }
    has(0, WHO_EXCLUSIVE, 3, other, 6);
    list();
    ck_assert_uint_eq(found, 3);
    is_holder(0, "bbbbbbbb", 0, 3, 6);
    is_holder(1, "bbbbbbbb", 3, 1, 6);
    is_holder(2, "aaaaaaaa", 7, 3, 5);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, true), BREAKING_WHICH);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING_WHICH);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, 3, true), BREAKING_SPLIT);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, 4, true), BREAKING_FREE);
    for (unsigned i = 0; i < count; i++)
        ck_assert(!entries[i].doomed);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, 7, true), BREAKING);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(entries[i].doomed, entries[i].slot == 7);
}

/* The mark of a name that is kept though nobody holds it. */
static const char *mark_of(uint8_t daemon)
{
    static char text[WHO_VALUE_BYTES + 1];
    struct token self, token;
    const uint8_t bytes[TOKEN_RANDOM_BYTES] = {1};
    memset(&self, daemon, sizeof self);
    token_make(&token, &self, TOKEN_MARK, 0, bytes);
    line_token_hex(text, &token);
    return text;
}

T(a_name_that_is_kept)
{
    begin();
    for (unsigned i = 0; i < 3; i++)
        has(i, WHO_EXCLUSIVE, WHO_NO_SLOT, mark_of(0x5f), 3000000 + i);
    has(3, WHO_EXCLUSIVE, WHO_NO_SLOT, token_of(0x5f, TOKEN_EXCLUSIVE, 1), 9000);
    list();
    ck_assert_uint_eq(found, 2);
    is_holder(0, "5f5f5f5f", WHO_NO_SLOT, 3, 3000000);
    ck_assert(holders[0].kept && !holders[1].kept);
    ck_assert_int_eq(holders_unkeep(entries, &count), BREAKING); /* the lock stays */
    ck_assert_uint_eq(count, 3);
    for (unsigned i = 0; i < count; i++)
        ck_assert(entries[i].doomed && strcmp(entries[i].value, mark_of(0x5f)) == 0);
}

T(a_lock_is_not_kept)
{
    begin();
    for (unsigned i = 0; i < 5; i++)
        has(i, WHO_EXCLUSIVE, WHO_NO_SLOT, token_of(0x5f, TOKEN_EXCLUSIVE, 1), 9000);
    has(0, WHO_EXCLUSIVE, WHO_NO_SLOT, token_of(0x5f, TOKEN_MARK, 1), 9000); /* its sum is wrong */
    list();
    ck_assert_int_eq(holders_unkeep(entries, &count), BREAKING_FREE);
    ck_assert_uint_eq(count, 0);
}

T(daemons_that_wait)
{
    begin();
    has(0, WHO_WAITS, WHO_NO_SLOT, "cccccccc", 5);
    has(1, WHO_WAITS, WHO_NO_SLOT, "bbbbbbbb", 100);
    has(2, WHO_WAITS, WHO_NO_SLOT, "cccccccc", 7);
    has(2, WHO_EXCLUSIVE, WHO_NO_SLOT, token_of(0xaa, 0, 1), 1);
    list();
    ck_assert_uint_eq(found, 3);
    is_holder(0, "aaaaaaaa", WHO_NO_SLOT, 1, 1);
    is_holder(1, "bbbbbbbb", WHO_NO_SLOT, 1, 100);
    is_holder(2, "cccccccc", WHO_NO_SLOT, 2, 7);
    begin();
    for (unsigned i = 0; i < 3; i++)
        has(i, WHO_WAITS, WHO_NO_SLOT, "cccccccc", 5);
    list();
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING_FREE);
}

T(what_no_quorum_has_is_not_deleted)
{
    begin();
    list();
    ck_assert_uint_eq(found, 0);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING_FREE);
    const char *leases[] = {token_of(0xaa, 0, 1), token_of(0xaa, 0, 2), token_of(0xaa, 0, 3)};
    begin();
    for (unsigned i = 0; i < 3; i++)
        has(i, WHO_SHARED, WHO_NO_SLOT, leases[i], 5); /* one daemon, but three leases */
    list();
    ck_assert_uint_eq(found, 1);
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING_SPLIT);
    begin();
    for (unsigned i = 0; i < 3; i++)
        has(i, WHO_EXCLUSIVE, WHO_NO_SLOT, "?", 5);
    list();
    ck_assert_int_eq(holders_break(entries, count, QUORUM, WHO_NO_SLOT, false), BREAKING_NO_LOCK);
    for (unsigned i = 0; i < count; i++)
        ck_assert(!entries[i].doomed);
}
