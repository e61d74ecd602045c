/* Secrets of users: the daemon knows a secret only by its SHA-256. */
#ifndef REDLOCKD_PROTO_SECRET_H
#define REDLOCKD_PROTO_SECRET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SECRET_HEX = 64,       /* a secret is so many hex digits, which stand for random bytes */
    SECRET_HASH_BYTES = 32 /* the SHA-256 of these digits, as text */
};

/* Whether this build has SHA-256: it comes with TLS, from OpenSSL's libcrypto. */
bool secret_is_possible(void);
/* Whether the text is what `redlock mkuser` makes: SECRET_HEX hex digits, which nobody can guess. */
bool secret_is_made(const char *text, size_t len);
/* false: not possible in this build, or no memory. */
bool secret_hash(const char *text, size_t len, uint8_t hash[SECRET_HASH_BYTES]);
/* Compares in constant time. */
bool secret_equal(const uint8_t a[SECRET_HASH_BYTES], const uint8_t b[SECRET_HASH_BYTES]);
/* Reads SECRET_HEX hex digits; false: there is another character. */
bool secret_from_hex(const char *text, uint8_t bytes[SECRET_HASH_BYTES]);
/* Writes SECRET_HEX hex digits, without a NUL. */
void secret_to_hex(const uint8_t bytes[SECRET_HASH_BYTES], char *text);

#endif
