/* SHA-1 (FIPS 180-4) of one short text, since a build may have no OpenSSL. */
#include "proto/shown.h"

#include <assert.h>
#include <string.h>

enum { BLOCK_BYTES = 64, WORDS = 80, LENGTH_AT = BLOCK_BYTES - 2 };

static uint32_t rotate(uint32_t word, unsigned bits)
{
    return word << bits | word >> (32 - bits);
}

/* The function and the constant of step i. */
static uint32_t mixed(unsigned i, uint32_t b, uint32_t c, uint32_t d)
{
    switch (i / 20) {
    case 0: return ((b & c) | (~b & d)) + UINT32_C(0x5a827999);
    case 1: return (b ^ c ^ d) + UINT32_C(0x6ed9eba1);
    case 2: return ((b & c) | (b & d) | (c & d)) + UINT32_C(0x8f1bbcdc);
    default: return (b ^ c ^ d) + UINT32_C(0xca62c1d6);
    }
}

/* The first word of the digest of a text that fits one block, with the 1 bit and the length behind it. */
static uint32_t sha1_first(const uint8_t block[BLOCK_BYTES])
{
    static const uint32_t begin[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    uint32_t a = begin[0], b = begin[1], c = begin[2], d = begin[3], e = begin[4], word[WORDS];

    for (unsigned i = 0; i < BLOCK_BYTES / 4; i++) {
        const uint8_t *at = block + 4 * (size_t)i;
        word[i] = (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
    }
    for (unsigned i = BLOCK_BYTES / 4; i < WORDS; i++)
        word[i] = rotate(word[i - 3] ^ word[i - 8] ^ word[i - 14] ^ word[i - 16], 1);
    for (unsigned i = 0; i < WORDS; i++) {
        uint32_t next = rotate(a, 5) + mixed(i, b, c, d) + e + word[i];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    return begin[0] + a;
}

void shown_token(const char hex[TOKEN_HEX], char out[TOKEN_SHOWN + 1])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t block[BLOCK_BYTES] = {0};

    static_assert((int)TOKEN_HEX < (int)LENGTH_AT, "a token fits one block");
    static_assert(TOKEN_SHOWN <= 8, "one word of the digest is enough");
    memcpy(block, hex, TOKEN_HEX);
    block[TOKEN_HEX] = 0x80;
    block[LENGTH_AT] = (uint8_t)(TOKEN_HEX * 8 >> 8);
    block[LENGTH_AT + 1] = (uint8_t)(TOKEN_HEX * 8 & 0xff);
    uint32_t first = sha1_first(block);
    for (unsigned i = 0; i < TOKEN_SHOWN; i++)
        out[i] = digits[first >> (28 - 4 * i) & 15];
    out[TOKEN_SHOWN] = '\0';
}
