/* The head of an HTTP request, and what is written about hostile names. */
#include <check.h>
#include <string.h>

#include "daemon/http/body.h"
#include "daemon/http/head.h"
#include "tests/unit/suite.h"

#define HOST "Host: localhost\r\n"

static struct head head;

static int read_text(const char *text)
{
    size_t len = strlen(text), end = head_end(text, len);
    ck_assert_msg(end == len, "not complete: %s", text);
    return head_read(text, len, &head);
}

T(statuses)
{
    static const struct {
        int status;
        const char *text;
    } cases[] = {
        {200, "GET / HTTP/1.1\r\n" HOST "\r\n"},
        {200, "HEAD /a?b=c HTTP/1.1\r\n" HOST "\r\n"},
        {200, "GET / HTTP/1.0\r\n\r\n"},
        {200, "GET / HTTP/1.1\r\nX-Other: any thing\r\nhost:localhost\r\nContent-Length: 0\r\n\r\n"},
        {405, "POST / HTTP/1.1\r\n" HOST "\r\n"},
        {405, "OPTIONS * HTTP/1.1\r\n" HOST "\r\n"},
        {405, "get / HTTP/1.1\r\n" HOST "\r\n"},
        {505, "GET / HTTP/2.0\r\n" HOST "\r\n"},
        {505, "GET / HTTP/0.9\r\n" HOST "\r\n"},
        {400, "\r\n\r\n"},
        {400, "GET /\r\n\r\n"},
        {400, "GET  / HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET / HTTP/1.1 \r\n" HOST "\r\n"},
        {400, "GET http://localhost/ HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET /\t HTTP/1.1\r\n" HOST "\r\n"},
        {400, "GET / HTTP/1.1\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST HOST "\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "No colon\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Space : before\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST " folded\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "A: lone\rCR\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "A: lone\nLF\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"},
        {400, "GET / HTTP/1.1\r\n" HOST "Sec-Fetch-Site: none\r\nSec-Fetch-Site: none\r\n\r\n"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        int status = read_text(cases[i].text);
        ck_assert_msg(status == cases[i].status, "%d instead of %d for %s", status, cases[i].status,
                      cases[i].text);
    }
}

T(what_is_asked)
{
    static const char nul[] = "GET / HTTP/1.1\r\nHost: local\0host\r\n\r\n";
    ck_assert_int_eq(read_text("HEAD /metrics?a=b HTTP/1.1\r\nhOsT: \t h:1 \r\nAccept:\ttext/plain\r\n\r\n"),
                     200);
    ck_assert(head.is_head && head_piece_is(head.path, "/metrics") && head_piece_is(head.host, "h:1"));
    ck_assert(head_piece_is(head.accept, "text/plain") && !head.fetched.text);
    ck_assert_int_eq(head_read(nul, sizeof nul - 1, &head), 400);
    ck_assert_uint_eq(head_end("GET / HTTP/1.1\r\nHost: a\r\n\r", 27), 0);
    ck_assert_uint_eq(head_end("GET / HTTP/1.0\n\n", 16), 0);
    ck_assert_uint_eq(head_end("A\r\n\r\nGET /", 10), 5);
}

T(hosts)
{
    static const char *const names[] = {"locks.example"};
    static const char *const good[] = {"127.0.0.1",          "127.0.0.1:7337", "[::1]:7337", "[fe80::1]",
                                       "localhost",          "LocalHost:80",   "me",         "me:1",
                                       "LOCKS.example:8080", "10.0.0.1:"};
    static const char *const bad[] = {"",
                                      ":",
                                      ":80",
                                      "evil.example",
                                      "127.0.0.1.evil.example",
                                      "localhost.evil",
                                      "::1",
                                      "[::1",
                                      "[]",
                                      "127.1",
                                      "0x7f.1",
                                      "2130706433",
                                      "me.",
                                      "localhost:80:80",
                                      "locks.example@evil"};
    for (unsigned i = 0; i < sizeof good / sizeof good[0]; i++)
        ck_assert_msg(head_host_is_known((struct head_piece){good[i], strlen(good[i])}, "me", names, 1), "%s",
                      good[i]);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; i++)
        ck_assert_msg(!head_host_is_known((struct head_piece){bad[i], strlen(bad[i])}, "me", names, 1), "%s",
                      bad[i]);
    ck_assert(!head_host_is_known((struct head_piece){"", 0}, "", names, 1));
}

T(accepts)
{
    static const struct {
        bool open;
        const char *accept;
    } cases[] = {
        {true, "application/openmetrics-text"},
        {true, "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"},
        {true, "text/html, APPLICATION/openmetrics-text ; q=1 "},
        {false, ""},
        {false, "*/*"},
        {false, "text/plain, application/openmetrics-text;q=0.9"},
        {false, "application/openmetrics-text;q=0"},
        {false, "application/openmetrics-text;q=0.000"},
        {false, "application/openmetrics-textual"},
        {false, ",,;;q=,"},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct head_piece accept = {cases[i].accept, strlen(cases[i].accept)};
        ck_assert_msg(head_wants_openmetrics(accept) == cases[i].open, "%s", cases[i].accept);
    }
    ck_assert(!head_wants_openmetrics((struct head_piece){NULL, 0}));
}

static void expect_body(struct body *b, const char *expected)
{
    ck_assert_int_eq(buffer_append(&b->buffer, "", 1), 0);
    ck_assert_str_eq(b->buffer.bytes, expected);
    body_free(b);
}

T(escapes)
{
    struct body b = {.failed = false};
    body_html(&b, "<a b='\"'>&\x01\xff", 12);
    expect_body(&b, "&lt;a b=&#39;&quot;&#39;&gt;&amp;?\?");
    body_json(&b, "</script>\"\\\n&\xff", 14);
    expect_body(&b, "\"\\u003c/script\\u003e\\u0022\\u005c\\u000a\\u0026\\u00ff\"");
    body_label(&b, "unix:/a\"b\\c\nd");
    expect_body(&b, "unix:/a\\\"b\\\\c\\nd");
}
