/* What is shown of a token, as sha1sum(1) has it. */
#include <stdlib.h>
#include <string.h>

#include "proto/shown.h"
#include "tests/unit/suite.h"

static const struct {
    const char *token, *shown;
} tokens[] = {
    {"0000000000000000000000000000000000000000", "9514e1"},
    {"ffffffffffffffffffffffffffffffffffffffff", "e0bbc5"},
    {"5f0c93aa00112233445566778899aabbccddeeff", "209347"},
    {"0123456789abcdef0123456789abcdef01234567", "158b48"},

};

T_EACH(first_digits_of_its_sha1, sizeof tokens / sizeof tokens[0])
{
    char out[TOKEN_SHOWN + 1];
    shown_token(tokens[_i].token, out);
    ck_assert_str_eq(out, tokens[_i].shown);
}
