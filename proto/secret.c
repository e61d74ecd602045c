#include "proto/secret.h"

#include <string.h>

#ifndef REDLOCKD_NO_TLS
#include <openssl/crypto.h>
#include <openssl/evp.h>

bool secret_is_possible(void)
{
    return true;
}

bool secret_hash(const char *text, size_t len, uint8_t hash[SECRET_HASH_BYTES])
{
    return EVP_Digest(text, len, hash, NULL, EVP_sha256(), NULL) == 1;
}

bool secret_equal(const uint8_t a[SECRET_HASH_BYTES], const uint8_t b[SECRET_HASH_BYTES])
{
    return CRYPTO_memcmp(a, b, SECRET_HASH_BYTES) == 0;
}

#else

bool secret_is_possible(void)
{
    return false;
}

bool secret_hash(const char *text, size_t len, uint8_t hash[SECRET_HASH_BYTES])
{
    (void)text;
    (void)len;
    (void)hash;
    return false;
}

bool secret_equal(const uint8_t a[SECRET_HASH_BYTES], const uint8_t b[SECRET_HASH_BYTES])
{
    (void)a;
    (void)b;
    return false;
}

#endif

static int secret_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool secret_from_hex(const char *text, uint8_t bytes[SECRET_HASH_BYTES])
{
    for (unsigned i = 0; i < SECRET_HASH_BYTES; i++) {
        int high = secret_digit(text[2 * i]);
        int low = high < 0 ? -1 : secret_digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool secret_is_made(const char *text, size_t len)
{
    uint8_t bytes[SECRET_HASH_BYTES];
    bool made = len == SECRET_HEX && secret_from_hex(text, bytes);

    explicit_bzero(bytes, sizeof bytes);
    return made;
}

void secret_to_hex(const uint8_t bytes[SECRET_HASH_BYTES], char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (unsigned i = 0; i < SECRET_HASH_BYTES; i++) {
        text[2 * i] = digits[bytes[i] >> 4];
        text[2 * i + 1] = digits[bytes[i] & 15];
    }
}
