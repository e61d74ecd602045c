#include "tests/bench/commands.h"

#include <string.h>
#include <time.h>

#include "proto/resp.h"
#include "tests/bench/process.h"

static uint32_t fnv(const char *text, size_t len)
{
    uint32_t hash = 2166136261U;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619U;
    return hash;
}

void commands_token(char out[COMMANDS_TOKEN], const char *name, size_t name_len)
{
    uint32_t hash = fnv(name, name_len);
    for (unsigned i = 0; i < COMMANDS_TOKEN; i++)
        out[i] = "0123456789abcdef"[hash >> i % 8 * 4 & 15];
}

uint64_t commands_fence(void)
{
    static uint64_t last;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    uint64_t wall_us = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    last = wall_us > last ? wall_us : last + 1;
    return last;
}

static char *put(char *at, const char *text)
{
    size_t len = strlen(text);
    memcpy(at, text, len);
    return at + len;
}

static char *put_number(char *at, uint64_t number)
{
    char digits[20];
    unsigned n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number);
    while (n)
        *at++ = digits[--n];
    return at;
}

static char *put_word(char *at, const char *word, size_t len)
{
    *at++ = '$';
    at = put_number(at, len);
    at = put(at, "\r\n");
    memcpy(at, word, len);
    return put(at + len, "\r\n");
}

static char *put_key(char *at, const char *name, size_t name_len)
{
    static const char prefix[] = "redlock:";
    *at++ = '$';
    at = put_number(at, sizeof prefix - 1 + name_len);
    at = put(put(at, "\r\n"), prefix);
    memcpy(at, name, name_len);
    return put(at + name_len, "\r\n");
}

static char *put_number_word(char *at, uint64_t number)
{
    char digits[20];
    return put_word(at, digits, (size_t)(put_number(digits, number) - digits));
}

size_t commands_lock(char out[COMMANDS_BYTES], const char *name, size_t name_len, bool fence)
{
    char token[COMMANDS_TOKEN];
    commands_token(token, name, name_len);
    char *at = put_key(put(out, "*6\r\n$3\r\nSET\r\n"), name, name_len);
    at = put_word(at, token, sizeof token);
    at = put(at, "$2\r\nNX\r\n$2\r\nPX\r\n$5\r\n10000\r\n");
    if (!fence)
        return (size_t)(at - out);
    at = put(at, "*6\r\n$4\r\nZADD\r\n$15\r\nredlock:,fences\r\n$2\r\nGT\r\n$2\r\nCH\r\n");
    at = put_number_word(at, commands_fence());
    at = put_number_word(at, fnv(name, name_len) % FENCE_BUCKETS);
    return (size_t)(at - out);
}

size_t commands_unlock(char out[COMMANDS_BYTES], const char *name, size_t name_len)
{
    char token[COMMANDS_TOKEN];
    unsigned script = (unsigned)resp_script_of(COMMAND_RELEASE);
    commands_token(token, name, name_len);
    char *at = put_word(put(out, "*5\r\n$7\r\nEVALSHA\r\n"), resp_script_sha1(script), RESP_SHA1_HEX);
    at = put_key(put(at, "$1\r\n1\r\n"), name, name_len);
    at = put_word(at, token, sizeof token);
    return (size_t)(at - out);
}

char *commands_load(size_t *len)
{
    char *bytes = resp_script_load((unsigned)resp_script_of(COMMAND_RELEASE), len);
    if (bytes == NULL)
        fail("no memory");
    return bytes;
}
