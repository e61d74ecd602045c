/* Durations, bytes that no line has, tokens, and the first bytes of other protocols. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/decimal.h"
#include "proto/line.h"
#include "proto/line_piece.h"
#include "tests/unit/suite.h"

/* ---- durations ---- */

static int64_t duration(const char *text)
{
    return line_duration_ms(text, strlen(text));
}

T(durations)
{
    ck_assert_int_eq(duration("0"), 0);
    ck_assert_int_eq(duration("250"), 250);
    ck_assert_int_eq(duration("250ms"), 250);
    ck_assert_int_eq(duration("10s"), 10000);
    ck_assert_int_eq(duration("5m"), 300000);
    ck_assert_int_eq(duration("1h"), 3600000);
    ck_assert_int_eq(duration("720h"), DURATION_MAX_MS);
    ck_assert_int_eq(duration("2592000000"), DURATION_MAX_MS);
    ck_assert_int_eq(duration("0000000001"), 1);
    ck_assert_int_eq(line_duration_ms("10sXX", 3), 10000);
}

T(what_is_no_duration)
{
    static const char *const bad[] = {"",
                                      "s",
                                      "ms",
                                      "-1",
                                      "+1",
                                      "1.5s",
                                      " 1s",
                                      "1 s",
                                      "1d",
                                      "1sec",
                                      "1S",
                                      "1mss",
                                      "721h",
                                      "2592000001",
                                      "2592001s",
                                      "43201m",
                                      "9999999999h",
                                      "10x",
                                      "00000000001",
                                      "99999999999999999999",
                                      "18446744073709551616",
                                      "0x10"};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(duration(bad[i]) == -1, "%s is taken for a duration", bad[i]);
    ck_assert_int_eq(line_duration_ms("1\0s", 3), -1);
}

/* ---- other protocols ---- */

#define ck_foreign(bytes) ck_assert_msg(line_is_foreign(bytes, sizeof(bytes) - 1), "not seen: %s", bytes)
#define ck_ours(bytes) \
    ck_assert_msg(!line_is_foreign(bytes, sizeof(bytes) - 1), "taken for foreign: %s", bytes)

