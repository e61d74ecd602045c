/* The parts that a token is made of. */
#include <check.h>

#include "daemon/coordinator/base/token.h"
#include "tests/unit/suite.h"

static const struct token self = {{0xa1, 0xb2, 0xc3, 0xd4, 0xff, 0xff}};
static const uint8_t random_bytes[TOKEN_RANDOM_BYTES] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

T(it_names_its_daemon)
{
    static const uint8_t expected[TOKEN_BYTES] = {0xa1, 0xb2, 0xc3, 0xd4, 0, 0, 0,    1,    2,    3,
                                                  4,    5,    6,    7,    8, 9, 0x12, 0xd1, 0xd9, 0xb2};
    struct token token;
    token_make(&token, &self, TOKEN_EXCLUSIVE, 0, random_bytes);
    ck_assert_mem_eq(token.bytes, expected, TOKEN_BYTES);
}

T(it_is_recognised)
{
    struct token token;
    token_make(&token, &self, TOKEN_EXCLUSIVE, 0, random_bytes);
    ck_assert(token_is_made(&token));
    for (unsigned i = 0; i < TOKEN_BYTES; i++) {
        token.bytes[i] ^= 1;
        ck_assert(!token_is_made(&token));
        token.bytes[i] ^= 1;
    }
}

/* A client can show any 40 digits. */
T(a_readers_token_is_believed_by_its_last_bytes)
{
    struct token token;
    token_make(&token, &self, TOKEN_EXCLUSIVE, 0, random_bytes);
    ck_assert(!token_is_shared(&token));
    token.bytes[TOKEN_ID_BYTES] = TOKEN_SHARED;
    ck_assert(!token_is_shared(&token));
    token_make(&token, &self, TOKEN_SHARED, 0, random_bytes);
    ck_assert(token_is_shared(&token));
    token.bytes[TOKEN_RANDOM_AT] ^= 1;
    ck_assert(!token_is_shared(&token));
}

T(it_knows_its_slot)
{
    struct token token;
    token_make(&token, &self, TOKEN_EXCLUSIVE, 0, random_bytes);
    ck_assert_int_eq(token_slot(&token), -1);
    for (unsigned slot = 0; slot < SLOTS_MAX; slot += 341) {
        token_make(&token, &self, TOKEN_SLOT, slot, random_bytes);
        ck_assert_int_eq(token_slot(&token), (int)slot);
    }
    for (unsigned i = 0; i < TOKEN_BYTES; i++) { /* of another library: its kind is not believed */
        token.bytes[i] ^= 1;
        ck_assert_int_eq(token_slot(&token), -1);
        token.bytes[i] ^= 1;
    }
    token_make(&token, &self, TOKEN_SLOT, SLOTS_MAX, random_bytes);
    ck_assert_int_eq(token_slot(&token), -1);
}

T(each_draw_is_another_token)
{
    struct token one, other;
    uint8_t drawn[TOKEN_RANDOM_BYTES] = {0};
    token_make(&one, &self, TOKEN_EXCLUSIVE, 0, random_bytes);
    token_make(&other, &self, TOKEN_EXCLUSIVE, 0, drawn);
    ck_assert_mem_ne(one.bytes + TOKEN_RANDOM_AT, other.bytes + TOKEN_RANDOM_AT, TOKEN_RANDOM_BYTES);
    ck_assert_mem_ne(one.bytes + 16, other.bytes + 16, 4);
}
