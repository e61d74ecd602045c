#include "proto/line_piece.h"

#include <string.h>

#include "proto/line.h"

static char piece_upper(char c)
{
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

struct piece piece_next(const char **at, const char *end)
{
    const char *start = *at;

    while (start < end && *start == ' ')
        start++;
    const char *space = start < end ? memchr(start, ' ', (size_t)(end - start)) : NULL;
    const char *stop = space ? space : end;
    *at = stop;
    return (struct piece){start, (size_t)(stop - start)};
}

bool piece_is(struct piece piece, const char *text)
{
    return strlen(text) == piece.len && memcmp(piece.text, text, piece.len) == 0;
}

bool piece_is_ignoring_case(struct piece piece, const char *text)
{
    for (size_t i = 0; i < piece.len; i++)
        if (!text[i] || piece_upper(piece.text[i]) != piece_upper(text[i]))
            return false;
    return !text[piece.len];
}

bool piece_is_digits(struct piece piece)
{
    size_t digits = 0;

    while (digits < piece.len && is_digit(piece.text[digits]))
        digits++;
    return digits > 0 && digits == piece.len;
}

int64_t piece_number(struct piece piece, size_t digits)
{
    int64_t number = 0;
    if (!piece_is_digits(piece) || piece.len > digits)
        return -1;
    for (size_t i = 0; i < piece.len; i++)
        number = number * 10 + (piece.text[i] - '0');
    return number;
}

/* No word has a byte up to space, " , = or a byte from DEL on. */
static bool is_out(unsigned char byte)
{
    static const uint64_t out[4] = {UINT64_C(0x20001005ffffffff), UINT64_C(1) << 63, UINT64_MAX, UINT64_MAX};
    return out[byte / 64] >> byte % 64 & 1;
}

/* The same of eight bytes at once: the highest bit of some byte is set if one of them is out. */
static uint64_t are_out(const char *text)
{
    const uint64_t each = UINT64_C(0x0101010101010101);
    uint64_t bytes, quote, comma, equals;
    memcpy(&bytes, text, sizeof bytes);
    quote = bytes ^ '"' * each, comma = bytes ^ ',' * each, equals = bytes ^ '=' * each;
    return (bytes + each) | bytes | (bytes - '!' * each) | (quote - each) | (comma - each) | (equals - each);
}

bool piece_is_word(struct piece piece, size_t limit)
{
    const uint64_t highest = UINT64_C(0x8080808080808080);
    size_t len = piece.len, i = 0;
    uint64_t out = 0;
    if (len < 1 || len > limit || piece.text[0] == '#' || piece.text[0] == ':')
        return false;
    if (len < sizeof out) {
        for (; i < len; i++)
            out |= is_out((unsigned char)piece.text[i]);
        return out == 0;
    }
    for (; i + sizeof out <= len; i += sizeof out)
        out |= are_out(piece.text + i);
    out |= are_out(piece.text + len - sizeof out); /* the rest, and some bytes once more */
    return (out & highest) == 0;
}

bool piece_is_data(struct piece piece)
{
    for (size_t i = 0; i < piece.len; i++)
        if (piece.text[i] < 0x21 || piece.text[i] > 0x7e || piece.text[i] == '"')
            return false;
    return piece.len >= 1 && piece.len <= DATA_BYTES;
}

bool piece_is_names(struct piece piece)
{
    const char *comma = piece.len > 0 ? memchr(piece.text, ',', piece.len) : NULL;

    if (!comma)
        return false;
    for (; comma; comma = memchr(piece.text, ',', piece.len)) {
        struct piece name = {piece.text, (size_t)(comma - piece.text)};
        if (!piece_is_word(name, NAME_BYTES))
            return false;
        piece.text += name.len + 1;
        piece.len -= name.len + 1;
    }
    return piece_is_word(piece, NAME_BYTES);
}

bool piece_tag(struct piece piece, struct tag *tag)
{
    if (piece.len < 1 || piece.len > TAG_BYTES)
        return false;
    for (size_t i = 0; i < piece.len; i++) {
        char c = piece.text[i];
        bool letter = piece_upper(c) >= 'A' && piece_upper(c) <= 'Z';
        if (!letter && !is_digit(c) && c != '.' && c != '_' && c != '-')
            return false;
    }
    tag->len = (uint8_t)piece.len;
    memcpy(tag->text, piece.text, piece.len);
    return true;
}

static int piece_hex_digit(char c)
{
    if (is_digit(c))
        return c - '0';
    c = piece_upper(c);
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

bool piece_token(struct piece piece, struct token *token)
{
    struct token read;

    if (piece.len != TOKEN_HEX)
        return false;
    for (size_t i = 0; i < TOKEN_BYTES; i++) {
        int high = piece_hex_digit(piece.text[2 * i]);
        int low = piece_hex_digit(piece.text[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        read.bytes[i] = (uint8_t)(high * 16 + low);
    }
    *token = read;
    return true;
}

int64_t line_duration_ms(const char *text, size_t len)
{
    enum { DIGITS = 10 };
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {"m", 60 * 1000}, {"h", 3600 * 1000}};
    size_t digits = 0;
    int64_t number = 0;

    while (digits < len && digits <= DIGITS && is_digit(text[digits]))
        number = number * 10 + (text[digits++] - '0');
    if (digits < 1 || digits > DIGITS)
        return -1;
    struct piece unit = {text + digits, len - digits};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        if (piece_is(unit, units[i].word)) {
            int64_t ms = number * units[i].ms; /* ten digits of hours are far below 2^63 */
            return ms <= DURATION_MAX_MS ? ms : -1;
        }
    return -1;
}

/* RFC 9112, section 3: method SP target SP version. A method that only HTTP has is enough together with a
 * path, since a path may be longer than our lines, so that the version has not come yet. A method that is
 * also our verb (WebDAV has LOCK, too) needs the version, which none of our lines has as its third word
 * unless the line begins with a tag. */
static bool is_http(const char *bytes, size_t len)
{
    static const char *const methods[] = {"GET",     "HEAD",    "POST",  "PUT",   "DELETE",
                                          "CONNECT", "OPTIONS", "TRACE", "PATCH", "PRI"};
    const char *lf = memchr(bytes, '\n', len);
    const char *end = lf ? lf : bytes + len;
    const char *at = bytes;

    if (at == end || *at == ' ' || *at == '#')
        return false;
    struct piece method = piece_next(&at, end);
    struct piece target = piece_next(&at, end);
    struct piece version = piece_next(&at, end);
    if (version.len > 5 && memcmp(version.text, "HTTP/", 5) == 0 && is_digit(version.text[5]))
        return true;
    if (!target.len || (target.text[0] != '/' && target.text[0] != '*'))
        return false;
    for (size_t i = 0; i < sizeof methods / sizeof methods[0]; i++)
        if (piece_is(method, methods[i]))
            return true;
    return false;
}

bool line_is_foreign(const char *bytes, size_t len)
{
    /* RFC 8446, section 5.1: the record type handshake(22) and the first byte of the version. */
    bool tls = len >= 2 && bytes[0] == 0x16 && bytes[1] == 0x03;

    return tls || is_http(bytes, len);
}

bool line_is_header(const char *line, size_t len)
{
    struct piece word = piece_next(&line, line + len);

    return word.len && word.text[0] != '#' && memchr(word.text, ':', word.len);
}
