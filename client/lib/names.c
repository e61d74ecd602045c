/* Names that are built from what users have typed. */
#include <stdio.h>
#include <string.h>

#include "client/redlock.h"

/* A part of a name keeps the visible characters of ASCII that a name may have anywhere, but for those that have a meaning
 * between parts: ':' and '%'. */
static bool stays(char c)
{
    return c > ' ' && c < 0x7f && !strchr("%:#,\"=", c);
}

enum redlock_error redlock_name_of(char name[REDLOCK_NAME_BYTES + 1], const char *const parts[], size_t count)
{
    size_t len = 0;

    if (!name || !parts || !count || !parts[0] || !parts[0][0])
        return REDLOCK_ARGUMENT;
    for (size_t i = 0; i < count; i++) {
        if (!parts[i])
            return REDLOCK_ARGUMENT;
        if (i > 0 && len < REDLOCK_NAME_BYTES)
            name[len++] = ':';
        else if (i > 0)
            return REDLOCK_ARGUMENT;
        for (const char *at = parts[i]; *at; at++) {
            size_t bytes = stays(*at) ? 1 : 3;
            if (bytes > REDLOCK_NAME_BYTES - len)
                return REDLOCK_ARGUMENT;
            if (bytes == 1)
                name[len] = *at;
            else
                (void)snprintf(name + len, 4, "%%%02X", (unsigned char)*at);
            len += bytes;
        }
    }
    name[len] = '\0';
    return REDLOCK_OK;
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The byte that %XX stands for; 0: there is none. */
static unsigned byte_at(const char *at)
{
    if (at[0] != '%' || digit(at[1]) < 0 || digit(at[2]) < 0)
        return 0;
    return (unsigned)(digit(at[1]) * 16 + digit(at[2]));
}

/* How many bytes, each written as %XX, are one character of UTF-8 (RFC 3629) that people may see; 0: none. Control
 * characters could harm a terminal: below space, DEL, and U+0080 to U+009F, which are C2 80 to C2 9F. */
static unsigned character(const char *at)
{
    unsigned first = byte_at(at), least = 0x80, bytes;

    if (first < 0x80)
        return first >= ' ' && first < 0x7f;
    if (first == 0xc2 || first == 0xe0)
        least = 0xa0;
    if (first == 0xf0)
        least = 0x90;
    bytes = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    for (unsigned i = 1; i < bytes; i++, least = 0x80) {
        unsigned next = byte_at(at + 3 * i); /* a byte of 0 ends the name, and so the loop */
        if (next < least || next > 0xbf)
            return 0;
    }
    return bytes;
}

void redlock_name_shown(char text[REDLOCK_NAME_BYTES + 1], const char *name)
{
    size_t len = 0;

    if (!text)
        return;
    for (const char *at = name ? name : ""; *at && len < REDLOCK_NAME_BYTES;) {
        unsigned bytes = character(at);
        if (bytes == 0)
            text[len++] = *at++;
        for (; bytes > 0; bytes--, at += 3)
            text[len++] = (char)byte_at(at);
    }
    text[len] = '\0';
}
