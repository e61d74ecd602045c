#include "daemon/http/body.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PUTF_BYTES = 1024 };

static void body_bytes(struct body *b, const char *bytes, size_t len)
{
    if (!b->failed && buffer_append(&b->buffer, bytes, len) < 0)
        b->failed = true;
}

void body_put(struct body *b, const char *string)
{
    body_bytes(b, string, strlen(string));
}

void body_putf(struct body *b, const char *format, ...)
{
    char out[PUTF_BYTES];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(out, sizeof out, format, args);
    va_end(args);
    if (len > 0)
        body_bytes(b, out, (size_t)len < sizeof out ? (size_t)len : sizeof out - 1);
}

/* Appends bytes, and in place of each one for which escape() returns a text, that. */
static void body_escaped(struct body *b, const char *bytes, size_t len,
                         const char *(*escape)(unsigned char c))
{
    size_t from = 0;
    for (size_t i = 0; i < len; i++) {
        const char *instead = escape((unsigned char)bytes[i]);
        if (!instead)
            continue;
        body_bytes(b, bytes + from, i - from);
        body_put(b, instead);
        from = i + 1;
    }
    body_bytes(b, bytes + from, len - from);
}

static const char *escape_html(unsigned char c)
{
    switch (c) {
    case '&': return "&amp;";
    case '<': return "&lt;";
    case '>': return "&gt;";
    case '"': return "&quot;";
    case '\'': return "&#39;";
    default: return c < 0x20 || c > 0x7e ? "?" : NULL;
    }
}

/* The text is good until the next call. */
static const char *escape_json(unsigned char c)
{
    static char out[8];
    if (c >= 0x20 && c <= 0x7e && !strchr("\"\\<>&'", c))
        return NULL;
    snprintf(out, sizeof out, "\\u%04x", c);
    return out;
}

static const char *escape_label(unsigned char c)
{
    switch (c) {
    case '\\': return "\\\\";
    case '"': return "\\\"";
    case '\n': return "\\n";
    default: return c < 0x20 || c > 0x7e ? "?" : NULL;
    }
}

void body_html(struct body *b, const char *bytes, size_t len)
{
    body_escaped(b, bytes, len, escape_html);
}

void body_json(struct body *b, const char *bytes, size_t len)
{
    body_put(b, "\"");
    body_escaped(b, bytes, len, escape_json);
    body_put(b, "\"");
}

void body_label(struct body *b, const char *string)
{
    body_escaped(b, string, strlen(string), escape_label);
}

void body_free(struct body *b)
{
    buffer_free(&b->buffer);
}
