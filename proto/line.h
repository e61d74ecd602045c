/* The client's line protocol: lines -> requests, replies -> lines.
 *
 * Pure text work over caller's memory: no allocation, no state, no I/O. Shared by
 * the daemon and the client library. protocol.txt is the reference. */
#ifndef REDLOCKD_PROTO_LINE_H
#define REDLOCKD_PROTO_LINE_H

#include <stddef.h>

#include "proto/message.h"

/* What was wrong with a line, and what to write instead:
 *
 *     [#tag] -CODE [name] [words] [: text]
 *
 * Start from {0} where one is made by hand; what is empty is left out. */
struct refusal {
    enum reply_code code;
    struct tag tag;   /* len 0: the line had none, or none that could be read */
    struct name name; /* len 0: the line had none, or none that is allowed */
    char words[64];   /* key=value words that a program reads, as in "tag=7" */
    char text[160];   /* for people */
};

/* Parses one line without its line end: LF or CR LF is cut off by the caller, who
 * also sees to lines that never end (here, more than LINE_BYTES - 1 bytes are -TOOLONG).
 * An empty line (or one of spaces) gives LINE_EMPTY; LINE_REFUSED fills *refusal and
 * leaves *request undefined. */
enum line_result { LINE_REQUEST, LINE_EMPTY, LINE_REFUSED };
enum line_result line_parse(const char *line, size_t len, struct request *request, struct refusal *refusal);

/* Each writes one line with its LF (at most SERVER_LINE_BYTES, not terminated by NUL)
 * and returns its length. out must have room for SERVER_LINE_BYTES. tag may have len 0.
 * +HELLO has numbers of its own and is written by line_format_hello() alone. */
size_t line_format_reply(char *out, const struct tag *tag, const struct reply *reply);
size_t line_format_notice(char *out, const struct notice *notice);
size_t line_format_refusal(char *out, const struct refusal *refusal);
size_t line_format_hello(char *out, const struct tag *tag, const char *version, uint64_t session,
                         int64_t now_ms, int64_t behind_ms);
size_t line_format_end(char *out, const struct tag *tag, uint64_t rows);
size_t line_format_help(char *out, const struct tag *tag, unsigned i); /* "* " and line_help(i); 0: no more */

/* A row of key=value words under construction: line_row_begin() writes "* " with the
 * tag, line_row_*() append " key=value", line_row_end() closes it. Bytes outside
 * 0x21-0x7e in a value become '?'. A value that does not fit is cut (a number is left
 * out whole: half of one would be a lie), never the line. */
struct row {
    char *out;
    size_t len;
    bool any;
};
void line_row_begin(struct row *row, char *out, const struct tag *tag);
void line_row_text(struct row *row, const char *key, const char *value, size_t len);
void line_row_string(struct row *row, const char *key, const char *value);
void line_row_signed(struct row *row, const char *key, int64_t value);
void line_row_unsigned(struct row *row, const char *key, uint64_t value);
size_t line_row_end(struct row *row);

/* HELP: row i of them without its "* "; NULL after the last. */
const char *line_help(unsigned i);

/* A token as 40 lower-case hex; out has room for TOKEN_HEX bytes, no NUL is written. */
void line_token_hex(char *out, const struct token *token);

/* The first bytes of a connection that speaks HTTP or TLS rather than this protocol. They
 * may be less than a line (then ask again when there are more) or more than one. */
bool line_is_foreign(const char *bytes, size_t len);

/* A line, or the beginning of one, whose verb has a colon in it, as headers of HTTP, mail and the like have. */
bool line_is_header(const char *line, size_t len);

/* A duration ("250", "250ms", "10s", "5m", "1h") in ms; -1: not one, or above 30 days. */
int64_t line_duration_ms(const char *text, size_t len);

#endif