T(http_and_tls_are_foreign)
{
    ck_foreign("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    ck_foreign("GET / HTTP/1.0");
    ck_foreign("GET /\r\n");
    ck_foreign("GET /a-path-that-does-not-end-yet");
    ck_foreign("HEAD /x HTTP/1.1\n");
    ck_foreign("POST /x HTTP/1.1\r\n");
    ck_foreign("PUT /x HTTP/1.1\r\n");
    ck_foreign("DELETE /x HTTP/1.1\r\n");
    ck_foreign("OPTIONS * HTTP/1.1\r\n");
    ck_foreign("TRACE /x HTTP/1.1\r\n");
    ck_foreign("PATCH /x HTTP/1.1\r\n");
    ck_foreign("CONNECT 127.0.0.1:7335 HTTP/1.1\r\n");
    ck_foreign("GET http://127.0.0.1:7335/ HTTP/1.1\r\n");
    ck_foreign("PROPFIND /dav HTTP/1.1\r\n");
    ck_foreign("LOCK /dav/file HTTP/1.1\r\n"); /* RFC 4918 */
    ck_foreign("OPTIONS * ");
    ck_foreign("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    ck_foreign("\x16\x03\x01\x02\x00\x01");
    ck_foreign("\x16\x03\x03");
}

T(our_own_lines_are_not_foreign)
{
    ck_ours("LOCK job\n");
    ck_ours("LOCK /dav/file\r\n");
    ck_ours("#1 LOCK HTTP/1.1\n");
    ck_ours("#1 LOCK GET\nGET / HTTP/1.1\n");
    ck_ours("LOCK /path");
    ck_ours("PING\r\n");
    ck_ours("\r\n");
    ck_ours("");
    ck_ours("G");
    ck_ours("GET");
    ck_ours("GET job\n"); /* from a client of memcached: -BADVERB helps more than a closed connection */
    ck_ours("\x16");
    ck_ours("\x16\x02");
}

/* ---- bytes ---- */

static enum reply_code code_of(const char *line, size_t len)
{
    static struct request request;
    static struct refusal refusal;
    return line_parse(line, len, &request, &refusal) == LINE_REFUSED ? refusal.code : REPLY_OK;
}

/* At any place, and alone or beside another byte that would cancel it. */
T(bytes_outside_ascii_text_at_any_place)
{
    enum { BYTES = 11 };
    static const unsigned char bytes[BYTES] = {0, 1, 0x1f, 0x20, 0x7e, 0x7f, 0x80, 0x9f, 0xa0, 0xfe, 0xff};
    char line[40];
    for (size_t len = 8; len < sizeof line; len += 7)
        for (size_t at = 6; at + 1 < len; at++)
            for (size_t i = 0; i < (size_t)BYTES * BYTES; i++) {
                unsigned char one = bytes[i % BYTES], two = bytes[i / BYTES];
                memset(line, 'x', len);
                memcpy(line, "LOCK ", 5);
                line[at] = (char)one;
                line[at + 1] = (char)two;
                bool bad = one < 0x20 || one > 0x7e || two < 0x20 || two > 0x7e;
                bool refused = code_of(line, len) == REPLY_BADLINE;
                ck_assert_msg(refused == bad, "bytes 0x%02x 0x%02x at %zu of %zu", one, two, at, len);
            }
}

T(a_token_of_every_byte)
{
    for (unsigned at = 0; at < TOKEN_BYTES; at++)
        for (unsigned byte = 0; byte < 256; byte++) {
            struct token token;
            char hex[TOKEN_HEX], expected[3];
            memset(&token, 0x9a, sizeof token);
            token.bytes[at] = (uint8_t)byte;
            line_token_hex(hex, &token);
            for (unsigned i = 0; i < TOKEN_BYTES; i++) {
                snprintf(expected, sizeof expected, "%02x", token.bytes[i]);
                ck_assert_mem_eq(hex + 2 * i, expected, 2);
            }
        }
}

T(a_word_of_every_byte)
{
    for (unsigned byte = 0; byte < 256; byte++) {
        char text[] = {'a', (char)byte, 'z'};
        bool allowed = byte > ' ' && byte < 0x7f && byte != ',' && byte != '"' && byte != '=';
        ck_assert_msg(piece_is_word((struct piece){text, 3}, 3) == allowed, "0x%02x", byte);
        bool first = allowed && byte != '#' && byte != ':';
        ck_assert_msg(piece_is_word((struct piece){text + 1, 2}, 3) == first, "0x%02x first", byte);
    }
}

/* Long words are read in blocks. The bytes beside the one that counts are the lowest and the highest allowed ones. */
T(a_long_word_with_every_byte)
{
    for (unsigned byte = 0; byte < 256; byte++)
        for (unsigned len = 7; len <= 25; len++)
            for (unsigned at = 1; at < len; at++) {
                char text[25];
                memset(text, at % 2 ? '!' : '~', len);
                text[at] = (char)byte;
                bool allowed = byte > ' ' && byte < 0x7f && byte != ',' && byte != '"' && byte != '=';
                ck_assert_msg(piece_is_word((struct piece){text, len}, 25) == allowed, "0x%02x at %u of %u",
                              byte, at, len);
            }
}

/* Each number of digits, and what carries into the next. */
T(decimal_digits_as_printf_writes_them)
{
    for (uint64_t power = 1;; power *= 10) {
        for (int off = -1; off <= 111; off++) {
            uint64_t number = power + (uint64_t)off;
            char digits[DECIMAL_BYTES], expected[DECIMAL_BYTES + 1];
            const char *first = decimal_digits(number, digits);
            int len = snprintf(expected, sizeof expected, "%llu", (unsigned long long)number);
            ck_assert_int_eq(digits + DECIMAL_BYTES - first, len);
            ck_assert_mem_eq(first, expected, (size_t)len);
        }
        if (power > UINT64_MAX / 10)
            break;
    }
    char digits[DECIMAL_BYTES];
    ck_assert_mem_eq(decimal_digits(UINT64_MAX, digits), "18446744073709551615", DECIMAL_BYTES);
}

T(headers)
{
    static const char *const are[] = {"Host: a", "X-Empty:", "  a:b c", "{\"a\":1}", "Cookie:aaaaa"};
    static const char *const are_not[] = {"", " ", "LOCK a:b", "#a:b PING", "PING", "LOCK job token=:"};
    for (unsigned i = 0; i < sizeof are / sizeof are[0]; i++)
        ck_assert_msg(line_is_header(are[i], strlen(are[i])), "%s", are[i]);
    for (unsigned i = 0; i < sizeof are_not / sizeof are_not[0]; i++)
        ck_assert_msg(!line_is_header(are_not[i], strlen(are_not[i])), "%s", are_not[i]);
}
