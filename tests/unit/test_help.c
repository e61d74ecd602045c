/* HELP and proto/protocol.txt know the same verbs, with the same options. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line.h"
#include "tests/unit/suite.h"

enum { OPTIONS = 32, KEY_BYTES = 16, VERBS = 17, PROTOCOL_BYTES = 1 << 20 };

struct options {
    char keys[OPTIONS][KEY_BYTES];
    unsigned count;
};

static bool has(const struct options *o, const char *key)
{
    for (unsigned i = 0; i < o->count; i++)
        if (strcmp(o->keys[i], key) == 0)
            return true;
    return false;
}

/* Adds each word before a '='. */
static void collect(struct options *o, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        size_t begin = i;
        while (begin > 0 && islower((unsigned char)text[begin - 1]))
            begin--;
        if (text[i] != '=' || begin == i)
            continue;
        char key[KEY_BYTES] = "";
        snprintf(key, sizeof key, "%.*s", (int)(i - begin), text + begin);
        if (!has(o, key) && o->count < OPTIONS)
            snprintf(o->keys[o->count++], KEY_BYTES, "%s", key);
    }
}

/* A request as the text writes it: the verb four columns in, up to the answer or an empty line. Examples have no
 * <...> in them. Returns whether there is one. */
static bool find_requests(const char *text, const char *verb, struct options *o)
{
    char begin[32];
    bool found = false;
    int len = snprintf(begin, sizeof begin, "\n    %s", verb);
    for (const char *at = strstr(text, begin); at; at = strstr(at + 1, begin)) {
        const char *line_end = strchr(at + 1, '\n');
        if (isalpha((unsigned char)at[len]))
            continue;
        const char *end = line_end;
        while (end && strncmp(end, "\n        ", 9) == 0)
            end = strchr(end + 1, '\n');
        bool pattern = memchr(at, '<', (size_t)(line_end - at)) || memchr(at, '|', (size_t)(line_end - at));
        if (!end || !pattern)
            continue;
        found = true;
        collect(o, at, (size_t)(end - at));
    }
    return found;
}

static char *read_protocol(void)
{
    char *text = calloc(1, PROTOCOL_BYTES);
    FILE *file = fopen("proto/protocol.txt", "r");
    ck_assert_ptr_nonnull(text);
    ck_assert_ptr_nonnull(file);
    size_t len = fread(text, 1, PROTOCOL_BYTES, file);
    ck_assert_uint_gt(len, 0);
    ck_assert_uint_lt(len, PROTOCOL_BYTES);
    fclose(file);
    return text;
}

T(help_and_the_reference_agree)
{
    char *text = read_protocol();
    unsigned rows = 0;
    for (const char *help; (help = line_help(rows)); rows++) {
        struct options here = {.count = 0}, there = {.count = 0};
        char verb[16] = "";
        ck_assert_int_eq(sscanf(help, "%15[A-Z]", verb), 1);
        if (strncmp(help + strlen(verb), " : ", 3) == 0) { /* it takes nothing, and stands in the text */
            ck_assert_msg(strstr(text, verb) != NULL, "protocol.txt has no %s", verb);
            continue;
        }
        collect(&here, help, strlen(help));
        ck_assert_msg(find_requests(text, verb, &there), "protocol.txt has no request %s", verb);
        for (unsigned i = 0; i < here.count; i++)
            ck_assert_msg(has(&there, here.keys[i]), "protocol.txt has no %s= of %s", here.keys[i], verb);
        for (unsigned i = 0; i < there.count; i++)
            ck_assert_msg(has(&here, there.keys[i]), "HELP has no %s= of %s", there.keys[i], verb);
    }
    ck_assert_uint_eq(rows, VERBS);
    free(text);
}
