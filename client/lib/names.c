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

/* The byte that %XX stands for, if people may see it: no control character, which could harm a terminal. 0: none. */
static char shown(const char *at)
{
    if (at[0] != '%' || digit(at[1]) < 0 || digit(at[2]) < 0)
        return '\0';
    int byte = digit(at[1]) * 16 + digit(at[2]);
    return byte >= ' ' && byte != 0x7f ? (char)(unsigned char)byte : '\0';
}

void redlock_name_shown(char text[REDLOCK_NAME_BYTES + 1], const char *name)
{
    size_t len = 0;

    if (!text)
        return;
    for (const char *at = name ? name : ""; *at && len < REDLOCK_NAME_BYTES; len++) {
        char byte = shown(at);
        text[len] = byte ? byte : *at;
        at += byte ? 3 : 1;
    }
    text[len] = '\0';
}
