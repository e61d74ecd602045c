/* Lines of the protocol in a test: what a line is, and what is answered to it. */
#ifndef REDLOCKD_TESTS_LINE_SAID_H
#define REDLOCKD_TESTS_LINE_SAID_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "proto/line.h"

#define TOKEN "0123456789abcdef0123456789ABCDEF01234567"
#define A10   "aaaaaaaaaa"
#define A50   A10 A10 A10 A10 A10
#define A200  A50 A50 A50 A50

enum line_result parse_line(const char *line, struct request *request, struct refusal *refusal);
/* The line must be a request. */
struct request accepted(const char *line);
/* The refusal that the client reads, without the LF; "" where the line is no error. The text is valid until
 * the next call but one. */
const char *answer_bytes(const char *line, size_t len);
const char *line_answer(const char *line);
#define ck_refused(line, expected) ck_assert_str_eq(line_answer(line), expected)
void ck_begins(const char *line, const char *expected);
/* Checks each byte of a line of the server, and makes it a string without its LF. */
const char *as_text(char *out, size_t len);

#endif
